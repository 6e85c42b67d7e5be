//! Traces as text: what `blkparse` prints, and what `trace_pipe` and `trace-cmd report` print.
//!
//! People paste such text, so lines that are none of a trace's are skipped and counted.

use drive::{DeviceNumber, DriverAddress};

use crate::drivers::scsi_command;
use crate::event::{
    Command, Edge, Event, Extent, Filesystem, Flags, Left, Operation, Syscall, What,
};

/// The events of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTrace {
    pub origin: Origin,
    /// In the order of time.
    pub events: Vec<Event>,
    /// Lines that are not events that a trace uses.
    pub skipped: usize,
}

/// The tool that printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Blkparse,
    /// `trace_pipe`, or `trace-cmd report`.
    Tracer,
}

/// The events in a text; `None` if it has none. The clock begins with its first event.
pub fn read_text(text: &str) -> Option<TextTrace> {
    let of_blkparse = collect(text, Origin::Blkparse, blkparse_line);
    let of_tracer = collect(text, Origin::Tracer, tracer_line);
    let best =
        if of_blkparse.events.len() >= of_tracer.events.len() { of_blkparse } else { of_tracer };
    (!best.events.is_empty()).then_some(best)
}

fn collect(text: &str, origin: Origin, read: impl Fn(&str) -> Option<Event>) -> TextTrace {
    let mut skipped = 0;
    let mut events: Vec<Event> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match read(line) {
            Some(event) => events.push(event),
            None => skipped += 1,
        }
    }
    events.sort_by_key(|event| event.at);
    let first = events.first().map_or(0, |event| event.at);
    events.iter_mut().for_each(|event| event.at -= first);
    TextTrace { origin, events, skipped }
}

/// `12.000345678` in nanoseconds.
fn seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = part.parse::<u64>().ok()? * 10_u64.pow(9 - part.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part)
}

/// `8,0` or `8:0`.
fn device(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once([',', ':'])?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

fn is_flags(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// `2048 + 8`; a flush may have none.
fn sectors<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(u64, u32)> {
    let sector = words.next()?.parse().ok()?;
    if words.next() != Some("+") {
        return None;
    }
    Some((sector, words.next()?.parse().ok()?))
}

/// `  8,0    1        1     0.000000000  4711  Q  WS 2048 + 8 [dd]`
fn blkparse_line(line: &str) -> Option<Event> {
    let mut words = line.split_whitespace();
    let device = device(words.next()?)?;
    let (_cpu, _sequence) =
        (words.next()?.parse::<u32>().ok()?, words.next()?.parse::<u64>().ok()?);
    let at = seconds(words.next()?)?;
    let thread = words.next()?.parse().ok()?;
    let action = words.next()?;
    let letters = words.next().filter(|word| is_flags(word))?;
    let flags = Flags::parse(letters.as_bytes());
    let command =
        line.rsplit_once('[').map_or("", |(_, rest)| rest.trim_end().trim_end_matches(']'));
    let command = Command::new(command.as_bytes());
    let mut rest = words.clone();
    let (sector, sectors) = sectors(&mut rest).unwrap_or((0, 0));
    let extent = Extent { device, sector, sectors };
    let what = match action {
        "Q" => What::Bio { extent, flags, command },
        "I" => What::Insert { extent, flags },
        "D" => What::Issue { extent, flags },
        "C" => What::Complete { extent, flags, failed: false },
        "M" | "F" => What::Merge { extent },
        "X" => {
            let sector = words.next()?.parse().ok()?;
            let at_sector: u64 = words.nth(1)?.parse().ok()?;
            let sectors = at_sector.checked_sub(sector)? as u32;
            What::Split { extent: Extent { device, sector, sectors }, at_sector }
        }
        _ => return None,
    };
    Some(Event { at, thread, what })
}

/// `  dd-4711  [001] d..1.  12.345678: block_rq_issue: 8,0 WS 4096 () 2048 + 8 none,0,0 [dd]`
fn tracer_line(line: &str) -> Option<Event> {
    let (head, rest) = line.split_once('[')?;
    let thread = head.trim_end().rsplit_once('-')?.1;
    // With `record-tgid`, the process follows in parentheses.
    let thread = thread.split_whitespace().next()?.parse().ok()?;
    let (_cpu, rest) = rest.split_once(']')?;
    let mut words = rest.split_whitespace();
    let at = words.find_map(|word| seconds(word.strip_suffix(':')?))?;
    let name = words.next()?;
    let body = rest.split_once(name)?.1.trim_start();
    Some(Event { at, thread, what: tracer_event(name, body)? })
}

fn tracer_event(name: &str, body: &str) -> Option<What> {
    if let Some(call) = name.strip_prefix("sys_") {
        return system_call(call, body);
    }
    let name = name.strip_suffix(':')?;
    let mut words = body.split_whitespace();
    let value = |key: &str| {
        let mut words = body.split_whitespace();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    };
    match name {
        "sched_switch" => {
            let state = value("prev_state")?;
            let runnable = state.starts_with('R');
            return Some(What::Switch {
                from: value("prev_pid")?.parse().ok()?,
                from_state: if runnable { Left::Runnable } else { Left::Waiting },
                to: value("next_pid")?.parse().ok()?,
            });
        }
        "sched_waking" => return Some(What::Waking { thread: value("pid")?.parse().ok()? }),
        "ext4_sync_file_enter"
        | "xfs_file_fsync"
        | "xfs_log_force"
        | "jbd2_start_commit"
        | "jbd2_end_commit" => {
            if words.next() != Some("dev") {
                return None;
            }
            let device = device(words.next()?)?;
            return Some(match name {
                "ext4_sync_file_enter" => {
                    What::SyncFile { filesystem: Filesystem::Ext4, device: Some(device) }
                }
                "xfs_file_fsync" => {
                    What::SyncFile { filesystem: Filesystem::Xfs, device: Some(device) }
                }
                "xfs_log_force" => What::ForceLog { device },
                "jbd2_start_commit" => What::JournalCommit { device, edge: Edge::Start },
                _ => What::JournalCommit { device, edge: Edge::End },
            });
        }
        "btrfs_sync_file" => {
            return Some(What::SyncFile { filesystem: Filesystem::Btrfs, device: None });
        }
        "nvme_setup_cmd" | "nvme_complete_rq" => return nvme_event(name, value),
        "scsi_dispatch_cmd_start"
        | "scsi_dispatch_cmd_error"
        | "scsi_dispatch_cmd_done"
        | "scsi_dispatch_cmd_timeout" => return scsi_event(name, body, value),
        _ => {}
    }
    let device = device(words.next()?)?;
    let flags = Flags::parse(words.next().filter(|word| is_flags(word))?.as_bytes());
    let command = body.rsplit_once('[').map_or("", |(_, rest)| rest.trim_end_matches([' ', ']']));
    if name == "block_split" {
        let sector = words.next()?.parse().ok()?;
        let at_sector: u64 = words.nth(1)?.parse().ok()?;
        let sectors = at_sector.checked_sub(sector)? as u32;
        return Some(What::Split { extent: Extent { device, sector, sectors }, at_sector });
    }
    // Bytes and the command of the driver come before the sectors of a request: `4096 () 2048 + 8`.
    let before = match name {
        "block_rq_insert" | "block_rq_issue" => 2,
        "block_rq_complete" => 1,
        _ => 0,
    };
    let mut words = words.skip(before);
    let (sector, sectors) = sectors(&mut words)?;
    let extent = Extent { device, sector, sectors };
    Some(match name {
        "block_bio_queue" => What::Bio { extent, flags, command: Command::new(command.as_bytes()) },
        "block_bio_backmerge" | "block_bio_frontmerge" => What::Merge { extent },
        "block_rq_insert" => What::Insert { extent, flags },
        "block_rq_issue" => What::Issue { extent, flags },
        "block_rq_complete" => What::Complete { extent, flags, failed: command != "0" },
        "block_bio_complete" => What::BioComplete { extent, flags },
        _ => return None,
    })
}

/// `nvme0: disk=nvme0n1, qid=2, cmdid=7, …, cmd=(nvme_cmd_write slba=0, len=7, ctrl=0x4000, …)` and
/// `nvme0: disk=nvme0n1, qid=2, cmdid=7, res=0x0, retries=0, flags=0x0, status=0x0`
fn nvme_event<'a>(name: &str, value: impl Fn(&str) -> Option<&'a str>) -> Option<What> {
    /// `NVME_RW_FUA`, the upper half of command dword 12.
    const FUA: u64 = 1 << 14;
    let value = |key: &str| value(key).map(|value| value.trim_end_matches([',', ')']));
    let address = value("disk")?.parse().ok()?;
    if name == "nvme_complete_rq" {
        return (number(value("status")?)? != 0).then_some(What::CommandFailed { address });
    }
    let operation = match value("cmd")?.trim_start_matches('(') {
        "nvme_cmd_flush" => Operation::Flush,
        "nvme_cmd_write" => Operation::Write,
        "nvme_cmd_read" => Operation::Read,
        "nvme_cmd_dsm" => Operation::Discard,
        _ => Operation::Other,
    };
    let control = value("ctrl").and_then(number).unwrap_or(0);
    let fua = operation == Operation::Write && control & FUA != 0;
    Some(What::CommandGiven { address, flags: Flags::of(operation).with_fua(fua) })
}

/// `host_no=0 channel=0 id=0 lun=0 … cmnd=(WRITE_10 lba=0 txlen=8 protect=0 raw=2a 00 …)`, for one
/// that has ended with ` result=(driver=DRIVER_OK host=DID_OK … status=SAM_STAT_GOOD)` after it
fn scsi_event<'a>(name: &str, body: &str, value: impl Fn(&str) -> Option<&'a str>) -> Option<What> {
    let part = |key: &str| value(key)?.parse().ok();
    let (host, channel, target) = (part("host_no")?, part("channel")?, part("id")?);
    let address = DriverAddress::Scsi { host, channel, target, lun: part("lun")? };
    let flags = || {
        let block = body.split_once("raw=")?.1.split(')').next()?.split_whitespace();
        let block: Option<Vec<u8>> = block.map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
        Some(scsi_command(&block?))
    };
    let succeeded = || {
        value("host") == Some("DID_OK")
            && value("status").is_some_and(|status| status.starts_with("SAM_STAT_GOOD"))
    };
    match name {
        "scsi_dispatch_cmd_start" => Some(What::CommandGiven { address, flags: flags()? }),
        "scsi_dispatch_cmd_error" => Some(What::CommandRefused { address, flags: flags()? }),
        "scsi_dispatch_cmd_done" if succeeded() => None,
        _ => Some(What::CommandFailed { address }),
    }
}

/// `sys_fsync(fd: 3)` and `sys_fsync -> 0x0` of `trace_pipe`, `sys_enter_fsync: fd: 0x3` and
/// `sys_exit_fsync: 0x0` of `trace-cmd`.
fn system_call(name: &str, body: &str) -> Option<What> {
    let call = |name: &str| Syscall::ALL.into_iter().find(|call| call.name() == name);
    let entered = |name: &str, arguments: &str| {
        let file = argument(arguments, "fd").map_or(-1, |file| file as i32);
        let flags = argument(arguments, "flags").unwrap_or(0) as u32;
        Some(What::Enter { call: call(name)?, file, flags })
    };
    if let Some((name, first)) = name.split_once('(') {
        return entered(name, &format!("{first} {body}"));
    }
    if let Some(name) = name.strip_prefix("enter_") {
        return entered(name.strip_suffix(':')?, body);
    }
    let (name, result) = match name.strip_prefix("exit_") {
        Some(name) => (name.strip_suffix(':')?, body),
        None => (name, body.strip_prefix("->")?),
    };
    call(name)?;
    let result = number(result.trim())? as i64;
    Some(What::Return { result })
}

/// The value of `key: 0x3`.
fn argument(arguments: &str, key: &str) -> Option<u64> {
    let mut parts = arguments.split([',', '(']).map(str::trim);
    parts.find_map(|part| {
        let value = part.strip_prefix(key)?.strip_prefix(':')?.trim();
        number(value.trim_end_matches(')'))
    })
}

fn number(text: &str) -> Option<u64> {
    let text = text.split_whitespace().next()?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 16 };

    fn what(line: &str) -> Option<What> {
        let text = read_text(line)?;
        text.events.first().map(|event| event.what)
    }

    fn extent(sector: u64, sectors: u32) -> Extent {
        Extent { device: DISK, sector, sectors }
    }

    #[test]
    fn each_action_of_blkparse() {
        let flags = Flags::parse(b"WS");
        let line = |rest: &str| what(&format!("  8,16   1   10   2.000000015  5122  {rest}"));
        let command = Command::new(b"my program");
        assert_eq!(
            line("Q  WS 2048 + 8 [my program]"),
            Some(What::Bio { extent: extent(2048, 8), flags, command })
        );
        assert_eq!(
            line("I  WS 2048 + 8 [fio]"),
            Some(What::Insert { extent: extent(2048, 8), flags })
        );
        assert_eq!(
            line("D  WS 2048 + 8 [fio]"),
            Some(What::Issue { extent: extent(2048, 8), flags })
        );
        assert_eq!(line("M  WS 2056 + 8 [fio]"), Some(What::Merge { extent: extent(2056, 8) }));
        assert_eq!(
            line("X  WS 2048 / 2052 [fio]"),
            Some(What::Split { extent: extent(2048, 4), at_sector: 2052 })
        );
        let complete = What::Complete { extent: extent(2048, 8), flags, failed: false };
        assert_eq!(line("C  WS 2048 + 8 [0]"), Some(complete));
        let flush = What::Issue { extent: extent(0, 0), flags: Flags::parse(b"FN") };
        assert_eq!(line("D  FN [kworker/1:1H]"), Some(flush));
        for unused in ["G  WS 2048 + 8 [fio]", "P   N [fio]", "U   N [fio] 1", "Q"] {
            assert_eq!(line(unused), None, "{unused}");
        }
    }

    #[test]
    fn each_event_of_the_tracer() {
        let flags = Flags::parse(b"WS");
        let line = |rest: &str| what(&format!("     my-dd-4711    [001] d..1.  12.345678: {rest}"));
        let command = Command::new(b"my-dd");
        assert_eq!(
            line("block_bio_queue: 8,16 WS 2048 + 8 [my-dd]"),
            Some(What::Bio { extent: extent(2048, 8), flags, command })
        );
        assert_eq!(
            line("block_rq_issue: 8,16 WS 4096 () 2048 + 8 none,0,0 [my-dd]"),
            Some(What::Issue { extent: extent(2048, 8), flags })
        );
        // Older kernels print no priority.
        assert_eq!(
            line("block_rq_issue: 8,16 WS 4096 () 2048 + 8 [my-dd]"),
            Some(What::Issue { extent: extent(2048, 8), flags })
        );
        assert_eq!(
            line("block_rq_complete: 8,16 WS () 2048 + 8 none,0,0 [0]"),
            Some(What::Complete { extent: extent(2048, 8), flags, failed: false })
        );
        assert_eq!(
            line("block_rq_complete: 8,16 WS () 2048 + 8 [-5]"),
            Some(What::Complete { extent: extent(2048, 8), flags, failed: true })
        );
        assert_eq!(
            line("block_split: 8,16 WS 2048 / 2052 [my-dd]"),
            Some(What::Split { extent: extent(2048, 4), at_sector: 2052 })
        );
        assert_eq!(
            line("sys_fsync(fd: 3)"),
            Some(What::Enter { call: Syscall::Fsync, file: 3, flags: 0 })
        );
        assert_eq!(
            line(
                "sys_enter_pwritev2: fd: 0x4, vec: 0x7ffd, vlen: 0x1, pos_l: 0x0, pos_h: 0x0, flags: 0x2"
            ),
            Some(What::Enter { call: Syscall::Pwritev2, file: 4, flags: 2 })
        );
        assert_eq!(line("sys_fsync -> 0x0"), Some(What::Return { result: 0 }));
        assert_eq!(line("sys_exit_fsync: 0xfffffffffffffffb"), Some(What::Return { result: -5 }));
        let device = DISK;
        assert_eq!(
            line("ext4_sync_file_enter: dev 8,16 ino 12 parent 2 datasync 1 "),
            Some(What::SyncFile { filesystem: Filesystem::Ext4, device: Some(device) })
        );
        assert_eq!(
            line("jbd2_start_commit: dev 8,16 transaction 7 sync 0"),
            Some(What::JournalCommit { device, edge: Edge::Start })
        );
        assert_eq!(
            line("xfs_log_force: dev 8:16 lsn 0x0 caller xfs_fsync_flush_log"),
            Some(What::ForceLog { device })
        );
        assert_eq!(
            line(
                "sched_switch: prev_comm=a b prev_pid=4711 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120"
            ),
            Some(What::Switch { from: 4711, from_state: Left::Waiting, to: 0 })
        );
        assert_eq!(
            line("sched_waking: comm=my-dd pid=4711 prio=120 target_cpu=001"),
            Some(What::Waking { thread: 4711 })
        );
        assert_eq!(line("kmalloc: call_site=x"), None);
    }

    fn given(address: &str, operation: Operation, fua: bool) -> What {
        let (address, flags) = (address.parse().unwrap(), Flags::of(operation).with_fua(fua));
        What::CommandGiven { address, flags }
    }

    /// An event as Linux 6.1 prints it.
    fn of_a_worker(event: &str) -> Option<What> {
        what(&format!("    kworker/0:1H-161     [000] .....    52.085827: {event}"))
    }

    #[test]
    fn commands_for_nvme_drives() {
        for (command, operation, fua) in [
            ("nvme_cmd_write slba=0, len=7, ctrl=0x0, dsmgmt=0, reftag=0", Operation::Write, false),
            ("nvme_cmd_write slba=0, len=7, ctrl=0x4000, dsmgmt=0", Operation::Write, true),
            ("nvme_cmd_flush cdw10=00 00 00 00", Operation::Flush, false),
            ("nvme_cmd_dsm nr=0, attributes=4", Operation::Discard, false),
            ("nvme_cmd_read slba=0, len=7, ctrl=0x4000", Operation::Read, false),
            ("nvme_cmd_write_zeroes slba=0, len=7, ctrl=0x0", Operation::Other, false),
        ] {
            let event = of_a_worker(&format!(
                "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=12800, nsid=1, flags=0x0, \
                 meta=0x0, cmd=({command})"
            ));
            assert_eq!(event, Some(given("nvme0n1", operation, fua)), "{command}");
        }
        // For the controller, not for a drive.
        let event = "nvme_setup_cmd: nvme0: qid=0, cmdid=1, cmd=(nvme_admin_identify cns=1)";
        assert_eq!(of_a_worker(event), None);
        let ended = |status: &str| {
            of_a_worker(&format!(
                "nvme_complete_rq: nvme0: disk=nvme0n1, qid=2, cmdid=12800, res=0x0, retries=0, \
                 flags=0x0, status={status}"
            ))
        };
        assert_eq!(ended("0x0"), None);
        let address = "nvme0n1".parse().unwrap();
        assert_eq!(ended("0x281"), Some(What::CommandFailed { address }));
    }

    #[test]
    fn commands_for_scsi_drives() {
        let scsi = |event: &str, rest: &str| {
            of_a_worker(&format!(
                "scsi_dispatch_cmd_{event}: host_no=12 channel=0 id=1 lun=0 data_sgl=1 prot_sgl=0 \
                 prot_op=SCSI_PROT_NORMAL driver_tag=216 scheduler_tag=-1 cmnd=({rest}"
            ))
        };
        let write = "WRITE_10 lba=0 txlen=8 protect=0 raw=2a 08 00 00 00 00 00 00 08 00)";
        let flush = "SYNCHRONIZE_CACHE - raw=35 00 00 00 00 00 00 00 00 00)";
        let address: DriverAddress = "12:0:1:0".parse().unwrap();
        assert_eq!(scsi("start", write), Some(given("12:0:1:0", Operation::Write, true)));
        assert_eq!(scsi("start", flush), Some(given("12:0:1:0", Operation::Flush, false)));
        let cut = scsi("start", "WRITE_10 raw=2a 0");
        assert_eq!(cut, Some(given("12:0:1:0", Operation::Write, false)));
        assert_eq!(scsi("start", "WRITE_10 raw=xy)"), None);
        let flags = Flags::of(Operation::Flush);
        let refused = scsi("error", &format!("{flush} rtn=4181"));
        assert_eq!(refused, Some(What::CommandRefused { address, flags }));
        let ended = |event, host: &str, status: &str| {
            let result = format!("host={host} message=COMMAND_COMPLETE status={status}");
            scsi(event, &format!("{write} result=(driver=DRIVER_OK {result})"))
        };
        assert_eq!(ended("done", "DID_OK", "SAM_STAT_GOOD"), None);
        let failed = Some(What::CommandFailed { address });
        assert_eq!(ended("done", "DID_OK", "SAM_STAT_CHECK_CONDITION"), failed);
        assert_eq!(ended("done", "DID_NO_CONNECT", "SAM_STAT_GOOD"), failed);
        assert_eq!(ended("timeout", "DID_OK", "SAM_STAT_GOOD"), failed);
    }

    #[test]
    fn lines_between_are_skipped_and_time_begins_with_the_first_event() {
        let text = "CPU 0 is empty\n\
            8,16 1 2 2.000000150 5122 D WS 2048 + 8 [fio]\n\
            8,16 1 1 2.000000100 5122 Q WS 2048 + 8 [fio]\n";
        let text = read_text(text).unwrap();
        assert_eq!((text.origin, text.skipped), (Origin::Blkparse, 1));
        assert_eq!(text.events.iter().map(|event| event.at).collect::<Vec<_>>(), [0, 50]);
        assert_eq!(read_text("nothing\nto see"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_fatal(lines in prop::collection::vec("[ -~]{0,90}", 0..8)) {
            let _ = read_text(&lines.join("\n"));
        }

        #[test]
        fn no_line_like_an_event_is_fatal(
            action in "[A-Z]{1,2}", flags in "[A-Z]{0,6}", rest in "[-0-9+/ \\[\\]a-z]{0,30}",
            time in "[0-9]{0,22}\\.[0-9]{0,11}",
        ) {
            let _ = read_text(&format!("8,16 1 1 {time} 5122 {action} {flags} {rest}"));
            let _ = read_text(&format!("dd-1 [001] {time}: block_rq_issue: 8,16 {flags} {rest}"));
            let address = "host_no=0 channel=0 id=0 lun=0";
            let scsi = format!("scsi_dispatch_cmd_start: {address} cmnd=({flags} raw={rest}");
            let _ = read_text(&format!("dd-1 [001] {time}: {scsi}"));
        }
    }
}
