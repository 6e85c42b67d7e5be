//! The comparison for the sort of byte strings: data sets from a seed, peers, and reference
//! algorithms from the literature.

pub mod contestants;
pub mod data;
pub mod measure;
pub mod reference;
pub mod stopwatch;
