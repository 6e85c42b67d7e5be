//! What makes one record come before another, as bytes to sort by.
//!
//! Records that are compared as a whole are their own bytes. A single key whose ties are left as they are is its bytes.
//! Several keys, or one whose ties the whole record decides, are encoded one behind the other by `memcomparable`, and the
//! record follows as it is.

use memcomparable::Serializer;
use serde::Serializer as _;

use crate::field::{Fields, Key};
use crate::records::Unit;

/// In which order records come; the default is that of their bytes, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What a record is.
    pub unit: Unit,
    /// What is compared, the first difference deciding; whole records if there are none.
    pub keys: Vec<Key>,
    /// What separates fields; if nothing is given, each run of blanks leads a field.
    pub separator: Option<u8>,
    /// Blanks at the beginnings of fields do not count, for keys that say nothing of their own.
    pub skip_blanks: bool,
    /// Descending, for keys that say nothing of their own, and where whole records decide.
    pub reverse: bool,
    /// What becomes of records whose keys are equal.
    pub ties: Ties,
}

/// What becomes of records whose keys are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Their bytes decide.
    #[default]
    WholeRecord,
    /// They stay as they came.
    AsTheyCame,
    /// Only the first that came is kept.
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

/// How an order is brought about by bytes.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    keys: Vec<Key>,
    fields: Fields,
    form: Form,
    pub(crate) descending: bool,
}

/// Where in what is sorted the record is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It is the key.
    Whole,
    /// The key is a part of it, as it is; the record is the payload.
    Part,
    /// The key is encoded parts; the record is the payload.
    Encoded,
    /// The key is encoded parts and then the record, whose length is the payload.
    EncodedWithRecord,
}

impl Bytes {
    pub(crate) fn of(order: &Order) -> Self {
        let inherit = |key: &Key| {
            // A key that says anything of its own inherits nothing, as GNU `sort` has it.
            let says = key.reverse || key.from.skip_blanks || key.to.is_some_and(|to| to.skip_blanks);
            let mut key = *key;
            if !says {
                key.reverse = order.reverse;
                key.from.skip_blanks = order.skip_blanks;
                key.to = key.to.map(|to| crate::field::Place { skip_blanks: order.skip_blanks, ..to });
            }
            key
        };
        let mut keys: Vec<Key> = order.keys.iter().map(inherit).collect();
        if keys.is_empty() && order.skip_blanks {
            keys.push(inherit(&Key::WHOLE));
        }
        let ties_stay = order.ties != Ties::WholeRecord;
        let (form, descending) = match &keys[..] {
            [] => (Form::Whole, order.reverse),
            [key] if ties_stay => (Form::Part, key.reverse),
            [key, ..] if ties_stay => (Form::Encoded, key.reverse),
            _ => (Form::EncodedWithRecord, order.reverse),
        };
        Self { keys, fields: Fields::of(order.unit, order.separator), form, descending }
    }

    /// Gives key and payload of a record to `with`; `room` is used for what has to be built.
    pub(crate) fn with<R>(&self, record: &[u8], room: &mut Vec<u8>, with: impl FnOnce(&[u8], &[u8]) -> R) -> R {
        match self.form {
            Form::Whole => with(record, &[]),
            Form::Part => with(self.keys[0].of(record, self.fields), record),
            Form::Encoded => {
                self.encode(record, room);
                with(room, record)
            }
            Form::EncodedWithRecord => {
                self.encode(record, room);
                room.extend_from_slice(record);
                with(room, &(record.len() as u64).to_le_bytes())
            }
        }
    }

    fn encode(&self, record: &[u8], room: &mut Vec<u8>) {
        room.clear();
        let mut serializer = Serializer::new(&mut *room);
        for key in &self.keys {
            // What is sorted descending as a whole turns round once more what is to ascend.
            serializer.set_reverse(key.reverse != self.descending);
            serializer.serialize_bytes(key.of(record, self.fields)).expect("bytes can be serialized into memory");
        }
    }

    /// The record that a key and a payload were made of.
    pub(crate) fn record<'r>(&self, key: &'r [u8], payload: &'r [u8]) -> &'r [u8] {
        match self.form {
            Form::Whole => key,
            Form::Part | Form::Encoded => payload,
            Form::EncodedWithRecord => {
                let length = payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize);
                &key[key.len().saturating_sub(length)..]
            }
        }
    }
}
