//! From measurements and facts to judgement: pure functions, the same answer for the same input, no I/O.
//!
//! | module | what it answers |
//! | --- | --- |
//! | `case` | the input: results, place, host; and looking results up by what they did |
//! | [`judge()`] | what does all of it come to? It asks the four below |
//! | `findings` | what do the numbers and facts say? One file each under `findings/` |
//! | `fitness` | what is this storage good for? |
//! | `cache_setting` | is a drive better off with its write cache off or on? |
//! | `probes` | what does a drive show of its inside? One file a probe under `probes/` |
//! | [`drives()`] | where drive, kernel and filesystems contradict each other; how a drive fares |
//! | [`audit()`] | what of the host slows a commit or endangers it? One file a subject under `audit/` |
//! | [`nearest()`] | which published drives does it resemble? |
//! | `flush_path` | what becomes of a sync on its way to the medium, as far as anybody can see? |
//! | `physics` | the times that media need, with their sources |
//! | `noise` | are the numbers themselves to be trusted? |
//!
//! Three kinds of evidence are weighed against each other, and none is believed alone: what the kernel *says* of the device, what the
//! device's counters *saw*, and how *long* things took. Where they contradict each other, that is a finding. What timing cannot tell (a
//! protected cache and a drive that lies are equally fast) is said in the finding's doubt.
//!
//! ```
//! let host = drive::HostFacts::default();
//! let case = judge::Case::new(&[], None, &host);
//! let judged = judge::judge(&case);
//! assert!(judged.findings.is_empty());
//! assert_eq!(judged.fitness[&measurement::Use::CephOsd].grade, measurement::Grade::Unknown);
//! ```

mod audit;
mod cache_setting;
mod case;
mod drives;
mod findings;
mod fitness;
mod flush_path;
mod judgement;
mod nearest;
mod noise;
mod physics;
mod probes;
mod wording;

#[cfg(test)]
mod tests;

pub use audit::audit;
pub use case::Case;
pub use drives::drives;
pub use judgement::{Judgement, judge};
pub use nearest::{Compared, Nearest, nearest};
pub use wording::{did, shell_word};
