//! Checks whether records are already sorted.

use std::cmp::Ordering;
use std::io::Read;

use crate::order::{KeyEncoder, Order, Ties};
use crate::records::{BLOCK, Records, Watched};
use crate::sorter::SortError;

/// The first record that is out of order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// Number of the record, from 1.
    pub number: u64,
    /// The bytes of the record.
    pub record: Vec<u8>,
}

/// Finds the first record that compares less than the one before it or, with [`Ties::FirstOnly`],
/// equal to it.
///
/// # Errors
///
/// [`SortError`] if the input cannot be read or ends within a record.
///
/// ```
/// let disorder = sortfile::first_disorder(&sortfile::Order::default(), &b"b\na\n"[..], |_| {})?;
/// assert_eq!(disorder.map(|disorder| disorder.number), Some(2));
/// # Ok::<(), sortfile::SortError>(())
/// ```
pub fn first_disorder(
    order: &Order,
    from: impl Read,
    progress: impl FnMut(u64),
) -> Result<Option<Disorder>, SortError> {
    let encoder = KeyEncoder::of(order);
    let (mut buffer, mut last, mut number) = (Vec::new(), Vec::new(), 0_u64);
    let mut records = Records::new(Watched { from, progress }, order.unit, BLOCK);
    while let Some(record) = records.next()? {
        number += 1;
        let in_order = encoder.with(record, &mut buffer, |key, _| {
            let order_of_both =
                if encoder.descending { key.cmp(&last) } else { last.as_slice().cmp(key) };
            last.clear();
            last.extend_from_slice(key);
            number == 1
                || order_of_both == Ordering::Less
                || (order_of_both == Ordering::Equal && order.ties != Ties::FirstOnly)
        });
        if !in_order {
            return Ok(Some(Disorder { number, record: record.to_vec() }));
        }
    }
    Ok(None)
}
