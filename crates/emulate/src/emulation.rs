//! Sets up, measures, watches and takes down an emulated drive with everything on top of it, in the
//! right order.

mod access;

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use blame::Blame;
use simdrive::{Device, Identity, Impossible, Machine};

use crate::address::{Address, AddressError};
use crate::chain::{
    self, Blank, ChainError, Filesystem, LoopDevice, LoopQueue, MountedFilesystem, StoppedMount,
};
use crate::container::{self, ContainerError, ImageMetadata};
use crate::cut_trigger::{CutAfter, CutTrigger};
use crate::drive::Drive;
use crate::fixed::{self, Fixed};
use crate::fuse;
use crate::fuse::mount::{self, MountError, Mounted};
use crate::honesty::Honesty;
use crate::image::Image;
use crate::nominal::Nominal;
use crate::serve::control::Order;
use crate::serve::directory::{DRIVE, PROBE};
use crate::serve::handle::{Event, Handle, Inbox};
use crate::serve::socket::{ProbeAddress, Socket};
use crate::serve::transport_cost::TransportCost;
use crate::serve::{Server, probe};
use access::{Access, PrivateDirectory, SocketFiles};

/// The drive to emulate.
#[derive(Debug, Clone)]
pub enum Model {
    Modelled(Box<Machine>),
    /// A drive of this size that takes no time.
    Ideal {
        /// Size of the drive.
        capacity_bytes: u64,
    },
}

impl Model {
    pub fn name(&self) -> &str {
        match self {
            Model::Modelled(machine) => &machine.model.model,
            Model::Ideal { .. } => fixed::IDEAL,
        }
    }

    pub const fn seed(&self) -> u64 {
        match self {
            Model::Modelled(machine) => machine.seed,
            Model::Ideal { .. } => 0,
        }
    }

    /// Display name of the model.
    pub fn label(&self) -> &str {
        match self {
            Model::Modelled(machine) => &machine.model.label,
            Model::Ideal { .. } => "Ideal drive",
        }
    }

    fn device(&self) -> Result<Box<dyn Device>, Impossible> {
        match self {
            Model::Modelled(machine) => machine.drive(true),
            Model::Ideal { capacity_bytes } => Ok(Box::new(Fixed::ideal(*capacity_bytes))),
        }
    }

    /// The largest command of a host, in bytes.
    fn request_bytes_max(&self) -> u64 {
        match self {
            Model::Modelled(machine) => machine.model.host.request_most.0,
            Model::Ideal { .. } => 32 << 20,
        }
    }
}

/// Endpoints to access the drive other than NBD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Files {
    #[default]
    None,
    /// A file in this directory, which becomes a FUSE mount.
    File(PathBuf),
    /// The file, and a loop device on it.
    Device(PathBuf),
    /// The file, a loop device, and a filesystem mounted on this directory.
    Mounted(PathBuf, Filesystem),
}

#[derive(Debug, Clone)]
pub struct EmulationConfig {
    /// The drive to emulate.
    pub model: Model,
    /// The file that stores its data; `None`: memory.
    pub image: Option<PathBuf>,
    /// True if that file may be overwritten although it is not a drive's.
    pub destroy_data: bool,
    /// The drive's lies.
    pub honesty: Honesty,
    /// Determines all random decisions.
    pub seed: u64,
    /// When to cut the power automatically.
    pub after: Option<CutAfter>,
    /// Percentage of the drive to precondition at the start.
    pub fill_percent: f64,
    pub nbd: Option<Address>,
    /// File, loop device and filesystem.
    pub files: Files,
    /// Path of the control socket.
    pub control: Option<PathBuf>,
}

/// Why a drive cannot be emulated as requested.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    #[error(transparent)]
    Impossible(#[from] Impossible),
    #[error(transparent)]
    Container(#[from] ContainerError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("`{}` is not empty, and its files would be hidden: choose an empty directory", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} needs a drive of at least {} MiB, and this one has {}: choose a larger one, such \
             as `,capacity=1GiB`", filesystem.name(), filesystem.capacity_bytes_min() >> 20, capacity_bytes >> 20)]
    TooSmall {
        filesystem: Filesystem,
        /// Size of the drive.
        capacity_bytes: u64,
    },
    #[error("{0} needs root; without root, use --nbd or --fuse")]
    Root(&'static str),
    /// The lie would be about a promise that the drive never makes.
    #[error("{lie} has no effect on {model}: {because}; omit --lie {lie}, or choose another model")]
    NothingToLieAbout { lie: &'static str, model: String, because: &'static str },
    #[error("{what}")]
    System {
        /// The operation that failed.
        what: &'static str,
        source: io::Error,
    },
}

impl EmulateError {
    pub const fn blame(&self) -> Blame {
        match self {
            EmulateError::Container(error) => error.blame(),
            EmulateError::Impossible(_)
            | EmulateError::Root(_)
            | EmulateError::TooSmall { .. }
            | EmulateError::NothingToLieAbout { .. } => Blame::Usage,
            EmulateError::NotEmpty(_)
            | EmulateError::Chain(
                ChainError::OtherFilesystem { .. }
                | ChainError::Partitions(_)
                | ChainError::OtherContent(_)
                | ChainError::Nothing,
            )
            | EmulateError::Mount(MountError::Left(_) | MountError::Stopped { .. }) => {
                Blame::Safety
            }
            _ => Blame::System,
        }
    }
}

/// A notification from an emulated drive.
#[derive(Debug)]
pub enum Notification {
    Drive(Event),
    /// Nothing happened in time.
    Nothing,
    /// The server has ended unexpectedly.
    Ended,
}

/// A running emulation. Dropping it takes everything down.
pub struct Emulation {
    handle: Handle,
    server: Option<JoinHandle<io::Result<Drive>>>,
    events: Receiver<Event>,
    /// Facts about the drive.
    pub facts: Facts,
    // Dropped in this order.
    filesystem: Option<MountedFilesystem>,
    device: Option<LoopDevice>,
    directory: Option<Mounted>,
    // Held only to be removed with it.
    _private: Option<PrivateDirectory>,
    _sockets: SocketFiles,
}

/// Facts about an emulated drive for its user.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Facts {
    /// The model's name.
    pub model: String,
    /// Display name of the model.
    pub label: String,
    /// Size of the drive.
    pub capacity_bytes: u64,
    /// True if it reports a volatile cache, so hosts send flushes.
    pub wants_flushes: bool,
    /// True if it supports FUA.
    pub takes_fua: bool,
    /// True if it rotates.
    pub rotational: bool,
    /// Number of commands that it accepts at a time.
    pub queue_depth: u32,
    /// Its lies, as typed on the command line.
    pub honesty: String,
    /// The file that stores its data.
    pub image: Option<PathBuf>,
    /// NBD URI.
    pub nbd: Option<String>,
    /// Path of the FUSE file.
    pub file: Option<PathBuf>,
    /// Path of the loop device.
    pub device: Option<PathBuf>,
    /// Mount point of the filesystem.
    pub mounted: Option<PathBuf>,
    /// Path of the control socket.
    pub control: Option<PathBuf>,
    /// Latencies of the model.
    pub nominal: Nominal,
    /// Cost of NBD as a transport.
    pub nbd_floor: Option<TransportCost>,
    /// Cost of the file as a transport, including the loop device on it.
    pub file_floor: Option<TransportCost>,
}

impl Facts {
    /// The facts known before anything is set up.
    fn of(config: &EmulationConfig, drive: &Drive) -> Result<Facts, Impossible> {
        let identity = drive.identity();
        Ok(Facts {
            model: config.model.name().to_owned(),
            label: config.model.label().to_owned(),
            capacity_bytes: identity.capacity_bytes,
            wants_flushes: drive.wants_flushes(),
            takes_fua: drive.takes_fua(),
            rotational: identity.rotational,
            queue_depth: identity.queue_depth,
            honesty: config.honesty.to_string(),
            image: config.image.clone(),
            nbd: config.nbd.as_ref().map(Address::uri),
            file: None,
            device: None,
            mounted: None,
            control: config.control.clone(),
            nominal: Nominal::of(config.model.device()?),
            nbd_floor: None,
            file_floor: None,
        })
    }
}

impl Emulation {
    /// Sets everything up. `progress` is called with a description of slow steps.
    ///
    /// # Errors
    /// When any step fails; everything set up before is taken down again.
    pub fn start(
        config: &EmulationConfig,
        progress: &dyn Fn(&str),
    ) -> Result<Emulation, EmulateError> {
        check_access(&config.files)?;
        let (drive, is_new) = new_drive(config)?;
        let facts = Facts::of(config, &drive)?;
        let mut emulation = Emulation::serve(config, drive, facts, is_new)?;
        progress("measuring the cost of the transport");
        emulation.measure(config).map_err(|source| EmulateError::System {
            what: "cannot measure the cost of the transport",
            source,
        })?;
        let blank = if is_new { Blank::GetsAFilesystem } else { Blank::IsRefused };
        emulation.build(&config.files, blank, progress)?;
        emulation.handle.ready(0, Ok(()));
        Ok(emulation)
    }

    /// Starts the thread that serves the drive, with nothing on top of it yet.
    fn serve(
        config: &EmulationConfig,
        drive: Drive,
        mut facts: Facts,
        is_new: bool,
    ) -> Result<Emulation, EmulateError> {
        let system = |what| move |source| EmulateError::System { what, source };
        let (handle, inbox) = Handle::new().map_err(system("cannot set up the server"))?;
        let (tell, told) = std::sync::mpsc::channel();
        let opened_with = config.clone();
        let serve = move || {
            // This process uses the drive's file too: to measure the transport, and to find and
            // mount a filesystem. What the thread and this one share was opened before: the image
            // and the descriptor that wakes the thread.
            fuse::separate_descriptors();
            match open(&opened_with, drive, is_new, inbox) {
                Ok((server, opened)) => {
                    let _ = tell.send(Ok(opened));
                    server.run()
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                    Err(io::ErrorKind::NotConnected.into())
                }
            }
        };
        let server = std::thread::Builder::new()
            .name("drive".to_owned())
            .spawn(serve)
            .map_err(system("cannot start the server"))?;
        let ended = |_| EmulateError::System {
            what: "cannot start the server",
            source: io::Error::other("its thread ended"),
        };
        let Opened { events, mounted: directory, private, sockets } =
            told.recv().map_err(ended)??;
        facts.file = directory.as_ref().map(|mounted| mounted.directory().join(DRIVE));
        Ok(Emulation {
            handle,
            server: Some(server),
            events,
            facts,
            filesystem: None,
            device: None,
            directory,
            _private: private,
            _sockets: sockets,
        })
    }

    /// Measures the transports that clients will use.
    fn measure(&mut self, config: &EmulationConfig) -> io::Result<()> {
        let flushes = self.facts.wants_flushes;
        if let Some(address) = &config.nbd {
            let ours = self.connect(address)?;
            let floors = probe::of_socket(&self.handle, ours, flushes)?;
            self.handle.nbd_floor(floors);
            self.facts.nbd_floor = Some(floors.max);
        }
        if let Some(file) = &self.facts.file {
            let probe = file.with_file_name(PROBE);
            let floors = match &config.files {
                Files::Device(_) | Files::Mounted(..) => {
                    let device = LoopDevice::attach(
                        &probe,
                        LoopQueue { flushes, rotational: false, depth: u32::MAX },
                    )
                    .map_err(io::Error::other)?;
                    probe::of_file(&self.handle, device.path(), flushes)?
                }
                _ => probe::of_file(&self.handle, &probe, flushes)?,
            };
            self.handle.directory_floor(floors);
            self.facts.file_floor = Some(floors.max);
        }
        Ok(())
    }

    /// A connection of the same kind as clients', to the probe drive.
    fn connect(&self, address: &Address) -> io::Result<Socket> {
        match address {
            Address::Unix(_) => {
                let mut name = [0; 16];
                rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())?;
                let name = format!("flushmark-probe-{:032x}", u128::from_ne_bytes(name));
                let address = SocketAddr::from_abstract_name(name)?;
                let listener = UnixListener::bind_addr(&address)?;
                self.handle.measure(ProbeAddress::Unix(address))?;
                Ok(Socket::Unix(listener.accept()?.0))
            }
            Address::Tcp(..) => {
                let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
                self.handle.measure(ProbeAddress::Tcp(listener.local_addr()?))?;
                Ok(Socket::Tcp(listener.accept()?.0))
            }
        }
    }

    fn build(
        &mut self,
        files: &Files,
        blank: Blank,
        progress: &dyn Fn(&str),
    ) -> Result<(), EmulateError> {
        let (Files::Device(_) | Files::Mounted(..), Some(file)) = (files, &self.facts.file) else {
            return Ok(());
        };
        let Facts { wants_flushes: flushes, rotational, queue_depth: depth, .. } = self.facts;
        let device = LoopDevice::attach(file, LoopQueue { flushes, rotational, depth })?;
        self.facts.device = Some(device.path().to_owned());
        let device = self.device.insert(device);
        if let Files::Mounted(directory, filesystem) = files {
            progress(&format!("creating and mounting {}", filesystem.name()));
            // After a power cut, the same place as before, even if a symlink has changed since.
            let directory = self.facts.mounted.as_deref().unwrap_or(directory);
            let mounted = MountedFilesystem::mount(
                device.path(),
                directory,
                *filesystem,
                filesystem.mount_options(),
                blank,
            )?;
            self.facts.mounted = Some(mounted.directory().to_owned());
            self.filesystem = Some(mounted);
        }
        Ok(())
    }

    /// Executes an order; `None` when the server has ended.
    pub fn order(&self, order: Order) -> Option<serde_json::Value> {
        self.handle.order(order)
    }

    /// Waits up to this long for a notification.
    pub fn news(&mut self, within: Duration) -> Notification {
        match self.events.recv_timeout(within) {
            Ok(Event::Unmounted) => {
                // Whatever is mounted there from now on is not ours.
                self.directory.take().into_iter().for_each(Mounted::forget);
                Notification::Drive(Event::Unmounted)
            }
            Ok(event) => Notification::Drive(event),
            Err(RecvTimeoutError::Timeout) => Notification::Nothing,
            Err(RecvTimeoutError::Disconnected) => Notification::Ended,
        }
    }

    /// Sets up the loop device and the filesystem again after the drive was switched on, after this
    /// many cuts in total: the kernel's cached state is from before the cut.
    ///
    /// # Errors
    /// When a step fails, such as mounting what the cut left. The drive stays in service, and is
    /// informed.
    pub fn rebuild(&mut self, files: &Files, cuts: u64) -> Result<(), EmulateError> {
        let rebuilt = self.build_anew(files);
        self.handle.ready(cuts, rebuilt.as_ref().copied().map_err(ToString::to_string));
        rebuilt
    }

    fn build_anew(&mut self, files: &Files) -> Result<(), EmulateError> {
        if let Some(mut filesystem) = self.filesystem.take()
            && filesystem.unmount().is_err()
        {
            filesystem.unmount_lazily();
        }
        self.device = None;
        self.build(files, Blank::IsRefused, &|_| ())
    }

    /// Unmounts the filesystem, or removes whatever else is on top of the drive, unless it is in
    /// use.
    pub fn unmount(&mut self) -> Result<(), ChainError> {
        if let Some(filesystem) = &mut self.filesystem {
            return filesystem.unmount();
        }
        let own = self.device.as_ref().map(LoopDevice::path);
        match self.directory.as_ref().and_then(|mounted| chain::user_of(mounted.directory(), own)) {
            Some(user) => Err(ChainError::InUse(user)),
            None => Ok(()),
        }
    }

    /// Why the server ended unexpectedly.
    pub fn why_it_ended(&mut self) -> String {
        match self.server.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(_)) => "it panicked".to_owned(),
            Some(Ok(Ok(_))) | None => "it was ordered to".to_owned(),
        }
    }
}

/// The parts of an opened server that stay with the thread that started it: paths, no descriptors.
struct Opened {
    events: Receiver<Event>,
    // Dropped in this order.
    mounted: Option<Mounted>,
    private: Option<PrivateDirectory>,
    sockets: SocketFiles,
}

/// Opens the ways to the drive, and sets up its server. Runs in the server's thread, which keeps
/// the FUSE connection to itself.
fn open(
    config: &EmulationConfig,
    drive: Drive,
    is_new: bool,
    inbox: Inbox,
) -> Result<(Server, Opened), EmulateError> {
    // If a step fails, these are dropped in reverse order: first the mount, then its directory.
    let Access { sockets, private, mounted, endpoints } = Access::open(config, is_new)?;
    let trigger = CutTrigger::new(config.after, config.seed);
    let (name, label) = (config.model.name(), config.model.label());
    let (server, events) = Server::new(drive, name, label, endpoints, trigger, inbox)
        .map_err(|source| EmulateError::System { what: "cannot set up the server", source })?;
    Ok((server, Opened { events, mounted, private, sockets }))
}

/// Checks whether this user may access the drive in this way, and the directory is free for it.
fn check_access(files: &Files) -> Result<(), EmulateError> {
    let is_root = rustix::process::geteuid().is_root();
    match files {
        Files::Device(_) if !is_root => Err(EmulateError::Root("a loop device")),
        Files::Mounted(..) if !is_root => Err(EmulateError::Root("mounting a filesystem")),
        Files::Mounted(directory, _) => check_empty(directory),
        Files::None | Files::File(_) | Files::Device(_) => Ok(()),
    }
}

/// Creates the drive. Returns whether its data is new too, and not that of an earlier process.
fn new_drive(config: &EmulationConfig) -> Result<(Drive, bool), EmulateError> {
    let EmulationConfig { model, honesty, .. } = config;
    let device = model.device()?;
    let identity = device.identity();
    check_lies(honesty, &identity, model.name())?;
    let capacity_bytes = identity.capacity_bytes;
    let (image, is_new) = match &config.image {
        None => (Image::in_memory(capacity_bytes), true),
        Some(path) => {
            let metadata = ImageMetadata { model: model.name().to_owned(), capacity_bytes };
            container::open(path, &metadata, config.destroy_data)?
        }
    };
    if let (Files::Mounted(_, filesystem), true) = (&config.files, is_new)
        && capacity_bytes < filesystem.capacity_bytes_min()
    {
        return Err(EmulateError::TooSmall { filesystem: *filesystem, capacity_bytes });
    }
    let mut drive =
        Drive::new(device, image, honesty.clone(), model.request_bytes_max(), config.seed);
    if matches!(model, Model::Ideal { .. }) && honesty.ack_early.is_none() {
        drive = drive.without_history();
    }
    if config.fill_percent > 0.0 {
        let filled = drive.fill(config.fill_percent);
        debug_assert!(filled.is_ok(), "a new drive is on");
    }
    Ok((drive, is_new))
}

/// A lie about a promise that this drive does not make would have no effect.
fn check_lies(honesty: &Honesty, identity: &Identity, model: &str) -> Result<(), EmulateError> {
    let refused = |lie, because| {
        Err(EmulateError::NothingToLieAbout { lie, model: model.to_owned(), because })
    };
    if honesty.ignores_flush && !identity.volatile_cache {
        return refused("ignore-flush", "it has no volatile cache, so hosts send no flushes");
    }
    if honesty.ignores_fua && !(identity.volatile_cache && identity.fua) {
        return refused("ignore-fua", "it does not support FUA");
    }
    Ok(())
}

impl Drop for Emulation {
    fn drop(&mut self) {
        // From top to bottom, while the drive is still there: unmounting a filesystem writes.
        self.filesystem = None;
        self.device = None;
        self.directory = None;
        self.handle.stop();
        if let Some(Ok(Ok(drive))) = self.server.take().map(JoinHandle::join) {
            let _ = drive.sync_image();
        }
    }
}

fn check_empty(directory: &Path) -> Result<(), EmulateError> {
    let because = |because| MountError::Directory { directory: directory.to_owned(), because };
    // Reading a directory of a stopped drive, or one on its filesystem, would never return.
    mount::expect_free(directory)?;
    let here = fuse::resolved(directory);
    let stopped = StoppedMount::find_all().unwrap_or_default();
    if let Some(stopped) = stopped.iter().find(|stopped| stopped.mounts.contains(&here)) {
        return Err(MountError::Stopped {
            directory: directory.to_owned(),
            process: stopped.process,
        }
        .into());
    }
    let mut entries = std::fs::read_dir(directory).map_err(because)?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(EmulateError::NotEmpty(directory.to_owned())),
    }
}
