//! The protocol between writer, recorder and checker, which is also the format of journal entries.
//!
//! ```text
//! frame:  0 length of what follows the checksum (4) | 4 CRC32C of it (4) | 8 time (8) | 16 kind (1) | 17 fields
//! ```
//!
//! Numbers are little-endian. Times are in microseconds on the clock of the journal's owner. The
//! parser is exposed to a network, so it trusts nothing.

use crate::frontier::Frontier;
use crate::outcome::{AgeCount, CycleResult, Outcome, Standing};
use crate::record::SEQ_MAX;
use crate::run_header::RunHeader;
use crate::wire::{Malformed, Reader, Writer};

/// The first bytes of a connection, sent by the caller: program and protocol version.
pub const GREETING: [u8; 8] = *b"FmVerif1";
pub const FRAME_BYTES_MAX: usize = 1 << 16;
/// Length and checksum.
const HEAD_BYTES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A run begins: every slot holds version 0, synced.
    Begin(Box<RunHeader>),
    /// The progress of lanes.
    Acknowledge(Vec<(u16, Frontier)>),
    /// The writer is alive. Carries the number of syncs that returned, and of flushes that the
    /// driver counted meanwhile, if it counts.
    Beat {
        /// Syncs that returned; FUA writes are not flushes and do not count.
        syncs: u64,
        /// Flushes that the driver counted.
        flushes: Option<u64>,
    },
    Stopped {
        lane: u16,
        why: String,
    },
    /// The writer ends by itself, for this reason.
    End(String),
    /// Lanes may continue up to these operations.
    Lease(Vec<(u16, u64)>),
    /// The recorder cuts the power.
    Cut {
        /// Delay after the recorder received a sync, in milliseconds.
        delay_ms: u32,
    },
    /// The cut command of this run succeeded.
    CutDone {
        /// The run, which may be long over when the command returns.
        run_id: u64,
    },
    /// Asks whether a run may begin. Sent before a target is filled, because filling destroys the
    /// evidence of the run before it.
    MayWrite(Proposal),
    /// Asks for what was recorded of the latest run.
    Fetch,
    /// A part of that record, with the time at which it was received.
    Entry {
        at_us: u64,
        message: Box<Message>,
    },
    /// The end of the record, or consent.
    Complete,
    /// The verdict on a run.
    Outcome(Outcome),
    /// The outcomes of all runs so far.
    Standing(Standing),
    /// A refusal, with the reason.
    Refused(String),
    /// A mark in a journal: everything before this byte has been synced.
    Synced {
        /// Offset of the end.
        to_bytes: u64,
    },
}

/// A writer's request to begin a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The drive's model and serial number; empty if unknown.
    pub drive: String,
    /// The kernel's identifier of the writer's boot: a recorder with the same one is on the same
    /// machine.
    pub boot_id: String,
    /// Kernel names of the whole disks under the target.
    pub disks: Vec<String>,
    /// True if an unjudged run may be overwritten.
    pub abandon: bool,
}

impl Message {
    const BEGIN: u8 = 1;
    const ACKNOWLEDGE: u8 = 2;
    const BEAT: u8 = 3;
    const STOPPED: u8 = 4;
    const END: u8 = 5;
    const LEASE: u8 = 6;
    const CUT: u8 = 7;
    const FETCH: u8 = 8;
    const ENTRY: u8 = 9;
    const COMPLETE: u8 = 10;
    const OUTCOME: u8 = 11;
    const STANDING: u8 = 12;
    const REFUSED: u8 = 13;
    const CUT_DONE: u8 = 14;
    const MAY_WRITE: u8 = 15;
    const SYNCED: u8 = 16;

    fn write(&self, out: &mut Writer) {
        match self {
            Message::Begin(run) => run.write(out.u8(Message::BEGIN)),
            Message::Acknowledge(lanes) => {
                out.u8(Message::ACKNOWLEDGE).u16(lanes.len() as u16);
                for (lane, frontier) in lanes {
                    out.u16(*lane).u64(frontier.completed).u64(frontier.durable);
                }
            }
            Message::Beat { syncs, flushes } => {
                out.u8(Message::BEAT).u64(*syncs).maybe(*flushes);
            }
            Message::Stopped { lane, why } => {
                out.u8(Message::STOPPED).u16(*lane).words(why);
            }
            Message::End(why) => {
                out.u8(Message::END).words(why);
            }
            Message::Lease(lanes) => {
                out.u8(Message::LEASE).u16(lanes.len() as u16);
                for (lane, seq) in lanes {
                    out.u16(*lane).u64(*seq);
                }
            }
            Message::Cut { delay_ms } => {
                out.u8(Message::CUT).u32(*delay_ms);
            }
            Message::CutDone { run_id } => {
                out.u8(Message::CUT_DONE).u64(*run_id);
            }
            Message::MayWrite(proposal) => {
                out.u8(Message::MAY_WRITE).words(&proposal.drive).words(&proposal.boot_id);
                out.u8(u8::from(proposal.abandon)).u16(proposal.disks.len() as u16);
                for disk in &proposal.disks {
                    out.words(disk);
                }
            }
            Message::Fetch => {
                out.u8(Message::FETCH);
            }
            Message::Entry { at_us, message } => message.write(out.u8(Message::ENTRY).u64(*at_us)),
            Message::Complete => {
                out.u8(Message::COMPLETE);
            }
            Message::Outcome(outcome) => {
                out.u8(Message::OUTCOME)
                    .u64(outcome.run_id)
                    .u8(outcome.result as u8)
                    .u8(u8::from(outcome.on_word));
                write_ages(out.u64(outcome.obligations).u64(outcome.broken), &outcome.ages);
            }
            Message::Standing(standing) => {
                let Standing { clean, on_word, failed, void, unjudged, ages } = standing;
                out.u8(Message::STANDING)
                    .u32(*clean)
                    .u32(*on_word)
                    .u32(*failed)
                    .u32(*void)
                    .u32(*unjudged);
                write_ages(out, ages);
            }
            Message::Refused(why) => {
                out.u8(Message::REFUSED).words(why);
            }
            Message::Synced { to_bytes } => {
                out.u8(Message::SYNCED).u64(*to_bytes);
            }
        }
    }

    fn read(from: &mut Reader<'_>, depth: u8) -> Result<Message, Malformed> {
        let seq = |from: &mut Reader<'_>| match from.u64()? {
            seq if seq <= SEQ_MAX => Ok(seq),
            _ => Err(Malformed::Number("sequence number")),
        };
        Ok(match from.u8()? {
            Message::BEGIN => Message::Begin(Box::new(RunHeader::read(from)?)),
            Message::ACKNOWLEDGE => {
                let count = from.u16()?;
                let lane = |from: &mut Reader<'_>| {
                    Ok((from.u16()?, Frontier { completed: seq(from)?, durable: seq(from)? }))
                };
                Message::Acknowledge((0..count).map(|_| lane(from)).collect::<Result<_, _>>()?)
            }
            Message::BEAT => {
                Message::Beat { syncs: from.u64()?, flushes: from.maybe("count of flushes")? }
            }
            Message::STOPPED => Message::Stopped { lane: from.u16()?, why: from.words()? },
            Message::END => Message::End(from.words()?),
            Message::LEASE => {
                let count = from.u16()?;
                Message::Lease(
                    (0..count).map(|_| Ok((from.u16()?, seq(from)?))).collect::<Result<_, _>>()?,
                )
            }
            Message::CUT => Message::Cut { delay_ms: from.u32()? },
            Message::CUT_DONE => Message::CutDone { run_id: from.u64()? },
            Message::MAY_WRITE => {
                let (drive, boot_id, abandon) = (from.words()?, from.words()?, from.flag("wish")?);
                let count = from.u16()?;
                let disks = (0..count).map(|_| from.words()).collect::<Result<_, _>>()?;
                Message::MayWrite(Proposal { drive, boot_id, disks, abandon })
            }
            Message::FETCH => Message::Fetch,
            // Entries must not nest, or a parser could be made to recurse.
            Message::ENTRY if depth == 0 => {
                Message::Entry { at_us: from.u64()?, message: Box::new(Message::read(from, 1)?) }
            }
            Message::COMPLETE => Message::Complete,
            Message::OUTCOME => {
                let run_id = from.u64()?;
                let result = match from.u8()? {
                    0 => CycleResult::Kept,
                    1 => CycleResult::Fails,
                    2 => CycleResult::Void,
                    _ => return Err(Malformed::Number("outcome")),
                };
                let on_word = from.flag("kind of sign")?;
                let (obligations, broken) = (from.u64()?, from.u64()?);
                Message::Outcome(Outcome {
                    run_id,
                    result,
                    on_word,
                    obligations,
                    broken,
                    ages: read_ages(from)?,
                })
            }
            Message::STANDING => Message::Standing(Standing {
                clean: from.u32()?,
                on_word: from.u32()?,
                failed: from.u32()?,
                void: from.u32()?,
                unjudged: from.u32()?,
                ages: read_ages(from)?,
            }),
            Message::REFUSED => Message::Refused(from.words()?),
            Message::SYNCED => Message::Synced { to_bytes: from.u64()? },
            _ => return Err(Malformed::Number("kind of message")),
        })
    }
}

fn write_ages(out: &mut Writer, ages: &[AgeCount]) {
    out.u16(ages.len() as u16);
    for age in ages {
        out.maybe(age.up_to_ms.map(u64::from)).u64(age.obligations).u64(age.broken);
    }
}

fn read_ages(from: &mut Reader<'_>) -> Result<Vec<AgeCount>, Malformed> {
    let count = from.u16()?;
    let age = |_| {
        let up_to_ms = from
            .maybe("age")?
            .map(u32::try_from)
            .transpose()
            .map_err(|_| Malformed::Number("age"))?;
        Ok(AgeCount { up_to_ms, obligations: from.u64()?, broken: from.u64()? })
    };
    (0..count).map(age).collect()
}

/// Reads one message, without its frame.
pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
    let mut from = Reader::new(bytes);
    let message = Message::read(&mut from, 0)?;
    from.end()?;
    Ok(message)
}

pub fn frame(at_us: u64, message: &Message) -> Vec<u8> {
    let mut body = Writer::default();
    message.write(body.u64(at_us));
    let mut out = Writer::default();
    out.u32(body.0.len() as u32).u32(crc32c::crc32c(&body.0));
    out.0.extend(body.0);
    out.0
}

/// The result of reading a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    /// A message, its time, and the size of its frame in bytes.
    Whole(u64, Message, usize),
    /// The beginning of a frame: more bytes are needed.
    Partial,
    /// Not a frame.
    Nonsense(Malformed),
}

/// Reads one frame from the beginning of the bytes.
pub fn unframe(bytes: &[u8]) -> Framed {
    let mut from = Reader::new(bytes);
    let (Ok(length), Ok(crc)) = (from.u32(), from.u32()) else { return Framed::Partial };
    let length = length as usize;
    if !(9..=FRAME_BYTES_MAX).contains(&length) {
        return Framed::Nonsense(Malformed::Number("length"));
    }
    let Some(body) = from.rest().get(..length) else { return Framed::Partial };
    if crc32c::crc32c(body) != crc {
        return Framed::Nonsense(Malformed::Number("checksum"));
    }
    let mut from = Reader::new(body);
    match from.u64().and_then(|at_us| Ok((at_us, parse(from.rest())?))) {
        Ok((at_us, message)) => Framed::Whole(at_us, message, HEAD_BYTES + length),
        Err(malformed) => Framed::Nonsense(malformed),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::run_header::tests::sample;

    pub(crate) fn all() -> Vec<Message> {
        let frontier = Frontier { completed: 9, durable: 8 };
        let outcome = Outcome {
            run_id: 7,
            result: CycleResult::Fails,
            on_word: true,
            obligations: 100,
            broken: 2,
            ages: vec![
                AgeCount { up_to_ms: Some(1), obligations: 5, broken: 1 },
                AgeCount::default(),
            ],
        };
        let ages = outcome.ages.clone();
        let disks = vec!["sda".to_owned(), "sdb".to_owned()];
        let proposal =
            Proposal { drive: "d".to_owned(), boot_id: "b".to_owned(), disks, abandon: true };
        vec![
            Message::Begin(Box::new(sample())),
            Message::Acknowledge(vec![(0, frontier), (3, Frontier::default())]),
            Message::Beat { syncs: 3, flushes: Some(2) },
            Message::Beat { syncs: 3, flushes: None },
            Message::Stopped { lane: 1, why: "Input/output error".to_owned() },
            Message::End("asked to stop".to_owned()),
            Message::Lease(vec![(0, 65536)]),
            Message::Cut { delay_ms: 30 },
            Message::Fetch,
            Message::Entry { at_us: 5, message: Box::new(Message::Lease(vec![])) },
            Message::Complete,
            Message::Outcome(outcome),
            Message::Standing(Standing {
                clean: 1,
                on_word: 1,
                failed: 2,
                void: 3,
                unjudged: 4,
                ages,
            }),
            Message::CutDone { run_id: 7 },
            Message::MayWrite(proposal),
            Message::Refused("no".to_owned()),
            Message::Synced { to_bytes: 20 },
        ]
    }

    #[test]
    fn every_message_survives_a_round_trip() {
        for (at_us, message) in all().into_iter().enumerate() {
            let bytes = frame(at_us as u64, &message);
            assert_eq!(unframe(&bytes), Framed::Whole(at_us as u64, message, bytes.len()));
            for end in 0..bytes.len() {
                assert_eq!(unframe(&bytes[..end]), Framed::Partial, "cut at {end}");
            }
        }
    }

    #[test]
    fn an_entry_within_an_entry_is_nonsense() {
        let inner = Message::Entry { at_us: 1, message: Box::new(Message::Fetch) };
        let bytes = frame(0, &Message::Entry { at_us: 1, message: Box::new(inner) });
        assert!(matches!(unframe(&bytes), Framed::Nonsense(_)));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = unframe(&bytes);
        }

        #[test]
        fn damage_to_a_body_is_noticed_or_harmless(which in 0usize..17, at: usize, value: u8) {
            let mut bytes = frame(1, &all()[which]);
            let at = at % bytes.len();
            let before = bytes[at];
            bytes[at] = value;
            if value != before {
                prop_assert!(!matches!(unframe(&bytes), Framed::Whole(..)));
            }
            let _ = parse(&bytes[16.min(bytes.len())..]);
        }
    }
}
