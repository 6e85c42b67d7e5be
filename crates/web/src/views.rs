//! What is answered, as HTML: one file a page. Pure functions; what they show comes in.

pub mod compare;
pub mod frame;
pub mod list;
pub mod live;
pub mod run;
pub mod sentence;
