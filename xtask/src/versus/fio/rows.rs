//! The rows of the comparison with fio.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rig {
    /// No target: the overhead of each side.
    Null,
    /// A compressed block device in memory: the fastest that exists.
    Zram,
    /// A loop device on a file in memory.
    Loop,
    /// A modelled drive on our side, no target on fio's: the cost of a simulated operation.
    Model,
}

impl Rig {
    /// The size of what is read and written. A simulated write takes longest where the drive's map
    /// exceeds the processor's caches, and drives are larger than a gibibyte.
    pub const fn gib(self) -> u32 {
        match self {
            Rig::Null | Rig::Zram | Rig::Loop => 1,
            Rig::Model => 8,
        }
    }
}

/// A queue kept full of one kind of operation at random offsets.
#[derive(Debug, Clone, Copy)]
pub struct FullQueue {
    /// Operations in flight.
    pub depth: u32,
    /// Writes instead of reads.
    pub writes: bool,
}

#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub rig: Rig,
    /// The fields of our test, in TOML.
    pub plan: &'static str,
    /// fio's options for the same work.
    pub work: &'static [&'static str],
    /// fio's set-ups, of which the best is used.
    pub fio: &'static [&'static [&'static str]],
    /// Required ratio of the rates.
    pub iops_ratio: f64,
    /// Upper limit on the ratio of processor time per operation.
    pub cpu_ratio: f64,
    /// The queue to keep full, on rows that are measured with bare loops as well.
    pub queue: Option<FullQueue>,
    /// Compare the median commit latency, too.
    pub commits: bool,
    /// Argument of the bare loop for the same work (`write` or `commit`), and the content of the
    /// buffer.
    pub bare: Option<[&'static str; 2]>,
}

/// fio at depth: plain, in small batches, in full batches, each with registered files and buffers;
/// and the older interface.
const DEPTH_32: &[&[&str]] = &[
    &["--ioengine=io_uring"],
    &[
        "--ioengine=io_uring",
        "--registerfiles=1",
        "--fixedbufs=1",
        "--iodepth_batch_submit=8",
        "--iodepth_batch_complete_min=1",
        "--iodepth_batch_complete_max=32",
    ],
    &[
        "--ioengine=io_uring",
        "--registerfiles=1",
        "--fixedbufs=1",
        "--iodepth_batch_submit=32",
        "--iodepth_batch_complete_min=8",
        "--iodepth_batch_complete_max=32",
    ],
    &["--ioengine=libaio"],
];
const DEPTH_128: &[&[&str]] = &[
    &["--ioengine=io_uring"],
    &[
        "--ioengine=io_uring",
        "--registerfiles=1",
        "--fixedbufs=1",
        "--iodepth_batch_submit=16",
        "--iodepth_batch_complete_min=1",
        "--iodepth_batch_complete_max=128",
    ],
    &[
        "--ioengine=io_uring",
        "--registerfiles=1",
        "--fixedbufs=1",
        "--iodepth_batch_submit=128",
        "--iodepth_batch_complete_min=1",
        "--iodepth_batch_complete_max=128",
    ],
    &["--ioengine=libaio"],
];
const PSYNC: &[&[&str]] = &[&["--ioengine=psync"]];

const fn depth(
    name: &'static str,
    rig: Rig,
    queue: FullQueue,
    plan: &'static str,
    work: &'static [&'static str],
) -> Row {
    let fio = if queue.depth == 32 { DEPTH_32 } else { DEPTH_128 };
    Row {
        name,
        rig,
        plan,
        work,
        fio,
        iops_ratio: 1.05,
        cpu_ratio: 0.95,
        queue: Some(queue),
        commits: false,
        bare: None,
    }
}

pub const ROWS: [Row; 12] = [
    Row {
        name: "null, depth 1",
        rig: Rig::Null,
        plan: "pattern = \"randwrite\"",
        work: &["--rw=randwrite"],
        fio: &[&["--ioengine=null"]],
        iops_ratio: 5.0,
        cpu_ratio: 1.0,
        queue: None,
        commits: false,
        bare: None,
    },
    Row {
        name: "enterprise model, fsync=1",
        rig: Rig::Model,
        plan: "pattern = \"randwrite\"\nsync = \"fsync\"",
        work: &["--rw=randwrite", "--fsync=1"],
        fio: &[&["--ioengine=null"]],
        iops_ratio: 1.5,
        cpu_ratio: 1.0,
        queue: None,
        commits: false,
        bare: None,
    },
    Row {
        name: "zram randwrite, depth 1",
        rig: Rig::Zram,
        plan: "pattern = \"randwrite\"\ncontent = \"zero\"",
        work: &["--rw=randwrite", "--zero_buffers=1"],
        fio: PSYNC,
        iops_ratio: 1.15,
        cpu_ratio: 1.0,
        queue: None,
        commits: false,
        bare: Some(["write", "zero"]),
    },
    Row {
        name: "loop randwrite + fsync, depth 1",
        rig: Rig::Loop,
        plan: "pattern = \"randwrite\"\nsync = \"fsync\"",
        work: &["--rw=randwrite", "--fsync=1"],
        fio: PSYNC,
        iops_ratio: 1.0,
        cpu_ratio: 1.0,
        queue: None,
        commits: true,
        bare: Some(["commit", "random"]),
    },
    depth(
        "zram randread, depth 32",
        Rig::Zram,
        FullQueue { depth: 32, writes: false },
        "pattern = \"randread\"\ndepth = 32\ncontent = \"zero\"",
        &["--rw=randread", "--iodepth=32", "--zero_buffers=1"],
    ),
    depth(
        "zram randwrite, depth 32",
        Rig::Zram,
        FullQueue { depth: 32, writes: true },
        "pattern = \"randwrite\"\ndepth = 32\ncontent = \"zero\"",
        &["--rw=randwrite", "--iodepth=32", "--zero_buffers=1"],
    ),
    depth(
        "zram randread, depth 128",
        Rig::Zram,
        FullQueue { depth: 128, writes: false },
        "pattern = \"randread\"\ndepth = 128\ncontent = \"zero\"",
        &["--rw=randread", "--iodepth=128", "--zero_buffers=1"],
    ),
    depth(
        "zram randwrite, depth 128",
        Rig::Zram,
        FullQueue { depth: 128, writes: true },
        "pattern = \"randwrite\"\ndepth = 128\ncontent = \"zero\"",
        &["--rw=randwrite", "--iodepth=128", "--zero_buffers=1"],
    ),
    depth(
        "loop randread, depth 32",
        Rig::Loop,
        FullQueue { depth: 32, writes: false },
        "pattern = \"randread\"\ndepth = 32",
        &["--rw=randread", "--iodepth=32"],
    ),
    depth(
        "loop randwrite, depth 32",
        Rig::Loop,
        FullQueue { depth: 32, writes: true },
        "pattern = \"randwrite\"\ndepth = 32",
        &["--rw=randwrite", "--iodepth=32"],
    ),
    depth(
        "loop randread, depth 128",
        Rig::Loop,
        FullQueue { depth: 128, writes: false },
        "pattern = \"randread\"\ndepth = 128",
        &["--rw=randread", "--iodepth=128"],
    ),
    depth(
        "loop randwrite, depth 128",
        Rig::Loop,
        FullQueue { depth: 128, writes: true },
        "pattern = \"randwrite\"\ndepth = 128",
        &["--rw=randwrite", "--iodepth=128"],
    ),
];
