//! Every field of a plan file: one table for the parser, the reference page and the JSON Schema.

use crate::blocks::{ENTRIES_MAX, EngineChoice, Layout, Sharing};
use crate::files::{FileOrder, JobFiles};
use crate::pattern::Pattern;
use crate::plan::Table;
use crate::sort::{SortKeys, SortWork};
use crate::sync::SyncMethod;
use crate::write_cache::WriteCache;

/// The type and range of a field's value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    Word(fn() -> Vec<&'static str>),
    /// A byte size between two bounds, inclusive.
    Size(u64, u64),
    /// A byte size between two bounds, or a percentage of the target, `1%` to `100%`.
    Area(u64, u64),
    /// A whole number between two bounds, inclusive.
    Whole(u64, u64),
    /// A number above zero, up to a maximum.
    Rate(f64),
    /// `true` or `false`.
    Flag,
    /// A duration, above zero unless `zero` is set.
    Time {
        /// Zero is valid, too.
        zero: bool,
    },
    /// A list of step lines.
    Steps,
    /// A table of tables.
    Files,
    /// A table of lists.
    Matrix,
    /// The defaults of all tests.
    Defaults,
    /// The tests themselves.
    Tests,
}

/// The table that a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The top level of the file.
    Plan,
    /// In a `[[test]]`, and in `[defaults]`.
    Test,
    /// In a `[[test]]` only.
    TestOnly,
    /// A file of a step program, `[test.files]`.
    File,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key in the TOML file.
    pub name: &'static str,
    /// The table that it belongs to.
    pub scope: Scope,
    /// The type and range of its value.
    pub kind: Kind,
    /// The value used if the field is omitted.
    pub default: &'static str,
    /// The description for the reference page and the schema.
    pub meaning: &'static str,
    /// A line of TOML that sets the field.
    pub example: &'static str,
}

impl Field {
    /// Returns `true` if a matrix can vary the field, which requires a single value.
    pub fn varies(&self) -> bool {
        self.scope == Scope::Test && !matches!(self.kind, Kind::Steps | Kind::Files | Kind::Matrix)
    }
}

/// The layouts available to files of step programs.
pub const FILE_LAYOUTS: [Layout; 3] = [Layout::Overwrite, Layout::Append, Layout::Preallocated];

const MIB_64: u64 = 64 << 20;
/// The largest file offset.
pub const SIZE_MAX: u64 = i64::MAX as u64;

macro_rules! field {
    ($scope:ident, $name:literal, $kind:expr, $default:literal, $meaning:literal, $example:literal) => {
        Field {
            name: $name,
            scope: Scope::$scope,
            kind: $kind,
            default: $default,
            meaning: $meaning,
            example: $example,
        }
    };
}

/// All fields, in the order of the reference page.
pub const FIELDS: &[Field] = &[
    field!(
        Plan,
        "name",
        Kind::Text,
        "the file name",
        "The name of the plan in result documents.",
        "name = \"nightly\""
    ),
    field!(
        Plan,
        "answers",
        Kind::Text,
        "empty",
        "The question that the plan answers, in one sentence.",
        "answers = \"Can this volume take our commit rate?\""
    ),
    field!(
        Plan,
        "source",
        Kind::Text,
        "empty",
        "The origin of its tests.",
        "source = \"the vendor's acceptance test\""
    ),
    field!(
        Plan,
        "table",
        Kind::Word(|| Table::ALL.map(Table::name).to_vec()),
        "\"tests\"",
        "The table layout of the results; all but `tests` belong to built-in suites.",
        "table = \"commits\""
    ),
    field!(
        Plan,
        "target",
        Kind::Text,
        "none",
        "The target to use if the command line has no `--target`.",
        "target = \"/var/lib/postgresql\""
    ),
    field!(
        Plan,
        "defaults",
        Kind::Defaults,
        "none",
        "Fields that apply to every test that does not set them itself.",
        "[defaults]\nblock = \"4KiB\""
    ),
    field!(
        Plan,
        "published",
        Kind::Defaults,
        "none",
        "Fields that replace those of every test with `run --as-published`, such as the long tests \
         and rests of the plan's source. Without that option, a note says how the short form \
         differs.",
        "[published]\ntime = \"5min\"\nrest = \"5min\""
    ),
    field!(
        Plan,
        "test",
        Kind::Tests,
        "required",
        "The tests, in the order in which they run; at least one.",
        "[[test]]\npattern = \"randwrite\""
    ),
    field!(
        TestOnly,
        "name",
        Kind::Text,
        "derived from the other fields",
        "The name of the test; unique within the plan.",
        "name = \"journal\""
    ),
    field!(
        Test,
        "pattern",
        Kind::Word(|| Pattern::planned().map(Pattern::name).collect()),
        "required, unless there are steps or a sort",
        "The access pattern: sequential (`read`, `write`, `rw`, `trim`) or random (`randread`, \
         `randwrite`, `randrw`, `randtrim`). `rw` and `randrw` mix reads and writes. `trim` and \
         `randtrim` discard (`BLKDISCARD` on a device, holes in a file) and count as writes. So do \
         `allocate`, `reserve` and `truncate`, sequential or random (`randallocate`, …), which \
         change the space of a file: `fallocate`, `fallocate` without changing the length of the \
         file, and `ftruncate` to the offset of a block. `create`, `remove`, `mkdir` and `rmdir` \
         create and remove `entries` files or directories, `stat` and `statdir` look them up; each \
         operation is one entry, and each entry has its turn once.",
        "pattern = \"randwrite\""
    ),
    field!(
        Test,
        "entries",
        Kind::Whole(1, ENTRIES_MAX),
        "1000",
        "With `create`, `stat`, `remove`, `mkdir`, `statdir` or `rmdir`: number of files or \
         directories of each job, in one directory. `block` is the size of the files that `stat` \
         and `remove` find. Such a test has no warm-up, and ends once each entry has had its turn, \
         or after `time`.",
        "entries = 31250"
    ),
    field!(
        Test,
        "read_percent",
        Kind::Whole(1, 99),
        "50",
        "Percentage of reads, for `rw` and `randrw`.",
        "read_percent = 70"
    ),
    field!(
        Test,
        "block",
        Kind::Size(512, MIB_64),
        "\"4KiB\"; with sort, \"256KiB\"",
        "Bytes per read or write.",
        "block = \"16KiB\""
    ),
    field!(
        Test,
        "depth",
        Kind::Whole(1, 1024),
        "1",
        "I/Os that each job keeps in flight.",
        "depth = 32"
    ),
    field!(
        Test,
        "jobs",
        Kind::Whole(1, 256),
        "1",
        "Independent submitters, each with its own file handle and its own part of the target.",
        "jobs = 4"
    ),
    field!(
        Test,
        "sync",
        Kind::Word(|| SyncMethod::ALL.map(SyncMethod::name).to_vec()),
        "\"none\"",
        "How writes are made durable: by a call after them (`fsync`, `fdatasync`), by an open flag \
         (`o_sync`, `o_dsync`), by a flag on each write (`rwf_dsync`), or by a sync linked to each \
         write in io_uring (`linked_fsync`, `linked_fdatasync`).",
        "sync = \"fdatasync\""
    ),
    field!(
        Test,
        "sync_every",
        Kind::Whole(1, 1_000_000),
        "1",
        "Call `fsync` or `fdatasync` once after this many writes of a job. The job waits for its \
         writes before it syncs.",
        "sync_every = 8"
    ),
    field!(
        Test,
        "drain",
        Kind::Flag,
        "true",
        "Wait for the job's writes in flight before each sync. If `false`, a sync does not cover \
         writes in flight, and no commits are counted.",
        "drain = false"
    ),
    field!(
        Test,
        "queue_sync",
        Kind::Flag,
        "false",
        "Issue each sync as one more operation in flight that waits for nothing and that nothing \
         waits for. No commits are counted at a depth above 1. This is how fio's `fsync` works \
         with io_uring and libaio.",
        "queue_sync = true"
    ),
    field!(
        Test,
        "streams",
        Kind::Whole(1, 1024),
        "1",
        "Number of sequential streams, evenly spaced over a job's part, that take turns.",
        "streams = 8"
    ),
    field!(
        Test,
        "direct",
        Kind::Flag,
        "true",
        "Bypass the page cache (`O_DIRECT`). If the filesystem does not support it, the result \
         says so.",
        "direct = false"
    ),
    field!(
        Test,
        "invalidate",
        Kind::Flag,
        "true",
        "Drop cached pages of the file beforehand; only matters with `direct = false`.",
        "invalidate = false"
    ),
    field!(
        Test,
        "layout",
        Kind::Word(|| Layout::ALL.map(Layout::name).to_vec()),
        "\"overwrite\"",
        "The state of the blocks before the measurement: written once (`overwrite`), a file that \
         grows (`append`), or space that is reserved but never written (`preallocated`); `append` \
         and `preallocated` start over once everything has been written. `preallocated-once` \
         (fio's default) and `empty` (fio's `fallocate=none`) are new files that do not start \
         over: a second write to the same block is an overwrite. With `allocate`, `reserve`, \
         `truncate` and their random variants, the default is `empty`.",
        "layout = \"append\""
    ),
    field!(
        Test,
        "content",
        Kind::Word(|| vec!["random", "zero", "compressible"]),
        "\"random\"",
        "The data to write. `random` is incompressible and differs in each write.",
        "content = \"zero\""
    ),
    field!(
        Test,
        "compressible_percent",
        Kind::Whole(1, 99),
        "50",
        "Percentage of zeros in each 4 KiB, for `compressible`.",
        "compressible_percent = 70"
    ),
    field!(
        Test,
        "size",
        Kind::Area(512, SIZE_MAX),
        "all of a device or an existing file, `file_size` in a directory",
        "Bytes used by all jobs together, or a percentage of the target. For a device or file, the \
         percentage is of its size; in a directory, it is of half the free space, which is the \
         most that a test uses. With sort, the bytes of all records.",
        "size = \"8GiB\""
    ),
    field!(
        Test,
        "file_size",
        Kind::Size(512, SIZE_MAX),
        "\"1GiB\"",
        "Size of the test files in a directory, all jobs together, if `size` is not given.",
        "file_size = \"256MiB\""
    ),
    field!(
        Test,
        "sharing",
        Kind::Word(|| Sharing::ALL.map(Sharing::name).to_vec()),
        "\"none\"",
        "The bytes shared by several jobs: `none`; those of a device or file, but a separate file \
         for each job in a directory (`device`); or those of one file or device (`all`). With \
         `device` and `all`, `size` is per job.",
        "sharing = \"all\""
    ),
    field!(
        Test,
        "files_per_job",
        Kind::Whole(1, JobFiles::PER_JOB_MAX as u64),
        "1",
        "Number of files of each job in a directory; the job's bytes are divided equally among \
         them. A device or an existing file counts as one file.",
        "files_per_job = 8"
    ),
    field!(
        Test,
        "file_order",
        Kind::Word(|| FileOrder::ALL.map(FileOrder::name).to_vec()),
        "\"round-robin\"",
        "The order in which the files of a job take turns: one after the other (`round-robin`), \
         drawn at random (`random`), or each file completely before the next (`sequential`). A \
         file of which as many blocks have been accessed as it contains has no further turn until \
         the same is true of all of them.",
        "file_order = \"random\""
    ),
    field!(
        Test,
        "file_turn",
        Kind::Whole(1, JobFiles::TURN_MAX as u64),
        "1",
        "With `files_per_job`: operations on a file before the next file's turn.",
        "file_turn = 8"
    ),
    field!(
        Test,
        "sync_next_file",
        Kind::Flag,
        "false",
        "With `files_per_job`: each sync takes a turn and covers the file whose turn it is instead \
         of the file of the last write. No commits are counted. This is how fio's `fsync` works \
         with `nrfiles`.",
        "sync_next_file = true"
    ),
    field!(
        Test,
        "offset",
        Kind::Size(0, SIZE_MAX),
        "\"0B\"",
        "Offset of the first job's part in its file or device; a multiple of the block size.",
        "offset = \"1GiB\""
    ),
    field!(
        Test,
        "offset_increment",
        Kind::Size(0, SIZE_MAX),
        "\"0B\"",
        "With `sharing`: distance from the start of one job's part to the start of the next; a \
         multiple of the block size.",
        "offset_increment = \"1GiB\""
    ),
    field!(
        Test,
        "end_fsync",
        Kind::Flag,
        "false",
        "End each job with an `fsync`, within its measured time.",
        "end_fsync = true"
    ),
    field!(
        Test,
        "precondition",
        Kind::Flag,
        "false",
        "Write the test's part of a device or an existing file once beforehand, as is always done \
         for test files in a directory.",
        "precondition = true"
    ),
    field!(
        Test,
        "rest",
        Kind::Time { zero: true },
        "\"0s\"",
        "Idle time before the test starts, during which the target's caches can drain.",
        "rest = \"10s\""
    ),
    field!(
        Test,
        "write_cache",
        Kind::Word(|| WriteCache::ALL.map(WriteCache::name).to_vec()),
        "\"unchanged\"",
        "The setting of the drive's volatile write cache during the test. Switching it requires \
         root; it is restored at the end.",
        "write_cache = \"off\""
    ),
    field!(
        Test,
        "time",
        Kind::Time { zero: false },
        "\"5s\", unless there is a count",
        "Duration of the measurement.",
        "time = \"1min\""
    ),
    field!(
        Test,
        "count",
        Kind::Whole(1, u64::MAX >> 1),
        "none",
        "Operations of each job (turns, with steps) after which the measurement ends.",
        "count = 250"
    ),
    field!(
        Test,
        "stop",
        Kind::Word(|| vec!["first", "both"]),
        "\"first\"",
        "With both `time` and `count`: end the test at the first of the two limits, or only once \
         both are reached.",
        "stop = \"both\""
    ),
    field!(
        Test,
        "warm_up",
        Kind::Time { zero: true },
        "\"500ms\"",
        "Runtime before the measurement starts.",
        "warm_up = \"10s\""
    ),
    field!(
        Test,
        "rate",
        Kind::Rate(10_000_000.0),
        "unlimited",
        "Operations offered per second by each job. Latency is then measured from the time at \
         which an operation was due.",
        "rate = 1000"
    ),
    field!(
        Test,
        "arrivals",
        Kind::Word(|| vec!["constant", "poisson"]),
        "\"constant\"",
        "The spacing of offered operations: even, or random like independent clients (`poisson`).",
        "arrivals = \"poisson\""
    ),
    field!(
        Test,
        "rate_min",
        Kind::Size(1, SIZE_MAX),
        "none",
        "Bytes per second of each job below which the test fails, reads and writes separately, \
         averaged over each second after the first two. A direction is not checked before its \
         first byte.",
        "rate_min = \"10MiB\""
    ),
    field!(
        Test,
        "think_time",
        Kind::Time { zero: false },
        "none",
        "Pause of a job after its operations, like a program that computes. Requires depth 1.",
        "think_time = \"2ms\""
    ),
    field!(
        Test,
        "think_every",
        Kind::Whole(1, 1_000_000),
        "1",
        "With `think_time`: operations before each pause.",
        "think_every = 8"
    ),
    field!(
        Test,
        "flow_weight",
        Kind::Whole(1, 1_000_000),
        "none",
        "Weight of each job. The operations of all jobs with a weight that run at the same time \
         are shared in proportion, so no job gets ahead of the others.",
        "flow_weight = 8"
    ),
    field!(
        Test,
        "start_delay",
        Kind::Time { zero: true },
        "\"0s\"",
        "Delay of the first operation after the start of the tests that run at the same time.",
        "start_delay = \"4s\""
    ),
    field!(
        Test,
        "ends_others",
        Kind::Flag,
        "false",
        "Once a job of the test has ended, end the tests that run at the same time.",
        "ends_others = true"
    ),
    field!(
        Test,
        "seed",
        Kind::Whole(0, u64::MAX >> 1),
        "1",
        "Determines offsets, mix, gaps and contents: the same seed issues the same operations.",
        "seed = 42"
    ),
    field!(
        Test,
        "engine",
        Kind::Word(|| EngineChoice::ALL.map(EngineChoice::name).to_vec()),
        "\"auto\"",
        "The system interface; `auto` selects the one with the least overhead.",
        "engine = \"libaio\""
    ),
    field!(
        Test,
        "repeat",
        Kind::Whole(1, 100),
        "1",
        "Number of times to run the test, each as a separate test.",
        "repeat = 2"
    ),
    field!(
        TestOnly,
        "matrix",
        Kind::Matrix,
        "none",
        "Fields with several values: the test runs once for every combination, with the last field \
         varying fastest.",
        "matrix = { jobs = [1, 4, 16], sync = [\"fsync\", \"fdatasync\"] }"
    ),
    field!(
        TestOnly,
        "steps",
        Kind::Steps,
        "none",
        "A loop of steps instead of a pattern, which is how software commits: `write FILE \
         append|seq|rand|same SIZE [xN]`, `write FILE tail SIZE/BLOCK [xN]` (a log grows by SIZE, \
         and its last block is written again until it is full), `sync FILE fsync|fdatasync`, \
         `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, `sync-dir`. One turn \
         is one commit.",
        "steps = [\"write log append 2300B\", \"sync log fdatasync\"]"
    ),
    field!(
        TestOnly,
        "files",
        Kind::Files,
        "required with steps",
        "The files used by the steps.",
        "files = { log = { size = \"64MiB\", layout = \"append\" } }"
    ),
    field!(
        TestOnly,
        "with_previous",
        Kind::Flag,
        "false",
        "Start at the same time as the previous test, on the same target. Both must be block \
         patterns with the same `write_cache`. In a directory they share a file if both have \
         `sharing = \"all\"`, and use separate files otherwise.",
        "with_previous = true"
    ),
    field!(
        Test,
        "sort",
        Kind::Word(|| SortKeys::ALL.map(SortKeys::name).to_vec()),
        "none",
        "A sort of more records than fit in memory instead of a pattern, as a database performs \
         it. `size` bytes of records, sorted by URL (`urls`) or by a tenant, a table, a number and \
         a time (`composite`), fill `memory` again and again. Each time they are sorted and \
         written as a run; at the end all runs are merged. The test ends when everything is \
         sorted. Of the fields of a pattern, `size`, `block`, `jobs` (concurrent sorts, each with \
         its share of `size` and a separate `memory`), `direct`, `rest`, `write_cache`, `seed`, \
         `repeat` and `sync` apply. With `sync` set to `fsync` or `fdatasync`, each run is made \
         durable once it is written, which no database does.",
        "sort = \"urls\""
    ),
    field!(
        Test,
        "memory",
        Kind::Size(SortWork::MEMORY_BYTES_MIN, SIZE_MAX),
        "\"64MiB\"",
        "Memory budget of each sort; `size` must be at least twice as much for each job.",
        "memory = \"16MiB\""
    ),
    field!(
        File,
        "size",
        Kind::Size(1, SIZE_MAX),
        "\"16MiB\"",
        "Range of `seq` and `rand`, and the size at which `append` starts over.",
        "size = \"64MiB\""
    ),
    field!(
        File,
        "layout",
        Kind::Word(|| FILE_LAYOUTS.map(Layout::name).to_vec()),
        "\"overwrite\"",
        "The initial state of the file: written once, empty and growing, or reserved.",
        "layout = \"preallocated\""
    ),
    field!(File, "direct", Kind::Flag, "false", "Open the file with `O_DIRECT`.", "direct = true"),
    field!(
        File,
        "open",
        Kind::Word(|| vec!["o_sync", "o_dsync"]),
        "none",
        "Open the file with this flag, which makes each write durable.",
        "open = \"o_dsync\""
    ),
];

/// Looks up a field by name in these scopes.
pub fn find(scopes: &[Scope], name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name && scopes.contains(&field.scope))
}

pub fn names(scopes: &[Scope]) -> Vec<&'static str> {
    FIELDS.iter().filter(|field| scopes.contains(&field.scope)).map(|field| field.name).collect()
}

/// A description of where a field of that name belongs, if there is one.
pub fn location(name: &str) -> Option<&'static str> {
    let mut named = FIELDS.iter().filter(|field| field.name == name);
    // For a name of both a plan and a test, the one of the plan is valid already, so a test was
    // meant.
    let field = named.clone().find(|field| field.scope != Scope::Plan).or_else(|| named.next())?;
    Some(match field.scope {
        Scope::Plan => "at the top of the file, before any [section]",
        Scope::Test => "in a [[test]] or in [defaults]",
        Scope::TestOnly => "in a [[test]]",
        Scope::File => "in a file of a step program, such as files = { log = { ... } }",
    })
}
