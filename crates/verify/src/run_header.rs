//! The header of a run: its identity, layout, and circumstances. It is stored in the superblock,
//! sent to the recorder, and kept in the journal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::geometry::Geometry;
use crate::wire::{Malformed, Reader, Writer};

/// The system call that makes a lane's writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMethod {
    /// `fsync(2)` after the writes.
    Fsync,
    /// `fdatasync(2)` after the writes.
    Fdatasync,
    /// Writes to a file opened with `O_DSYNC`.
    ODsync,
    /// Writes that carry `RWF_DSYNC`.
    RwfDsync,
}

impl SyncMethod {
    pub const ALL: [SyncMethod; 4] =
        [SyncMethod::Fsync, SyncMethod::Fdatasync, SyncMethod::ODsync, SyncMethod::RwfDsync];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            SyncMethod::Fsync => "fsync",
            SyncMethod::Fdatasync => "fdatasync",
            SyncMethod::ODsync => "o_dsync",
            SyncMethod::RwfDsync => "rwf_dsync",
        }
    }

    /// Returns whether the write itself is durable when it returns.
    pub const fn is_fua(self) -> bool {
        matches!(self, SyncMethod::ODsync | SyncMethod::RwfDsync)
    }

    fn from_byte(byte: u8) -> Result<SyncMethod, Malformed> {
        SyncMethod::ALL
            .into_iter()
            .find(|&method| method as u8 == byte)
            .ok_or(Malformed::Number("sync method"))
    }
}

/// Path of FUA writes to the kernel, which determines what the drive receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FuaPath {
    /// Through io_uring: a raw device gets the FUA write alone.
    IoUring,
    /// As a blocking call: on a raw device, the kernel sends a FLUSH after the FUA write
    /// (`blkdev_write_iter` ends in `generic_write_sync`); filesystems do not.
    Blocking,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunHeader {
    /// Random; part of every record.
    pub run_id: u64,
    /// Identifies the drive and the part of it that is the target; part of every record.
    pub target_id: u32,
    pub geometry: Geometry,
    pub flush_method: SyncMethod,
    /// Write method of FUA lanes.
    pub fua_method: SyncMethod,
    /// Path of FUA writes to the kernel.
    pub fua_path: FuaPath,
    pub circumstances: Circumstances,
}

/// The facts known when the run began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Seconds since 1970, UTC.
    pub started_unix_s: u64,
    /// The target as the user wrote it.
    pub target: String,
    /// The drive's model and serial number; empty if unknown.
    pub drive: String,
    /// The drive's count of unsafe shutdowns before the run; `None` if unknown or not readable by
    /// the user.
    pub unsafe_shutdowns: Option<u64>,
    /// True if the kernel assumes a volatile cache and sends flushes; `None` if unknown.
    pub volatile_cache: Option<bool>,
    /// True if the kernel sends FUA writes to the drive (`queue/fua`); `None` if unknown.
    pub fua: Option<bool>,
    /// True if the user states that the drive has power-loss protection, so it must not even lose
    /// writes that were never synced.
    pub protected: bool,
    /// The kernel's identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// The witness as the user named it: `--recorder HOST:PORT`, `--journal FILE`, or nothing.
    pub witness: String,
    /// True if the page cache is bypassed.
    pub direct: bool,
    /// True if the target is a raw device.
    pub raw_device: bool,
    /// The run that was on the target before. A drive that has it again has reverted.
    pub replaces: Option<u64>,
}

impl RunHeader {
    pub fn write(&self, out: &mut Writer) {
        let geometry = &self.geometry;
        out.u64(self.run_id)
            .u32(self.target_id)
            .u32(geometry.sector_bytes)
            .u16(geometry.record_sectors);
        out.u32(geometry.slots_per_lane)
            .u16(geometry.flush_lanes)
            .u16(geometry.fua_lanes)
            .u16(geometry.control_lanes);
        out.u16(geometry.writes_per_sync);
        out.u8(self.flush_method as u8).u8(self.fua_method as u8).u8(self.fua_path as u8);
        let circumstances = &self.circumstances;
        out.u64(circumstances.started_unix_s)
            .words(&circumstances.target)
            .words(&circumstances.drive);
        out.maybe(circumstances.unsafe_shutdowns)
            .maybe(circumstances.volatile_cache.map(u64::from));
        out.maybe(circumstances.fua.map(u64::from));
        out.u8(u8::from(circumstances.protected))
            .words(&circumstances.boot_id)
            .words(&circumstances.witness)
            .u8(u8::from(circumstances.direct));
        out.u8(u8::from(circumstances.raw_device)).maybe(circumstances.replaces);
    }

    pub fn read(from: &mut Reader<'_>) -> Result<RunHeader, Malformed> {
        let (run_id, target_id) = (from.u64()?, from.u32()?);
        let geometry = Geometry {
            sector_bytes: from.u32()?,
            record_sectors: from.u16()?,
            slots_per_lane: from.u32()?,
            flush_lanes: from.u16()?,
            fua_lanes: from.u16()?,
            control_lanes: from.u16()?,
            writes_per_sync: from.u16()?,
        };
        let geometry = geometry.checked().map_err(|_| Malformed::Number("layout"))?;
        let (flush_method, fua_method) =
            (SyncMethod::from_byte(from.u8()?)?, SyncMethod::from_byte(from.u8()?)?);
        let fua_path =
            if from.flag("way of FUA writes")? { FuaPath::Blocking } else { FuaPath::IoUring };
        let circumstances = Circumstances {
            started_unix_s: from.u64()?,
            target: from.words()?,
            drive: from.words()?,
            unsafe_shutdowns: from.maybe("count of power cuts")?,
            volatile_cache: from.maybe("kind of cache")?.map(|value| value != 0),
            fua: from.maybe("kind of FUA")?.map(|value| value != 0),
            protected: from.flag("protection")?,
            boot_id: from.words()?,
            witness: from.words()?,
            direct: from.flag("directness")?,
            raw_device: from.flag("kind of target")?,
            replaces: from.maybe("run before")?,
        };
        Ok(RunHeader {
            run_id,
            target_id,
            geometry,
            flush_method,
            fua_method,
            fua_path,
            circumstances,
        })
    }

    /// A caveat if the drive receives more or less than a FUA write for each write of a FUA lane.
    pub fn fua_caveat(&self) -> Option<&'static str> {
        if self.geometry.fua_lanes == 0 {
            return None;
        }
        match (
            self.circumstances.volatile_cache,
            self.circumstances.fua,
            self.fua_path,
            self.circumstances.raw_device,
        ) {
            (Some(false), ..) => Some(
                "the kernel assumes that the drive has no volatile cache, so it sends neither \
                 flushes nor FUA writes",
            ),
            (_, Some(false), ..) => Some(
                "the kernel does not send FUA writes to this drive (queue/fua is 0), so a flush \
                 follows each write of a FUA lane, and FUA lanes prove no more than flush lanes",
            ),
            (_, _, FuaPath::Blocking, true) => Some(
                "without io_uring, the kernel sends a flush after every FUA write on a raw device, \
                 so FUA alone is not tested",
            ),
            _ => None,
        }
    }

    /// The run's name: sixteen hexadecimal digits.
    pub fn name(&self) -> String {
        run_name(self.run_id)
    }

    /// A run for tests and examples, with the simplest circumstances.
    pub fn plain(run_id: u64, geometry: Geometry) -> RunHeader {
        RunHeader {
            run_id,
            target_id: 1,
            geometry,
            flush_method: SyncMethod::Fsync,
            fua_method: SyncMethod::RwfDsync,
            fua_path: FuaPath::Blocking,
            circumstances: Circumstances::default(),
        }
    }
}

/// A run's name: sixteen hexadecimal digits.
pub(crate) fn run_name(run_id: u64) -> String {
    format!("{run_id:016x}")
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::geometry::tests::small;

    pub(crate) fn sample() -> RunHeader {
        let circumstances = Circumstances {
            started_unix_s: 1_795_257_600,
            target: "/dev/sdx".to_owned(),
            drive: "Micron 5100 (S1)".to_owned(),
            unsafe_shutdowns: Some(12),
            volatile_cache: Some(true),
            fua: Some(false),
            protected: false,
            boot_id: "b".to_owned(),
            witness: "--recorder r:5401".to_owned(),
            direct: true,
            raw_device: true,
            replaces: Some(6),
        };
        RunHeader { circumstances, ..RunHeader::plain(7, small()) }
    }

    #[test]
    fn a_header_survives_a_round_trip() {
        let mut out = Writer::default();
        sample().write(&mut out);
        let mut from = Reader::new(&out.0);
        assert_eq!(RunHeader::read(&mut from), Ok(sample()));
        from.end().unwrap();
    }

    #[test]
    fn fua_caveats_are_reported() {
        let about = |volatile_cache, fua, fua_path, raw_device| {
            let circumstances =
                Circumstances { volatile_cache, fua, raw_device, ..Circumstances::default() };
            RunHeader { fua_path, circumstances, ..sample() }.fua_caveat()
        };
        let (ring, blocking) = (FuaPath::IoUring, FuaPath::Blocking);
        assert_eq!(about(Some(true), Some(true), ring, true), None);
        assert_eq!(
            about(Some(true), Some(true), blocking, false),
            None,
            "filesystems complete such a write themselves"
        );
        assert!(
            about(Some(true), Some(true), blocking, true).unwrap().starts_with("without io_uring")
        );
        assert!(about(Some(true), Some(false), ring, true).unwrap().contains("queue/fua is 0"));
        assert!(about(Some(false), Some(false), ring, true).unwrap().contains("no volatile cache"));
        let without = RunHeader { geometry: Geometry { fua_lanes: 0, ..small() }, ..sample() };
        assert_eq!(without.fua_caveat(), None);
    }

    proptest! {
        #[test]
        fn damage_never_panics(at in 0usize..120, value: u8, cut in 0usize..200) {
            let mut out = Writer::default();
            sample().write(&mut out);
            let mut bytes = out.0;
            let at = at % bytes.len();
            bytes[at] = value;
            bytes.truncate(cut);
            let _ = RunHeader::read(&mut Reader::new(&bytes));
        }
    }
}
