//! Modelled drives that store data, served as real storage, whose power can be cut.
//!
//! | module | content |
//! | --- | --- |
//! | [`drive`] | the drive: a model that decides on time and survival, an image with the bytes; has no clock |
//! | [`image`], [`container`] | bytes in memory or in a sparse file, and the file's metadata |
//! | [`history`] | undo log of all writes that could still be lost |
//! | [`promises`] | the writes that the drive has called safe |
//! | [`honesty`], [`faults`] | the drive's lies, and faults at a power cut |
//! | [`cut_trigger`] | automatic power cuts |
//! | [`fixed`] | a drive with zero or constant latency |
//! | [`nominal`] | a model's latencies of single commands |
//! | [`nbd`], [`fuse`] | encoding of the two protocols |
//! | [`serve`] | real time: one thread between the clients and the drive |
//! | [`runtime`] | default paths of sockets and mounts |
//! | [`smart`] | the drive's SMART counter of power cuts |
//! | [`address`], [`chain`] | how it is served: sockets, loop devices, filesystems |
//! | [`emulation`] | everything together, set up and taken down |
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
//! // Acknowledged but not flushed: the cut loses it.
//! let cut = drive.cut(done[0].at)?;
//! assert_eq!((cut.lost_unflushed, cut.lost_promised), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod address;
pub mod chain;
pub mod container;
pub mod cut_trigger;
pub mod drive;
pub mod emulation;

pub mod fixed;
pub mod fuse;

pub mod honesty;
pub mod image;
pub mod nbd;
pub mod nominal;

pub mod runtime;
pub mod serve;
pub mod smart;
