//! The built-in plans.
