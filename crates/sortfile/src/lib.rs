//! Files sorted: lines or fixed-size records, by whole records or by fields of them, in memory and beyond.
//!
//! What comes out is what GNU `sort` prints with `LC_ALL=C` and the same options, byte for byte; the work is done by
//! [`prefixsort::ExternalSorter`].
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
//! | module | its one job |
//! | --- | --- |
//! | `field` | which bytes of a record a key such as `2.3,4` names |
//! | `order` | what makes one record come before another, as bytes to sort by |
//! | `records` | reading records one by one |
//! | `sorter` | from readers to a writer |
//! | `check` | whether records are in order already |

mod check;
mod field;
mod order;
mod records;
mod sorter;

pub use check::{Disorder, first_disorder};
pub use field::{Key, KeyError, Place};
pub use order::{Order, Ties};
pub use records::Unit;
pub use sorter::{Done, SortError, Sorter};
