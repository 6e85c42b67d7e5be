//! The common-prefix-skipping adaptive sort: for keys longer than a machine word that share prefixes.
//!
//! Databases sort keys that are longer than eight bytes and begin like their neighbours: composite keys, URLs, paths,
//! timestamps. This sort, invented at Oracle for 10gR2 (US patent 7,680,791, expired), knows of each partition what all
//! of its keys begin with and never looks at that again; it changes between partitioning and distribution as the keys
//! suggest, holds the next bytes of each key beside the reference to its row, and finishes partitions from left to
//! right, so that the first rows are there long before the last.
//!
//! ```
//! let mut urls = vec!["https://b.example/1", "https://a.example/2", "https://a.example/10"];
//! prefixsort::sort(&mut urls);
//! assert_eq!(urls, ["https://a.example/10", "https://a.example/2", "https://b.example/1"]);
//!
//! // The first rows, without sorting the others.
//! let rows = ["pear", "apple", "quince", "fig"];
//! assert_eq!(prefixsort::top_k(&rows, 2), [&"apple", &"fig"]);
//! ```
//!
//! Keys are bytes. Keys of several columns are made by an encoder that keeps their order, such as `arrow-row` or
//! `memcomparable` (see the examples).
//!
//! # How the modules fit
//!
//! | module | its one job |
//! | --- | --- |
//! | `sort` | the functions that sort a slice or give its order; `iter` gives rows while it sorts |
//! | `parallel` | the same on all processors (feature `rayon`, on by default) |
//! | `external` | more than memory holds: runs on disk, and their merge |
//! | `order` | slices that are in order already |
//! | `engine` | the stack of partitions: which is next, and what is done with it |
//! | `partition` | one pass over a partition's keys: apart from the prefix, and windows |
//! | `lens` | what a window shows of a key |
//! | `radix` | distribution by windows |
//! | `permute` | moving the rows at the end |
//! | `entry`, `keys` | the 16 bytes that are sorted, the ways a key is read |
//! | `bits`, `huge_pages` | two instructions, and a wish to the kernel |
//!
//! # What differs from the published algorithm, and why
//!
//! Each module's header says what and how much it brought. `cargo xtask versus sort` measures this sort beside the plain
//! published one.
//!
//! - The pivot is a prefix, not a key (`partition`): a key that diverges early costs the others nothing.
//! - Windows show the bits that differ, not bytes (`lens`): a key is read less often.
//! - Digits have up to 11 bits and are taken from windows, not from keys (`radix`): distribution touches no key memory.
//! - Keys' memory is asked for before it is needed (`partition`): the largest gain of all, since a key that is not in
//!   the cache costs as much as twenty comparisons of windows.
#![allow(
    clippy::inline_always,
    reason = "the innermost loops are built of these, and inlining them was measured: without it a window costs a call"
)]

mod bits;
mod engine;
mod entry;
mod external;
mod huge_pages;
mod iter;
mod keys;
mod lens;
mod order;
#[cfg(feature = "rayon")]
mod parallel;
mod partition;
mod permute;
mod radix;
mod sort;

pub use external::{ExternalOptions, ExternalSorter, Figures, Record, RunFile, Sorted, SpillError, SpillSpace};
pub use iter::{SortedIter, top_k};
#[cfg(feature = "rayon")]
pub use parallel::{par_sort, par_sort_by_key_bytes, par_sort_indices, par_sort_stable, par_sort_stable_by_key_bytes};
pub use sort::{
    Cancelled, Options, Scratch, sort, sort_by_key_bytes, sort_in_arena, sort_indices, sort_indices_with, sort_stable,
    sort_stable_by_key_bytes, sort_with,
};
