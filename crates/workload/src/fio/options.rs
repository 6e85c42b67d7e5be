//! fio's options: one table for the parser, its errors, the command line and `docs/fio.md`.

/// What an option does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It shapes the workload.
    Used,
    /// It describes what happens anyway, or has no influence on what is measured.
    Accepted,
    /// It asks for one of fio's logs; a note names flushmark's counterpart.
    Noted,
    /// It asks for something that flushmark does not do; the sentence says what to do instead.
    Refused,
}

/// How a command line gives the value (fio's `add_to_lopt` in `init.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// After `=`, or as the next word.
    Required,
    /// After `=` or not at all; the next word is another option.
    Optional,
}

/// One of fio's options.
#[derive(Debug, Clone, Copy)]
pub struct FioOption {
    /// fio's name for it.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// What it does here.
    pub role: Role,
    /// How a command line gives its value.
    pub value: Value,
    /// The values that are understood.
    pub takes: &'static str,
    /// What holds when it is left out.
    pub default: &'static str,
    /// What it means here, or why it is refused.
    pub meaning: &'static str,
}

impl FioOption {
    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// The option of this name.
pub fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|option| option.names().any(|known| known == name))
}

/// Every name that is not refused.
pub fn known_names() -> Vec<&'static str> {
    OPTIONS.iter().filter(|option| option.role != Role::Refused).flat_map(FioOption::names).collect()
}

const fn used(name: &'static str, takes: &'static str, default: &'static str, meaning: &'static str) -> FioOption {
    FioOption { name, aliases: &[], role: Role::Used, value: Value::Required, takes, default, meaning }
}

const fn accepted(name: &'static str, takes: &'static str, meaning: &'static str) -> FioOption {
    let (role, value) = (Role::Accepted, Value::Required);
    FioOption { name, aliases: &[], role, value, takes, default: "", meaning }
}

const fn noted(name: &'static str, meaning: &'static str) -> FioOption {
    let (role, value) = (Role::Noted, Value::Required);
    FioOption { name, aliases: &[], role, value, takes: ANYTHING, default: "", meaning }
}

const fn refused(name: &'static str, meaning: &'static str) -> FioOption {
    let (role, value) = (Role::Refused, Value::Required);
    FioOption { name, aliases: &[], role, value, takes: "", default: "", meaning }
}

impl FioOption {
    const fn or(self, aliases: &'static [&'static str]) -> FioOption {
        FioOption { aliases, ..self }
    }

    const fn alone(self) -> FioOption {
        FioOption { value: Value::Optional, ..self }
    }
}

/// Free text, a list of names, or anything else that is not looked at.
pub const ANYTHING: &str = "anything";
const NO_LOG: &str = "no log is written; the result document (--output FILE) has the series and the whole distribution";
/// A switch.
pub const FLAG: &str = "flag";

/// All options that flushmark knows, in the order in which the page lists them.
pub const OPTIONS: &[FioOption] = &[
    used(
        "rw",
        "`read`, `write`, `randread`, `randwrite`, `rw`, `randrw`, `trim`, `randtrim`; `read:8k` or `write:-8k`",
        "`read`",
        "the pattern; `trim` discards (`BLKDISCARD`, holes in a file). A number is the bytes that a sequential one skips after each block, backwards if below zero",
    )
    .or(&["readwrite"]),
    used(
        "bs",
        "a size, 512 B to 64 MiB; two, as in `4k,8k`, for reads and writes",
        "`4k`",
        "bytes of one read or write",
    )
    .or(&["blocksize"]),
    used(
        "bsrange",
        "a range of sizes, as `bs`",
        "none",
        "each multiple of the first size is as likely; goes before `bs`",
    )
    .or(&["blocksize_range"]),
    used(
        "bssplit",
        "sizes with percentages, as `bs`, such as `4k/60:64k/40`",
        "none",
        "how often each size comes; goes before `bsrange`. A `size` in bytes is then about so many operations",
    ),
    used("blockalign", "one size", "the smallest `bs`", "where random blocks begin").or(&["ba"]),
    used(
        "random_distribution",
        "`random`, `zipf:THETA`, `pareto:SHARE`, `zoned:DRAWS/BLOCKS:…`, `sequence:BLOCK,…`",
        "`random`",
        "how often each random block is drawn",
    ),
    used("random_sequence_stride", FLAG, "0", "each repetition of a sequence begins where the last one ended"),
    used("zonemode", "`none`, `strided`", "`none`", "goes through zones one block after the other, with gaps"),
    used("zonesize", "size", "none", "bytes of a zone of `zonemode=strided`"),
    used("zonerange", "the same as `zonesize`", "`zonesize`", "each zone is gone through once"),
    used("zoneskip", "size", "0", "bytes skipped behind each zone"),
    used("iodepth", "1 to 1024", "1", "I/Os that each job keeps in flight; 1 with a synchronous engine, as in fio"),
    used("numjobs", "1 to 256", "1", "independent submitters"),
    used("fsync", "0 to 1000000", "0", "one `fsync` after so many writes; nothing where nothing is written, as in fio"),
    used("fdatasync", "0 to 1000000", "0", "one `fdatasync` after so many writes"),
    used(
        "sync",
        "`0`, `none`, `1`, `sync`, `dsync`",
        "`0`",
        "the file is opened with `O_SYNC` (`1`, `sync`) or `O_DSYNC` (`dsync`)",
    ),
    used("direct", FLAG, "0", "`O_DIRECT`"),
    used("buffered", FLAG, "1", "the opposite of `direct`"),
    used(
        "ioengine",
        "`sync`, `psync`, `pvsync`, `pvsync2`, `vsync`, `io_uring`, `libaio`",
        "`psync`",
        "the first five are one engine here: one `pwritev2` or `preadv2` at a time",
    ),
    used("runtime", "time", "none", "the measurement ends after it, or when `size` is done, whichever is first")
        .or(&["timeout"]),
    used("time_based", FLAG, "0", "only `runtime` ends it").alone(),
    used(
        "size",
        "size of at least one block, or `1%` to `100%` of a device or an existing file",
        "all of a device or an existing file; in a directory, 1 GiB for all jobs together",
        "bytes that **each job** works on; without `time_based`, each job ends after `size / bs` operations",
    ),
    used("io_size", "size", "`size`", "bytes that each job reads or writes before it ends").or(&["io_limit"]),
    used(
        "filesize",
        "one size",
        "`size`",
        "size of the file that each job works on; with a smaller `size`, a job ends after that many bytes",
    ),
    used("loops", "1 to 1000000000", "1", "how often each job does its `size` or `io_size`"),
    used("number_ios", "whole number", "none", "operations of each job after which it ends"),
    used("offset", "size", "0", "where in the file each job's part begins"),
    used("offset_increment", "size", "0", "how far the part of each job begins behind that of the one before it"),
    used("filename", "one path", "`--target`", "the target, or a file in `directory`; `\\:` is a colon in a name"),
    used("directory", "one path", "`--target`", "the directory in which test files are made and removed"),
    used(
        "fallocate",
        "`native`, `posix`, `1`, `none`, `0`",
        "`native`",
        "what a new file is made of that is only written: space reserved once, or nothing",
    ),
    used("overwrite", FLAG, "0", "1 writes a new file through before the measurement"),
    used("rwmixread", "1 to 99", "50", "share of reads, for `rw` and `randrw`"),
    used("rwmixwrite", "1 to 99", "50", "share of writes, for `rw` and `randrw`"),
    used("rate_iops", "one number, up to 10000000", "as fast as it goes", "operations offered per second by each job"),
    used("rate", "one number of bytes per second", "as fast as it goes", "the same in bytes, for one block size"),
    used(
        "rate_process",
        "`linear`, `poisson`",
        "`linear`",
        "whether the operations of `rate_iops` are evenly spaced or arrive at random",
    ),
    used("ramp_time", "time", "0", "warm-up before the measurement"),
    used("stonewall", FLAG, "0", "waits until all sections before it have ended; without it a section runs beside the one before").or(&["wait_for_previous"]).alone(),
    used("wait_for", "the name of the section before", "none", "stands for `stonewall` where that section runs alone"),
    used("end_fsync", FLAG, "0", "each job ends with an `fsync`, within its measured time"),
    used(
        "verify",
        "`crc32c`, `0`",
        "`0`",
        "each write carries a checksum, and after the measured time each block that was written is read back and checked; \
         `flushmark verify` checks after a power cut, too",
    ),
    used("invalidate", FLAG, "1", "drops cached pages of the file beforehand"),
    used("zero_buffers", FLAG, "0", "writes zeros").alone(),
    used("refill_buffers", FLAG, "0", "accepted; each write differs from the last anyway").alone(),
    used("randseed", "whole number", "1", "decides the offsets, the mix and the contents"),
    used(
        "io_submit_mode",
        "`inline`; `offload` with `rate_iops`",
        "`inline`",
        "an offered load never waits for completions below `iodepth`, which is what `offload` is for",
    ),
    used("nrfiles", "1", "1", "files of each job; flushmark's jobs have one").or(&["nr_files"]),
    used("name", "text", "the section's name", "the test's name; a new job on a command line"),
    accepted("group_reporting", FLAG, "the jobs of a section are always reported together").alone(),
    accepted("new_group", FLAG, "each section is a test by itself").alone(),
    accepted("thread", FLAG, "jobs are threads; with processes, fio's default, nothing else would differ")
        .or(&["threads"])
        .alone(),
    accepted("norandommap", FLAG, "random blocks repeat, see below").alone(),
    accepted("softrandommap", FLAG, "random blocks repeat, see below"),
    accepted(
        "random_generator",
        "`tausworthe`, `lfsr`, `tausworthe64`",
        "offsets are uniformly random with each of them",
    ),
    accepted("randrepeat", FLAG, "the order follows from `randseed`; another order is as random"),
    accepted("allrandrepeat", FLAG, "the order follows from `randseed`; another order is as random"),
    accepted("scramble_buffers", FLAG, "each write differs from the last anyway"),
    accepted("description", ANYTHING, "a remark"),
    accepted("gtod_reduce", FLAG, "latencies are always measured"),
    accepted("disable_lat", FLAG, "latencies are always measured"),
    accepted("disable_clat", FLAG, "latencies are always measured"),
    accepted("disable_slat", FLAG, "latencies are always measured"),
    accepted("disable_bw_measurement", FLAG, "a series is always kept"),
    accepted("clat_percentiles", FLAG, "the result document has the whole distribution"),
    accepted("lat_percentiles", FLAG, "the result document has the whole distribution"),
    accepted("slat_percentiles", FLAG, "the result document has the whole distribution"),
    accepted("percentile_list", ANYTHING, "the result document has the whole distribution"),
    accepted("unified_rw_reporting", ANYTHING, "reads and writes are always reported apart"),
    accepted("create_serialize", FLAG, "files are prepared before the measurement"),
    accepted("create_fsync", FLAG, "files are durable before the measurement"),
    accepted("unlink", FLAG, "test files are always removed"),
    accepted("registerfiles", FLAG, "files are always registered with `io_uring`").alone(),
    accepted("fixedbufs", FLAG, "buffers are always registered with `io_uring`").alone(),
    accepted("eta", ANYTHING, "progress is shown on a terminal"),
    accepted("eta-newline", ANYTHING, "progress is shown on a terminal"),
    noted("write_bw_log", NO_LOG).alone(),
    noted("write_lat_log", NO_LOG).alone(),
    noted("write_iops_log", NO_LOG).alone(),
    noted("write_hist_log", NO_LOG).alone(),
    accepted("log_avg_msec", ANYTHING, "no log is written"),
    accepted("log_hist_msec", ANYTHING, "no log is written"),
    accepted("log_offset", FLAG, "no log is written"),
    refused("cpus_allowed", "run flushmark under `taskset` instead"),
    refused("startdelay", "sections start at the same moment"),
    refused("thinktime", "give a rate instead, rate_iops"),
    refused("output", "give --output FILE before the fio command line; it writes the result document"),
    refused("output-format", "give --format json, fio or fio+ before the fio command line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_option() {
        let mut names: Vec<&str> = OPTIONS.iter().flat_map(FioOption::names).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
        assert_eq!(find("readwrite").map(|option| option.name), Some("rw"));
        assert!(find("bw").is_none());
    }
}
