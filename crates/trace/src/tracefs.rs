//! The kernel's tracer, through tracefs: own instances, which other tracers do not notice.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blame::Blame;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::decode::{Decoders, Tracepoint};
use crate::format::FormatError;
use crate::numbering;
use crate::page::PageError;

/// A trace that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("the kernel's tracer may be used by root only; run it with sudo")]
    NotRoot,
    #[error(
        "this kernel has no tracefs ({0}); traces need a kernel built with CONFIG_TRACING, which \
         distributions' kernels are, and containers may hide it"
    )]
    NoTracefs(io::Error),
    #[error(
        "the kernel is locked down and refuses to trace; `cat /sys/kernel/security/lockdown` shows \
         the mode, and Secure Boot turns it on"
    )]
    LockedDown,
    #[error(
        "the kernel's tracer numbers threads as the host does, and this container has numbers of \
         its own (a PID namespace), so its threads would not be found; run flushmark on the host, \
         or in a container with the host's processes (`podman run --pid=host`)"
    )]
    OwnNumbers,
    #[error("{doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("the tracepoint {0}: {1}")]
    Format(String, FormatError),
    #[error(transparent)]
    Page(#[from] PageError),
}

impl TraceError {
    pub fn blame(&self) -> Blame {
        match self {
            TraceError::NotRoot | TraceError::OwnNumbers => Blame::Usage,
            _ => Blame::System,
        }
    }
}

/// tracefs where it is mounted, or a mount of it that only this process sees.
#[derive(Debug)]
pub(crate) struct Tracefs {
    root: PathBuf,
    _mount: Option<OwnedFd>,
}

const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The time after which an instance that is still in use is left alone.
const REMOVAL: Duration = Duration::from_secs(2);
/// Begins the names of our instances; the number of the process follows.
const PREFIX: &str = "flushmark-";

impl Tracefs {
    pub fn open() -> Result<Tracefs, TraceError> {
        if !rustix::process::geteuid().is_root()
            && !MOUNTED.iter().any(|path| is_writable(&Path::new(path).join("instances")))
        {
            return Err(TraceError::NotRoot);
        }
        if numbering::is_own() {
            return Err(TraceError::OwnNumbers);
        }
        for path in MOUNTED {
            if Path::new(path).join("instances").is_dir() {
                return Ok(Tracefs { root: path.into(), _mount: None });
            }
        }
        let mount = mount_privately().map_err(|error| TraceError::NoTracefs(error.into()))?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        Ok(Tracefs { root, _mount: Some(mount) })
    }

    /// Removes instances of processes that were killed.
    pub fn remove_abandoned(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("instances")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            let owner = owner.and_then(|name| name.split('-').next()?.parse::<u32>().ok());
            if owner.is_some_and(|owner| !is_flushmark(owner)) {
                // Another process may remove it at the same time.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// The name of a thread that was recorded lately and may have ended.
    pub fn command(&self, thread: u32) -> Option<String> {
        let names = fs::read(self.root.join("saved_cmdlines")).ok()?;
        let names = String::from_utf8_lossy(&names);
        let of_thread = |line: &str| {
            let (number, name) = line.split_once(' ')?;
            (number.parse() == Ok(thread)).then(|| name.to_owned())
        };
        names.lines().find_map(of_thread)
    }

    /// The number of CPUs, each of which has a buffer in each instance.
    pub fn cpus(&self) -> u32 {
        fs::read_dir(self.root.join("per_cpu")).map_or(1, |cpus| cpus.count() as u32)
    }

    /// Creates an instance of this name and this size for each CPU.
    pub fn instance(&self, name: &str, kib_per_cpu: u32) -> Result<Instance, TraceError> {
        let process = std::process::id();
        let path = self.root.join("instances").join(format!("{PREFIX}{process}-{name}"));
        fs::create_dir(&path).map_err(|source| match source.raw_os_error() {
            Some(code) if code == rustix::io::Errno::PERM.raw_os_error() => TraceError::LockedDown,
            _ => TraceError::Io { doing: "creating", path: path.clone(), source },
        })?;
        let instance = Instance {
            path,
            bytes_per_cpu: kib_per_cpu as usize * 1024,
            readers: Vec::new(),
            decoders: Decoders::default(),
            page: Vec::new(),
        };
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &kib_per_cpu.to_string())?;
        Ok(instance)
    }
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

fn is_flushmark(process: u32) -> bool {
    let command = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    command.starts_with("flushmark")
}

fn mount_privately() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    rustix::mount::fsmount(&context, flags, MountAttrFlags::empty())
}

/// A tracer of our own, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    path: PathBuf,
    bytes_per_cpu: usize,
    /// One for each CPU.
    readers: Vec<File>,
    decoders: Decoders,
    page: Vec<u8>,
}

impl Instance {
    fn write(&self, file: &str, text: &str) -> Result<(), TraceError> {
        let path = self.path.join(file);
        fs::write(&path, text).map_err(|source| match source.kind() {
            ErrorKind::PermissionDenied => TraceError::LockedDown,
            _ => TraceError::Io { doing: "writing", path, source },
        })
    }

    /// Records a tracepoint if `filter` (in the kernel's language) accepts it. Returns false if
    /// this kernel lacks it.
    pub fn enable(&mut self, tracepoint: Tracepoint, filter: &str) -> Result<bool, TraceError> {
        let directory = format!("events/{}", tracepoint.path());
        let format = match fs::read_to_string(self.path.join(&directory).join("format")) {
            Ok(format) => format,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(source) => {
                let path = self.path.join(directory);
                return Err(TraceError::Io { doing: "reading", path, source });
            }
        };
        self.decoders
            .add(tracepoint, &format)
            .map_err(|error| TraceError::Format(tracepoint.path(), error))?;
        if !filter.is_empty() {
            self.filter(tracepoint, filter)?;
        }
        self.write(&format!("{directory}/enable"), "1")?;
        Ok(true)
    }

    /// Returns whether this kernel counts events in histograms.
    pub fn has_histograms(&self, tracepoint: Tracepoint) -> bool {
        self.path.join(format!("events/{}/hist", tracepoint.path())).exists()
    }

    /// Lets the kernel count an event by thread; from zero, even if it counts already. The event
    /// itself is not recorded. Does nothing if this kernel lacks it.
    pub fn count(&self, tracepoint: Tracepoint, threads_max: usize) -> Result<(), TraceError> {
        if !self.has_histograms(tracepoint) {
            return Ok(());
        }
        let condition = match tracepoint.condition() {
            "" => String::new(),
            condition => format!(" if {condition}"),
        };
        // Opening the file truncates it, which removes a histogram that is there.
        self.write(
            &format!("events/{}/trigger", tracepoint.path()),
            &format!("hist:keys=common_pid.execname:size={threads_max}{condition}"),
        )
    }

    /// The text of a histogram; `None` if this kernel lacks the event.
    pub fn counted(&self, tracepoint: Tracepoint) -> Result<Option<String>, TraceError> {
        let path = self.path.join(format!("events/{}/hist", tracepoint.path()));
        match fs::read(&path) {
            Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TraceError::Io { doing: "reading", path, source }),
        }
    }

    /// Lets those records of a tracepoint pass that `filter` accepts.
    pub fn filter(&self, tracepoint: Tracepoint, filter: &str) -> Result<(), TraceError> {
        self.write(&format!("events/{}/filter", tracepoint.path()), filter)
    }

    /// Makes [`read`](Instance::read) possible.
    pub fn open_readers(&mut self) -> Result<(), TraceError> {
        let cpus = self.path.join("per_cpu");
        let failed = |path: &Path, source| TraceError::Io {
            doing: "reading",
            path: path.to_owned(),
            source,
        };
        for entry in fs::read_dir(&cpus).map_err(|source| failed(&cpus, source))?.flatten() {
            let path = entry.path().join("trace_pipe_raw");
            let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
            let reader = File::options().read(true).custom_flags(nonblocking).open(&path);
            self.readers.push(reader.map_err(|source| failed(&path, source))?);
        }
        let kib = fs::read_to_string(self.path.join("buffer_subbuf_size_kb")).ok();
        let kib = kib.and_then(|kib| kib.trim().parse::<usize>().ok());
        self.page = vec![0; kib.map_or_else(rustix::param::page_size, |kib| kib * 1024)];
        Ok(())
    }

    pub fn switch_on(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "1")
    }

    pub fn stop(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "0")
    }

    /// Passes on all pages that the kernel has at the beginning, and some of those that it fills in
    /// the meantime: on a busy machine, it may fill them faster than they are read. Pages of one CPU
    /// come in the order of time.
    pub fn read(
        &mut self,
        mut each: impl FnMut(&Decoders, &[u8]) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        // Each page has a header, and one more page is being read.
        let pages_max = self.bytes_per_cpu.div_ceil(self.page.len().saturating_sub(64).max(1)) + 2;
        let cpus = self.path.join("per_cpu");
        for reader in &mut self.readers {
            let each = |page: &[u8]| each(&self.decoders, page);
            pages(reader, &cpus, &mut self.page, pages_max, each)?;
        }
        Ok(())
    }
}

/// Passes on the pages that are there, up to this number.
fn pages(
    reader: &mut impl io::Read,
    path: &Path,
    page: &mut [u8],
    pages_max: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    for _ in 0..pages_max {
        match reader.read(page) {
            Ok(0) => break,
            Ok(length) => each(&page[..length])?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(TraceError::Io { doing: "reading", path: path.to_owned(), source });
            }
        }
    }
    Ok(())
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The kernel keeps an instance that is being read.
        self.readers.clear();
        let _ = self.write("tracing_on", "0");
        // A process that was just started closes its copies of the readers only after its parent
        // has gone on.
        let begun = Instant::now();
        while let Err(error) = fs::remove_dir(&self.path)
            && error.kind() == ErrorKind::ResourceBusy
            && begun.elapsed() < REMOVAL
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_fills_faster_than_it_is_read_is_left_at_some_time() {
        let mut read = 0;
        let count = |page: &[u8]| {
            read += page.len();
            Ok(())
        };
        pages(&mut io::repeat(1), Path::new("endless"), &mut [0; 8], 5, count).unwrap();
        assert_eq!(read, 40);
    }

    #[test]
    fn pages_are_read_to_the_last_one() {
        let mut read = Vec::new();
        let keep = |page: &[u8]| {
            read.extend_from_slice(page);
            Ok(())
        };
        pages(&mut &b"0123456789"[..], Path::new("short"), &mut [0; 4], 5, keep).unwrap();
        assert_eq!(read, b"0123456789");
    }
}
