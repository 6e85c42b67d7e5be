//! The names by which users refer to the target of a run.

use std::fmt;

/// The prefix of a model's name.
const MODEL_SCHEME: &str = "sim:";
/// The prefix of an image of a Ceph cluster.
const IMAGE_SCHEME: &str = "rbd:";
/// The prefix of a pool of a Ceph cluster.
const POOL_SCHEME: &str = "rados:";
/// The target that takes every request at once and stores nothing.
const NULL: &str = "null:";
/// The schemes of NBD exports, before `+TRANSPORT` and `://`; the second is that of TLS.
const EXPORT_SCHEMES: [&str; 2] = ["nbd", "nbds"];

/// A target's name as users write it; its form alone determines the kind of target.
///
/// ```
/// use workload::TargetName;
///
/// assert_eq!(TargetName::parse("sim:samsung-980-1tb"), TargetName::Model("samsung-980-1tb"));
/// assert_eq!(TargetName::parse("null:"), TargetName::Null);
/// assert_eq!(TargetName::parse("nbd://host/disk"), TargetName::Nbd("nbd://host/disk"));
/// assert_eq!(TargetName::parse("/dev/sda"), TargetName::Path("/dev/sda"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetName<'a> {
    /// A directory, a file or a block device; only the filesystem knows which.
    Path(&'a str),
    /// A modelled drive, `sim:MODEL[,KEY=VALUE]...`; what follows `sim:`.
    Model(&'a str),
    /// An NBD export, `nbd://HOST/EXPORT` or `nbd+unix:///EXPORT?socket=PATH`. The address may be
    /// invalid or its transport unsupported.
    Nbd(&'a str),
    /// A block device image of a Ceph cluster, `rbd:POOL[/NAMESPACE]/IMAGE`; what follows `rbd:`.
    Image(&'a str),
    /// A pool of a Ceph cluster, `rados:POOL`, in which tests create their objects; what follows
    /// `rados:`.
    Pool(&'a str),
    /// `null:`, which measures the engine's own overhead.
    Null,
}

impl<'a> TargetName<'a> {
    /// Every text is a name: what has no known scheme is a path.
    pub fn parse(given: &'a str) -> TargetName<'a> {
        if let Some(model) = given.strip_prefix(MODEL_SCHEME) {
            TargetName::Model(model)
        } else if let Some(image) = given.strip_prefix(IMAGE_SCHEME) {
            TargetName::Image(image)
        } else if let Some(pool) = given.strip_prefix(POOL_SCHEME) {
            TargetName::Pool(pool)
        } else if given == NULL {
            TargetName::Null
        } else if has_export_scheme(given) {
            TargetName::Nbd(given)
        } else {
            TargetName::Path(given)
        }
    }
}

fn has_export_scheme(given: &str) -> bool {
    let scheme = given.split_once("://").map_or("", |(scheme, _)| scheme);
    EXPORT_SCHEMES.contains(&scheme.split('+').next().unwrap_or_default())
}

impl fmt::Display for TargetName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetName::Path(path) | TargetName::Nbd(path) => f.write_str(path),
            TargetName::Model(model) => write!(f, "{MODEL_SCHEME}{model}"),
            TargetName::Image(image) => write!(f, "{IMAGE_SCHEME}{image}"),
            TargetName::Pool(pool) => write!(f, "{POOL_SCHEME}{pool}"),
            TargetName::Null => f.write_str(NULL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_as_it_was_read() {
        for given in [
            "/srv/db", "relative", "", "sim:", "sim:a,seed=1", "null:", "null:x",
            "nbd+unix:///?socket=/x", "emu:a", "/a/sim:b", "rbd:p/i", "rbd:", "rados:p", "rados:",
        ] {
            assert_eq!(TargetName::parse(given).to_string(), given);
        }
        assert_eq!(TargetName::parse("null:x"), TargetName::Path("null:x"));
        assert_eq!(TargetName::parse("/a/sim:b"), TargetName::Path("/a/sim:b"));
    }

    #[test]
    fn an_export_is_known_by_its_scheme_even_if_it_is_not_supported() {
        for export in ["nbd://h", "nbds://h", "nbd+unix:///", "nbd+ssh://h"] {
            assert_eq!(TargetName::parse(export), TargetName::Nbd(export));
        }
        for other in ["nbd", "nbd:x", "/dev/nbd0", "nbdx://h", "x/nbd://h"] {
            assert_eq!(TargetName::parse(other), TargetName::Path(other));
        }
    }
}
