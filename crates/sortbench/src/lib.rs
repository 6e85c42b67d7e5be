//! What the sort of byte strings is measured against: data sets out of a seed, peers, and references of the literature.

pub mod contestants;
pub mod data;
pub mod measure;
pub mod reference;
pub mod stopwatch;
