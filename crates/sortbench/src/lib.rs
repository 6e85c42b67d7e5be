//! What the sort of byte strings is measured against: data sets out of a seed.

pub mod data;
