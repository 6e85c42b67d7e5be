//! A trace in a file: a line of JSON that says what it is, then its events, compressed.
//!
//! Each event takes a few bytes before compression: the time since the one before, the thread, what
//! happened, and its values, as numbers of variable length. A last record of JSON says what was
//! lost; a file without it is cut off.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};

use drive::{BlockDevice, DeviceNumber, DriverAddress};
use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use crate::event::{Command, Edge, Event, Extent, Filesystem, Flags, Left, Syscall, What};
use crate::live::{Counted, Scope};

/// The name and version of the format.
const FORMAT: &str = "flushmark/kept-trace/1";
/// The family of its versions.
const FAMILY: &str = "flushmark/kept-trace/";

/// The beginning of a kept trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub subject: String,
    /// The kernel's release.
    pub kernel: String,
    pub scope: Scope,
    /// The drives, as the kernel saw them then.
    pub devices: Vec<BlockDevice>,
}

/// The end of a kept trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trailer {
    pub seconds: f64,
    pub counted: Counted,
    /// The names of threads that committed.
    pub names: HashMap<u32, String>,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    format: String,
    #[serde(flatten)]
    content: T,
}

/// A file that cannot be read as a kept trace.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("it is not a trace that flushmark kept")]
    Foreign,
    #[error("it has the format `{0}`, and this version of flushmark knows {FORMAT}")]
    Version(String),
    #[error("it is cut off or damaged after {0} events")]
    Damaged(u64),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a trace to a file.
#[derive(Debug)]
pub struct Keeper<W: Write> {
    out: DeflateEncoder<W>,
    last: u64,
    buffer: Vec<u8>,
}

/// Bytes collected before they are compressed.
const BUFFER: usize = 64 * 1024;

impl<W: Write> Keeper<W> {
    pub fn begin(mut out: W, header: &Header) -> io::Result<Keeper<W>> {
        let versioned = Versioned { format: FORMAT.to_owned(), content: header };
        out.write_all(serde_json::to_string(&versioned)?.as_bytes())?;
        out.write_all(b"\n")?;
        // The fastest level: a trace must not slow down what it traces.
        let out = DeflateEncoder::new(out, Compression::fast());
        Ok(Keeper { out, last: 0, buffer: Vec::with_capacity(BUFFER * 2) })
    }

    /// Events must come in the order of time.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        encode(event, self.last, &mut self.buffer);
        self.last = event.at;
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the file and returns what it was written to.
    pub fn finish(mut self, trailer: &Trailer) -> io::Result<W> {
        self.buffer.push(END);
        let text = serde_json::to_vec(trailer)?;
        number(text.len() as u64, &mut self.buffer);
        self.buffer.extend(text);
        self.out.write_all(&self.buffer)?;
        self.out.finish()
    }
}

/// Reads a kept trace, event by event.
pub struct Kept<R: Read> {
    pub header: Header,
    bytes: DeflateDecoder<BufReader<R>>,
    /// The part that was read of it; `at` is the place of the next event.
    buffer: Vec<u8>,
    at: usize,
    last: u64,
    read: u64,
    trailer: Option<Trailer>,
}

/// An event takes less: a byte, and at most ten numbers of ten bytes.
const EVENT_MOST: usize = 128;
/// A header is not longer than this.
const HEADER_MOST: u64 = 16 << 20;
const TRAILER_MOST: u64 = 256 << 20;

impl<R: Read> Kept<R> {
    pub fn open(file: R) -> Result<Kept<R>, KeptError> {
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        file.by_ref().take(HEADER_MOST).read_until(b'\n', &mut line)?;
        let begins = format!("{{\"format\":\"{FAMILY}");
        if !line.starts_with(begins.as_bytes()) {
            return Err(KeptError::Foreign);
        }
        let damaged = |_| KeptError::Damaged(0);
        let value: serde_json::Value = serde_json::from_slice(&line).map_err(damaged)?;
        let format = value.get("format").and_then(serde_json::Value::as_str).unwrap_or_default();
        if format != FORMAT {
            return Err(KeptError::Version(format.to_owned()));
        }
        let header: Versioned<Header> = serde_json::from_value(value).map_err(damaged)?;
        let (bytes, buffer) = (DeflateDecoder::new(file), Vec::with_capacity(BUFFER));
        Ok(Kept { header: header.content, bytes, buffer, at: 0, last: 0, read: 0, trailer: None })
    }

    /// The next event; `None` at the end.
    pub fn event(&mut self) -> Result<Option<Event>, KeptError> {
        if self.trailer.is_some() {
            return Ok(None);
        }
        let damaged = KeptError::Damaged(self.read);
        let Ok(decoded) = self.decode() else { return Err(damaged) };
        if let Some(event) = decoded {
            self.last = event.at;
            self.read += 1;
        } else {
            self.trailer = Some(self.read_trailer().ok_or(damaged)?);
        }
        Ok(decoded)
    }

    fn decode(&mut self) -> Result<Option<Event>, Broken> {
        if self.buffer.len() - self.at < EVENT_MOST {
            self.read_on(BUFFER as u64).map_err(|_| Broken)?;
        }
        let mut rest = &self.buffer[self.at..];
        let decoded = decode(&mut rest, self.last)?;
        self.at = self.buffer.len() - rest.len();
        Ok(decoded)
    }

    /// Drops the decoded part, and reads up to this many bytes more.
    fn read_on(&mut self, most: u64) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.bytes.by_ref().take(most).read_to_end(&mut self.buffer).map(drop)
    }

    fn read_trailer(&mut self) -> Option<Trailer> {
        self.read_on(TRAILER_MOST).ok()?;
        let mut rest = self.buffer.as_slice();
        let length = read_number(&mut rest).ok()?;
        serde_json::from_slice(rest.get(..usize::try_from(length).ok()?)?).ok()
    }

    /// The record after the events, all of which must have been read.
    pub fn trailer(self) -> Result<Trailer, KeptError> {
        self.trailer.ok_or(KeptError::Damaged(self.read))
    }
}

struct Broken;

/// Groups of 7 bits, lowest first; the highest bit says that more follow.
fn number(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push((value as u8) | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[inline]
fn byte(bytes: &mut &[u8]) -> Result<u8, Broken> {
    let (&first, rest) = bytes.split_first().ok_or(Broken)?;
    *bytes = rest;
    Ok(first)
}

fn read_number(bytes: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = byte(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Broken)
}

fn signed(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unsigned(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

const END: u8 = 0;

fn filesystem_tag(filesystem: Filesystem) -> u64 {
    match filesystem {
        Filesystem::Ext4 => 0,
        Filesystem::Xfs => 1,
        Filesystem::Btrfs => 2,
    }
}

fn uring_tag(call: Option<Syscall>) -> u64 {
    match call {
        Some(Syscall::UringFsync) => 1,
        Some(Syscall::UringWrite) => 2,
        _ => 0,
    }
}

fn uring_call(tag: u64) -> Result<Option<Syscall>, Broken> {
    match tag {
        0 => Ok(None),
        1 => Ok(Some(Syscall::UringFsync)),
        2 => Ok(Some(Syscall::UringWrite)),
        _ => Err(Broken),
    }
}

/// The calls by their numbers in a file. The fourth was once `sync_file_range`.
const CALLS: [Option<Syscall>; 12] = [
    Some(Syscall::Fsync),
    Some(Syscall::Fdatasync),
    Some(Syscall::Msync),
    None,
    Some(Syscall::Sync),
    Some(Syscall::Syncfs),
    Some(Syscall::Write),
    Some(Syscall::Pwrite),
    Some(Syscall::Writev),
    Some(Syscall::Pwritev),
    Some(Syscall::Pwritev2),
    Some(Syscall::IoUringEnter),
];

/// The tag of what happened, and its values.
fn values(what: &What) -> (u8, Vec<u64>) {
    let device = |device: DeviceNumber| [u64::from(device.major), u64::from(device.minor)];
    let place = |extent: &Extent| {
        let [major, minor] = device(extent.device);
        vec![major, minor, extent.sector, u64::from(extent.sectors)]
    };
    let with = |extent: &Extent, more: &[u64]| [&place(extent), more].concat();
    match what {
        What::Enter { call, file, flags } => {
            let call = CALLS.iter().position(|one| one.as_ref() == Some(call)).unwrap_or(0) as u64;
            (1, vec![call, signed(i64::from(*file)), u64::from(*flags)])
        }
        What::Return { result } => (2, vec![signed(*result)]),
        What::Open { flags } => (3, vec![u64::from(*flags)]),
        What::Opened { file } => (4, vec![signed(*file)]),
        What::Duplicate { file, into } => {
            (5, vec![signed(i64::from(*file)), signed(i64::from(*into))])
        }
        What::SyncFile { filesystem, device: None } => (6, vec![filesystem_tag(*filesystem)]),
        What::SyncFile { filesystem, device: Some(on) } => {
            (7, [&[filesystem_tag(*filesystem)], &device(*on)[..]].concat())
        }
        What::ForceLog { device: on } => (8, device(*on).to_vec()),
        What::JournalCommit { device: on, edge: Edge::Start } => (9, device(*on).to_vec()),
        What::JournalCommit { device: on, edge: Edge::End } => (10, device(*on).to_vec()),
        What::Switch { from, from_state, to } => {
            let waiting = u64::from(*from_state == Left::Waiting);
            (11, vec![u64::from(*from), waiting, u64::from(*to)])
        }
        What::Waking { thread } => (12, vec![u64::from(*thread)]),
        What::Bio { extent, flags, command } => {
            let (low, high) = command.numbers();
            (13, with(extent, &[flags.number(), low, high]))
        }
        What::Merge { extent } => (14, place(extent)),
        What::Split { extent, at_sector } => (15, with(extent, &[*at_sector])),
        What::Insert { extent, flags } => (16, with(extent, &[flags.number()])),
        What::Issue { extent, flags } => (17, with(extent, &[flags.number()])),
        What::Complete { extent, flags, failed } => {
            (18, with(extent, &[flags.number(), u64::from(*failed)]))
        }
        What::BioComplete { extent, flags } => (19, with(extent, &[flags.number()])),
        What::Lost { until } => (20, vec![*until]),
        What::UringSubmit { request, call, links } => {
            (21, vec![*request, uring_tag(*call), u64::from(*links)])
        }
        What::UringQueue { request } => (22, vec![*request]),
        What::UringComplete { request, result } => (23, vec![*request, signed(*result)]),
        What::CommandGiven { address, flags } => {
            (24, [&address_values(address)[..], &[flags.number()]].concat())
        }
        What::CommandRefused { address, flags } => {
            (25, [&address_values(address)[..], &[flags.number()]].concat())
        }
        What::CommandFailed { address } => (26, address_values(address).to_vec()),
        What::Create { thread } => (27, vec![u64::from(*thread)]),
        What::End => (28, Vec::new()),
    }
}

const NVME: u64 = 0;
const SCSI: u64 = 1;

/// The bus and four numbers; the controller of an NVMe drive counts from one, and none is zero.
fn address_values(address: &DriverAddress) -> [u64; 5] {
    match *address {
        DriverAddress::Nvme { subsystem, controller, namespace } => {
            let controller = controller.map_or(0, |controller| u64::from(controller) + 1);
            [NVME, subsystem.into(), controller, namespace.into(), 0]
        }
        DriverAddress::Scsi { host, channel, target, lun } => {
            [SCSI, host.into(), channel.into(), target.into(), lun.into()]
        }
    }
}

fn address(values: [u64; 5]) -> Result<DriverAddress, Broken> {
    let small = |value: u64| u32::try_from(value).map_err(|_| Broken);
    match values {
        [NVME, subsystem, controller, namespace, 0] => Ok(DriverAddress::Nvme {
            subsystem: small(subsystem)?,
            controller: controller.checked_sub(1).map(small).transpose()?,
            namespace: small(namespace)?,
        }),
        [SCSI, host, channel, target, lun] => Ok(DriverAddress::Scsi {
            host: small(host)?,
            channel: small(channel)?,
            target: small(target)?,
            lun: small(lun)?,
        }),
        _ => Err(Broken),
    }
}

fn encode(event: &Event, last: u64, into: &mut Vec<u8>) {
    let (tag, values) = values(&event.what);
    into.push(tag);
    number(event.at.saturating_sub(last), into);
    number(u64::from(event.thread), into);
    values.into_iter().for_each(|value| number(value, into));
}

fn decode(bytes: &mut &[u8], last: u64) -> Result<Option<Event>, Broken> {
    let tag = byte(bytes)?;
    if tag == END {
        return Ok(None);
    }
    let at = last.checked_add(read_number(bytes)?).ok_or(Broken)?;
    let thread = u32::try_from(read_number(bytes)?).map_err(|_| Broken)?;
    let what = read_what(tag, bytes)?;
    Ok(Some(Event { at, thread, what }))
}

fn read_what(tag: u8, bytes: &mut &[u8]) -> Result<What, Broken> {
    let mut next = || read_number(bytes);
    let small = |value: u64| u32::try_from(value).map_err(|_| Broken);
    let file = |value: u64| i32::try_from(unsigned(value)).map_err(|_| Broken);
    let device = |major: u64, minor: u64| {
        Ok::<_, Broken>(DeviceNumber { major: small(major)?, minor: small(minor)? })
    };
    let filesystem = |tag: u64| match tag {
        0 => Ok(Filesystem::Ext4),
        1 => Ok(Filesystem::Xfs),
        2 => Ok(Filesystem::Btrfs),
        _ => Err(Broken),
    };
    if (13..=19).contains(&tag) {
        let device = device(next()?, next()?)?;
        let extent = Extent { device, sector: next()?, sectors: small(next()?)? };
        return Ok(match tag {
            13 => What::Bio {
                extent,
                flags: Flags::from_number(next()?).ok_or(Broken)?,
                command: Command::from_numbers(next()?, next()?),
            },
            14 => What::Merge { extent },
            15 => What::Split { extent, at_sector: next()? },
            tag => {
                let flags = Flags::from_number(next()?).ok_or(Broken)?;
                match tag {
                    16 => What::Insert { extent, flags },
                    17 => What::Issue { extent, flags },
                    18 => What::Complete { extent, flags, failed: next()? != 0 },
                    _ => What::BioComplete { extent, flags },
                }
            }
        });
    }
    if (24..=26).contains(&tag) {
        let address = address([next()?, next()?, next()?, next()?, next()?])?;
        if tag == 26 {
            return Ok(What::CommandFailed { address });
        }
        let flags = Flags::from_number(next()?).ok_or(Broken)?;
        return Ok(match tag {
            24 => What::CommandGiven { address, flags },
            _ => What::CommandRefused { address, flags },
        });
    }
    Ok(match tag {
        1 => What::Enter {
            call: CALLS.get(next()? as usize).copied().flatten().ok_or(Broken)?,
            file: file(next()?)?,
            flags: small(next()?)?,
        },
        2 => What::Return { result: unsigned(next()?) },
        3 => What::Open { flags: small(next()?)? },
        4 => What::Opened { file: unsigned(next()?) },
        5 => What::Duplicate { file: file(next()?)?, into: file(next()?)? },
        6 => What::SyncFile { filesystem: filesystem(next()?)?, device: None },
        7 => What::SyncFile {
            filesystem: filesystem(next()?)?,
            device: Some(device(next()?, next()?)?),
        },
        8 => What::ForceLog { device: device(next()?, next()?)? },
        9 => What::JournalCommit { device: device(next()?, next()?)?, edge: Edge::Start },
        10 => What::JournalCommit { device: device(next()?, next()?)?, edge: Edge::End },
        11 => What::Switch {
            from: small(next()?)?,
            from_state: if next()? == 0 { Left::Runnable } else { Left::Waiting },
            to: small(next()?)?,
        },
        12 => What::Waking { thread: small(next()?)? },
        20 => What::Lost { until: next()? },
        21 => {
            What::UringSubmit { request: next()?, call: uring_call(next()?)?, links: next()? != 0 }
        }
        22 => What::UringQueue { request: next()? },
        23 => What::UringComplete { request: next()?, result: unsigned(next()?) },
        27 => What::Create { thread: small(next()?)? },
        28 => What::End,
        _ => return Err(Broken),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        let disk = DeviceNumber { major: 8, minor: 0 };
        let scope = Scope { disks: vec![disk], ..Scope::default() };
        let kernel = "6.12.0".to_owned();
        Header { subject: "dd".to_owned(), kernel, scope, devices: Vec::new() }
    }

    fn trailer() -> Trailer {
        let counted = Counted { events: 3, lost: 1, ..Counted::default() };
        let names = HashMap::from([(7, "dd".to_owned())]);
        Trailer { seconds: 1.5, counted, names }
    }

    fn kept(events: &[Event]) -> Vec<u8> {
        let mut keeper = Keeper::begin(Vec::new(), &header()).unwrap();
        events.iter().for_each(|event| keeper.event(event).unwrap());
        keeper.finish(&trailer()).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(Vec<Event>, Trailer), KeptError> {
        let mut kept = Kept::open(bytes)?;
        let mut events = Vec::new();
        while let Some(event) = kept.event()? {
            events.push(event);
        }
        Ok((events, kept.trailer()?))
    }

    proptest! {
        #[test]
        fn a_kept_trace_reads_back(mut events in prop::collection::vec(crate::tests::any_event(), 0..80)) {
            events.sort_by_key(|event| event.at);
            let bytes = kept(&events);
            prop_assert_eq!(Kept::open(&bytes[..]).unwrap().header, header());
            prop_assert_eq!(read(&bytes).unwrap(), (events, trailer()));
        }

        #[test]
        fn a_trace_that_is_cut_off_says_so(
            mut events in prop::collection::vec(crate::tests::any_event(), 1..80),
            share in 0.0..1.0_f64,
        ) {
            events.sort_by_key(|event| event.at);
            let bytes = kept(&events);
            let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
            let length = (bytes.len() as f64 * share) as usize;
            match read(&bytes[..length]) {
                Err(KeptError::Damaged(_)) => {}
                // Its last bytes only say that it ends.
                Ok(whole) => prop_assert_eq!(whole, (events, trailer())),
                Err(KeptError::Foreign) => prop_assert!(length < header),
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn damage_is_not_fatal(
            mut events in prop::collection::vec(crate::tests::any_event(), 1..40),
            place in 0.0..1.0_f64,
            change in 1_u8..,
        ) {
            events.sort_by_key(|event| event.at);
            let mut bytes = kept(&events);
            let place = (bytes.len() as f64 * place) as usize;
            bytes[place] ^= change;
            let _ = read(&bytes);
        }
    }

    #[test]
    fn foreign_files_and_newer_ones() {
        let words = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        insta::assert_snapshot!(words(b""), @"it is not a trace that flushmark kept");
        insta::assert_snapshot!(words(b"{\"format\":\"flushmark/run/1\"}\n"), @"it is not a trace that flushmark kept");
        insta::assert_snapshot!(words(b"{\"format\":\"flushmark/kept-trace/2\"}\n"), @"it has the format `flushmark/kept-trace/2`, and this version of flushmark knows flushmark/kept-trace/1");
        let whole = kept(&[]);
        insta::assert_snapshot!(words(&whole[..whole.len() - 3]), @"it is cut off or damaged after 0 events");
    }
}
