//! Sorts files of lines or fixed-size records, by whole records or by fields, in memory and on
//! disk.
//!
//! The output is that of GNU `sort` with `LC_ALL=C` and the same options, byte for byte.
//! [`prefixsort::ExternalSorter`] does the sorting.
//!
//! ```
//! use sortfile::{Order, Sorter};
//!
//! let order = Order { keys: vec!["2,2".parse()?], ..Order::default() };
//! let mut sorter = Sorter::new(&order, prefixsort::ExternalOptions::default())?;
//! sorter.take(&b"a 2\nb 1\n"[..], |_| {})?;
//! let mut out = Vec::new();
//! sorter.finish(&mut out, |_| {})?;
//! assert_eq!(out, b"b 1\na 2\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `field` | keys such as `2.3,4`, and the bytes that they select |
//! | `order` | the order of records, expressed as bytes to sort by |
//! | `other_ordering` | the orderings that are not supported, and what to use instead |
//! | `records` | reading records from a stream |
//! | `sorter` | the sorter, from readers to a writer |
//! | `check` | checking whether records are sorted |

#![warn(missing_docs, clippy::missing_errors_doc)]

mod check;
mod field;
mod order;
mod other_ordering;
mod records;
mod sorter;

pub use check::{Disorder, first_disorder};
pub use field::{Key, KeyError, Position};
pub use order::{Order, Ties};
pub use other_ordering::OtherOrdering;
pub use records::Unit;
pub use sorter::{Done, Input, SortError, Sorter};
