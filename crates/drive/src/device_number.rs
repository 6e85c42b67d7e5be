//! The kernel's number for a device.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device's major and minor number, written `8:1` as in `/sys/dev/block` and
/// `/proc/self/mountinfo`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
pub struct DeviceNumber {
    /// Identifies the driver.
    pub major: u32,
    /// Identifies one of that driver's devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// Returns whether the kernel made this number up for a filesystem without a dedicated block
    /// device (tmpfs, overlay, NFS; also Btrfs and ZFS, which span several devices). These all have
    /// major number 0.
    ///
    /// ```
    /// use drive::DeviceNumber;
    ///
    /// let device: DeviceNumber = "259:3".parse()?;
    /// assert_eq!(device, DeviceNumber { major: 259, minor: 3 });
    /// assert!(!device.is_anonymous());
    /// # Ok::<(), drive::NotADeviceNumber>(())
    /// ```
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }

    /// Decodes the `dev_t` of a `stat` call.
    pub fn from_dev(dev: rustix::fs::Dev) -> Self {
        DeviceNumber { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl From<DeviceNumber> for String {
    fn from(device: DeviceNumber) -> Self {
        device.to_string()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid device number `{0}`; expected MAJOR:MINOR, such as `8:1`")]
pub struct NotADeviceNumber(String);

impl FromStr for DeviceNumber {
    type Err = NotADeviceNumber;

    fn from_str(text: &str) -> Result<Self, NotADeviceNumber> {
        let parse = || {
            let (major, minor) = text.split_once(':')?;
            Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        parse().ok_or_else(|| NotADeviceNumber(text.to_owned()))
    }
}

impl TryFrom<String> for DeviceNumber {
    type Error = NotADeviceNumber;

    fn try_from(text: String) -> Result<Self, NotADeviceNumber> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn travels_as_text() {
        let device = DeviceNumber { major: 254, minor: 0 };
        let json = serde_json::to_string(&device).unwrap();
        assert_eq!(json, r#""254:0""#);
        assert_eq!(serde_json::from_str::<DeviceNumber>(&json).unwrap(), device);
        assert_eq!(schemars::schema_for!(DeviceNumber).as_value()["type"], "string");
    }

    #[test]
    fn refuses_what_is_not_a_pair_of_numbers() {
        for text in ["", "8", "8:", ":1", "8:1:2", "-1:0", "8: 1", "4294967296:0"] {
            assert!(text.parse::<DeviceNumber>().is_err(), "{text:?}");
        }
        insta::assert_snapshot!("sda1".parse::<DeviceNumber>().unwrap_err(), @"invalid device number `sda1`; expected MAJOR:MINOR, such as `8:1`");
    }
}
