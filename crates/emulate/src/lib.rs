//! Modelled drives, served as real storage, with power cuts.
pub mod address;
pub mod chain;
pub mod container;
pub mod drive;
pub mod emulation;
pub mod faults;
pub mod fuse;
pub mod history;
pub mod honesty;
pub mod ideal;
pub mod image;
pub mod nbd;
pub mod nominal;
pub mod plug;
pub mod serve;
