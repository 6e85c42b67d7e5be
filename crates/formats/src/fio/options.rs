//! A job's options, and the workload they specify.

use std::collections::BTreeMap;

use measurement::{RateRecord, TargetKind, WorkloadRecord};
use workload::fio::value::number;
use workload::{
    Arrivals, Content, FileOrder, JobFiles, Pattern, Submission, SyncMethod, SyncedFile, TargetName,
};

/// Engines that process one operation at a time regardless of `iodepth` (fio(1), "I/O engine").
const SYNCHRONOUS: [&str; 7] = ["psync", "sync", "pvsync", "pvsync2", "vsync", "mmap", "null"];

/// Options by the first name in fio's documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Sets an option, replacing an earlier value as fio does.
    pub fn set(&mut self, name: &str, value: &str) {
        // fio's alternative names.
        let name = match name {
            "readwrite" => "rw",
            "blocksize" => "bs",
            "blocksize_range" => "bsrange",
            other => other,
        };
        // The two options are opposites.
        if name == "buffered" {
            let direct = if is_on(value) { "0" } else { "1" };
            self.0.insert("direct".to_owned(), direct.to_owned());
        } else {
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Adds the options that are not set yet.
    pub fn set_missing(&mut self, other: &Options) {
        for (name, value) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// Returns whether no option is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of an option, if set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn whole(&self, name: &str) -> Option<u64> {
        number(self.get(name)?)
    }

    /// The files of each process, if it had several. As in fio, `filename` replaces them.
    fn job_files(&self) -> Option<JobFiles> {
        let per_job =
            self.whole("nrfiles").filter(|&files| files > 1 && self.get("filename").is_none())?;
        let service = self.get("file_service_type").unwrap_or("roundrobin");
        let (order, turn) = service.split_once(':').unwrap_or((service, "1"));
        let order = match order {
            "roundrobin" => FileOrder::RoundRobin,
            "sequential" => FileOrder::Sequential,
            // The others draw a file by some distribution.
            _ => FileOrder::Random,
        };
        let per_job = u32::try_from(per_job).ok()?;
        Some(JobFiles { per_job, order, turn: turn.parse().unwrap_or(1), synced: SyncedFile::Next })
    }

    /// A flag has no value, or 0 or 1; fio's JSON writes a flag without a value as an empty string.
    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_on)
    }

    /// Adds fio's defaults. Without them, an option that is not set is unknown.
    pub fn set_defaults(&mut self) {
        for (name, value) in [("ioengine", "psync"), ("iodepth", "1")] {
            self.0.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }

    /// The I/O engine by fio's name, if known.
    pub fn engine(&self) -> Option<&str> {
        self.get("ioengine")
    }

    fn is_synchronous(&self) -> Option<bool> {
        Some(SYNCHRONOUS.contains(&self.engine()?))
    }

    fn submission(&self) -> Option<Submission> {
        let blocking = self.is_synchronous()?;
        Some(if blocking { Submission::Blocking } else { Submission::Asynchronous })
    }

    /// The effective queue depth, if known.
    fn depth(&self) -> Option<u32> {
        if self.is_synchronous() == Some(true) {
            return Some(1);
        }
        let asked = self.whole("iodepth")?;
        Some(asked.min(u64::from(u32::MAX)) as u32)
    }

    /// The number of processes (`numjobs`).
    pub fn processes(&self) -> u32 {
        self.whole("numjobs").unwrap_or(1).clamp(1, u64::from(u32::MAX)) as u32
    }

    /// Returns whether all processes are reported together.
    pub fn are_grouped(&self) -> bool {
        self.flag("group_reporting")
    }

    /// The sync method, and the number of writes per sync; `None` if no option specifies one.
    pub fn sync(&self) -> Option<(SyncMethod, u32)> {
        let open = match self.get("sync") {
            Some("1" | "sync" | "") => Some(SyncMethod::OSync),
            Some("dsync") => Some(SyncMethod::ODsync),
            _ => None,
        };
        let every = |name, method| {
            let every = self.whole(name).filter(|&every| every > 0)?;
            Some((method, u32::try_from(every).unwrap_or(u32::MAX)))
        };
        let called =
            every("fsync", SyncMethod::Fsync).or_else(|| every("fdatasync", SyncMethod::Fdatasync));
        open.map(|method| (method, 1)).or(called)
    }

    /// The pattern, without a suffix such as in `randwrite:8`.
    pub fn pattern(&self) -> Option<Pattern> {
        let name = self.get("rw")?;
        // Only reads and writes are imported.
        Pattern::from_name(name.split_once(':').map_or(name, |(name, _)| name))
            .filter(|pattern| pattern.transfers())
    }

    /// The target's path, and whether it is a directory.
    pub fn place(&self) -> Option<(&str, bool)> {
        let file = self.get("filename").map(|name| (name, false));
        file.or_else(|| self.get("directory").map(|name| (name, true)))
    }

    /// The image or pool of a Ceph cluster, by flushmark's name.
    pub fn place_in_ceph(&self) -> Option<(String, TargetKind)> {
        let pool = self.get("pool")?;
        match self.engine()? {
            "rbd" => {
                let image = format!("{pool}/{}", self.get("rbdname")?);
                Some((TargetName::Image(&image).to_string(), TargetKind::Image))
            }
            "rados" => Some((TargetName::Pool(pool).to_string(), TargetKind::Objects)),
            _ => None,
        }
    }

    /// The block size, if the option is a single number.
    pub fn block_bytes(&self) -> Option<u64> {
        self.whole("bs")
    }

    /// Returns whether a direction uses several block sizes.
    pub fn splits_blocks(&self) -> bool {
        self.get("bssplit").is_some() || self.get("bsrange").is_some()
    }

    /// Returns whether written data is read again and compared.
    pub fn verifies(&self) -> bool {
        self.get("verify").is_some_and(|how| is_on(how) && how != "none")
    }

    /// Returns whether fio's syncs are calls of sync_file_range(2).
    pub fn syncs_ranges(&self) -> bool {
        self.get("sync_file_range").is_some()
    }

    /// The workload. `block_bytes` is the size of one operation, `depth_seen` the depth to assume if
    /// no option specifies one; 0 is unknown.
    pub fn workload(
        &self,
        block_bytes: u64,
        sync: SyncMethod,
        sync_every: u32,
        depth_seen: u32,
    ) -> WorkloadRecord {
        // A step program, which fio does not have: flushmark's export uses an additional option.
        let steps: Vec<String> = self
            .get("steps")
            .map(|steps| steps.split("; ").map(str::to_owned).collect())
            .unwrap_or_default();
        let pattern = self.pattern().filter(|_| steps.is_empty());
        let depth = self.depth().unwrap_or(depth_seen);
        let read_percent = pattern.filter(|pattern| pattern.is_mixed()).map(|_| {
            let written = self.whole("rwmixwrite").map(|percent| 100_u64.saturating_sub(percent));
            self.whole("rwmixread").or(written).unwrap_or(50).min(100) as u8
        });
        let rate = self.whole("rate_iops").filter(|&rate| rate > 0);
        WorkloadRecord {
            pattern,
            read_percent,
            block_bytes,
            depth,
            jobs: self.processes(),
            sync: steps.is_empty().then_some(sync),
            sync_every,
            // fio issues its sync while writes are in flight, not after them; at depth 1 there are
            // none.
            drain: depth == 1 || sync.call().is_none(),
            submission: self.submission(),
            direct: self.flag("direct"),
            content: if self.flag("zero_buffers") { Content::Zero } else { Content::Random },
            size_bytes: self.whole("size").unwrap_or(0).saturating_mul(u64::from(self.processes())),
            rate: rate.map(|per_second| RateRecord {
                per_second: per_second as f64,
                reads_per_second: None,
                arrivals: Arrivals::Constant,
            }),
            seed: self.whole("randseed").unwrap_or(0),
            steps,
            job_files: self.job_files(),
            offset_bytes: self.whole("offset").unwrap_or(0),
            offset_increment_bytes: self.whole("offset_increment").unwrap_or(0),
            end_fsync: self.flag("end_fsync"),
            atomic: self.flag("atomic"),
            ..WorkloadRecord::unknown()
        }
    }
}

fn is_on(value: &str) -> bool {
    value != "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        pairs.iter().for_each(|(name, value)| options.set(name, value));
        options
    }

    #[test]
    fn alternative_names() {
        let options = of(&[("blocksize", "8k"), ("readwrite", "randwrite:4"), ("buffered", "0")]);
        let workload = options.workload(8192, SyncMethod::None, 1, 0);
        assert_eq!((options.block_bytes(), workload.direct), (Some(8192), true));
        assert_eq!(workload.pattern, Some(Pattern::RandWrite));
        assert!(
            !of(&[("direct", "1"), ("buffered", "1")]).workload(1, SyncMethod::None, 1, 0).direct
        );
    }

    #[test]
    fn synchronous_engines_have_depth_1() {
        let mut options = of(&[("ioengine", "psync"), ("iodepth", "32")]);
        assert_eq!(options.workload(512, SyncMethod::None, 1, 0).depth, 1);
        options.set("ioengine", "io_uring");
        assert_eq!(options.workload(512, SyncMethod::None, 1, 0).depth, 32);
    }

    #[test]
    fn without_options_the_depth_is_unknown_or_as_seen() {
        let depth =
            |options: &Options, seen| options.workload(512, SyncMethod::None, 1, seen).depth;
        let mut options = of(&[("bs", "4k")]);
        assert_eq!((depth(&options, 0), depth(&options, 8)), (0, 8));
        options.set_defaults();
        assert_eq!((depth(&options, 8), options.engine()), (1, Some("psync")));
        assert_eq!(depth(&of(&[("iodepth", "4")]), 1), 4);
    }

    #[test]
    fn each_sync_method() {
        let sync = |pairs: &[(&str, &str)]| of(pairs).sync();
        assert_eq!(sync(&[("fsync", "8")]), Some((SyncMethod::Fsync, 8)));
        assert_eq!(sync(&[("fdatasync", "1")]), Some((SyncMethod::Fdatasync, 1)));
        assert_eq!(sync(&[("sync", "1")]), Some((SyncMethod::OSync, 1)));
        assert_eq!(sync(&[("sync", "dsync")]), Some((SyncMethod::ODsync, 1)));
        assert_eq!(sync(&[("sync", "0"), ("fsync", "0")]), None);
    }
}
