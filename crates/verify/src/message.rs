//! What is said between the program that writes, the recorder and the program that checks, and what a journal keeps of it. One language for all three.
//!
//! ```text
//! frame:  0 length of what follows the checksum (4) | 4 CRC32C of it (4) | 8 time (8) | 16 kind (1) | 17 fields
//! ```
//!
//! Numbers are little-endian. Times are microseconds on the clock of whoever keeps the journal. A parser of these frames is exposed to a network, so it takes nothing on trust.

use crate::frontier::Frontier;
use crate::outcome::{AgeCount, CycleResult, Outcome, Standing};
use crate::record::SEQ_MAX;
use crate::run_header::RunHeader;
use crate::wire::{Malformed, Reader, Writer};

/// The first bytes of a connection, from whoever calls: who speaks, and the version of the language.
pub const GREETING: [u8; 8] = *b"FmVerif1";
/// No frame is longer.
pub const FRAME_BYTES_MAX: usize = 1 << 16;
/// Length and checksum.
const HEAD_BYTES: usize = 8;

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A run begins: every slot holds version 0, synced.
    Begin(Box<RunHeader>),
    /// Lanes are this far.
    Acknowledge(Vec<(u16, Frontier)>),
    /// All is well; how many syncs returned so far, and how many flushes the driver counted meanwhile, where it counts.
    Beat {
        /// Syncs that returned; writes with FUA, which are no flushes, do not count.
        syncs: u64,
        /// Flushes.
        flushes: Option<u64>,
    },
    /// A lane stopped for good.
    Stopped {
        /// Which.
        lane: u16,
        /// Why.
        why: String,
    },
    /// The writer ends by itself, and says why.
    End(String),
    /// Lanes may go on to these operations.
    Lease(Vec<(u16, u64)>),
    /// The recorder has the power cut, this long after it heard of a sync, in milliseconds.
    Cut {
        /// The delay that was chosen.
        delay_ms: u32,
    },
    /// The cut command of this run did its part.
    CutDone {
        /// The run: it may be long over when the command returns.
        run_id: u64,
    },
    /// May a run begin? Asked before a target is filled, because that takes the evidence of the run before it.
    MayWrite(Proposal),
    /// Tell me what you heard of the latest run.
    Fetch,
    /// A part of that, with the time at which it was heard.
    Entry {
        /// Microseconds.
        at_us: u64,
        /// What was heard.
        message: Box<Message>,
    },
    /// That was all.
    Complete,
    /// What became of a run.
    Outcome(Outcome),
    /// How all runs so far went.
    Standing(Standing),
    /// No, because.
    Refused(String),
    /// A journal's own mark: a sync has made safe what lies before this byte.
    Synced {
        /// Where that ends.
        to_bytes: u64,
    },
}

/// Who wants to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The drive's model and serial number; empty where they cannot be told.
    pub drive: String,
    /// The kernel's name of the writer's boot: a recorder of the same boot is on the same machine.
    pub boot_id: String,
    /// Kernel names of the whole disks beneath the target.
    pub disks: Vec<String>,
    /// Whether a run that nobody judged may be written over.
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
                out.u8(Message::OUTCOME).u64(outcome.run_id).u8(outcome.result as u8).u8(u8::from(outcome.on_word));
                write_ages(out.u64(outcome.obligations).u64(outcome.broken), &outcome.ages);
            }
            Message::Standing(standing) => {
                let Standing { clean, on_word, failed, void, unjudged, ages } = standing;
                out.u8(Message::STANDING).u32(*clean).u32(*on_word).u32(*failed).u32(*void).u32(*unjudged);
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
                let lane =
                    |from: &mut Reader<'_>| Ok((from.u16()?, Frontier { completed: seq(from)?, durable: seq(from)? }));
                Message::Acknowledge((0..count).map(|_| lane(from)).collect::<Result<_, _>>()?)
            }
            Message::BEAT => Message::Beat { syncs: from.u64()?, flushes: from.maybe("count of flushes")? },
            Message::STOPPED => Message::Stopped { lane: from.u16()?, why: from.words()? },
            Message::END => Message::End(from.words()?),
            Message::LEASE => {
                let count = from.u16()?;
                Message::Lease((0..count).map(|_| Ok((from.u16()?, seq(from)?))).collect::<Result<_, _>>()?)
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
            // An entry within an entry is nonsense, and would be a way to make a parser recurse.
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
                Message::Outcome(Outcome { run_id, result, on_word, obligations, broken, ages: read_ages(from)? })
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
        let up_to_ms = from.maybe("age")?.map(u32::try_from).transpose().map_err(|_| Malformed::Number("age"))?;
        Ok(AgeCount { up_to_ms, obligations: from.u64()?, broken: from.u64()? })
    };
    (0..count).map(age).collect()
}

/// Reads one message, without its frame.
///
/// # Errors
/// When the bytes are none, or more than one.
pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
    let mut from = Reader::new(bytes);
    let message = Message::read(&mut from, 0)?;
    from.end()?;
    Ok(message)
}

/// A message in its frame.
pub fn frame(at_us: u64, message: &Message) -> Vec<u8> {
    let mut body = Writer::default();
    message.write(body.u64(at_us));
    let mut out = Writer::default();
    out.u32(body.0.len() as u32).u32(crc32c::crc32c(&body.0));
    out.0.extend(body.0);
    out.0
}

/// What stands at the beginning of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed {
    /// A message, when it was said, and the bytes that its frame takes.
    Whole(u64, Message, usize),
    /// The beginning of a frame: more is needed.
    Partial,
    /// No frame.
    Nonsense(Malformed),
}

/// Takes one frame off the beginning.
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
            ages: vec![AgeCount { up_to_ms: Some(1), obligations: 5, broken: 1 }, AgeCount::default()],
        };
        let ages = outcome.ages.clone();
        let disks = vec!["sda".to_owned(), "sdb".to_owned()];
        let proposal = Proposal { drive: "d".to_owned(), boot_id: "b".to_owned(), disks, abandon: true };
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
            Message::Standing(Standing { clean: 1, on_word: 1, failed: 2, void: 3, unjudged: 4, ages }),
            Message::CutDone { run_id: 7 },
            Message::MayWrite(proposal),
            Message::Refused("no".to_owned()),
            Message::Synced { to_bytes: 20 },
        ]
    }

    #[test]
    fn each_comes_back_as_it_was() {
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
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
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
