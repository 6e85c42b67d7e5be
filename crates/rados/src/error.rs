//! The errors that can occur between this host and a cluster.

use std::path::PathBuf;
use std::time::Duration;

use blame::Blame;
use rustix::io::Errno;
use unseen::escaped;

use crate::library::LoadError;

/// Longest part of a cluster's message that is shown.
const MESSAGE_CHARACTERS_MAX: usize = 300;

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Library(#[from] LoadError),
    /// None of the usual places has a configuration file, and no monitor is named otherwise.
    #[error(
        "no Ceph configuration file found (searched {searched}): name the file, or set CEPH_CONF"
    )]
    NoConf { searched: String },
    #[error("cannot read the Ceph configuration file {}: {reason}", shown(path))]
    UnreadableConf { path: PathBuf, reason: String },
    #[error(
        "the Ceph configuration file {} is invalid: expected sections such as [global], and lines \
         `name = value`",
        escaped(path)
    )]
    InvalidConf { path: String },
    #[error(
        "the Ceph configuration {} names no monitor: expected `mon host = ADDRESS` in its section \
         [global]",
        escaped(conf)
    )]
    NoMonitors { conf: String },
    #[error(
        "the monitor `{}` has no address ({reason}): correct `mon host` in the Ceph configuration",
        escaped(host)
    )]
    UnknownHost { host: String, reason: String },
    #[error(
        "the monitors `{}` are invalid: expected ADDRESS, or [v2:ADDRESS:PORT,v1:ADDRESS:PORT], in \
         `mon host` of the Ceph configuration",
        escaped(monitors)
    )]
    InvalidMonitors { monitors: String },
    #[error(
        "the monitors {} do not respond within {} s: check that they are up and that this host \
         reaches them", escaped(monitors), limit.as_secs()
    )]
    Unreachable { monitors: String, limit: Duration },
    #[error(
        "no key for {} found (searched {}): expected a keyring with a section [{}]; name the file, \
         or another user",
        escaped(user),
        escaped(searched),
        escaped(user)
    )]
    NoKey { user: String, searched: String },
    #[error(
        "the keyring {} is invalid: expected a section [{}] with a line `key = KEY`",
        escaped(searched),
        escaped(user)
    )]
    InvalidKeyring { user: String, searched: String },
    #[error(
        "the cluster rejects {}: its key (searched {}) is not the one that the monitors know; \
         compare it with `ceph auth get {}`",
        escaped(user),
        escaped(searched),
        escaped(user)
    )]
    Rejected { user: String, searched: String },
    #[error(
        "the cluster and this host have no authentication method in common: compare \
         `auth client required` in the Ceph configuration with that of the monitors"
    )]
    NoCommonAuthentication,
    #[error("invalid Ceph option `{}`: unknown name", escaped(name))]
    UnknownOption { name: String },
    #[error("invalid value `{}` of the Ceph option `{}`", escaped(value), escaped(name))]
    InvalidOption { name: String, value: String },
    /// A name or a path that cannot be passed to a C library.
    #[error("`{}` contains a zero byte", escaped(text))]
    ZeroByte { text: String },
    #[error("cannot connect to the Ceph cluster: {action} failed ({})", plain(*errno))]
    Call { action: &'static str, errno: Errno },
}

impl ConnectError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            ConnectError::Library(error) => error.blame(),
            ConnectError::Unreachable { .. } | ConnectError::Call { .. } => Blame::System,
            _ => Blame::Usage,
        }
    }
}

/// Any of this crate's errors, for those who only report it.
#[derive(Debug, thiserror::Error)]
pub enum RadosError {
    #[error(transparent)]
    Library(#[from] LoadError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Op(#[from] OpError),
}

impl RadosError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            RadosError::Library(error) => error.blame(),
            RadosError::Connect(error) => error.blame(),
            RadosError::Command(error) => error.blame(),
            RadosError::Pool(error) => error.blame(),
            RadosError::Image(error) => error.blame(),
            RadosError::Name(_) => Blame::Usage,
            RadosError::Op(error) => error.blame(),
        }
    }
}

/// Why a command to a part of the cluster failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", command_failure(self))]
pub struct CommandError {
    /// `the monitor`, `the manager` or `osd.N`.
    pub target: String,
    /// The command's JSON.
    pub command: String,
    pub errno: Errno,
    /// The cluster's text, which can be empty.
    pub status: String,
}

impl CommandError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        Blame::System
    }
}

/// Why a pool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the cluster has no pool `{}`: `ceph osd pool ls` lists them", escaped(.0))]
    Missing(String),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("cannot open the pool `{}` ({})", escaped(name), plain(*errno))]
    Call { name: String, errno: Errno },
}

impl PoolError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            PoolError::Missing(_) | PoolError::Name(_) => Blame::Usage,
            PoolError::Call { .. } => Blame::System,
        }
    }
}

/// Why an image cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    Library(#[from] LoadError),
    #[error("the pool has no image `{}`: `rbd ls POOL` lists them", escaped(.0))]
    Missing(String),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("cannot open the image `{}` ({})", escaped(name), plain(*errno))]
    Call { name: String, errno: Errno },
}

impl ImageError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            ImageError::Library(error) => error.blame(),
            ImageError::Missing(_) | ImageError::Name(_) => Blame::Usage,
            ImageError::Call { .. } => Blame::System,
        }
    }
}

/// Why a name cannot be that of a pool, an object, a namespace or an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("invalid {kind}: expected at least one character")]
    Empty { kind: &'static str },
    #[error("invalid {kind} `{}`: contains a zero byte", escaped(name))]
    ZeroByte { kind: &'static str, name: String },
}

/// Why an operation on an object or an image failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot {action}: {}", reason(*errno))]
pub struct OpError {
    /// An action and its object, such as `write to the object`.
    pub action: &'static str,
    pub errno: Errno,
}

impl OpError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        Blame::System
    }
}

/// Operations did not end within a multiple of their time limit, which should be impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{in_flight} operations on the Ceph cluster have neither completed nor failed within {} s",
    waited.as_secs()
)]
pub struct Stalled {
    pub in_flight: usize,
    pub waited: Duration,
}

impl Stalled {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        Blame::System
    }
}

fn command_failure(error: &CommandError) -> String {
    let CommandError { target, command, errno, status } = error;
    let command = escaped(command);
    if *errno == Errno::TIMEDOUT {
        return format!("{target} has not answered the command `{command}` within the time limit");
    }
    format!("{target} rejects the command `{command}` ({}){}", plain(*errno), said(status))
}

/// The error in a library's result.
pub(crate) fn errno_of(result: isize) -> Errno {
    Errno::from_raw_os_error(i32::try_from(result.unsigned_abs()).unwrap_or(i32::MAX))
}

/// The meaning of the error of an operation on an object or image, as the end of a sentence. Some
/// numbers have another meaning in Ceph than elsewhere.
pub fn reason(errno: Errno) -> String {
    match errno {
        Errno::TIMEDOUT => "no OSD has answered within the time limit; `ceph -s` shows whether \
                            OSDs are down or the cluster is full"
            .to_owned(),
        Errno::SHUTDOWN => "the cluster has blocklisted this client; `ceph osd blocklist ls` \
                            shows until when"
            .to_owned(),
        Errno::NOENT => "it does not exist (or its pool was deleted)".to_owned(),
        Errno::PERM | Errno::ACCESS => "the user's capabilities do not permit it; `ceph auth get \
                                        client.ID` shows them"
            .to_owned(),
        errno => plain(errno),
    }
}

/// The system's message without Rust's error number suffix.
pub(crate) fn plain(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

fn shown(path: &std::path::Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

fn said(message: &str) -> String {
    let message = message.trim();
    if message.is_empty() {
        return String::new();
    }
    let message: String = message.chars().take(MESSAGE_CHARACTERS_MAX).collect();
    format!(": {}", escaped(&message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences_and_show_no_invisible_character() {
        let missing = PoolError::Missing("a\u{202e}b".to_owned());
        insta::assert_snapshot!(missing, @r"the cluster has no pool `a\u{202e}b`: `ceph osd pool ls` lists them");
        let command = |status: &str| CommandError {
            target: "osd.3".to_owned(),
            command: r#"{"prefix": "bench"}"#.to_owned(),
            errno: Errno::INVAL,
            status: status.to_owned(),
        };
        insta::assert_snapshot!(command(""), @r#"osd.3 rejects the command `{"prefix": "bench"}` (invalid argument)"#);
        insta::assert_snapshot!(command("count too large\n"), @r#"osd.3 rejects the command `{"prefix": "bench"}` (invalid argument): count too large"#);
        assert!(command(&"x".repeat(4096)).to_string().len() < 400);
        let write = |errno| OpError { action: "write to the object", errno };
        insta::assert_snapshot!(write(Errno::TIMEDOUT), @"cannot write to the object: no OSD has answered within the time limit; `ceph -s` shows whether OSDs are down or the cluster is full");
        insta::assert_snapshot!(write(Errno::SHUTDOWN), @"cannot write to the object: the cluster has blocklisted this client; `ceph osd blocklist ls` shows until when");
        insta::assert_snapshot!(write(Errno::NOSPC), @"cannot write to the object: no space left on device");
        insta::assert_snapshot!(Stalled { in_flight: 3, waited: Duration::from_mins(1) }, @"3 operations on the Ceph cluster have neither completed nor failed within 60 s");
    }

    #[test]
    fn what_the_user_can_correct_is_the_users_to_correct() {
        let no_conf = ConnectError::NoConf { searched: String::new() };
        assert_eq!(no_conf.blame(), Blame::Usage);
        let unreachable =
            ConnectError::Unreachable { monitors: String::new(), limit: Duration::ZERO };
        assert_eq!(unreachable.blame(), Blame::System);
        assert_eq!(PoolError::Missing(String::new()).blame(), Blame::Usage);
    }
}
