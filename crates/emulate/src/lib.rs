//! Modelled drives with data in them, served as real storage, with a plug to pull.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`drive`] | the drive: a model that says when and what survives, an image that holds the bytes; without a clock of its own |
//! | [`image`], [`container`] | bytes in memory or in a sparse file, and whose file that is |
//! | [`history`] | what was there before each write that could still be lost |
//! | [`promises`] | which writes a host was told are safe |
//! | [`honesty`], [`faults`] | the drive's lies, and what else goes wrong at a cut |
//! | [`plug`] | when the plug is pulled by itself |
//! | [`fixed`] | a drive that takes no time, or always the same |
//! | [`nominal`] | what a model takes for single commands |
//! | [`nbd`], [`fuse`] | the two protocols, as bytes |
//! | [`serve`] | real time: one thread between the clients and the drive |
//! | [`runtime`] | where sockets and mounts lie that were given no place |
//! | [`smart`] | what a drive tells about itself: how often its power was cut |
//! | [`address`], [`chain`] | where it is served: sockets, loop devices, filesystems |
//! | [`emulation`] | all of it together, set up and taken down |
//!
//! ```
//! use emulate::drive::{Command, Drive};
//! use emulate::honesty::Honesty;
//! use emulate::image::Image;
//! use simdrive::run::Machine;
//!
//! let mut machine = Machine::new(catalogue::find_model("consumer-nvme")?.clone());
//! machine.capacity_bytes = Some(2 << 30);
//! let device = machine.drive(true)?;
//! let image = Image::in_memory(device.identity().capacity_bytes);
//! let mut drive = Drive::new(device, image, Honesty::default(), 512 << 10, 0);
//! drive.submit(0, 1, Command::Write { offset: 0, data: &[7; 4096], fua: false })?;
//! let mut done = Vec::new();
//! while done.is_empty() {
//!     let at = drive.next_event().ok_or("nothing is under way")?;
//!     drive.advance(at, &mut done);
//! }
//! // Acknowledged and not flushed: the cut takes it.
//! let cut = drive.cut(done[0].at)?;
//! assert_eq!((cut.lost_unflushed, cut.lost_promised), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod address;
pub mod chain;
pub mod container;
pub mod drive;
pub mod emulation;
pub mod faults;
pub mod fixed;
pub mod fuse;
pub mod history;
pub mod honesty;
pub mod image;
pub mod nbd;
pub mod nominal;
pub mod plug;
pub mod promises;
pub mod runtime;
pub mod serve;
pub mod smart;
