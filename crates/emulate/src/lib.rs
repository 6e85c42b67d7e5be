//! Modelled drives that store data, served as real storage, whose power can be cut.
//!
//! [`Drive`] is the drive: a model that decides on time and survival, and an [`Image`] with the
//! bytes. It has no clock. [`Honesty`] lists its lies, and its faults at a power cut.
//!
//! [`Server`] serves a drive in real time, to clients of the network block device protocol and
//! through the kernel's FUSE; a [`Handle`] controls it, and a [`CutTrigger`] cuts the power by
//! itself. [`Emulation`] sets up a server with everything on top of it (loop device, filesystem),
//! and takes it down again.
//!
//! ```
//! use emulate::{Command, Drive, Honesty, Image};
//! use simdrive::Machine;
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

#![warn(unreachable_pub)]

mod address;
mod chain;
mod container;
mod cut_trigger;
mod drive;
mod drive_mounts;
mod emulation;
mod fixed;
pub mod fuse;
mod honesty;
mod image;
pub mod nbd;
mod nominal;
pub mod runtime;
mod serve;
mod smart;

pub use address::{Address, AddressError};
pub use chain::{
    Blank, ChainError, Filesystem, LeftMount, LoopDevice, LoopQueue, MountedFilesystem,
    StoppedMount,
};
pub use container::ContainerError;
pub use cut_trigger::{CutAfter, CutTrigger, InvalidCutAfter};
pub use drive::{Command, Cut, Done, Drive, InjectedFault, Power, Refused, Status};
pub use emulation::{EmulateError, Emulation, EmulationConfig, Facts, Files, Model, Notification};
pub use fixed::IDEAL;
pub use honesty::{Fault, Honesty, InvalidLie, Lie};
pub use image::Image;
pub use nominal::Nominal;
pub use serve::control::{InvalidOrder, Order};
pub use serve::handle::{Event, Handle, Inbox};
pub use serve::socket::{Listener, ProbeAddress, Socket};
pub use serve::transport_cost::{TransportCost, TransportCosts};
pub use serve::{Endpoints, Server};
pub use smart::unsafe_shutdowns;
