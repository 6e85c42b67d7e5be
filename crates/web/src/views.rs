//! The pages, one file each, as pure functions from data to HTML.

pub mod compare;
pub mod fleet;
pub mod frame;
pub mod history;
pub mod list;
pub mod live;
pub mod run;
pub mod sentence;
