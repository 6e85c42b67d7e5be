//! The source of a rule, and the releases to which it applies.

use schemars::JsonSchema;
use serde::Serialize;

/// A rule is worth as much as its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Wiki "Ceph performance" (yourcmc.ru), around 2019, at the time of Nautilus.
    Wiki,
    /// Ceph's documentation, doc/start/hardware-recommendations.rst.
    Hardware,
    /// Ceph's documentation, doc/rados/configuration/bluestore-config-ref.rst.
    Bluestore,
    /// Ceph's documentation, doc/dev/osd_internals/erasure_coding/ecbackend.rst.
    ErasureCode,
    /// Release notes of 14.2.8.
    Nautilus14_2_8,
    /// Release notes of 19.2.0.
    Squid19_2_0,
    /// Release notes of 19.2.1.
    Squid19_2_1,
    /// Release notes of 20.2.0, and pull request 62224.
    Tentacle20_2_0,
    /// RocksDBBlueFSVolumeSelector in src/os/bluestore/BlueStore.h.
    Selector,
    /// Pull requests 47221 and 51821 (RocksDB tuning).
    RocksdbTuning,
    /// Pull request 15422 (defaults by type of drive).
    Shards,
    /// Proxmox VE's manual, pveceph.adoc.
    Proxmox,
    /// IBM Storage Ceph's documentation.
    Ibm,
    /// A cluster that flushmark measured.
    Fit,
    /// Arithmetic of flushmark.
    Arithmetic,
}

impl Source {
    /// A short name, for the end of a rule.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Wiki => "wiki",
            Source::Hardware => "Ceph hardware page",
            Source::Bluestore => "Ceph BlueStore page",
            Source::ErasureCode => "Ceph ECBackend page",
            Source::Nautilus14_2_8 => "notes of 14.2.8",
            Source::Squid19_2_0 => "notes of 19.2.0",
            Source::Squid19_2_1 => "notes of 19.2.1",
            Source::Tentacle20_2_0 => "notes of 20.2.0",
            Source::Selector => "BlueStore.h",
            Source::RocksdbTuning => "ceph#51821",
            Source::Shards => "ceph#15422",
            Source::Proxmox => "Proxmox",
            Source::Ibm => "IBM",
            Source::Fit => "fit",
            Source::Arithmetic => "arithmetic",
        }
    }

    /// The page, file or pull request.
    pub const fn place(self) -> &'static str {
        match self {
            Source::Wiki => {
                "yourcmc.ru/wiki, \"Ceph performance\", around 2019 (Mimic and Nautilus)"
            }
            Source::Hardware => "docs.ceph.com: doc/start/hardware-recommendations.rst",
            Source::Bluestore => "docs.ceph.com: doc/rados/configuration/bluestore-config-ref.rst",
            Source::ErasureCode => {
                "docs.ceph.com: doc/dev/osd_internals/erasure_coding/ecbackend.rst"
            }
            Source::Nautilus14_2_8 => "docs.ceph.com: doc/releases/nautilus.rst, v14.2.8",
            Source::Squid19_2_0 => "docs.ceph.com: doc/releases/squid.rst, v19.2.0",
            Source::Squid19_2_1 => {
                "docs.ceph.com: doc/releases/squid.rst, v19.2.1 (tracker 66289, ceph#58509)"
            }
            Source::Tentacle20_2_0 => {
                "docs.ceph.com: doc/releases/tentacle.rst, v20.2.0 (ceph#62224)"
            }
            Source::Selector => {
                "github.com/ceph/ceph: src/os/bluestore/BlueStore.h, RocksDBBlueFSVolumeSelector \
                 (ceph#29687; the default since ceph#36750)"
            }
            Source::RocksdbTuning => {
                "github.com/ceph/ceph: pull requests 47221 and 51821 (RocksDB options of Reef)"
            }
            Source::Shards => "github.com/ceph/ceph: pull request 15422 (2017)",
            Source::Proxmox => "Proxmox VE Administration Guide, pveceph.adoc",
            Source::Ibm => {
                "ibm.com/docs: IBM Storage Ceph, Sizing considerations (Red Hat's text says the same)"
            }
            Source::Fit => {
                "flushmark, `cargo xtask fit ceph`: OSDs on emulated drives (docs/internals/ceph.md)"
            }
            Source::Arithmetic => "follows from the figures above and from nothing else",
        }
    }
}

/// One rule, never without its source and its releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rule {
    /// The rule, with the figures of this plan.
    pub says: String,
    pub source: Source,
    /// The releases that the rule holds for, in words.
    pub releases: &'static str,
}

impl Rule {
    pub(super) fn new(source: Source, releases: &'static str, says: impl Into<String>) -> Rule {
        Rule { says: says.into(), source, releases }
    }
}

/// The rules on one subject, and what to take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// `RAM`, `network` and so on.
    pub subject: &'static str,
    /// The recommendation in words.
    pub take: String,
    /// The rules behind it; the first one decides.
    pub rules: Vec<Rule>,
}
