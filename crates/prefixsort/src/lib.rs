//! The common-prefix-skipping adaptive sort, for keys that are longer than a machine word and share
//! prefixes.
//!
//! Databases sort keys that are longer than eight bytes and begin like their neighbours: composite
//! keys, URLs, paths, timestamps. This sort, invented at Oracle for 10gR2 (US patent 7,680,791,
//! expired), tracks for each partition the prefix that all of its keys share and never reads it
//! again. It switches between partitioning and distribution depending on the keys, caches the next
//! bytes of each key next to the reference to its row, and finishes partitions from left to right,
//! so the first rows are available long before the last.
//!
//! ```
//! let mut urls = vec!["https://b.example/1", "https://a.example/2", "https://a.example/10"];
//! prefixsort::sort(&mut urls);
//! assert_eq!(urls, ["https://a.example/10", "https://a.example/2", "https://b.example/1"]);
//!
//! // The first rows, without sorting the rest.
//! let rows = ["pear", "apple", "quince", "fig"];
//! assert_eq!(prefixsort::top_k(&rows, 2), [&"apple", &"fig"]);
//! ```
//!
//! Keys are bytes. To sort by several columns, encode them with an order-preserving encoder such as
//! `arrow-row` or `memcomparable` (see the examples).
//!
//! # Modules
//!
//! | module | what it does |
//! | --- | --- |
//! | `sort` | sorts a slice in place or returns its order; `iter` returns rows while it sorts |
//! | `parallel` | the same on all processors (feature `rayon`, on by default) |
//! | `external` | sorts more than fits into memory: runs on disk, and their merge |
//! | `order` | detects slices that are already in order |
//! | `engine` | the stack of partitions: which one is next, and how it is sorted |
//! | `partition` | one pass over a partition: splits by the common prefix and makes windows |
//! | `lens` | selects the bits of a key that a window shows |
//! | `radix` | distribution by windows |
//! | `permute` | moves the rows at the end |
//! | `entry`, `keys` | the 16 bytes that are sorted for each row; reading keys |
//! | `bits`, `huge_pages` | two processor instructions; advice to the kernel |
//!
//! # Differences from the published algorithm
//!
//! The documentation of each module states the gain. `cargo xtask versus sort` compares this sort
//! with the published one.
//!
//! - The pivot is a prefix, not a key (`partition`): a key that diverges early costs the others
//!   nothing.
//! - Windows show the bits that differ, not bytes (`lens`), so a key is read less often.
//! - Digits have up to 11 bits and are taken from windows, not from keys (`radix`), so distribution
//!   does not touch key memory.
//! - Key memory is prefetched (`partition`): the largest gain of all, since a key that is not in
//!   the cache costs as much as twenty comparisons of windows.

#![warn(missing_docs, clippy::missing_errors_doc)]
#![allow(
    clippy::inline_always,
    reason = "called in the innermost loops; measured: without inlining, each window costs a call"
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

pub use external::{
    ExternalOptions, ExternalSorter, Figures, NextRecord, Record, RunFile, Sorted, SortedInput,
    SpillError, SpillSpace,
};
pub use iter::{SortedIter, top_k};
#[cfg(feature = "rayon")]
pub use parallel::{
    par_sort, par_sort_by_key_bytes, par_sort_indices, par_sort_stable,
    par_sort_stable_by_key_bytes,
};
pub use sort::{
    Cancelled, Options, Scratch, sort, sort_by_key_bytes, sort_in_arena, sort_indices,
    sort_indices_with, sort_stable, sort_stable_by_key_bytes, sort_with,
};
