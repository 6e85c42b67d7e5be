//! fio's options: the table behind the parser, its errors, the command line and `docs/fio.md`.

/// The support for an option in flushmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Affects the workload.
    Used,
    /// Describes what flushmark does anyway, or does not influence the measurement.
    Accepted,
    /// Requests one of fio's logs; a note names flushmark's counterpart.
    Noted,
    /// Unsupported; the sentence says what to do instead.
    Refused,
}

/// The way an option takes its value on a command line (fio's `add_to_lopt` in `init.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// After `=`, or as the next word.
    Required,
    /// After `=`, or none; the next word is another option.
    Optional,
}

/// The definition of one of fio's options.
#[derive(Debug, Clone, Copy)]
pub struct FioOption {
    /// fio's primary name.
    pub name: &'static str,
    /// fio's aliases.
    pub aliases: &'static [&'static str],
    /// The support in flushmark.
    pub role: Role,
    /// The form of its value on a command line.
    pub value: Value,
    /// The supported values.
    pub takes: &'static str,
    /// The default value.
    pub default: &'static str,
    /// The meaning in flushmark, or the reason for the rejection.
    pub meaning: &'static str,
}

impl FioOption {
    /// The primary name and all aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// Looks up an option by name or alias.
pub fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|option| option.names().any(|known| known == name))
}

/// The names of all options that are not refused.
pub fn known_names() -> Vec<&'static str> {
    OPTIONS
        .iter()
        .filter(|option| option.role != Role::Refused)
        .flat_map(FioOption::names)
        .collect()
}

const fn used(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> FioOption {
    FioOption {
        name,
        aliases: &[],
        role: Role::Used,
        value: Value::Required,
        takes,
        default,
        meaning,
    }
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

/// Any text; the value is not parsed.
pub const ANYTHING: &str = "anything";
const NO_LOG: &str = "no log is written; the result document (--output FILE) contains the time \
                      series and the full distribution";
/// An option that is 0, 1, or without a value.
pub const FLAG: &str = "flag";

/// All known options, in the order of the reference page.
pub const OPTIONS: &[FioOption] = &[
    used(
        "rw",
        "`read`, `write`, `randread`, `randwrite`, `rw`, `randrw`, `trim`, `randtrim`; `read:8k` \
         or `write:-8k`",
        "`read`",
        "the pattern; `trim` discards (`BLKDISCARD`, holes in a file). A number is the bytes that \
         a sequential pattern skips after each block; a negative one goes backwards",
    )
    .or(&["readwrite"]),
    used(
        "bs",
        "a size, 512 B to 64 MiB; or two for reads and writes, as in `4k,8k`",
        "`4k`",
        "bytes per read or write; of a trim with `zonemode=zbd`, the size of a zone, up to 2 GiB",
    )
    .or(&["blocksize"]),
    used(
        "bsrange",
        "a range of sizes; two, as with `bs`",
        "none",
        "all multiples of the first size are equally likely; overrides `bs`",
    )
    .or(&["blocksize_range"]),
    used(
        "bssplit",
        "sizes with percentages, such as `4k/60:64k/40`; two, as with `bs`",
        "none",
        "the frequency of each size; overrides `bsrange`. A `size` in bytes is converted to a \
         number of operations",
    ),
    used("blockalign", "one size", "the smallest `bs`", "alignment of random blocks").or(&["ba"]),
    used(
        "random_distribution",
        "`random`, `zipf:THETA`, `pareto:SHARE`, `zoned:DRAWS/BLOCKS:…`, `sequence:BLOCK,…`",
        "`random`",
        "the distribution of random blocks",
    ),
    used(
        "random_sequence_stride",
        FLAG,
        "0",
        "each repetition of a sequence starts where the last \
                                               one ended",
    ),
    used(
        "sprandom",
        FLAG,
        "0",
        "writes a drive's whole flash once, in an order that leaves it in the steady state of random \
         writes; requires `rw=randwrite`",
    ),
    used(
        "spr_op",
        "above 0, below 1",
        "0.15",
        "over-provisioning of the drive, relative to its capacity",
    ),
    used(
        "spr_num_regions",
        "1 to 1000000",
        "100",
        "parts of the flash that are written one after the other, the oldest of which contains the \
         most stale blocks",
    ),
    used(
        "zonemode",
        "`none`, `strided`, `zbd`",
        "`none`",
        "`strided` accesses zones sequentially, with gaps between them. `zbd` writes at the write \
         pointers of zones, as zoned drives require, see below",
    ),
    used(
        "zonesize",
        "size",
        "with `zbd`, that of the drive's zones",
        "size of a zone. A target without zones requires it",
    ),
    used("zonerange", "the same as `zonesize`", "`zonesize`", "each zone is accessed once"),
    used(
        "zoneskip",
        "size",
        "0",
        "bytes skipped after each zone with `zonemode=strided`; 0 with `zbd`",
    ),
    used(
        "max_open_zones",
        "0 to 4096",
        "the limit of the drive",
        "number of zones that all jobs together write at a time; 0 for no separate limit",
    ),
    used(
        "job_max_open_zones",
        "0 to 4096",
        "0",
        "number of zones that one job writes at a time; requires a limit for all jobs",
    ),
    used(
        "ignore_zone_limits",
        FLAG,
        "0",
        "`max_open_zones` applies even if the drive has another limit",
    ),
    used(
        "read_beyond_wp",
        FLAG,
        "0",
        "reads of `zonemode=zbd` also go where nothing has been written",
    ),
    used(
        "zone_reset_threshold",
        "0 to 1",
        "0",
        "share of a job's bytes that must have been written before zones are reset although they \
         are not full",
    ),
    used(
        "zone_reset_frequency",
        "0 to 1",
        "0",
        "such resets per write; 0 for none. Excludes `verify`",
    ),
    used(
        "iodepth",
        "1 to 1024",
        "1",
        "I/Os that each job keeps in flight; 1 with a synchronous \
                                       engine, as in fio",
    ),
    used("numjobs", "1 to 256", "1", "independent submitters"),
    used(
        "fsync",
        "0 to 1000000",
        "0",
        "one `fsync` after this many writes; ignored if nothing is \
                                        written, as in fio",
    ),
    used("fdatasync", "0 to 1000000", "0", "one `fdatasync` after this many writes"),
    used(
        "sync",
        "`0`, `none`, `1`, `sync`, `dsync`",
        "`0`",
        "opens the file with `O_SYNC` (`1`, `sync`) or `O_DSYNC` (`dsync`)",
    ),
    used("direct", FLAG, "0", "`O_DIRECT`"),
    used("buffered", FLAG, "1", "the opposite of `direct`"),
    used(
        "ioengine",
        "`sync`, `psync`, `pvsync`, `pvsync2`, `vsync`, `libzbc`, `io_uring`, `libaio`, \
         `libblkio`; `nbd`; `rbd`; `falloc`, `ftruncate`; `filecreate`, `filestat`, `filedelete`, \
         `dircreate`, `dirstat`, `dirdelete`; `e4defrag`; `cpuio`",
        "`psync`",
        "the first six are the same engine in flushmark: one `pwritev2` or `preadv2` at a time. \
         `nbd` accesses the export `uri` over a socket, `rbd` an image of a Ceph cluster. `falloc` and `ftruncate` change the space \
         of a file instead of its data. The next six create, look up or remove `nrfiles` files or \
         directories, see below. `e4defrag` exchanges blocks of ext4 with those of another file. \
         `cpuio` computes instead of doing I/O",
    ),
    used(
        "donorname",
        "the name of a file",
        "required with `ioengine=e4defrag`",
        "the file whose blocks are exchanged for those of the job's file; it is created, as a \
         temporary file, and shared by all jobs with the same name",
    ),
    used(
        "inplace",
        FLAG,
        "0",
        "1 reserves and releases the space of `donorname` as part of each operation; otherwise, it \
         is reserved beforehand",
    ),
    used(
        "cpuload",
        "1 to 100",
        "required with `ioengine=cpuio`",
        "percentage of a processor that each job uses: it computes, then pauses",
    ),
    used("cpuchunks", "microseconds, 1 to 60000000", "50000", "duration of each computation"),
    used(
        "cpumode",
        "`noop`, `qsort`",
        "`noop`",
        "the computation: a loop that reads the clock, or a sort of 1 MiB of random numbers, \
         whatever time it takes",
    ),
    used(
        "exit_on_io_done",
        FLAG,
        "0",
        "with `ioengine=cpuio`: the section ends once all others that do I/O have ended, \
         and needs no `runtime`",
    ),
    used(
        "libblkio_driver",
        "`io_uring`",
        "required with `ioengine=libblkio`",
        "the library's driver; this one is the same as `ioengine=io_uring`",
    ),
    used("libblkio_path", "one path", "`--target`", "the target with `ioengine=libblkio`"),
    used(
        "uri",
        "`nbd://HOST[:PORT]/EXPORT` or `nbd+unix:///EXPORT?socket=PATH`",
        "none",
        "the target with `ioengine=nbd`, which requires it",
    ),
    used("pool", "a name", "none", "the pool of `rbdname`, which requires it"),
    used("rbdname", "a name", "none", "the target with `ioengine=rbd`, which requires it"),
    used(
        "clientname",
        "a name, with or without `client.`",
        "`admin`",
        "the user of the cluster, with `ioengine=rbd`",
    ),
    used("clustername", "a name", "`ceph`", "the cluster, with `ioengine=rbd`"),
    used(
        "runtime",
        "time",
        "none",
        "duration of the measurement, which ends earlier if `size` is \
                                     reached first",
    )
    .or(&["timeout"]),
    used("time_based", FLAG, "0", "only `runtime` ends the measurement; no effect without it").alone(),
    used(
        "size",
        "size of at least one block, zones such as `8z`, or `1%` to `100%` of a device or an \
         existing file",
        "the whole device or existing file; in a directory, 1 GiB for all jobs together",
        "bytes used by **each job**; without `time_based`, each job ends after `size / bs` \
         operations",
    ),
    used("io_size", "size, or zones", "`size`", "bytes that each job reads or writes before it ends")
        .or(&["io_limit"]),
    used(
        "filesize",
        "one size",
        "`size`",
        "size of each job's file; with a smaller `size`, a job ends after that many bytes",
    ),
    used(
        "loops",
        "1 to 1000000000",
        "1",
        "number of passes of each job over its `size` or \
                                           `io_size`",
    ),
    used("number_ios", "whole number", "none", "operations of each job after which it ends"),
    used("offset", "a multiple of 512 or `bs`, or zones", "0", "offset of each job's part in the file"),
    used(
        "offset_increment",
        "a multiple of 512 or `bs`, or zones",
        "0",
        "distance from the start of one job's part to the start \
                                           of the next",
    ),
    used(
        "filename",
        "one path",
        "`--target`",
        "the target, or a file in `directory`; write `\\:` \
                                                for a colon in a name",
    ),
    used("directory", "one path", "`--target`", "the directory for temporary test files"),
    used(
        "fallocate",
        "`native`, `posix`, `1`, `none`, `0`",
        "`native`",
        "the initial state of a new file that is only written, or only discarded if this is set: \
         space reserved once, or none",
    ),
    used(
        "allow_file_create",
        FLAG,
        "1",
        "0 skips the test unless the target is an existing file or a device",
    ),
    used("overwrite", FLAG, "0", "1 writes a new file once before the measurement"),
    used("rwmixread", "1 to 99", "50", "percentage of reads, for `rw` and `randrw`"),
    used("rwmixwrite", "1 to 99", "50", "percentage of writes, for `rw` and `randrw`"),
    used(
        "rate_iops",
        "a number up to 10000000; two, as with `bs`",
        "unlimited",
        "operations offered per second by each job. As in fio, a rate applies to each direction of \
         a mix, so `rwmixread` has no effect",
    ),
    used(
        "rate",
        "bytes per second; two, as with `bs`",
        "unlimited",
        "the same in bytes; requires a single block size",
    ),
    used(
        "rate_process",
        "`linear`, `poisson`",
        "`linear`",
        "the operations of `rate_iops` are evenly spaced, or arrive at random",
    ),
    used(
        "rate_min",
        "bytes per second; two, as with `bs`",
        "none",
        "a job that is slower fails; checked after 2 s and then once per `rate_cycle`, when an \
         operation completes, as in fio",
    )
    .or(&["ratemin"]),
    used(
        "rate_cycle",
        "milliseconds, 1 to 3600000",
        "1000",
        "time over which `rate_min` is \
        averaged",
    )
    .or(&["ratecycle"]),
    used(
        "thinktime",
        "time, in microseconds without a unit",
        "0",
        "pause of a job after its operations; requires a synchronous `ioengine`",
    ),
    used("thinktime_blocks", "1 to 1000000", "1", "operations before each pause"),
    used(
        "flow",
        "1 to 1000000",
        "none",
        "weight of each job; the operations of all concurrent jobs with the same `flow_id` are \
         shared by weight",
    ),
    used("flow_id", "whole number", "0", "the flow of the section"),
    used(
        "flow_sleep",
        "microseconds",
        "0",
        "pause of a job that has exceeded its share, after its operations in flight",
    ),
    used(
        "startdelay",
        "time",
        "0",
        "delay of a section of the first group of concurrent sections; excludes `ramp_time`",
    ),
    used("exitall", FLAG, "0", "once a job has ended, all sections that run at the same time end")
        .alone(),
    used(
        "exit_what",
        "`group`, `stonewall`, `all`",
        "`group`",
        "the sections that `exitall` ends: those of the same group, those that run at the same \
         time, or all, including later ones",
    ),
    used(
        "new_group",
        FLAG,
        "0",
        "begins a group for `exit_what=group`, as does `stonewall`; each section is a separate test \
         in any case",
    )
    .alone(),
    used(
        "prioclass",
        "0 to 3",
        "none",
        "I/O priority class of each job's thread: 1 realtime (requires root), 0 or 2 best effort, \
         3 idle",
    ),
    used("prio", "0 to 7", "0", "I/O priority level of each job's thread; 0 is the highest"),
    used("priohint", "0 to 1023", "0", "I/O priority hint of each job's thread"),
    used(
        "cpus_allowed",
        "numbers and ranges: `0,5,8-15`",
        "one processor for each job, if there are enough",
        "processors of each job's thread; the test is skipped if one does not exist or is offline",
    ),
    used(
        "cpus_allowed_policy",
        "`shared`, `split`",
        "`shared`",
        "with `cpus_allowed`: all of them for each job, or one for each job, in turn",
    ),
    used(
        "numa_cpu_nodes",
        "`all`, or numbers and ranges: `0-1`",
        "none",
        "NUMA nodes whose processors run each job's thread, instead of `cpus_allowed`; the test is \
         skipped if the machine lacks one",
    ),
    used(
        "numa_mem_policy",
        "`default`, `local`, `prefer:NODE`, `bind:NODES`, `interleave:NODES`",
        "`default`",
        "NUMA nodes of the memory of each job, such as its buffers",
    ),
    used(
        "cmdprio_percentage",
        "0 to 100; two, as with `bs`",
        "0",
        "percentage of I/Os with the priority below instead of that of the thread. Their latencies \
         are reported separately. Requires `libaio` or `io_uring`",
    ),
    used("cmdprio_class", "1 to 3; two, as with `bs`", "1", "priority class of these I/Os"),
    used("cmdprio", "0 to 7; two, as with `bs`", "0", "priority level of these I/Os"),
    used(
        "cmdprio_hint",
        "0 to 1023; two, as with `bs`",
        "0",
        "priority hint of these I/Os, such as the number of a command duration limit",
    ),
    used(
        "cmdprio_bssplit",
        "`SIZE/PERCENT`, `…/CLASS/LEVEL` or `…/CLASS/LEVEL/HINT`, joined by colons; two, as with \
         `bs`",
        "none",
        "the percentage for each block size, instead of `cmdprio_percentage`",
    ),
    used(
        "latency_target",
        "time, in microseconds without a unit",
        "none",
        "before the measurement, each job searches for the largest depth, up to `iodepth`, at which \
         its I/Os take no longer. The measurement at that depth takes one `latency_window`. A note \
         reports the depth. Requires an asynchronous `ioengine`",
    ),
    used(
        "latency_window",
        "time, in microseconds without a unit",
        "none",
        "time for which each depth is tried",
    ),
    used(
        "latency_percentile",
        "1 to 100",
        "100",
        "percentage of I/Os that must not exceed `latency_target`",
    ),
    used(
        "steadystate",
        "`iops`, `iops_slope`, `bw`, `bw_slope`, `lat`, `lat_slope`, with a limit: `iops:10%`, \
         `bw:1m`; `lat` takes a percentage only",
        "`iops_slope:0.01%`",
        "ends the section once the largest deviation from the mean, or the slope per interval, is \
         below the limit. All jobs of a section are checked together. A note reports whether the \
         state was reached",
    )
    .or(&["ss"]),
    used(
        "steadystate_duration",
        "seconds, a multiple of `steadystate_check_interval`",
        "0",
        "window of `steadystate`; 0 disables it",
    )
    .or(&["ss_dur"]),
    used("steadystate_ramp_time", "seconds", "0", "time at the start that is not checked")
        .or(&["ss_ramp"]),
    used("steadystate_check_interval", "seconds", "1", "time between two samples")
        .or(&["ss_interval"]),
    used("ramp_time", "time", "0", "warm-up before the measurement"),
    used(
        "stonewall",
        FLAG,
        "0",
        "waits until all previous sections have ended; without it, a \
                                  section runs concurrently with the previous one",
    )
    .or(&["wait_for_previous"])
    .alone(),
    used(
        "wait_for",
        "the name of an earlier section",
        "none",
        "same as `stonewall` if that is the previous section and runs alone; no effect if the \
         previous section has waited for it, too",
    ),
    used("end_fsync", FLAG, "0", "ends each job with an `fsync`, within its measured time"),
    used(
        "verify",
        "`crc32c` or another of fio's checksums, `meta`, `pattern`, `pattern_hdr`, `0`",
        "`0`",
        "each block that is written begins with a header: the number of the write, the offset and a \
         checksum. The checksum is a CRC-32C under any name, because the name changes only what it \
         costs: `crc32c`, `crc32c-intel`, `crc32`, `crc64`, `crc16`, `crc7`, `xxhash`, `md5`, \
         `sha1`, `sha256`, `sha512`, `sha3-224`, `sha3-256`, `sha3-384`, `sha3-512`. With `meta`, \
         it covers the header only, and `pattern` omits the header. \
         `flushmark verify` also checks after a power cut",
    ),
    used(
        "verify_pattern",
        "up to 64 bytes: `0xdeadbeef`, or a decimal number",
        "none",
        "the data after each header, which is compared, too; sets `verify=pattern` if there is no \
         `verify`",
    ),
    used("verify_interval", "a size that divides `bs`, from 64", "`bs`", "distance of two headers"),
    used(
        "do_verify",
        FLAG,
        "1",
        "0 does not check what a section writes. A later section with `rw=read` or `rw=randread`, \
         the same `filename` and the same `verify` options checks the blocks that it reads",
    ),
    used(
        "verify_backlog",
        "0 to 1000000",
        "0",
        "number of writes after which a job reads back the written blocks, within its measured \
         time; otherwise it does so afterwards",
    ),
    used(
        "verify_write_sequence",
        FLAG,
        "1",
        "a block must contain the last write to it. 0 also accepts earlier ones; it is the default \
         for jobs that overwrite each other's blocks, see below",
    ),
    used(
        "continue_on_error",
        "`none`, `read`, `write`, `io`, `verify`, `all`",
        "`none`",
        "I/O errors (`EIO`) or mismatches of these operations do not end a job; a note reports \
         their number and the first",
    ),
    used(
        "ignore_error",
        "errors of reads, writes, verification: `EAGAIN,ENOSPC:122`",
        "none",
        "the errors that do not end a job, instead of `EIO`. With `ENOSPC` for writes and \
         `--destroy-data`, a file without reserved space (`fallocate=none`, `create_on_open`) may \
         use all space of its filesystem; otherwise, flushmark uses at most half",
    ),
    used(
        "fill_device",
        FLAG,
        "0",
        "writes until the disk is full, without `size` from the start to the end of a device or \
         existing file. In a directory, that is half of the free space, or all of it with \
         `--destroy-data`",
    )
    .or(&["fill_fs"]),
    used(
        "atomic",
        FLAG,
        "0",
        "each block is written atomically (`RWF_ATOMIC`), with any `ioengine`. Requires `direct=1` \
         and a drive, a filesystem and a kernel that support it; the test is skipped otherwise",
    ),
    used("invalidate", FLAG, "1", "drops cached pages of the file beforehand"),
    used("zero_buffers", FLAG, "0", "writes zeros").alone(),
    used(
        "refill_buffers",
        FLAG,
        "0",
        "no effect; each write differs from the previous one \
                                       anyway",
    )
    .alone(),
    used(
        "buffer_compress_percentage",
        "0 to 100",
        "0",
        "percentage of zeros in each 4 KiB that is written, after random bytes; 100 writes zeros",
    ),
    used("dedupe_percentage", "0 to 100", "0", "percentage of writes that are duplicates"),
    used(
        "dedupe_mode",
        "`repeat`, `working_set`",
        "`repeat`",
        "the content of duplicates: that of the last write that was none, or of a random block \
         among the first ones that were none",
    ),
    used(
        "dedupe_working_set_percentage",
        "1 to 100",
        "5",
        "size of the working set, relative to that of the job",
    ),
    used("dedupe_global", FLAG, "0", "all jobs with this flag share one working set"),
    used("randseed", "whole number", "1", "seed of the offsets, the mix and the contents"),
    used(
        "io_submit_mode",
        "`inline`; `offload` with `rate_iops`",
        "`inline`",
        "below `iodepth`, an offered load never waits for completions, which is the purpose of \
         `offload`",
    ),
    used(
        "nrfiles",
        "1 to 16384; 1 to 16777216 with `filecreate` and similar engines",
        "1",
        "files of each job in a directory, which divide its `size`; ignored with `filename`, as in \
         fio, and on a device \
         or an existing file",
    )
    .or(&["nr_files"]),
    used(
        "openfiles",
        "at least `nrfiles`; any number with `filecreate` and similar engines",
        "`nrfiles`",
        "all files of a job stay open; a file that is created is closed at once",
    ),
    used(
        "create_on_open",
        FLAG,
        "0",
        "1 does not prepare the file: it has no space at the start, and reads find zeros where \
         nothing has been written. Engines such as `filecreate` ignore it",
    ),
    used(
        "file_service_type",
        "`roundrobin`, `random`, `sequential`; `random:8`",
        "`roundrobin`",
        "the order in which the files of a job take turns. A number is the operations, syncs \
         included, of a turn",
    ),
    used(
        "name",
        "text",
        "the section's name",
        "the test's name; on a command line, starts a new \
                                                job",
    ),
    accepted("group_reporting", FLAG, "the jobs of a section are always reported together").alone(),
    accepted(
        "thread",
        FLAG,
        "jobs are threads; fio's default, processes, would give the same \
                              results",
    )
    .or(&["threads"])
    .alone(),
    accepted("verify_fatal", FLAG, "the first mismatch ends the job unless it is ignored"),
    accepted("verify_dump", FLAG, "a mismatch is reported with its offset; no block is saved"),
    accepted(
        "verify_async",
        ANYTHING,
        "the job checks its blocks; the number of threads changes only what that costs",
    ),
    accepted("error_dump", FLAG, "ignored errors are counted, and the first one is reported"),
    accepted("norandommap", FLAG, "random blocks repeat, see below").alone(),
    accepted("softrandommap", FLAG, "random blocks repeat, see below"),
    accepted(
        "random_generator",
        "`tausworthe`, `lfsr`, `tausworthe64`",
        "offsets are uniformly random with any generator",
    ),
    accepted("randrepeat", FLAG, "the order follows from `randseed`"),
    accepted("allrandrepeat", FLAG, "the order follows from `randseed`"),
    accepted("scramble_buffers", FLAG, "each write differs from the previous one anyway"),
    accepted("description", ANYTHING, "a comment"),
    accepted("gtod_reduce", FLAG, "latency is always measured"),
    accepted("disable_lat", FLAG, "latency is always measured"),
    accepted("disable_clat", FLAG, "latency is always measured"),
    accepted("disable_slat", FLAG, "latency is always measured"),
    accepted("disable_bw_measurement", FLAG, "a time series is always kept"),
    accepted("clat_percentiles", FLAG, "the result document contains the full distribution"),
    accepted("lat_percentiles", FLAG, "the result document contains the full distribution"),
    accepted("slat_percentiles", FLAG, "the result document contains the full distribution"),
    accepted("percentile_list", ANYTHING, "the result document contains the full distribution"),
    accepted("unified_rw_reporting", ANYTHING, "reads and writes are always reported separately"),
    accepted("create_serialize", FLAG, "files are prepared before the measurement"),
    accepted("create_fsync", FLAG, "files are durable before the measurement"),
    accepted("unlink", FLAG, "test files are always removed"),
    accepted("registerfiles", FLAG, "files are always registered with `io_uring`").alone(),
    accepted("fixedbufs", FLAG, "buffers are always registered with `io_uring`").alone(),
    accepted("busy_poll", "`0`", "completions of `ioengine=rbd` are waited for").alone(),
    accepted("eta", ANYTHING, "progress is shown on a terminal"),
    accepted("eta-newline", ANYTHING, "progress is shown on a terminal"),
    noted("write_bw_log", NO_LOG).alone(),
    noted("write_lat_log", NO_LOG).alone(),
    noted("write_iops_log", NO_LOG).alone(),
    noted("write_hist_log", NO_LOG).alone(),
    accepted("log_avg_msec", ANYTHING, "no log is written"),
    accepted("log_hist_msec", ANYTHING, "no log is written"),
    accepted("log_offset", FLAG, "no log is written"),
    accepted("log_prio", FLAG, "no log is written"),
    refused("touch_objects", "objects are always created and filled; use --target rados:POOL"),
    refused("conf", "set CEPH_CONF, or use --target rados:POOL:conf=FILE"),
    refused("output", "put --output FILE before the fio command line to write the result document"),
    refused("output-format", "put --format json, fio or fio+ before the fio command line"),
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
