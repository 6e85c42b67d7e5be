//! Names and versions of Ceph.

use std::fmt;
use std::str::FromStr;

use blame::Blame;

/// A stable series, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    Luminous,
    Mimic,
    Nautilus,
    Octopus,
    Pacific,
    Quincy,
    Reef,
    Squid,
    /// The newest stable series in the sources, released in November 2025.
    Tentacle,
}

impl Release {
    pub const ALL: [Release; 9] = [
        Release::Luminous,
        Release::Mimic,
        Release::Nautilus,
        Release::Octopus,
        Release::Pacific,
        Release::Quincy,
        Release::Reef,
        Release::Squid,
        Release::Tentacle,
    ];
    pub const OLDEST: Release = Release::Luminous;
    pub const NEWEST: Release = Release::Tentacle;

    pub const fn name(self) -> &'static str {
        match self {
            Release::Luminous => "Luminous",
            Release::Mimic => "Mimic",
            Release::Nautilus => "Nautilus",
            Release::Octopus => "Octopus",
            Release::Pacific => "Pacific",
            Release::Quincy => "Quincy",
            Release::Reef => "Reef",
            Release::Squid => "Squid",
            Release::Tentacle => "Tentacle",
        }
    }

    /// The first number of its versions.
    pub const fn number(self) -> u32 {
        match self {
            Release::Luminous => 12,
            Release::Mimic => 13,
            Release::Nautilus => 14,
            Release::Octopus => 15,
            Release::Pacific => 16,
            Release::Quincy => 17,
            Release::Reef => 18,
            Release::Squid => 19,
            Release::Tentacle => 20,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.number())
    }
}

/// A version, or only its first part or two. A missing part counts as the latest one, because nobody
/// plans a cluster with an old point release.
///
/// ```
/// use ceph::release::{Release, Version};
///
/// let version: Version = "15.2.5".parse()?;
/// assert_eq!(version.release(), Release::Octopus);
/// assert!(!version.is_at_least(15, 2, 6));
/// assert!("octopus".parse::<Version>()?.is_at_least(15, 2, 6));
/// # Ok::<(), ceph::release::ReleaseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    major: u32,
    minor: Option<u32>,
    patch: Option<u32>,
}

impl Version {
    /// The series whose rules hold: for a version newer than all known ones, [`Release::NEWEST`].
    pub fn release(self) -> Release {
        let known = Release::ALL.into_iter().find(|release| release.number() == self.major);
        known.unwrap_or(Release::NEWEST)
    }

    pub fn is_newer_than_known(self) -> bool {
        self.major > Release::NEWEST.number()
    }

    pub fn is_at_least(self, major: u32, minor: u32, patch: u32) -> bool {
        let latest = |part: Option<u32>| part.unwrap_or(u32::MAX);
        (self.major, latest(self.minor), latest(self.patch)) >= (major, minor, patch)
    }

    /// Returns whether the user stated a point release.
    pub fn is_exact(self) -> bool {
        self.patch.is_some()
    }
}

impl From<Release> for Version {
    fn from(release: Release) -> Version {
        Version { major: release.number(), minor: None, patch: None }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_newer_than_known() {
            write!(f, "{} ", self.release().name())?;
        }
        write!(f, "{}", self.major)?;
        [self.minor, self.patch].iter().flatten().try_for_each(|part| write!(f, ".{part}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    #[error(
        "unknown release `{0}`; expected a name, a number or a version ({names}), such as squid, \
         19 or 19.2.1",
        names = names()
    )]
    Unknown(String),
    #[error(
        "release `{0}` is too old: the rules begin with {oldest}, the first series in which \
         BlueStore is the default",
        oldest = Release::OLDEST
    )]
    TooOld(String),
}

impl ReleaseError {
    pub const fn blame(&self) -> Blame {
        match self {
            ReleaseError::Unknown(_) | ReleaseError::TooOld(_) => Blame::Usage,
        }
    }
}

fn names() -> String {
    Release::ALL.map(|release| release.to_string()).join(", ")
}

/// Series before [`Release::OLDEST`], which are known to be too old rather than misspelt.
const TOO_OLD: [&str; 5] = ["firefly", "giant", "hammer", "jewel", "kraken"];

impl FromStr for Version {
    type Err = ReleaseError;

    fn from_str(text: &str) -> Result<Version, ReleaseError> {
        let unknown = || ReleaseError::Unknown(text.to_owned());
        let wanted = text.trim().to_lowercase();
        let named =
            Release::ALL.into_iter().find(|release| release.name().to_lowercase() == wanted);
        if let Some(release) = named {
            return Ok(release.into());
        }
        if TOO_OLD.contains(&wanted.as_str()) {
            return Err(ReleaseError::TooOld(text.to_owned()));
        }
        let mut parts = Vec::new();
        for part in wanted.strip_prefix('v').unwrap_or(&wanted).split('.') {
            // `parse` would accept a sign.
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            parts.push(part.parse().ok().filter(|_| digits).ok_or_else(unknown)?);
        }
        let version = match parts[..] {
            [major] => Version { major, minor: None, patch: None },
            [major, minor] => Version { major, minor: Some(minor), patch: None },
            [major, minor, patch] => Version { major, minor: Some(minor), patch: Some(patch) },
            _ => return Err(unknown()),
        };
        if version.major < Release::OLDEST.number() {
            return Err(ReleaseError::TooOld(text.to_owned()));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_versions() {
        let shown = |text: &str| text.parse::<Version>().map(|version| version.to_string());
        for (text, expected) in [
            ("squid", "Squid 19"),
            (" Squid ", "Squid 19"),
            ("19", "Squid 19"),
            ("v19.2", "Squid 19.2"),
            ("15.2.5", "Octopus 15.2.5"),
            ("21.1.0", "21.1.0"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for release in Release::ALL {
            assert_eq!(shown(release.name()), Ok(release.to_string()));
        }
    }

    #[test]
    fn a_missing_part_is_the_latest() {
        let at_least = |text: &str| text.parse::<Version>().unwrap().is_at_least(14, 2, 12);
        assert!(at_least("nautilus") && at_least("14.2") && at_least("14.2.12"));
        assert!(at_least("15.2.0") && at_least("21"));
        assert!(!at_least("14.2.11") && !at_least("13"));
    }

    #[test]
    fn a_newer_release_has_the_newest_rules() {
        let version: Version = "22.2.0".parse().unwrap();
        assert!(version.is_newer_than_known());
        assert_eq!(version.release(), Release::NEWEST);
        assert!(!Version::from(Release::NEWEST).is_newer_than_known());
    }

    #[test]
    fn refusals() {
        let refused = |text: &str| text.parse::<Version>().unwrap_err();
        insta::assert_snapshot!(refused("squidd"), @"unknown release `squidd`; expected a name, a number or a version (Luminous 12, Mimic 13, Nautilus 14, Octopus 15, Pacific 16, Quincy 17, Reef 18, Squid 19, Tentacle 20), such as squid, 19 or 19.2.1");
        insta::assert_snapshot!(refused("jewel"), @"release `jewel` is too old: the rules begin with Luminous 12, the first series in which BlueStore is the default");
        insta::assert_snapshot!(refused("0.94.10"), @"release `0.94.10` is too old: the rules begin with Luminous 12, the first series in which BlueStore is the default");
        for text in ["", "v", "+19", "19.", "19.2.1.1", "19.x", "99999999999", "１９"] {
            assert_eq!(refused(text), ReleaseError::Unknown(text.to_owned()));
        }
        assert_eq!(refused("10").blame(), Blame::Usage);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,20}") {
            let _ = text.parse::<Version>();
        }

        #[test]
        fn a_version_comes_back(major in 12_u32..30, minor in 0_u32..9, patch in 0_u32..30) {
            let text = format!("{major}.{minor}.{patch}");
            let version: Version = text.parse().unwrap();
            proptest::prop_assert!(version.is_exact() && version.to_string().ends_with(&text));
        }
    }
}
