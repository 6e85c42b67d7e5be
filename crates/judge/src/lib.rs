//! Turns measurements and host facts into findings and grades. All functions are pure: the same
//! input gives the same answer, without I/O.
//!
//! | module | question it answers |
//! | --- | --- |
//! | `case` | the input (results, place, host) and how to find a result in it by its workload |
//! | [`judge()`] | what is the overall judgement? It combines the four modules below |
//! | [`judge_imported()`] | what does another tool's listing show, of an unknown host and drive? |
//! | `findings` | what do the numbers and facts show? One file per finding under `findings/` |
//! | `fitness` | what is this storage good for? |
//! | `cache_setting` | is the drive faster with its write cache off or on? |
//! | `probes` | what do the probes reveal about the drive's internals? One file per probe under `probes/` |
//! | [`drives()`] | where do drive, kernel and filesystems contradict each other, and is a drive healthy? |
//! | [`cluster()`] | what is wrong with a Ceph cluster's state and layout? One file per finding under `cluster/` |
//! | [`measured_osds()`], [`standings()`] | which OSDs of a Ceph cluster are slow, and what takes their time? |
//! | [`database()`] | are the commits of a database server durable, and what limits them? |
//! | [`audit()`] | which host settings slow commits down or endanger them? One file per subject under `audit/` |
//! | [`trace()`] | what do traced commits show? One file per subject under `trace/` |
//! | [`catalogue_entry()`] | can a result become an entry of the catalogue, and what does it say? |
//! | [`nearest()`] | which published drives does the storage resemble? |
//! | `flush_path` | what happens to a sync on its way to the medium, as far as it can be observed? |
//! | `physics` | how long do media take? With sources |
//! | `noise` | can the numbers be trusted? |
//!
//! Three kinds of evidence are weighed against each other, and none is trusted alone: what the
//! kernel *reports* about the device, what the device's counters *recorded*, and how *long*
//! operations took. A contradiction is a finding. What timing cannot distinguish (a protected cache
//! and a drive that lies are equally fast) is stated in the finding's doubt.
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
mod catalogue_entry;
mod cluster;
mod database;
mod drives;
mod findings;
mod fitness;
mod flush_path;
mod imported;
mod judgement;
mod nearest;
mod noise;
mod physics;
mod probes;
mod trace;
mod wording;

#[cfg(test)]
mod tests;

pub use audit::audit;
pub use cache_setting::name_under_setting;
pub use case::Case;
pub use catalogue_entry::{EntryDetails, NotAnEntry, catalogue_entry};
pub use cluster::{
    OsdRow, Standing, cluster, falsifies_measurement, measured_osds, osd_rows, standings,
};
pub use database::database;
pub use drives::drives;
pub use fitness::ETCD_P99_US;
pub use flush_path::kept_in_memory;
pub use imported::judge_imported;
pub use judgement::{Judgement, judge};
pub use nearest::{Basis, Compared, Nearest, nearest};
pub use trace::trace;
pub use wording::{capitalised, operation_name, shell_word};
