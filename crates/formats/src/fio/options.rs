//! A job's options, and the workload that they ask for.

use std::collections::BTreeMap;

use measurement::WorkloadRecord;
use measurement::result::RateRecord;
use workload::fio::value::number;
use workload::{Arrivals, Content, Pattern, SyncMethod, WriteCache};

/// Engines that carry one operation at a time, whatever `iodepth` says (fio(1), "I/O engine").
const SYNCHRONOUS: [&str; 7] = ["psync", "sync", "pvsync", "pvsync2", "vsync", "mmap", "null"];

/// Options by the name under which fio documents them first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Sets one; a later one goes before an earlier, as in fio.
    pub fn set(&mut self, name: &str, value: &str) {
        // fio's other names for the same.
        let name = match name {
            "readwrite" => "rw",
            "blocksize" => "bs",
            "rate_iops_min" => return,
            other => other,
        };
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets what is not set.
    pub fn set_missing(&mut self, other: &Options) {
        for (name, value) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    /// The words of a command line: `-name=value`, `--name=value`, `--name value`, and flags.
    pub fn of_command(line: &str) -> Options {
        let mut options = Options::default();
        let mut words = line.split_whitespace().skip_while(|word| !word.starts_with('-')).peekable();
        while let Some(word) = words.next() {
            let Some(word) = word.strip_prefix('-') else { continue };
            let word = word.strip_prefix('-').unwrap_or(word);
            let unquoted = |value: &str| value.trim_matches(['"', '\'']).to_owned();
            match word.split_once('=') {
                Some((name, value)) => options.set(name, &unquoted(value)),
                None => match words.next_if(|next| !next.starts_with('-')) {
                    Some(value) => options.set(word, &unquoted(value)),
                    None => options.set(word, "1"),
                },
            }
        }
        options
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn whole(&self, name: &str) -> Option<u64> {
        number(self.get(name)?)
    }

    /// A flag stands alone, or takes 0 or 1; fio's JSON writes one that stood alone as an empty text.
    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0")
    }

    /// The interface, in fio's word for it.
    pub fn engine(&self) -> &str {
        self.get("ioengine").unwrap_or("psync")
    }

    /// I/Os that are really kept in flight.
    fn depth(&self) -> u32 {
        let asked = self.whole("iodepth").unwrap_or(1).clamp(1, u64::from(u32::MAX)) as u32;
        if SYNCHRONOUS.contains(&self.engine()) { 1 } else { asked }
    }

    /// The processes that `numjobs` asks for.
    pub fn processes(&self) -> u32 {
        self.whole("numjobs").unwrap_or(1).clamp(1, u64::from(u32::MAX)) as u32
    }

    /// How writes are made durable, and after how many; `None` where no option says anything.
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
        let called = every("fsync", SyncMethod::Fsync).or_else(|| every("fdatasync", SyncMethod::Fdatasync));
        open.map(|method| (method, 1)).or(called)
    }

    /// The pattern, without what may stand behind its name (`randwrite:8`).
    pub fn pattern(&self) -> Option<Pattern> {
        let name = self.get("rw")?;
        Pattern::from_name(name.split_once(':').map_or(name, |(name, _)| name))
    }

    /// Where it ran: path and whether it is a directory.
    pub fn place(&self) -> Option<(&str, bool)> {
        let file = self.get("filename").map(|name| (name, false));
        file.or_else(|| self.get("directory").map(|name| (name, true)))
    }

    /// The workload. `block_bytes` is what was really moved by one operation, where no option says it in one number.
    pub fn workload(&self, block_bytes: u64, sync: SyncMethod, sync_every: u32) -> WorkloadRecord {
        // A step program, which fio does not have: flushmark's own export says it in an option of its own.
        let steps: Vec<String> =
            self.get("steps").map(|steps| steps.split("; ").map(str::to_owned).collect()).unwrap_or_default();
        let pattern = self.pattern().filter(|_| steps.is_empty());
        let depth = self.depth();
        let read_percent = pattern.filter(|pattern| pattern.is_mixed()).map(|_| {
            let written = self.whole("rwmixwrite").map(|percent| 100_u64.saturating_sub(percent));
            self.whole("rwmixread").or(written).unwrap_or(50).min(100) as u8
        });
        let rate = self.whole("rate_iops").filter(|&rate| rate > 0);
        WorkloadRecord {
            pattern,
            read_percent,
            block_bytes: self.whole("bs").unwrap_or(block_bytes),
            depth,
            jobs: self.processes(),
            sync: steps.is_empty().then_some(sync),
            sync_every,
            // fio issues its sync beside the writes in flight and not behind them; at depth 1 there are none.
            drain: depth == 1 || sync.call().is_none(),
            streams: 1,
            rest_s: 0.0,
            direct: self.flag("direct"),
            layout: None,
            content: if self.flag("zero_buffers") { Content::Zero } else { Content::Random },
            size_bytes: self.whole("size").unwrap_or(0).saturating_mul(u64::from(self.processes())),
            write_cache: WriteCache::Unchanged,
            rate: rate.map(|per_second| RateRecord { per_second: per_second as f64, arrivals: Arrivals::Constant }),
            seed: self.whole("randseed").unwrap_or(0),
            files: Vec::new(),
            steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_in_any_form() {
        let options = Options::of_command(
            "[root@db ~]# sudo fio -ioengine=libaio --name test --direct -bs=4k --iodepth 4 -filename=\"/dev/sdx\"",
        );
        assert_eq!(options.get("ioengine"), Some("libaio"));
        assert_eq!(options.get("name"), Some("test"));
        assert_eq!(options.place(), Some(("/dev/sdx", false)));
        let workload = options.workload(0, SyncMethod::None, 1);
        assert_eq!((workload.block_bytes, workload.depth, workload.direct), (4096, 4, true));
    }

    #[test]
    fn engines_that_wait_have_no_depth() {
        let mut options = Options::of_command("fio --ioengine=psync --iodepth=32");
        assert_eq!(options.workload(512, SyncMethod::None, 1).depth, 1);
        options.set("ioengine", "io_uring");
        assert_eq!(options.workload(512, SyncMethod::None, 1).depth, 32);
    }

    #[test]
    fn each_way_to_sync() {
        let sync = |line| Options::of_command(line).sync();
        assert_eq!(sync("fio --fsync=8"), Some((SyncMethod::Fsync, 8)));
        assert_eq!(sync("fio --fdatasync=1"), Some((SyncMethod::Fdatasync, 1)));
        assert_eq!(sync("fio --sync=1"), Some((SyncMethod::OSync, 1)));
        assert_eq!(sync("fio --sync=dsync"), Some((SyncMethod::ODsync, 1)));
        assert_eq!(sync("fio --sync=0 --fsync=0"), None);
    }
}
