//! The access to a cluster, in the terms of Ceph's own tools.

use std::path::PathBuf;
use std::time::Duration;

/// The configuration, identity and time limits for reaching a cluster.
///
/// Fields that are `None` come from the environment variables CEPH_ARGS and CEPH_CONF, then from
/// Ceph's defaults, as with `ceph` and `rados`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `--cluster`: names the default configuration file and keyring. Otherwise `ceph`.
    pub cluster_name: Option<String>,
    /// `--id`: the user without the type `client.`, which is ignored if present. Otherwise `admin`.
    pub id: Option<String>,
    /// `--conf`.
    pub conf: Option<PathBuf>,
    /// `--keyring`.
    pub keyring: Option<PathBuf>,
    /// Ceph options by name, such as `mon_host`, which override the configuration file.
    pub options: Vec<(String, String)>,
    /// Whether librbd caches. Its cache acknowledges writes before they are durable, until the
    /// first flush if `rbd_cache_writethrough_until_flush` is on. `None` leaves the configuration.
    pub rbd_cache: Option<bool>,
    /// Limit of connecting, unless the configuration sets one (`client_mount_timeout`; Ceph's
    /// default is 300 s). Whole seconds, as those below, at least one.
    pub connect_timeout: Duration,
    /// Limit of a command to a monitor or manager, unless the configuration sets one
    /// (`rados_mon_op_timeout`; Ceph's default is none).
    pub monitor_timeout: Duration,
    /// Limit of an operation on an object, unless the configuration sets one
    /// (`rados_osd_op_timeout`; Ceph's default is none). An operation on an image can consist of
    /// several. Below 10 s a client may not notice that an OSD was restarted: only an older
    /// operation (`objecter_timeout`) makes it ask for a new map.
    pub osd_timeout: Duration,
}

impl Default for Access {
    fn default() -> Access {
        Access {
            cluster_name: None,
            id: None,
            conf: None,
            keyring: None,
            options: Vec::new(),
            rbd_cache: None,
            connect_timeout: Duration::from_secs(10),
            monitor_timeout: Duration::from_secs(10),
            osd_timeout: Duration::from_secs(30),
        }
    }
}

/// The arguments that must be known before librados can parse CEPH_ARGS itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyArguments {
    pub(crate) cluster_name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) conf: Option<PathBuf>,
}

impl EarlyArguments {
    /// Reads the value of CEPH_ARGS, which Ceph splits at white space. Of several, the last counts.
    pub(crate) fn parse(arguments: &str) -> EarlyArguments {
        let mut found = EarlyArguments::default();
        let mut words = arguments.split_whitespace();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word, None),
            };
            let mut value = || value.or_else(|| words.next()).map(str::to_owned);
            match name {
                "--cluster" => found.cluster_name = value(),
                "-i" | "--id" | "--user" | "-n" | "--name" => found.id = value(),
                "-c" | "--conf" => found.conf = value().map(PathBuf::from),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environments_arguments_name_user_cluster_and_file() {
        let parsed = EarlyArguments::parse("--id bench -c /a.conf --cluster=backup --mon_host x");
        let expected = EarlyArguments {
            cluster_name: Some("backup".to_owned()),
            id: Some("bench".to_owned()),
            conf: Some(PathBuf::from("/a.conf")),
        };
        assert_eq!(parsed, expected);
        let parsed = EarlyArguments::parse("--name=client.x -k /k -n client.y");
        assert_eq!(parsed.id.as_deref(), Some("client.y"));
        assert_eq!(EarlyArguments::parse(" --id"), EarlyArguments::default());
    }
}
