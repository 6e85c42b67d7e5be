//! From an access to a connected handle, or a reason.

use std::ffi::{CStr, CString, c_char};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use crate::access::{Access, EarlyArguments};
use crate::cluster::ClusterHandle;
use crate::error::{ConnectError, errno_of};
use crate::library::{Handle, Rados};
use crate::time_limit;

/// The library gives up by itself. Some versions repeat the attempt, or wait for a name server
/// first, so this thread stops waiting a little later.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// Longest value of an option that is read.
const OPTION_BYTES_MAX: usize = 4096;

/// Connects, in at most `connect_timeout` and a few seconds.
pub(crate) fn connect(access: &Access) -> Result<ClusterHandle, ConnectError> {
    let rados = Rados::get()?;
    let environment = std::env::var("CEPH_ARGS").unwrap_or_default();
    let early = EarlyArguments::parse(&environment);
    let cluster_name = access.cluster_name.clone().or(early.cluster_name);
    let cluster_name = cluster_name.unwrap_or_else(|| "ceph".to_owned());
    let id = access.id.clone().or(early.id).unwrap_or_else(|| "admin".to_owned());
    let user = if id.starts_with("client.") { id } else { format!("client.{id}") };

    let handle = Unconnected::create(rados, &cluster_name, &user)?;
    // Errors are returned; the library's own lines on stderr would come between ours. Options that
    // are set by call override the configuration file.
    for option in ["log_to_stderr", "err_to_stderr"] {
        handle.set(option, "false")?;
    }
    let defaults = Limits::options(access).map(|(option, _)| handle.get(option));
    let conf = access.conf.clone().or(early.conf);
    let conf_found = handle.read_conf(conf.as_deref())?;
    handle.parse_environment()?;
    for (name, value) in &access.options {
        handle.set(name, value)?;
    }
    if let Some(keyring) = &access.keyring {
        let keyring = keyring.to_str().ok_or_else(|| ConnectError::InvalidOption {
            name: "keyring".to_owned(),
            value: keyring.to_string_lossy().into_owned(),
        })?;
        handle.set("keyring", keyring)?;
    }
    let limits = Limits::set(&handle, access, &defaults)?;
    if let Some(rbd_cache) = access.rbd_cache {
        handle.set("rbd_cache", if rbd_cache { "true" } else { "false" })?;
    }
    let monitors = handle.get("mon_host");
    let conf = conf_label(conf.as_deref(), &cluster_name);
    if !conf_found && monitors.is_empty() {
        return Err(ConnectError::NoConf { searched: conf });
    }
    let searched = handle.get("keyring");
    let methods = handle.get("auth_client_required");
    let has_key_option = ["key", "keyfile"].iter().any(|option| !handle.get(option).is_empty());
    let limit = limits.connect;
    let context = Context { user, conf, monitors, searched, methods, has_key_option, limit };
    let handle = connect_in_time(handle, context)?;
    Ok(ClusterHandle::new(rados, handle.into_raw(), [limits.monitor, limits.osd]))
}

/// The time limits of a connection.
struct Limits {
    connect: Duration,
    monitor: Duration,
    osd: Duration,
}

impl Limits {
    /// The options, and how long to wait where the configuration says nothing.
    fn options(access: &Access) -> [(&'static str, Duration); 3] {
        [
            ("client_mount_timeout", access.connect_timeout),
            ("rados_mon_op_timeout", access.monitor_timeout),
            ("rados_osd_op_timeout", access.osd_timeout),
        ]
    }

    /// Sets those that the configuration has left at Ceph's defaults.
    fn set(
        handle: &Unconnected,
        access: &Access,
        defaults: &[String; 3],
    ) -> Result<Limits, ConnectError> {
        let mut limits = [Duration::ZERO; 3];
        let options = Limits::options(access).into_iter().zip(defaults);
        for (limit, ((option, otherwise), default)) in limits.iter_mut().zip(options) {
            let configured = configured(&handle.get(option), default);
            if configured.is_none() {
                handle.set(option, &whole_seconds(otherwise).as_secs().to_string())?;
            }
            *limit = configured.unwrap_or(whole_seconds(otherwise));
        }
        let [connect, monitor, osd] = limits;
        Ok(Limits { connect, monitor, osd })
    }
}

/// The limit that a configuration sets. None at all would let a command wait for ever.
fn configured(value: &str, default: &str) -> Option<Duration> {
    // Some releases show the unit of durations.
    let seconds: f64 = value.trim_end_matches('s').parse().ok()?;
    let limit = Duration::try_from_secs_f64(seconds).ok()?;
    (value != default && !limit.is_zero()).then_some(limit)
}

/// The facts that error messages quote.
#[derive(Clone)]
struct Context {
    user: String,
    /// The configuration file, or where it was searched.
    conf: String,
    monitors: String,
    /// Paths of keyrings.
    searched: String,
    /// `auth_client_required`.
    methods: String,
    /// True if the key is given by an option (`key`, `keyfile`) instead of a keyring.
    has_key_option: bool,
    limit: Duration,
}

impl Context {
    /// The reason for an error of `rados_connect`, by which numbers it returned in tests.
    fn reason(self, errno: Errno) -> ConnectError {
        let no_key = !self.has_key_option && !has_section(&self.searched, &self.user);
        let Context { user, conf, monitors, searched, methods, limit, .. } = self;
        match errno {
            Errno::TIMEDOUT => ConnectError::Unreachable { monitors, limit },
            Errno::NOENT if monitors.is_empty() => ConnectError::NoMonitors { conf },
            Errno::NOENT => ConnectError::NoKey { user, searched },
            Errno::INVAL if !monitors.is_empty() => ConnectError::InvalidMonitors { monitors },
            Errno::ACCESS | Errno::PERM if !methods.contains("cephx") => {
                ConnectError::NoCommonAuthentication
            }
            // Without a key, librados tries the other methods first.
            Errno::ACCESS | Errno::PERM if no_key => ConnectError::NoKey { user, searched },
            Errno::ACCESS | Errno::PERM => ConnectError::Rejected { user, searched },
            Errno::IO => ConnectError::InvalidKeyring { user, searched },
            Errno::OPNOTSUPP => ConnectError::NoCommonAuthentication,
            errno => ConnectError::Call { action: "rados_connect", errno },
        }
    }
}

/// Returns whether one of these keyrings has a section for a user.
fn has_section(searched: &str, user: &str) -> bool {
    let section = format!("[{user}]");
    searched.split(',').any(|path| {
        std::fs::read_to_string(path.trim()).is_ok_and(|keyring| keyring.contains(&section))
    })
}

/// Ceph's timeouts are whole seconds, and 0 is none.
fn whole_seconds(limit: Duration) -> Duration {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    Duration::from_secs(seconds.max(1))
}

/// Connects, or gives up. A connection that succeeds later is closed.
fn connect_in_time(handle: Unconnected, context: Context) -> Result<Unconnected, ConnectError> {
    let (limit, at_limit) = (context.limit, context.clone());
    let connected = time_limit::within(limit + GRACE, move || {
        check_hosts(&context.monitors)?;
        let silence = context.monitors.is_empty().then(SilentStderr::begin);
        let connected = handle.connect();
        drop(silence);
        connected.map_err(|errno| context.reason(errno))?;
        Ok(handle)
    });
    connected.unwrap_or_else(|| Err(at_limit.reason(Errno::TIMEDOUT)))
}

/// Discards what is written to stderr until it is dropped.
///
/// Without `mon host`, librados asks the name server for a service `ceph-mon`, and prints to stderr
/// whatever its options say if there is none. Other threads are silenced as well, so this is used
/// in that case only, which is over in a moment.
struct SilentStderr {
    /// `None` if it could not be replaced.
    stderr: Option<OwnedFd>,
}

impl SilentStderr {
    fn begin() -> SilentStderr {
        let replaced = || {
            let stderr = std::io::stderr().as_fd().try_clone_to_owned().ok()?;
            let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null").ok()?;
            rustix::stdio::dup2_stderr(nowhere).ok()?;
            Some(stderr)
        };
        SilentStderr { stderr: replaced() }
    }
}

impl Drop for SilentStderr {
    fn drop(&mut self) {
        if let Some(stderr) = &self.stderr {
            // Cannot fail: both are open.
            let _ = rustix::stdio::dup2_stderr(stderr);
        }
    }
}

/// Resolves the names in `mon_host`, because librados prints to stderr if it cannot.
fn check_hosts(monitors: &str) -> Result<(), ConnectError> {
    for host in host_names(monitors) {
        if let Err(error) = (host, 0).to_socket_addrs() {
            let reason = error.to_string();
            // glibc's text stands after the name of the call.
            let reason = reason.rsplit(": ").next().unwrap_or_default().to_lowercase();
            return Err(ConnectError::UnknownHost { host: host.to_owned(), reason });
        }
    }
    Ok(())
}

/// Returns what is a name and not an address in a `mon_host` such as
/// `[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] b.example:6789`.
fn host_names(monitors: &str) -> impl Iterator<Item = &str> {
    let entries = monitors.split(|separator: char| ",; \t".contains(separator));
    entries.filter_map(|entry| {
        let entry = entry.trim_start_matches('[').trim_end_matches(']');
        let entry = ["v1:", "v2:", "any:"]
            .iter()
            .find_map(|protocol| entry.strip_prefix(protocol))
            .unwrap_or(entry);
        let entry = entry.split('/').next().unwrap_or_default();
        let host = entry.rsplit_once(':').map_or(entry, |(host, _port)| host);
        let is_address = entry.is_empty()
            || entry.parse::<IpAddr>().is_ok()
            || entry.parse::<SocketAddr>().is_ok()
            || host.parse::<IpAddr>().is_ok();
        (!is_address).then_some(host)
    })
}

fn conf_label(conf: Option<&Path>, cluster_name: &str) -> String {
    if let Some(conf) = conf {
        return conf.to_string_lossy().into_owned();
    }
    match std::env::var("CEPH_CONF") {
        Ok(conf) if !conf.is_empty() => format!("CEPH_CONF={conf}"),
        _ => format!("/etc/ceph/{cluster_name}.conf, ~/.ceph/{cluster_name}.conf"),
    }
}

fn c_string(text: &[u8]) -> Result<CString, ConnectError> {
    CString::new(text).map_err(|_| ConnectError::ZeroByte {
        text: String::from_utf8_lossy(text).replace('\0', "\\0"),
    })
}

/// A handle that is shut down when dropped.
struct Unconnected {
    rados: &'static Rados,
    raw: Handle,
}

// SAFETY: librados's handles belong to no thread.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Send for Unconnected {}

#[expect(unsafe_code, reason = "calls the library")]
impl Unconnected {
    fn create(
        rados: &'static Rados,
        cluster_name: &str,
        user: &str,
    ) -> Result<Unconnected, ConnectError> {
        let (name, user) = (c_string(cluster_name.as_bytes())?, c_string(user.as_bytes())?);
        let mut raw = std::ptr::null_mut();
        // SAFETY: Two C strings, and a place for the handle.
        let result = unsafe {
            (rados.functions.rados_create2)(&raw mut raw, name.as_ptr(), user.as_ptr(), 0)
        };
        called("rados_create2", result)?;
        Ok(Unconnected { rados, raw })
    }

    fn set(&self, name: &str, value: &str) -> Result<(), ConnectError> {
        let (c_name, c_value) = (c_string(name.as_bytes())?, c_string(value.as_bytes())?);
        // SAFETY: A live handle and two C strings.
        let result = unsafe {
            (self.rados.functions.rados_conf_set)(self.raw, c_name.as_ptr(), c_value.as_ptr())
        };
        match result {
            0.. => Ok(()),
            error if errno_of(error as isize) == Errno::NOENT => {
                Err(ConnectError::UnknownOption { name: name.to_owned() })
            }
            _ => {
                Err(ConnectError::InvalidOption { name: name.to_owned(), value: value.to_owned() })
            }
        }
    }

    /// Returns the value of an option; empty if there is none.
    fn get(&self, name: &str) -> String {
        let Ok(name) = c_string(name.as_bytes()) else { return String::new() };
        let mut value = vec![0_u8; OPTION_BYTES_MAX];
        // SAFETY: A live handle, a C string, and a buffer of the stated length.
        let result = unsafe {
            let place = value.as_mut_ptr().cast::<c_char>();
            (self.rados.functions.rados_conf_get)(self.raw, name.as_ptr(), place, value.len())
        };
        let value = CStr::from_bytes_until_nul(&value).unwrap_or_default();
        if result < 0 { String::new() } else { value.to_string_lossy().trim().to_owned() }
    }

    /// Returns whether there is a configuration file. A file that was named has to exist.
    fn read_conf(&self, named: Option<&Path>) -> Result<bool, ConnectError> {
        let path = match named {
            Some(path) => {
                let unreadable = |reason: String| ConnectError::UnreadableConf {
                    path: PathBuf::from(path),
                    reason,
                };
                // The library reports each of these as missing.
                let metadata = std::fs::File::open(path).and_then(|file| file.metadata());
                let metadata = metadata.map_err(|error| {
                    let text = error.to_string();
                    unreadable(text.split(" (os").next().unwrap_or_default().to_lowercase())
                })?;
                if metadata.is_dir() {
                    return Err(unreadable("is a directory".to_owned()));
                }
                Some(c_string(path.as_os_str().as_bytes())?)
            }
            None => None,
        };
        let pointer = path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
        // SAFETY: A live handle, and a C string or null.
        let result = unsafe { (self.rados.functions.rados_conf_read_file)(self.raw, pointer) };
        match result {
            0.. => Ok(true),
            error if errno_of(error as isize) == Errno::NOENT => Ok(false),
            _ => {
                let path = conf_label(named, "ceph");
                Err(ConnectError::InvalidConf { path })
            }
        }
    }

    /// Reads the options in CEPH_ARGS.
    fn parse_environment(&self) -> Result<(), ConnectError> {
        // SAFETY: A live handle; null is the usual variable.
        let result =
            unsafe { (self.rados.functions.rados_conf_parse_env)(self.raw, std::ptr::null()) };
        called("rados_conf_parse_env", result)
    }

    fn connect(&self) -> Result<(), Errno> {
        // SAFETY: A live handle that is not connected.
        let result = unsafe { (self.rados.functions.rados_connect)(self.raw) };
        if result < 0 { Err(errno_of(result as isize)) } else { Ok(()) }
    }

    fn into_raw(self) -> Handle {
        std::mem::ManuallyDrop::new(self).raw
    }
}

#[expect(unsafe_code, reason = "calls the library")]
impl Drop for Unconnected {
    fn drop(&mut self) {
        // SAFETY: The handle is live and used by nobody else. Shutting down one that never
        // connected releases it.
        unsafe { (self.rados.functions.rados_shutdown)(self.raw) };
    }
}

fn called(action: &'static str, result: i32) -> Result<(), ConnectError> {
    if result < 0 {
        return Err(ConnectError::Call { action, errno: errno_of(result as isize) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_monitors_are_told_from_addresses() {
        let names = |monitors| host_names(monitors).collect::<Vec<_>>();
        assert_eq!(names("[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] 10.0.0.2"), [""; 0]);
        assert_eq!(names("a.example, b:6789;v2:c:3300"), ["a.example", "b", "c"]);
        assert_eq!(names("[2001:db8::1] [v2:[fe80::a:1]:3300/0] fd00::b"), [""; 0]);
        assert_eq!(names("!! 10.0.0.1:99999 999.0.0.1"), ["!!", "999.0.0.1"]);
        assert_eq!(names(""), [""; 0]);
    }

    #[test]
    fn limits_of_the_configuration_win() {
        assert_eq!(configured("5", "300"), Some(Duration::from_secs(5)));
        assert_eq!(configured("5s", "300s"), Some(Duration::from_secs(5)));
        assert_eq!(configured("2.5", "0"), Some(Duration::from_millis(2500)));
        assert_eq!(configured("300", "300"), None);
        for no_limit in ["0", "0.0", "-1", "", "never"] {
            assert_eq!(configured(no_limit, "300"), None, "{no_limit}");
        }
    }

    #[test]
    fn limits_are_whole_seconds_and_never_none() {
        let seconds = |millis| whole_seconds(Duration::from_millis(millis)).as_secs();
        assert_eq!([0, 1, 1000, 1001].map(seconds), [1, 1, 1, 2]);
    }
}
