//! From a record of the kernel to an event, with the layouts that this kernel states.

use drive::{DeviceNumber, DriverAddress};

use crate::drivers::{nvme_command, scsi_command};
use crate::event::{Command, Edge, Event, Extent, Filesystem, Flags, Left, Syscall, What};
use crate::format::{Format, FormatError, Place};

/// The tracepoints that a trace uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tracepoint {
    Enter(Syscall),
    Return(Syscall),
    UringSubmit,
    UringQueue,
    UringComplete,
    Open,
    Opened,
    Openat,
    OpenedAt,
    Dup2,
    Dup3,
    Ext4Sync,
    XfsSync,
    BtrfsSync,
    XfsForceLog,
    JournalStart,
    JournalEnd,
    Fork,
    Exit,
    Switch,
    BioQueue,
    BackMerge,
    FrontMerge,
    Split,
    Insert,
    Issue,
    Complete,
    BioComplete,
    NvmeSetup,
    NvmeComplete,
    ScsiStart,
    ScsiError,
    ScsiDone,
    ScsiTimeout,
}

/// The fields of a system call's arguments that a trace needs.
fn arguments(call: Syscall) -> &'static [&'static str] {
    match call {
        Syscall::Msync | Syscall::Sync => &["common_pid"],
        Syscall::Pwritev2 => &["common_pid", "fd", "flags"],
        _ => &["common_pid", "fd"],
    }
}

impl Tracepoint {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Tracepoint> {
        use Tracepoint as T;
        let calls = Syscall::ALL.into_iter().flat_map(|call| [T::Enter(call), T::Return(call)]);
        calls.chain([
            T::UringSubmit,
            T::UringQueue,
            T::UringComplete,
            T::Open,
            T::Opened,
            T::Openat,
            T::OpenedAt,
            T::Dup2,
            T::Dup3,
            T::Ext4Sync,
            T::XfsSync,
            T::BtrfsSync,
            T::XfsForceLog,
            T::JournalStart,
            T::JournalEnd,
            T::Fork,
            T::Exit,
            T::Switch,
            T::BioQueue,
            T::BackMerge,
            T::FrontMerge,
            T::Split,
            T::Insert,
            T::Issue,
            T::Complete,
            T::BioComplete,
            T::NvmeSetup,
            T::NvmeComplete,
            T::ScsiStart,
            T::ScsiError,
            T::ScsiDone,
            T::ScsiTimeout,
        ])
    }

    /// The kernel's condition for what is of interest; empty for all.
    pub fn condition(self) -> &'static str {
        match self {
            // MS_SYNC; without it, the call makes nothing durable and returns at once.
            Tracepoint::Enter(Syscall::Msync) => "flags & 4",
            _ => "",
        }
    }

    /// Its directory below `events`.
    pub fn path(self) -> String {
        let known = match self {
            Tracepoint::Enter(call) => return format!("syscalls/sys_enter_{}", call.name()),
            Tracepoint::Return(call) => return format!("syscalls/sys_exit_{}", call.name()),
            Tracepoint::UringSubmit => "io_uring/io_uring_submit_req",
            Tracepoint::UringQueue => "io_uring/io_uring_queue_async_work",
            Tracepoint::UringComplete => "io_uring/io_uring_complete",
            Tracepoint::Open => "syscalls/sys_enter_open",
            Tracepoint::Opened => "syscalls/sys_exit_open",
            Tracepoint::Openat => "syscalls/sys_enter_openat",
            Tracepoint::OpenedAt => "syscalls/sys_exit_openat",
            Tracepoint::Dup2 => "syscalls/sys_enter_dup2",
            Tracepoint::Dup3 => "syscalls/sys_enter_dup3",
            Tracepoint::Ext4Sync => "ext4/ext4_sync_file_enter",
            Tracepoint::XfsSync => "xfs/xfs_file_fsync",
            Tracepoint::BtrfsSync => "btrfs/btrfs_sync_file",
            Tracepoint::XfsForceLog => "xfs/xfs_log_force",
            Tracepoint::JournalStart => "jbd2/jbd2_start_commit",
            Tracepoint::JournalEnd => "jbd2/jbd2_end_commit",
            Tracepoint::Fork => "sched/sched_process_fork",
            Tracepoint::Exit => "sched/sched_process_exit",
            Tracepoint::Switch => "sched/sched_switch",
            Tracepoint::BioQueue => "block/block_bio_queue",
            Tracepoint::BackMerge => "block/block_bio_backmerge",
            Tracepoint::FrontMerge => "block/block_bio_frontmerge",
            Tracepoint::Split => "block/block_split",
            Tracepoint::Insert => "block/block_rq_insert",
            Tracepoint::Issue => "block/block_rq_issue",
            Tracepoint::Complete => "block/block_rq_complete",
            Tracepoint::BioComplete => "block/block_bio_complete",
            Tracepoint::NvmeSetup => "nvme/nvme_setup_cmd",
            Tracepoint::NvmeComplete => "nvme/nvme_complete_rq",
            Tracepoint::ScsiStart => "scsi/scsi_dispatch_cmd_start",
            Tracepoint::ScsiError => "scsi/scsi_dispatch_cmd_error",
            Tracepoint::ScsiDone => "scsi/scsi_dispatch_cmd_done",
            Tracepoint::ScsiTimeout => "scsi/scsi_dispatch_cmd_timeout",
        };
        known.to_owned()
    }

    fn fields(self) -> &'static [&'static str] {
        match self {
            Tracepoint::Enter(call) => arguments(call),
            Tracepoint::Return(_) | Tracepoint::Opened | Tracepoint::OpenedAt => {
                &["common_pid", "ret"]
            }
            Tracepoint::UringSubmit => &["common_pid", "req", "opcode", "flags"],
            Tracepoint::UringQueue => &["common_pid", "req"],
            Tracepoint::UringComplete => &["common_pid", "req", "res"],
            Tracepoint::Open | Tracepoint::Openat => &["common_pid", "flags"],
            Tracepoint::Dup2 | Tracepoint::Dup3 => &["common_pid", "oldfd", "newfd"],
            Tracepoint::Ext4Sync | Tracepoint::XfsSync | Tracepoint::XfsForceLog => {
                &["common_pid", "dev"]
            }
            Tracepoint::BtrfsSync | Tracepoint::Exit => &["common_pid"],
            Tracepoint::Fork => &["common_pid", "child_pid"],
            Tracepoint::JournalStart | Tracepoint::JournalEnd => &["common_pid", "dev"],
            Tracepoint::Switch => &["common_pid", "prev_pid", "prev_state", "next_pid"],
            Tracepoint::BioQueue => &["common_pid", "dev", "sector", "nr_sector", "rwbs", "comm"],
            Tracepoint::BackMerge | Tracepoint::FrontMerge => {
                &["common_pid", "dev", "sector", "nr_sector"]
            }
            Tracepoint::Split => &["common_pid", "dev", "sector", "new_sector"],
            Tracepoint::Insert | Tracepoint::Issue | Tracepoint::BioComplete => {
                &["common_pid", "dev", "sector", "nr_sector", "rwbs"]
            }
            Tracepoint::Complete => &["common_pid", "dev", "sector", "nr_sector", "rwbs", "error"],
            Tracepoint::NvmeSetup => &["common_pid", "disk", "opcode", "cdw10"],
            Tracepoint::NvmeComplete => &["common_pid", "disk"],
            Tracepoint::ScsiStart | Tracepoint::ScsiError => {
                &["common_pid", "host_no", "channel", "id", "lun", "cmnd"]
            }
            Tracepoint::ScsiDone | Tracepoint::ScsiTimeout => {
                &["common_pid", "host_no", "channel", "id", "lun"]
            }
        }
    }
}

/// Reads records of one tracepoint.
#[derive(Debug, Clone)]
struct Decoder {
    tracepoint: Tracepoint,
    places: Vec<Place>,
}

/// A task may run again while it is on its way out: state 0, and the bit that says "preempted".
const RUNNABLE_STATES: [i64; 2] = [0, 0x100];

impl Decoder {
    fn decode(&self, at: u64, record: &[u8]) -> Option<Event> {
        let number = |index: usize| self.places[index].number(record);
        let device = |index: usize| number(index).map(|number| device(number as u32));
        let extent = || {
            let (sector, sectors) = (number(2)? as u64, number(3)? as u32);
            Some(Extent { device: device(1)?, sector, sectors })
        };
        let flags = || Some(Flags::parse(self.places[4].bytes(record)?));
        let nvme = || -> Option<DriverAddress> {
            let name = self.places[1].bytes(record)?.split(|&byte| byte == 0).next()?;
            std::str::from_utf8(name).ok()?.parse().ok()
        };
        let scsi = || {
            let part = |index: usize| number(index).map(|number| number as u32);
            let (host, channel, target) = (part(1)?, part(2)?, part(3)?);
            Some(DriverAddress::Scsi { host, channel, target, lun: part(4)? })
        };
        let block = || self.places[5].indirect_bytes(record).map(scsi_command);
        let what = match self.tracepoint {
            Tracepoint::Enter(call) => {
                let argument =
                    |index: usize| self.places.get(index).and_then(|place| place.number(record));
                let (file, flags) = (argument(1).unwrap_or(-1), argument(2).unwrap_or(0));
                What::Enter { call, file: file as i32, flags: flags as u32 }
            }
            Tracepoint::Return(_) => What::Return { result: number(1)? },
            Tracepoint::UringSubmit => What::UringSubmit {
                request: number(1)? as u64,
                call: uring_call(number(2)?),
                links: number(3)? & LINKS != 0,
            },
            Tracepoint::UringQueue => What::UringQueue { request: number(1)? as u64 },
            Tracepoint::UringComplete => {
                What::UringComplete { request: number(1)? as u64, result: number(2)? }
            }
            Tracepoint::Open | Tracepoint::Openat => What::Open { flags: number(1)? as u32 },
            Tracepoint::Opened | Tracepoint::OpenedAt => What::Opened { file: number(1)? },
            Tracepoint::Dup2 | Tracepoint::Dup3 => {
                What::Duplicate { file: number(1)? as i32, into: number(2)? as i32 }
            }
            Tracepoint::Ext4Sync => {
                What::SyncFile { filesystem: Filesystem::Ext4, device: Some(device(1)?) }
            }
            Tracepoint::XfsSync => {
                What::SyncFile { filesystem: Filesystem::Xfs, device: Some(device(1)?) }
            }
            Tracepoint::BtrfsSync => What::SyncFile { filesystem: Filesystem::Btrfs, device: None },
            Tracepoint::XfsForceLog => What::ForceLog { device: device(1)? },
            Tracepoint::JournalStart => {
                What::JournalCommit { device: device(1)?, edge: Edge::Start }
            }
            Tracepoint::JournalEnd => What::JournalCommit { device: device(1)?, edge: Edge::End },
            Tracepoint::Fork => What::Create { thread: number(1)? as u32 },
            Tracepoint::Exit => What::End,
            Tracepoint::Switch => {
                let runnable = RUNNABLE_STATES.contains(&number(2)?);
                let from_state = if runnable { Left::Runnable } else { Left::Waiting };
                What::Switch { from: number(1)? as u32, from_state, to: number(3)? as u32 }
            }
            Tracepoint::BioQueue => {
                let command = Command::new(self.places[5].bytes(record)?);
                What::Bio { extent: extent()?, flags: flags()?, command }
            }
            Tracepoint::BackMerge | Tracepoint::FrontMerge => What::Merge { extent: extent()? },
            Tracepoint::Split => {
                let (sector, at_sector) = (number(2)? as u64, number(3)? as u64);
                let sectors = at_sector.saturating_sub(sector) as u32;
                let extent = Extent { device: device(1)?, sector, sectors };
                What::Split { extent, at_sector }
            }
            Tracepoint::Insert => What::Insert { extent: extent()?, flags: flags()? },
            Tracepoint::Issue => What::Issue { extent: extent()?, flags: flags()? },
            Tracepoint::Complete => {
                What::Complete { extent: extent()?, flags: flags()?, failed: number(5)? != 0 }
            }
            Tracepoint::BioComplete => What::BioComplete { extent: extent()?, flags: flags()? },
            Tracepoint::NvmeSetup => {
                let flags = nvme_command(number(2)? as u8, self.places[3].bytes(record)?);
                What::CommandGiven { address: nvme()?, flags }
            }
            Tracepoint::NvmeComplete => What::CommandFailed { address: nvme()? },
            Tracepoint::ScsiStart => What::CommandGiven { address: scsi()?, flags: block()? },
            Tracepoint::ScsiError => What::CommandRefused { address: scsi()?, flags: block()? },
            Tracepoint::ScsiDone | Tracepoint::ScsiTimeout => {
                What::CommandFailed { address: scsi()? }
            }
        };
        Some(Event { at, thread: number(0)? as u32, what })
    }
}

/// `IOSQE_IO_LINK` and `IOSQE_IO_HARDLINK`.
const LINKS: i64 = 1 << 2 | 1 << 3;

/// The commit that a request of io_uring with this opcode (`IORING_OP_*`) may be.
fn uring_call(opcode: i64) -> Option<Syscall> {
    const WRITEV: i64 = 2;
    const FSYNC: i64 = 3;
    const WRITE_FIXED: i64 = 5;
    const WRITE: i64 = 23;
    match opcode {
        FSYNC => Some(Syscall::UringFsync),
        WRITEV | WRITE_FIXED | WRITE => Some(Syscall::UringWrite),
        _ => None,
    }
}

/// The kernel's own notation of a device number: 12 bits, then 20.
fn device(number: u32) -> DeviceNumber {
    DeviceNumber { major: number >> 20, minor: number & 0xf_ffff }
}

/// The kernel's number of a device, as filters compare it.
pub(crate) fn kernel_number(device: DeviceNumber) -> u32 {
    (device.major << 20) | (device.minor & 0xf_ffff)
}

/// Reads the records of all tracepoints of a trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoders {
    /// By the number of the event, which begins each record.
    by_id: Vec<Option<Decoder>>,
}

impl Decoders {
    /// Adds a tracepoint by its `format` file.
    pub fn add(&mut self, tracepoint: Tracepoint, format: &str) -> Result<(), FormatError> {
        let format = Format::parse(format)?;
        let places = tracepoint.fields().iter().map(|name| format.place(name));
        let places = places.collect::<Result<_, _>>()?;
        let id = usize::from(format.id);
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, None);
        }
        self.by_id[id] = Some(Decoder { tracepoint, places });
        Ok(())
    }

    /// The event of a record; `None` if it is of another tracepoint or too short.
    pub fn decode(&self, at: u64, record: &[u8]) -> Option<Event> {
        let id = u16::from_ne_bytes(record.get(..2)?.try_into().ok()?);
        self.by_id.get(usize::from(id))?.as_ref()?.decode(at, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Operation;

    fn format(tracepoint: Tracepoint) -> String {
        let path = format!("{}/tests/formats/{}", env!("CARGO_MANIFEST_DIR"), tracepoint.path());
        std::fs::read_to_string(path).unwrap()
    }

    /// A record of this tracepoint with these values in its fields, in the kernel's layout.
    fn record(tracepoint: Tracepoint, values: &[(&'static str, &[u8])]) -> Vec<u8> {
        let format = Format::parse(&format(tracepoint)).unwrap();
        let mut record = vec![0; 96];
        record[..2].copy_from_slice(&format.id.to_ne_bytes());
        for (name, bytes) in values {
            let offset = format.place(name).unwrap().offset;
            record[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        record
    }

    fn decoders() -> Decoders {
        let mut decoders = Decoders::default();
        Tracepoint::all().for_each(|one| decoders.add(one, &format(one)).unwrap());
        decoders
    }

    #[test]
    fn a_bio_and_its_completion() {
        let pid = ("common_pid", &42_u32.to_ne_bytes()[..]);
        let device = DeviceNumber { major: 7, minor: 3 };
        let dev = kernel_number(device).to_ne_bytes();
        let place = [
            pid,
            ("dev", &dev[..]),
            ("sector", &2048_u64.to_ne_bytes()),
            ("nr_sector", &8_u32.to_ne_bytes()),
        ];
        let extent = Extent { device, sector: 2048, sectors: 8 };
        let queued = [&place[..], &[("rwbs", b"FWFSM\0"), ("comm", b"jbd2/loop3-8\0")]].concat();
        let queued = decoders().decode(5, &record(Tracepoint::BioQueue, &queued)).unwrap();
        let (flags, command) = (Flags::parse(b"FWFSM"), Command::new(b"jbd2/loop3-8"));
        assert_eq!(queued, Event { at: 5, thread: 42, what: What::Bio { extent, flags, command } });
        let error = (-5_i32).to_ne_bytes();
        let done = [&place[..], &[("rwbs", &b"WS\0"[..]), ("error", &error)]].concat();
        let done = decoders().decode(9, &record(Tracepoint::Complete, &done)).unwrap();
        let flags = Flags::parse(b"WS");
        assert_eq!(done.what, What::Complete { extent, flags, failed: true });
    }

    #[test]
    fn calls_and_the_scheduler() {
        let pid = ("common_pid", &42_u32.to_ne_bytes()[..]);
        let seven = 7_u64.to_ne_bytes();
        let enter = Tracepoint::Enter(Syscall::Fsync);
        let entered = decoders().decode(1, &record(enter, &[pid, ("fd", &seven)])).unwrap();
        assert_eq!(entered.what, What::Enter { call: Syscall::Fsync, file: 7, flags: 0 });
        let written = Tracepoint::Enter(Syscall::Pwritev2);
        let fields = [pid, ("fd", &seven[..]), ("flags", &2_u64.to_ne_bytes()[..])];
        let written = decoders().decode(1, &record(written, &fields)).unwrap();
        assert_eq!(written.what, What::Enter { call: Syscall::Pwritev2, file: 7, flags: 2 });
        for (state, from_state) in
            [(0, Left::Runnable), (0x100, Left::Runnable), (2, Left::Waiting)]
        {
            let state = i64::to_ne_bytes(state);
            let fields = [pid, ("prev_pid", &42_u32.to_ne_bytes()[..]), ("prev_state", &state[..])];
            let switched = decoders().decode(1, &record(Tracepoint::Switch, &fields)).unwrap();
            assert_eq!(switched.what, What::Switch { from: 42, from_state, to: 0 });
        }
    }

    #[test]
    fn commands_for_nvme_drives() {
        let mut dwords = [0; 24];
        dwords[11] = 0x40;
        let fields = [("disk", &b"nvme0c1n1\0"[..]), ("opcode", &[1]), ("cdw10", &dwords)];
        let given = decoders().decode(1, &record(Tracepoint::NvmeSetup, &fields)).unwrap();
        let address: DriverAddress = "nvme0c1n1".parse().unwrap();
        let flags = Flags::of(Operation::Write).with_fua(true);
        assert_eq!(given.what, What::CommandGiven { address, flags });
        let failed = decoders().decode(1, &record(Tracepoint::NvmeComplete, &fields[..1]));
        assert_eq!(failed.unwrap().what, What::CommandFailed { address });
        // A command for a controller, not for a drive.
        let fields = [("disk", &b"\0"[..]), ("opcode", &[6])];
        assert_eq!(decoders().decode(1, &record(Tracepoint::NvmeSetup, &fields)), None);
    }

    #[test]
    fn commands_for_scsi_drives() {
        // The block is at the end of the record; its place there and its length are in the field.
        let (at, block) = (72_usize, [0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let place = (at as u32 | (block.len() as u32) << 16).to_ne_bytes();
        let number = |number: u32| number.to_ne_bytes();
        let (host, target) = (number(12), number(3));
        let fields = [("host_no", &host[..]), ("id", &target), ("cmnd", &place)];
        let with_block = |tracepoint| {
            let mut record = record(tracepoint, &fields);
            record[at..at + block.len()].copy_from_slice(&block);
            record
        };
        let address: DriverAddress = "12:0:3:0".parse().unwrap();
        let flags = Flags::of(Operation::Flush);
        let what = |record: &[u8]| decoders().decode(1, record).map(|event| event.what);
        let given = with_block(Tracepoint::ScsiStart);
        assert_eq!(what(&given), Some(What::CommandGiven { address, flags }));
        assert_eq!(what(&given[..at + block.len() - 1]), None);
        let refused = what(&with_block(Tracepoint::ScsiError));
        assert_eq!(refused, Some(What::CommandRefused { address, flags }));
        for tracepoint in [Tracepoint::ScsiDone, Tracepoint::ScsiTimeout] {
            let ended = what(&record(tracepoint, &fields[..2]));
            assert_eq!(ended, Some(What::CommandFailed { address }));
        }
    }

    #[test]
    fn records_of_others_and_short_ones_are_none() {
        assert_eq!(decoders().decode(0, &[0xff; 40]), None);
        assert_eq!(decoders().decode(0, &[]), None);
        let whole = record(Tracepoint::BioQueue, &[]);
        (2..54).for_each(|length| assert_eq!(decoders().decode(0, &whole[..length]), None));
    }

    #[test]
    fn a_tracepoint_without_its_fields_is_refused() {
        let text = "ID: 7\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        let refused = Decoders::default().add(Tracepoint::BioQueue, text);
        assert_eq!(refused, Err(FormatError::Missing("dev")));
    }
}
