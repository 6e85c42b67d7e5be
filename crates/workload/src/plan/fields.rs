//! Every field of a plan file: one table for the parser, the reference page and the JSON Schema.

use crate::blocks::{EngineChoice, Layout, Sharing};
use crate::pattern::Pattern;
use crate::plan::Table;
use crate::sort::{SortKeys, SortWork};
use crate::sync::SyncMethod;
use crate::write_cache::WriteCache;

/// What a field's value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A byte size, from the first to the second.
    Size(u64, u64),
    /// A byte size, from the first to the second, or a share of the target, `1%` to `100%`.
    Area(u64, u64),
    /// A whole number, from the first to the second.
    Whole(u64, u64),
    /// A number above zero, up to this.
    Rate(f64),
    /// `true` or `false`.
    Flag,
    /// A time above zero, or from zero on where the flag is set.
    Time {
        /// Whether no time at all is a value, too.
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

/// The table in which a field stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the top of the file.
    Plan,
    /// In a `[[test]]`, and in `[defaults]`.
    Test,
    /// In a `[[test]]` only.
    TestOnly,
    /// In a file of a step program, `[test.files]`.
    File,
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What its value looks like.
    pub kind: Kind,
    /// What holds when it is left out.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// One use of it.
    pub example: &'static str,
}

impl Field {
    /// Whether a matrix may vary it: single values may.
    pub fn varies(&self) -> bool {
        self.place == Place::Test && !matches!(self.kind, Kind::Steps | Kind::Files | Kind::Matrix)
    }
}

/// The layouts that a file of a step program can have.
pub const FILE_LAYOUTS: [Layout; 3] = [Layout::Overwrite, Layout::Append, Layout::Preallocated];

const MIB_64: u64 = 64 << 20;
/// No target is larger than what a file offset can say.
pub const SIZE_MAX: u64 = i64::MAX as u64;

macro_rules! field {
    ($place:ident, $name:literal, $kind:expr, $default:literal, $meaning:literal, $example:literal) => {
        Field {
            name: $name,
            place: Place::$place,
            kind: $kind,
            default: $default,
            meaning: $meaning,
            example: $example,
        }
    };
}

/// All fields, in the order in which the reference lists them.
pub const FIELDS: &[Field] = &[
    field!(
        Plan,
        "name",
        Kind::Text,
        "the file's name",
        "What the result document calls the plan.",
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
        "Where its tests come from.",
        "source = \"the vendor's acceptance test\""
    ),
    field!(
        Plan,
        "table",
        Kind::Word(|| Table::ALL.map(Table::name).to_vec()),
        "\"tests\"",
        "The form in which the results are shown; all but `tests` belong to built-in suites.",
        "table = \"commits\""
    ),
    field!(
        Plan,
        "target",
        Kind::Text,
        "none",
        "Where it runs when the command line names no `--target`.",
        "target = \"/var/lib/postgresql\""
    ),
    field!(
        Plan,
        "defaults",
        Kind::Defaults,
        "none",
        "Fields that hold for every test that does not set them itself.",
        "[defaults]\nblock = \"4KiB\""
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
        "made from the other fields",
        "What the test is called; unique within the plan.",
        "name = \"journal\""
    ),
    field!(
        Test,
        "pattern",
        Kind::Word(|| Pattern::ALL.map(Pattern::name).to_vec()),
        "required, unless there are steps or a sort",
        "Which block comes next: sequential (`read`, `write`, `rw`, `trim`) or random, reading, writing, both mixed, or discarding (`trim`, `randtrim`: `BLKDISCARD` on a device, holes in a file; counted as writes).",
        "pattern = \"randwrite\""
    ),
    field!(
        Test,
        "read_percent",
        Kind::Whole(1, 99),
        "50",
        "Share of operations that read, for `rw` and `randrw`.",
        "read_percent = 70"
    ),
    field!(
        Test,
        "block",
        Kind::Size(512, MIB_64),
        "\"4KiB\"; with sort, \"256KiB\"",
        "Bytes of one read or write.",
        "block = \"16KiB\""
    ),
    field!(Test, "depth", Kind::Whole(1, 1024), "1", "I/Os that each job keeps in flight.", "depth = 32"),
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
        "How writes are made durable: by a call after them (`fsync`, `fdatasync`), by how the file is opened (`o_sync`, `o_dsync`), by a flag on each write (`rwf_dsync`), or by a sync linked to each write in io_uring (`linked_fsync`, `linked_fdatasync`).",
        "sync = \"fdatasync\""
    ),
    field!(
        Test,
        "sync_every",
        Kind::Whole(1, 1_000_000),
        "1",
        "One `fsync` or `fdatasync` after this many writes of a job. The job waits for its writes before it syncs.",
        "sync_every = 8"
    ),
    field!(
        Test,
        "drain",
        Kind::Flag,
        "true",
        "Whether a job waits for its writes before it syncs. Without that, a sync does not cover the writes in flight: no commits are counted.",
        "drain = false"
    ),
    field!(
        Test,
        "queue_sync",
        Kind::Flag,
        "false",
        "Whether a sync is one more operation in flight, which neither waits nor is waited for. No commits are counted at a depth above 1. fio's `fsync` works so with io_uring and libaio.",
        "queue_sync = true"
    ),
    field!(
        Test,
        "streams",
        Kind::Whole(1, 1024),
        "1",
        "Places, evenly spaced over a job's part, in which its sequential blocks go by turns.",
        "streams = 8"
    ),
    field!(
        Test,
        "direct",
        Kind::Flag,
        "true",
        "Whether the page cache is bypassed (`O_DIRECT`). Where the filesystem has none, the result says so.",
        "direct = false"
    ),
    field!(
        Test,
        "invalidate",
        Kind::Flag,
        "true",
        "Whether cached pages of the file are dropped beforehand; matters without `direct` only.",
        "invalidate = false"
    ),
    field!(
        Test,
        "layout",
        Kind::Word(|| Layout::ALL.map(Layout::name).to_vec()),
        "\"overwrite\"",
        "What the blocks lie on: written through beforehand (`overwrite`), a file that grows (`append`), or space reserved but never written (`preallocated`); the latter two start over when all of it has been written. `preallocated-once` (fio's default) and `empty` (fio's `fallocate=none`) are new files that do not: what is written a second time is an overwrite.",
        "layout = \"append\""
    ),
    field!(
        Test,
        "content",
        Kind::Word(|| vec!["random", "zero", "compressible"]),
        "\"random\"",
        "What is written. `random` cannot be compressed and differs in each write.",
        "content = \"zero\""
    ),
    field!(
        Test,
        "compressible_percent",
        Kind::Whole(1, 99),
        "50",
        "Share of zeros in each 4 KiB, for `compressible`.",
        "compressible_percent = 70"
    ),
    field!(
        Test,
        "size",
        Kind::Area(512, SIZE_MAX),
        "all of a device or an existing file, `file_size` in a directory",
        "Bytes that all jobs together work on, or a share of the target: of a device or file its size, of a directory the half of what is free that is taken at most. With sort, the bytes of all records.",
        "size = \"8GiB\""
    ),
    field!(
        Test,
        "file_size",
        Kind::Size(512, SIZE_MAX),
        "\"1GiB\"",
        "Size of the test files in a directory, all jobs together, where `size` is not given.",
        "file_size = \"256MiB\""
    ),
    field!(
        Test,
        "sharing",
        Kind::Word(|| Sharing::ALL.map(Sharing::name).to_vec()),
        "\"none\"",
        "Which bytes several jobs share: `none`; those of a device or file, while each has its own file in a directory (`device`); or those of one file or device (`all`). With `device` and `all`, `size` is that of each job.",
        "sharing = \"all\""
    ),
    field!(
        Test,
        "offset",
        Kind::Size(0, SIZE_MAX),
        "\"0B\"",
        "Where in its file or device the first job's part begins; a multiple of the block.",
        "offset = \"1GiB\""
    ),
    field!(
        Test,
        "offset_increment",
        Kind::Size(0, SIZE_MAX),
        "\"0B\"",
        "With `sharing`: how far each job's part begins behind that of the job before it; a multiple of the block.",
        "offset_increment = \"1GiB\""
    ),
    field!(
        Test,
        "end_fsync",
        Kind::Flag,
        "false",
        "Whether each job ends with an `fsync`, within its measured time.",
        "end_fsync = true"
    ),
    field!(
        Test,
        "precondition",
        Kind::Flag,
        "false",
        "Whether the part of a device or an existing file that the test works on is written through beforehand, as a test file in a directory always is.",
        "precondition = true"
    ),
    field!(
        Test,
        "rest",
        Kind::Time { zero: true },
        "\"0s\"",
        "How long the target is left alone before the test begins, so that its caches empty.",
        "rest = \"10s\""
    ),
    field!(
        Test,
        "write_cache",
        Kind::Word(|| WriteCache::ALL.map(WriteCache::name).to_vec()),
        "\"unchanged\"",
        "How the drive's volatile write cache stands meanwhile. Switching it needs root; it is put back at the end.",
        "write_cache = \"off\""
    ),
    field!(
        Test,
        "time",
        Kind::Time { zero: false },
        "\"5s\", unless there is a count",
        "How long is measured.",
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
        "With `time` and `count`: whether the first of the two ends the test, or the last.",
        "stop = \"both\""
    ),
    field!(
        Test,
        "warm_up",
        Kind::Time { zero: true },
        "\"500ms\"",
        "How long the test runs before it is measured.",
        "warm_up = \"10s\""
    ),
    field!(
        Test,
        "rate",
        Kind::Rate(10_000_000.0),
        "as fast as it goes",
        "Operations offered per second by each job. Latency then counts from when an operation was due.",
        "rate = 1000"
    ),
    field!(
        Test,
        "arrivals",
        Kind::Word(|| vec!["constant", "poisson"]),
        "\"constant\"",
        "How offered operations are spaced.",
        "arrivals = \"poisson\""
    ),
    field!(
        Test,
        "seed",
        Kind::Whole(0, u64::MAX >> 1),
        "1",
        "Decides offsets, mix, gaps and contents: the same seed issues the same operations.",
        "seed = 42"
    ),
    field!(
        Test,
        "engine",
        Kind::Word(|| EngineChoice::ALL.map(EngineChoice::name).to_vec()),
        "\"auto\"",
        "The system interface; `auto` takes the one that adds the least.",
        "engine = \"libaio\""
    ),
    field!(
        Test,
        "repeat",
        Kind::Whole(1, 100),
        "1",
        "How often the test is run, each time as a test of its own.",
        "repeat = 2"
    ),
    field!(
        TestOnly,
        "matrix",
        Kind::Matrix,
        "none",
        "Fields with several values: the test is run for every combination, the last field varying fastest.",
        "matrix = { jobs = [1, 4, 16], sync = [\"fsync\", \"fdatasync\"] }"
    ),
    field!(
        TestOnly,
        "steps",
        Kind::Steps,
        "none",
        "A loop over steps instead of a pattern, because that is how software commits: `write FILE append|seq|rand|same SIZE [xN]`, `sync FILE fsync|fdatasync`, `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, `sync-dir`. One turn is one commit.",
        "steps = [\"write log append 2300B\", \"sync log fdatasync\"]"
    ),
    field!(
        TestOnly,
        "files",
        Kind::Files,
        "required with steps",
        "The files that the steps name.",
        "files = { log = { size = \"64MiB\", layout = \"append\" } }"
    ),
    field!(
        TestOnly,
        "with_previous",
        Kind::Flag,
        "false",
        "Whether the test begins at the same moment as the one before it, and both work on the target at the same time. Both are patterns of blocks with the same `write_cache`. In a directory they share a file where both have `sharing = \"all\"`, and have files of their own otherwise.",
        "with_previous = true"
    ),
    field!(
        Test,
        "sort",
        Kind::Word(|| SortKeys::ALL.map(SortKeys::name).to_vec()),
        "none",
        "A sort of more records than memory holds instead of a pattern, as a database does one: `size` bytes of records, sorted by page addresses (`urls`) or by a tenant, a table, a number and a time (`composite`), fill `memory` again and again; each time they are sorted and written as a run, and at the end all runs are merged. It is over when everything is sorted. Of the fields of a pattern it has `size`, `block`, `jobs` (sorts side by side, each with its share of `size` and with `memory` of its own), `direct`, `rest`, `write_cache`, `seed`, `repeat` and `sync`: with `fsync` or `fdatasync`, each run is made durable when it is written, which no database does.",
        "sort = \"urls\""
    ),
    field!(
        Test,
        "memory",
        Kind::Size(SortWork::MEMORY_BYTES_MIN, SIZE_MAX),
        "\"64MiB\"",
        "What each sort may keep in memory; `size` is at least twice as much for each job.",
        "memory = \"16MiB\""
    ),
    field!(
        File,
        "size",
        Kind::Size(1, SIZE_MAX),
        "\"16MiB\"",
        "Bytes within which `seq` and `rand` stay, and at which `append` starts over.",
        "size = \"64MiB\""
    ),
    field!(
        File,
        "layout",
        Kind::Word(|| FILE_LAYOUTS.map(Layout::name).to_vec()),
        "\"overwrite\"",
        "What the file holds at the start: written through, empty and growing, or reserved.",
        "layout = \"preallocated\""
    ),
    field!(File, "direct", Kind::Flag, "false", "Whether it is opened with `O_DIRECT`.", "direct = true"),
    field!(
        File,
        "open",
        Kind::Word(|| vec!["o_sync", "o_dsync"]),
        "none",
        "A flag with which it is opened, so that each write is durable by itself.",
        "open = \"o_dsync\""
    ),
];

/// The field of that name in one of these places.
pub fn find(places: &[Place], name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name && places.contains(&field.place))
}

/// The names of all fields in these places.
pub fn names(places: &[Place]) -> Vec<&'static str> {
    FIELDS.iter().filter(|field| places.contains(&field.place)).map(|field| field.name).collect()
}

/// Where a field of that name stands, if there is one anywhere.
pub fn home(name: &str) -> Option<&'static str> {
    let mut named = FIELDS.iter().filter(|field| field.name == name);
    // A name that both a plan and a test have stands at the top already, or was meant for a test.
    let field = named.clone().find(|field| field.place != Place::Plan).or_else(|| named.next())?;
    Some(match field.place {
        Place::Plan => "at the top of the file, before any [section]",
        Place::Test => "in a [[test]] or in [defaults]",
        Place::TestOnly => "in a [[test]]",
        Place::File => "in a file of a step program, such as files = { log = { ... } }",
    })
}
