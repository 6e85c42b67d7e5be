//! The cluster that the user plans to build.

use std::fmt;
use std::str::FromStr;

use blame::Blame;
use schemars::JsonSchema;
use serde::Serialize;

use super::capacity::Capacity;
use crate::medium::Medium;
use crate::release::Version;

/// The clients' use of the cluster, which decides how much metadata there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Block devices: few large objects, little metadata.
    Rbd,
    /// Object storage: many small objects, much metadata.
    Rgw,
    /// Both, or CephFS.
    Mixed,
}

impl Workload {
    pub const fn name(self) -> &'static str {
        match self {
            Workload::Rbd => "rbd",
            Workload::Rgw => "rgw",
            Workload::Mixed => "mixed",
        }
    }
}

/// Copies or erasure code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Redundancy {
    Replicated { size: u32 },
    ErasureCoded { k: u32, m: u32 },
}

impl Redundancy {
    /// OSDs that one object needs.
    pub const fn osds(self) -> u32 {
        match self {
            Redundancy::Replicated { size } => size,
            Redundancy::ErasureCoded { k, m } => k.saturating_add(m),
        }
    }

    /// The share of the raw capacity that data can use.
    pub fn efficiency(self) -> f64 {
        match self {
            Redundancy::Replicated { size } => 1.0 / f64::from(size),
            Redundancy::ErasureCoded { k, .. } => f64::from(k) / f64::from(self.osds()),
        }
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Redundancy::Replicated { size: 1 } => write!(f, "1 replica"),
            Redundancy::Replicated { size } => write!(f, "{size} replicas"),
            Redundancy::ErasureCoded { k, m } => write!(f, "erasure code {k}+{m}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid erasure code `{0}`; expected K+M with at least two data and one coding chunk, such as \
     4+2"
)]
pub struct InvalidErasureCode(pub String);

/// `K+M`: data chunks and coding chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasureCode {
    pub k: u32,
    pub m: u32,
}

impl FromStr for ErasureCode {
    type Err = InvalidErasureCode;

    fn from_str(text: &str) -> Result<ErasureCode, InvalidErasureCode> {
        let chunks = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|chunks| digits && *chunks <= CHUNKS_MAX)
        };
        let parts = text.split_once('+').and_then(|(k, m)| Some((chunks(k)?, chunks(m)?)));
        match parts {
            Some((k, m)) if k >= 2 && m >= 1 => Ok(ErasureCode { k, m }),
            _ => Err(InvalidErasureCode(text.to_owned())),
        }
    }
}

/// More chunks than any plugin of Ceph takes.
const CHUNKS_MAX: u32 = 255;
/// Larger than any cluster in the sources by a factor of a hundred.
const OSDS_MAX: u32 = 1_000_000;
const REPLICAS_MAX: u32 = 10;

/// A planned cluster. [`Plan::check`] refuses what no cluster can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    pub osds: u32,
    pub medium: Medium,
    /// Size of an OSD's data device.
    pub data: Capacity,
    pub workload: Workload,
    pub version: Version,
    pub hosts: Option<u32>,
    pub redundancy: Redundancy,
    /// A size of `block.db` that the user has in mind.
    pub db: Option<Capacity>,
    /// Size of the flash device that several OSDs share for `block.db`.
    pub db_device: Option<Capacity>,
    pub osds_per_db_device: Option<u32>,
    /// Round trip of a small message between hosts.
    pub rtt_us: f64,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("a cluster needs at least one OSD: expected 1 to 1,000,000 with --osds, got {0}")]
    Osds(u32),
    #[error("{hosts} hosts cannot share {osds} OSDs: expected 1 to {osds} with --hosts")]
    Hosts { hosts: u32, osds: u32 },
    #[error("invalid number of replicas {0}: expected 1 to {REPLICAS_MAX}")]
    Replicas(u32),
    #[error(
        "too few OSDs for {redundancy}: expected at least {needed}, got {osds}",
        needed = .redundancy.osds()
    )]
    TooFewOsds { redundancy: Redundancy, osds: u32 },
    #[error("invalid number of OSDs per DB device {0}: expected at least 1")]
    OsdsPerDbDevice(u32),
    #[error("block.db ({db}) is larger than the OSD's data device ({data}): check the units")]
    DbLargerThanData { db: Capacity, data: Capacity },
    #[error("invalid {what} {us} µs: expected a number from 0 to 10,000,000")]
    Time { what: &'static str, us: f64 },
}

impl PlanError {
    pub const fn blame(&self) -> Blame {
        Blame::Usage
    }
}

/// Ten seconds, longer than any round trip or commit that a cluster survives.
const TIME_MAX_US: f64 = 1e7;

/// Refuses times that are not.
pub(super) fn check_time(what: &'static str, us: f64) -> Result<(), PlanError> {
    if (0.0..=TIME_MAX_US).contains(&us) { Ok(()) } else { Err(PlanError::Time { what, us }) }
}

impl Plan {
    pub fn check(&self) -> Result<(), PlanError> {
        if !(1..=OSDS_MAX).contains(&self.osds) {
            return Err(PlanError::Osds(self.osds));
        }
        if let Some(hosts) = self.hosts.filter(|hosts| !(1..=self.osds).contains(hosts)) {
            return Err(PlanError::Hosts { hosts, osds: self.osds });
        }
        if let Redundancy::Replicated { size } = self.redundancy
            && !(1..=REPLICAS_MAX).contains(&size)
        {
            return Err(PlanError::Replicas(size));
        }
        if self.redundancy.osds() > self.osds {
            return Err(PlanError::TooFewOsds { redundancy: self.redundancy, osds: self.osds });
        }
        if self.osds_per_db_device == Some(0) {
            return Err(PlanError::OsdsPerDbDevice(0));
        }
        if let Some(db) = self.db.filter(|db| *db > self.data) {
            return Err(PlanError::DbLargerThanData { db, data: self.data });
        }
        check_time("round trip", self.rtt_us)
    }

    /// OSDs of the fullest host.
    pub fn osds_per_host(&self) -> Option<u32> {
        self.hosts.map(|hosts| self.osds.div_ceil(hosts))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    #[test]
    fn erasure_codes() {
        assert_eq!("4+2".parse(), Ok(ErasureCode { k: 4, m: 2 }));
        for text in ["", "4", "4+", "+2", "0+2", "1+1", "4+0", "a+b", "4+2+1", "-4+2", "4+999"] {
            assert_eq!(text.parse::<ErasureCode>(), Err(InvalidErasureCode(text.to_owned())));
        }
        insta::assert_snapshot!("4".parse::<ErasureCode>().unwrap_err(), @"invalid erasure code `4`; expected K+M with at least two data and one coding chunk, such as 4+2");
    }

    #[test]
    fn refusals() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            let error = plan.check().unwrap_err();
            assert_eq!(error.blame(), Blame::Usage);
            error.to_string()
        };
        let refusals = [
            refused(|plan| plan.osds = 0),
            refused(|plan| plan.hosts = Some(25)),
            refused(|plan| plan.hosts = Some(0)),
            refused(|plan| plan.redundancy = Redundancy::Replicated { size: 0 }),
            refused(|plan| plan.osds = 2),
            refused(|plan| plan.redundancy = Redundancy::ErasureCoded { k: 20, m: 6 }),
            refused(|plan| plan.osds_per_db_device = Some(0)),
            refused(|plan| plan.db = Some(Capacity(60_000_000_000_000))),
            refused(|plan| plan.rtt_us = f64::NAN),
        ];
        insta::assert_snapshot!(refusals.join("\n"), @"
        a cluster needs at least one OSD: expected 1 to 1,000,000 with --osds, got 0
        25 hosts cannot share 24 OSDs: expected 1 to 24 with --hosts
        0 hosts cannot share 24 OSDs: expected 1 to 24 with --hosts
        invalid number of replicas 0: expected 1 to 10
        too few OSDs for 3 replicas: expected at least 3, got 2
        too few OSDs for erasure code 20+6: expected at least 26, got 24
        invalid number of OSDs per DB device 0: expected at least 1
        block.db (60 TB) is larger than the OSD's data device (16 TB): check the units
        invalid round trip NaN µs: expected a number from 0 to 10,000,000
        ");
    }
}
