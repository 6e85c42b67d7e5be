//! measurement
