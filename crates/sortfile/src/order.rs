//! The order of records, expressed as bytes to sort by.
//!
//! Records compared as a whole are their own sort keys. A single key whose ties keep the order of
//! the input is used as it is. Several keys, or one whose ties are decided by the whole record, are
//! encoded one after the other with `memcomparable`, followed by the record.

use memcomparable::Serializer;
use serde::Serializer as _;

use crate::field::{Fields, Key};
use crate::records::Unit;

/// The order of the output; by default that of the bytes of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The format of records.
    pub unit: Unit,
    /// The keys to compare, in order of significance; whole records if empty.
    pub keys: Vec<Key>,
    /// The separator of fields; if `None`, each run of blanks starts a field.
    pub separator: Option<u8>,
    /// Skips leading blanks of fields, for keys without options.
    pub skip_blanks: bool,
    /// Descending order, for keys without options and for comparisons of whole records.
    pub reverse: bool,
    /// The treatment of records whose keys are equal.
    pub ties: Ties,
}

/// The treatment of records whose keys are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Compare all of their bytes.
    #[default]
    WholeRecord,
    /// Keep the order of the input.
    AsTheyCame,
    /// Keep only the first one.
    FirstOnly,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            unit: Unit::Lines { end: b'\n' },
            keys: vec![],
            separator: None,
            skip_blanks: false,
            reverse: false,
            ties: Ties::WholeRecord,
        }
    }
}

/// Turns records into bytes whose order is the requested one.
#[derive(Clone, Debug)]
pub(crate) struct KeyEncoder {
    keys: Vec<Key>,
    fields: Fields,
    form: KeyForm,
    pub(crate) descending: bool,
}

/// The form in which a record is stored in the sorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyForm {
    /// The record is the key.
    Whole,
    /// A part of the record is the key; the record is the payload.
    Part,
    /// The encoded keys are the key; the record is the payload.
    Encoded,
    /// The encoded keys followed by the record are the key; the length of the record is the
    /// payload.
    EncodedWithRecord,
}

impl KeyEncoder {
    pub(crate) fn of(order: &Order) -> Self {
        let inherit = |key: &Key| {
            // A key that sets any option inherits none, as in GNU `sort`.
            let says =
                key.reverse || key.from.skip_blanks || key.to.is_some_and(|to| to.skip_blanks);
            let mut key = *key;
            if !says {
                key.reverse = order.reverse;
                key.from.skip_blanks = order.skip_blanks;
                key.to = key
                    .to
                    .map(|to| crate::field::Position { skip_blanks: order.skip_blanks, ..to });
            }
            key
        };
        let mut keys: Vec<Key> = order.keys.iter().map(inherit).collect();
        if keys.is_empty() && order.skip_blanks {
            keys.push(inherit(&Key::WHOLE));
        }
        let ties_stay = order.ties != Ties::WholeRecord;
        let (form, descending) = match &keys[..] {
            [] => (KeyForm::Whole, order.reverse),
            [key] if ties_stay => (KeyForm::Part, key.reverse),
            [key, ..] if ties_stay => (KeyForm::Encoded, key.reverse),
            _ => (KeyForm::EncodedWithRecord, order.reverse),
        };
        Self { keys, fields: Fields::of(order.unit, order.separator), form, descending }
    }

    /// Passes key and payload of a record to `with`; `buffer` holds what must be encoded.
    pub(crate) fn with<R>(
        &self,
        record: &[u8],
        buffer: &mut Vec<u8>,
        with: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> R {
        match self.form {
            KeyForm::Whole => with(record, &[]),
            KeyForm::Part => with(self.keys[0].of(record, self.fields), record),
            KeyForm::Encoded => {
                self.encode(record, buffer);
                with(buffer, record)
            }
            KeyForm::EncodedWithRecord => {
                self.encode(record, buffer);
                buffer.extend_from_slice(record);
                with(buffer, &(record.len() as u64).to_le_bytes())
            }
        }
    }

    fn encode(&self, record: &[u8], buffer: &mut Vec<u8>) {
        buffer.clear();
        let mut serializer = Serializer::new(&mut *buffer);
        for key in &self.keys {
            // The sorter reverses everything if the order is descending, so ascending keys must be
            // reversed here.
            serializer.set_reverse(key.reverse != self.descending);
            serializer
                .serialize_bytes(key.of(record, self.fields))
                .expect("bytes can be serialized into memory");
        }
    }

    /// The record from which key and payload were made.
    pub(crate) fn record<'r>(&self, key: &'r [u8], payload: &'r [u8]) -> &'r [u8] {
        match self.form {
            KeyForm::Whole => key,
            KeyForm::Part | KeyForm::Encoded => payload,
            KeyForm::EncodedWithRecord => {
                let length =
                    payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize);
                &key[key.len().saturating_sub(length)..]
            }
        }
    }
}
