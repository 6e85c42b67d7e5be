//! Serialises a filesystem as its name, or `none`.

use emulate::Filesystem;
use serde::{Deserialize as _, Deserializer, Serializer};

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde's own form")]
pub(crate) fn serialize<S: Serializer>(
    filesystem: &Option<Filesystem>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(filesystem.map_or("none", Filesystem::name))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Filesystem>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "none" => Ok(None),
        "ext4" => Ok(Some(Filesystem::Ext4)),
        "xfs" => Ok(Some(Filesystem::Xfs)),
        other => Err(serde::de::Error::custom(format!(
            "unknown filesystem `{other}`; expected ext4, xfs or none"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct On(#[serde(with = "super")] Option<Filesystem>);

    #[test]
    fn a_filesystem_reads_back_by_its_name() {
        for (on, text) in [
            (On(None), r#""none""#),
            (On(Some(Filesystem::Ext4)), r#""ext4""#),
            (On(Some(Filesystem::Xfs)), r#""xfs""#),
        ] {
            assert_eq!(serde_json::to_string(&on).unwrap(), text);
            assert_eq!(serde_json::from_str::<On>(text).unwrap(), on);
        }
        let unknown = serde_json::from_str::<On>(r#""zfs""#).unwrap_err().to_string();
        assert!(unknown.starts_with("unknown filesystem `zfs`"), "{unknown}");
    }
}
