//! Options about the contents of blocks, their check, and errors that are ignored.

use super::section::Section;
use super::value;
use crate::blocks::{Content, Jobs, Layout, Room, Sharing, Workload};
use crate::order::BlockOrder;
use crate::pattern::Pattern;
use crate::pattern::{Operation, SpaceCall};
use crate::plan::PlanError;
use crate::plan::{Test, Work};
use crate::size::format_bytes;
use crate::tolerance::{Tolerance, error_number};
use crate::verification::WHOLE_PIECE_BYTES;
use crate::verification::{CheckTime, FillPattern, Seal, Verification};

/// fio's names of checksums. A block contains a CRC-32C with any of them: the name changes only
/// what the checksum costs.
const CHECKSUMS: [&str; 15] = [
    "md5", "crc64", "crc32c", "crc32c-intel", "crc32", "crc16", "crc7", "xxhash", "sha512",
    "sha256", "sha1", "sha3-224", "sha3-256", "sha3-384", "sha3-512",
];
/// Room for a header and some data.
const PIECE_BYTES_MIN: u64 = 64;
/// The errors that fio's `continue_on_error` ignores: EIO and EILSEQ (`td_error.c`).
const EIO: i32 = 5;
const EILSEQ: i32 = 84;

/// A value of `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Checksum,
    Header,
    Pattern,
    PatternWithHeader,
}

impl Section {
    /// The check of the section's blocks.
    ///
    /// # Errors
    /// Fails if they cannot be checked.
    pub fn verification(&self, workload: &Workload) -> Result<Option<Verification>, PlanError> {
        let Some(seal) = self.seal()? else {
            return self.expect_no_verification();
        };
        let usual = u64::from(workload.block_bytes.get());
        let takes = format!(
            "a size that divides bs, {}, and is at least {PIECE_BYTES_MIN}",
            format_bytes(usual)
        );
        let piece_bytes = self.read("verify_interval", &takes, |text| {
            value::number(text)
                .filter(|&bytes| bytes >= PIECE_BYTES_MIN && usual.is_multiple_of(bytes))
        })?;
        let backlog = self.whole("verify_backlog", 0, 1_000_000)?.unwrap_or(0) as u32;
        let checks = self.flag("do_verify")?.unwrap_or(true);
        let time = match (workload.pattern.writes(), checks) {
            (false, false) => return Ok(None),
            (false, true) => CheckTime::OnRead,
            (true, false) if backlog > 0 => {
                let message = "verify_backlog: nothing is checked with do_verify=0; remove one of \
                               them";
                return Err(self.wrong("verify_backlog", message));
            }
            (true, false) => CheckTime::InLaterTest,
            (true, true) if backlog > 0 => CheckTime::EveryWrites(backlog),
            (true, true) => CheckTime::Afterwards,
        };
        let latest = self.flag("verify_write_sequence")?.unwrap_or(true);
        let piece_bytes = piece_bytes.unwrap_or(usual) as u32;
        let verification = Verification { seal, piece_bytes, time, latest, shared: false };
        self.expect_verifiable(workload, &verification)?;
        Ok(Some(verification))
    }

    /// The contents of each block; `None` without `verify`.
    fn seal(&self) -> Result<Option<Seal>, PlanError> {
        let takes = format!(
            "{}, meta, pattern, pattern_hdr or 0; to check after a power cut, run flushmark verify",
            CHECKSUMS.join(", ")
        );
        let kind = self.read("verify", &takes, |name| match name {
            "0" | "none" => Some(None),
            "meta" => Some(Some(Kind::Header)),
            "pattern_hdr" => Some(Some(Kind::PatternWithHeader)),
            "pattern" => Some(Some(Kind::Pattern)),
            name => CHECKSUMS.contains(&name).then_some(Some(Kind::Checksum)),
        })?;
        let takes = format!(
            "up to {} bytes as a hexadecimal number with an even number of digits, such as \
             0xdeadbeef, or a decimal number",
            FillPattern::BYTES_MAX
        );
        let fill = self.read("verify_pattern", &takes, pattern)?;
        let kind = match kind {
            Some(kind) => kind,
            // As in fio.
            None => fill.map(|_| Kind::Pattern),
        };
        Ok(match (kind, fill) {
            (None, _) => None,
            (Some(Kind::Checksum), fill) => Some(Seal::Checksum { fill }),
            (Some(Kind::Header), fill) => Some(Seal::Header { fill }),
            (Some(Kind::Pattern), Some(fill)) => Some(Seal::Pattern(fill)),
            (Some(Kind::PatternWithHeader), Some(_)) => Some(Seal::Header { fill }),
            (Some(Kind::Pattern | Kind::PatternWithHeader), None) => {
                return Err(self.wrong("verify", "verify: a pattern requires verify_pattern"));
            }
        })
    }

    /// Checks the values of options that have a meaning with `verify` only.
    fn expect_no_verification(&self) -> Result<Option<Verification>, PlanError> {
        self.flag("do_verify")?;
        self.flag("verify_write_sequence")?;
        self.whole("verify_backlog", 0, 1_000_000)?;
        self.read("verify_interval", "a size", value::number)?;
        Ok(None)
    }

    fn expect_verifiable(
        &self,
        workload: &Workload,
        verification: &Verification,
    ) -> Result<(), PlanError> {
        let fills = verification.seal.fill().is_some();
        if !workload.pattern.transfers() {
            let name = workload.pattern.name();
            let message = format!("verify: {name} writes no data to read back; use another rw");
            return Err(self.wrong("verify", &message));
        }
        let because = if workload.sizes.is_some() {
            "blocks of different sizes overlap; use a single bs"
        } else if workload.content == Content::Zero && workload.pattern.writes() && !fills {
            "a block of zeros cannot hold a checksum; remove zero_buffers"
        } else if workload.zoning.is_some_and(|zoning| zoning.collection.is_some()) {
            "resets discard blocks that would be checked; remove zone_reset_frequency"
        } else if workload.dedupe.is_some() {
            "duplicates cannot hold a checksum; remove dedupe_percentage"
        } else if verification.time == CheckTime::OnRead && !self.has("filename") {
            "reads are checked against what an earlier section wrote to the same file; set \
             filename in both"
        } else {
            return Ok(());
        };
        Err(self.wrong("verify", &format!("verify: {because}")))
    }

    /// The errors that are counted and ignored.
    ///
    /// # Errors
    /// Fails if a value is invalid.
    pub fn tolerance(&self) -> Result<Tolerance, PlanError> {
        let takes = "one of none, read, write, io, verify, all, 0, 1";
        let continued = self.read("continue_on_error", takes, |text| match text {
            "none" | "0" => Some([false; 3]),
            "read" => Some([true, false, false]),
            "write" => Some([false, true, false]),
            "io" => Some([true, true, false]),
            "verify" => Some([false, false, true]),
            "all" | "1" => Some([true; 3]),
            _ => None,
        })?;
        let takes = "lists of errors of reads, writes and verification, such as EAGAIN,ENOSPC:122";
        let listed = self.read("ignore_error", takes, |text| {
            let mut lists = [vec![], vec![], vec![]];
            for (index, list) in text.split(',').enumerate() {
                let numbers = list.split(':').filter(|name| !name.is_empty()).map(error_number);
                *lists.get_mut(index)? = numbers.collect::<Option<Vec<i32>>>()?;
            }
            Some(lists)
        })?;
        let [continues_reads, continues_writes, continues_checks] = continued.unwrap_or_default();
        let [reads, writes, checks] = listed.unwrap_or_default();
        // As in fio, a list takes the place of the usual errors.
        let errors = |continues: bool, list: Vec<i32>| {
            if continues && list.is_empty() { vec![EIO, EILSEQ] } else { list }
        };
        Ok(Tolerance {
            reads: errors(continues_reads, reads),
            writes: errors(continues_writes, writes),
            mismatches: errors(continues_checks, checks).contains(&EILSEQ),
        })
    }

    /// Returns `true` if each write is atomic.
    ///
    /// # Errors
    /// Fails if the kernel would refuse the blocks.
    pub fn atomic(&self, workload: &Workload) -> Result<bool, PlanError> {
        if self.flag("atomic")? != Some(true) || !workload.pattern.writes() {
            return Ok(false);
        }
        let block_bytes = u64::from(workload.block_bytes.get());
        let aligned = |bytes: u64| bytes.is_multiple_of(block_bytes);
        let skips = match workload.order {
            BlockOrder::SkipBytes(bytes) => aligned(bytes.unsigned_abs()),
            BlockOrder::Strided { zone_bytes, skip_bytes } => {
                aligned(zone_bytes) && aligned(skip_bytes)
            }
            _ => true,
        };
        let because = if !workload.pattern.transfers() {
            "only reads and writes of data are atomic; use another rw"
        } else if !workload.direct {
            "atomic writes require direct I/O; set direct=1"
        } else if workload.sizes.is_some() || !block_bytes.is_power_of_two() {
            "the kernel requires one bs that is a power of two"
        } else if !(skips
            && aligned(workload.offset_bytes)
            && aligned(workload.offset_increment_bytes))
        {
            "the kernel requires blocks aligned to bs; use an offset and gaps that are multiples \
             of it"
        } else {
            return Ok(true);
        };
        Err(self.wrong("atomic", &format!("atomic: {because}")))
    }

    /// Returns `true` if the section writes until the disk is full.
    ///
    /// # Errors
    /// Fails if the value is invalid.
    pub fn fills_device(&self, pattern: Pattern) -> Result<bool, PlanError> {
        Ok(self.flag("fill_device")?.unwrap_or(false) && pattern.writes() && pattern.transfers())
    }

    /// The layout of a file that is not prepared at all: it grows until the disk is full, or is
    /// created when it is opened.
    ///
    /// # Errors
    /// Fails if such a file is only read.
    pub fn unprepared(&self, pattern: Pattern) -> Result<Option<Layout>, PlanError> {
        let created = self.flag("create_on_open")?.unwrap_or(false);
        if created && !pattern.writes() {
            let message = format!(
                "create_on_open: the new file is empty, so {} finds no data in it; remove it",
                pattern.name()
            );
            return Err(self.wrong("create_on_open", &message));
        }
        Ok((created || self.fills_device(pattern)?).then_some(Layout::Empty))
    }
}

/// Finds the sections whose jobs write the same blocks at the same time. None of them can know
/// which write is the last, so each checks only that every sector is whole and in its place.
///
/// # Errors
/// Fails if not even that can be checked, or if the section demands more.
pub(super) fn find_shared_blocks(
    tests: &mut [Test],
    sections: &[Section],
) -> Result<(), PlanError> {
    for index in 0..tests.len() {
        let Some((own, verification)) = checked_writer(&tests[index]) else { continue };
        let section = &sections[index];
        let begin = (0..=index).rfind(|&test| !tests[test].with_previous).unwrap_or(0);
        let end = (index + 1..tests.len()).find(|&test| !tests[test].with_previous);
        let group = begin..end.unwrap_or(tests.len());
        let mut shared = own.jobs > Jobs::MIN
            && own.sharing != Sharing::None
            && section.has("filename")
            && own.offset_increment_bytes < own.size_per_job_bytes(Room::Unlimited);
        for other in group.filter(|&other| other != index).map(|other| &tests[other]) {
            if !overwrites(other, own) {
                continue;
            }
            shared = true;
            let same = checked_writer(other).map(|(_, other)| other.seal);
            if same != Some(verification.seal) {
                let message = format!(
                    "verify: section {} changes the same blocks at the same time, and its blocks \
                     do not have the same verify; add stonewall",
                    other.name
                );
                return Err(section.wrong("verify", &message));
            }
        }
        if !shared {
            continue;
        }
        let advice = "use numjobs=1, a size of at most offset_increment, or stonewall";
        let (key, because) = if section.flag("verify_write_sequence")? == Some(true) {
            ("verify_write_sequence", "none of them knows which write is the last; remove it")
        } else if matches!(verification.time, CheckTime::EveryWrites(_)) {
            ("verify_backlog", "a block would be read back while another job writes it; remove it")
        } else if !own.ends.is_nothing() {
            ("verify", "they are read back once all of these jobs have ended; remove exitall")
        } else if !own.is_aligned_to(WHOLE_PIECE_BYTES.into()) {
            ("verify", "a block may hold parts of several writes; make bs a multiple of 512")
        } else {
            if let Work::Blocks(workload) = &mut tests[index].work
                && let Some(verify) = &mut workload.verify
            {
                (verify.latest, verify.shared) = (false, true);
                verify.piece_bytes = verify.piece_bytes.min(WHOLE_PIECE_BYTES);
            }
            continue;
        };
        let message = format!(
            "{key}: several jobs overwrite each other's blocks, and {because}, or {advice}"
        );
        return Err(section.wrong(key, &message));
    }
    Ok(())
}

/// The workload of a test that writes blocks which are checked.
fn checked_writer(test: &Test) -> Option<(&Workload, Verification)> {
    let Work::Blocks(workload) = &test.work else { return None };
    // In zones, no job overwrites data that is to be checked.
    let checks = workload.pattern.writes() && workload.zoning.is_none();
    Some((workload, workload.verify.filter(|_| checks)?))
}

/// Returns `true` if `other` changes data that `workload` writes to the same file.
fn overwrites(other: &Test, workload: &Workload) -> bool {
    let Work::Blocks(other) = &other.work else { return false };
    let changes = match other.pattern.operation() {
        Operation::Transfer => other.pattern.writes(),
        Operation::Space(SpaceCall::Discard | SpaceCall::Truncate) => true,
        // The data stays.
        Operation::Space(SpaceCall::Allocate | SpaceCall::Reserve | SpaceCall::Exchange)
        | Operation::Entry(..)
        | Operation::Compute => false,
    };
    let range = |workload: &Workload| {
        let last = workload.part_offset_bytes(workload.jobs.get() - 1);
        let end = last.saturating_add(workload.size_per_job_bytes(Room::Unlimited));
        workload.offset_bytes..end
    };
    let (one, two) = (range(other), range(workload));
    changes
        && workload.kept_file.is_some()
        && other.kept_file == workload.kept_file
        && one.start < two.end
        && two.start < one.end
}

/// The bytes of a pattern: a hexadecimal number in the order of its digits, a decimal number from
/// its lowest byte on.
fn pattern(text: &str) -> Option<FillPattern> {
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        let pairs = digits.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let digits = std::str::from_utf8(pair).ok().filter(|digits| digits.len() == 2)?;
            digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
            u8::from_str_radix(digits, 16).ok()
        };
        return FillPattern::new(&pairs.map(byte).collect::<Option<Vec<u8>>>()?);
    }
    let number: i32 = text.parse().ok()?;
    let bytes = number.to_le_bytes();
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    FillPattern::new(&bytes[..used])
}
