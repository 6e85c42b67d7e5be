//! A connection to a cluster, and commands to its monitors, manager and OSDs.

use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use crate::access::Access;
use crate::connecting;
use crate::error::{CommandError, ConnectError, OpError, PoolError, errno_of};
use crate::library::{Handle, Rados};
use crate::pool::Pool;
use crate::time_limit;

/// A UUID in text and its zero byte, with some room.
const FSID_BYTES_MAX: usize = 64;

/// A connection to a cluster. One per process is enough: it serves all threads.
///
/// The connection is closed when this, and every pool and image made from it, is dropped. Closing
/// waits for operations in flight, so for up to the time limit of an operation.
#[derive(Debug, Clone)]
pub struct Cluster {
    handle: Arc<ClusterHandle>,
}

/// A `rados_t` that is connected.
#[derive(Debug)]
pub(crate) struct ClusterHandle {
    rados: &'static Rados,
    raw: Handle,
    monitor_timeout: Duration,
    osd_timeout: Duration,
}

// SAFETY: librados documents its cluster handles as thread-safe, and they belong to no thread.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Send for ClusterHandle {}
// SAFETY: As above.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Sync for ClusterHandle {}

impl ClusterHandle {
    pub(crate) fn new(
        rados: &'static Rados,
        raw: Handle,
        [monitor_timeout, osd_timeout]: [Duration; 2],
    ) -> ClusterHandle {
        ClusterHandle { rados, raw, monitor_timeout, osd_timeout }
    }

    pub(crate) fn rados(&self) -> &'static Rados {
        self.rados
    }

    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    /// The time limit of a command to a monitor.
    pub(crate) fn monitor_timeout(&self) -> Duration {
        self.monitor_timeout
    }

    /// The time limit of an operation on an object.
    pub(crate) fn osd_timeout(&self) -> Duration {
        self.osd_timeout
    }

    /// The number by which monitors and OSDs know this client.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn instance_id(&self) -> u64 {
        // SAFETY: A live, connected handle.
        unsafe { (self.rados.functions.rados_get_instance_id)(self.raw) }
    }
}

#[expect(unsafe_code, reason = "calls the library")]
impl Drop for ClusterHandle {
    fn drop(&mut self) {
        // `rados_shutdown` can block, and deadlocks if it is called from a completion's callback:
        // it waits for the thread that runs them. The callbacks of this crate own no handle, so
        // this is one of the caller's threads. Pools and images own a reference and have flushed
        // what was in flight on them.
        // SAFETY: The handle is live, and nobody else has a reference to it.
        unsafe { (self.rados.functions.rados_shutdown)(self.raw) };
    }
}

/// The recipient of a command; the library has a function for each.
enum Recipient<'a> {
    /// All of them, together.
    Monitors,
    Monitor(&'a str),
    Manager,
    Osd(u32),
}

impl Cluster {
    /// Connects to a cluster, in at most the access's time limit and a few seconds.
    pub fn connect(access: &Access) -> Result<Cluster, ConnectError> {
        Ok(Cluster { handle: Arc::new(connecting::connect(access)?) })
    }

    /// Returns the cluster's own identifier, a UUID.
    #[expect(unsafe_code, reason = "calls the library")]
    pub fn fsid(&self) -> Result<String, OpError> {
        let mut text = [0_u8; FSID_BYTES_MAX];
        // SAFETY: A live handle, and a buffer of the stated length.
        let result = unsafe {
            let place = text.as_mut_ptr().cast::<c_char>();
            (self.handle.rados.functions.rados_cluster_fsid)(self.handle.raw, place, text.len())
        };
        if result < 0 {
            let action = "read the cluster's identifier";
            return Err(OpError { action, errno: errno_of(result as isize) });
        }
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// Returns the number by which monitors and OSDs know this client.
    pub fn instance_id(&self) -> u64 {
        self.handle.instance_id()
    }

    /// Sends a command, such as `{"prefix": "osd tree", "format": "json"}`, to the monitors, and
    /// returns its output.
    pub fn monitor_command(&self, json: &str) -> Result<Vec<u8>, CommandError> {
        self.command(&Recipient::Monitors, json)
    }

    /// Sends a command, such as `{"prefix": "config get", "var": "mon_allow_pool_delete"}`, to the
    /// monitor of this name itself, such as `a`, and returns its output.
    pub fn one_monitor_command(&self, name: &str, json: &str) -> Result<Vec<u8>, CommandError> {
        self.command(&Recipient::Monitor(name), json)
    }

    /// Sends a command to the active manager, and returns its output.
    pub fn manager_command(&self, json: &str) -> Result<Vec<u8>, CommandError> {
        self.command(&Recipient::Manager, json)
    }

    /// Sends a command, such as `{"prefix": "perf dump"}`, to an OSD, and returns its output.
    pub fn osd_command(&self, osd: u32, json: &str) -> Result<Vec<u8>, CommandError> {
        self.command(&Recipient::Osd(osd), json)
    }

    /// As [`Cluster::osd_command`], but returns `None` once `give_up` returns true, which is asked
    /// ten times a second. The command is not taken back. The process must end with
    /// [`exit`](crate::exit) then.
    pub fn osd_command_unless(
        &self,
        osd: u32,
        json: &str,
        give_up: impl Fn() -> bool,
    ) -> Option<Result<Vec<u8>, CommandError>> {
        let (cluster, json) = (self.clone(), json.to_owned());
        time_limit::unless(give_up, move || cluster.osd_command(osd, &json))
    }

    /// Opens a pool in its default namespace.
    pub fn pool(&self, name: &str) -> Result<Pool, PoolError> {
        Pool::open(&self.handle, name)
    }

    #[expect(unsafe_code, reason = "calls the library")]
    fn command(&self, recipient: &Recipient<'_>, json: &str) -> Result<Vec<u8>, CommandError> {
        let failed = |errno: Errno, status: &[u8]| CommandError {
            target: match recipient {
                Recipient::Monitors => "the monitor".to_owned(),
                Recipient::Monitor(name) => format!("mon.{name}"),
                Recipient::Manager => "the manager".to_owned(),
                Recipient::Osd(osd) => format!("osd.{osd}"),
            },
            command: json.to_owned(),
            errno,
            status: String::from_utf8_lossy(status).into_owned(),
        };
        let c_string = |text: &str| CString::new(text).map_err(|_| failed(Errno::INVAL, b""));
        let command = c_string(json)?;
        let name = c_string(if let Recipient::Monitor(name) = recipient { name } else { "" })?;
        let commands = [command.as_ptr()];
        let mut output = Answer::new(self.handle.rados);
        let mut status = Answer::new(self.handle.rados);
        let (raw, functions) = (self.handle.raw, &self.handle.rados.functions);
        let (commands, empty) = (commands.as_ptr(), std::ptr::null());
        let (out, out_size) = (&raw mut output.bytes, &raw mut output.count);
        let (text, text_size) = (&raw mut status.bytes, &raw mut status.count);
        // SAFETY: A live handle, C strings, an array of one of them, no input, and four places for
        // the answers, whose memory becomes ours.
        let result = unsafe {
            match *recipient {
                Recipient::Monitors => {
                    let send = functions.rados_mon_command;
                    send(raw, commands, 1, empty, 0, out, out_size, text, text_size)
                }
                Recipient::Monitor(_) => {
                    let (send, name) = (functions.rados_mon_command_target, name.as_ptr());
                    send(raw, name, commands, 1, empty, 0, out, out_size, text, text_size)
                }
                Recipient::Manager => {
                    let send = functions.rados_mgr_command;
                    send(raw, commands, 1, empty, 0, out, out_size, text, text_size)
                }
                Recipient::Osd(osd) => {
                    let send = functions.rados_osd_command;
                    let osd = i32::try_from(osd).unwrap_or(i32::MAX);
                    send(raw, osd, commands, 1, empty, 0, out, out_size, text, text_size)
                }
            }
        };
        if result < 0 {
            return Err(failed(errno_of(result as isize), status.as_slice()));
        }
        Ok(output.as_slice().to_vec())
    }
}

/// Memory that the library allocated.
struct Answer {
    rados: &'static Rados,
    bytes: *mut c_char,
    count: usize,
}

#[expect(unsafe_code, reason = "owns memory of the library")]
impl Answer {
    fn new(rados: &'static Rados) -> Answer {
        Answer { rados, bytes: std::ptr::null_mut(), count: 0 }
    }

    fn as_slice(&self) -> &[u8] {
        if self.bytes.is_null() {
            return &[];
        }
        // SAFETY: The library wrote pointer and length of a block that is freed by `drop`.
        unsafe { std::slice::from_raw_parts(self.bytes.cast(), self.count) }
    }
}

#[expect(unsafe_code, reason = "owns memory of the library")]
impl Drop for Answer {
    fn drop(&mut self) {
        if !self.bytes.is_null() {
            // SAFETY: A block of the library that is not used any more.
            unsafe { (self.rados.functions.rados_buffer_free)(self.bytes) };
        }
    }
}
