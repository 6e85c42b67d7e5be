//! Whether records are in order already.

use std::cmp::Ordering;
use std::io::Read;
use std::ops::ControlFlow;

use crate::order::{Bytes, Order, Ties};
use crate::records::{Ended, for_each};
use crate::sorter::SortError;

/// The first record that should not follow the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// Which it is, from 1.
    pub number: u64,
    /// Its bytes.
    pub record: Vec<u8>,
}

/// Looks for a record that comes before the one that it follows; with [`Ties::FirstOnly`], also for one that is equal.
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
    let bytes = Bytes::of(order);
    let (mut room, mut last, mut number) = (Vec::new(), Vec::new(), 0_u64);
    let each = |record: &[u8]| {
        number += 1;
        let in_order = bytes.with(record, &mut room, |key, _| {
            let order_of_both = if bytes.descending { key.cmp(&last) } else { last.as_slice().cmp(key) };
            last.clear();
            last.extend_from_slice(key);
            number == 1
                || order_of_both == Ordering::Less
                || (order_of_both == Ordering::Equal && order.ties != Ties::FirstOnly)
        });
        if in_order {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(Disorder { number, record: record.to_vec() })
    };
    match for_each(from, order.unit, progress, each) {
        Ok(()) => Ok(None),
        Err(Ended::By(disorder)) => Ok(Some(disorder)),
        Err(Ended::Io(error)) => Err(SortError::Read(error)),
        Err(Ended::Rest { left, size }) => Err(SortError::Rest { left, size }),
    }
}
