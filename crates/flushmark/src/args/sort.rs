//! What may be typed after `flushmark sort`.

use std::path::PathBuf;

use clap::Parser;
use sortfile::Key;

/// Sort lines or fixed-size records by their bytes, beyond memory if need be
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark sort urls.txt -o sorted.txt
  flushmark sort -t , -k 3,3 -k 1,1r -u table.csv
  flushmark sort --record-size 100 -k 1.1,1.10 -S 2G -T /mnt/scratch -o sorted.bin records.bin
  zcat log.gz | flushmark sort -S 25% | zstd > log.zst

The output is that of `LC_ALL=C sort` with the same options, byte for byte. An output file is written beside the old one,
made durable, and only then takes its name; it may be one of the inputs.")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct SortArgs {
    /// Files to sort together; - is stdin, and so is nothing
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The file to write, durable before success is reported; default: stdout
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["check", "check_quietly"])]
    pub output: Option<PathBuf>,

    /// Compare this part: FIELD[.CHARACTER], or FIELD[.CHARACTER],FIELD[.CHARACTER], counted from 1; b behind one skips blanks, r is descending
    #[arg(long, short, value_name = "KEY")]
    pub key: Vec<Key>,

    /// Fields end at this byte, not where blanks begin
    #[arg(long, short = 't', value_name = "BYTE", value_parser = parse_separator)]
    pub field_separator: Option<u8>,

    /// Blanks at the beginning of a key do not count
    #[arg(long, short = 'b')]
    pub ignore_leading_blanks: bool,

    /// Descending
    #[arg(long, short)]
    pub reverse: bool,

    /// Only the first of those that compare equal
    #[arg(long, short)]
    pub unique: bool,

    /// Those with equal keys stay as they came; otherwise whole lines decide
    #[arg(long, short)]
    pub stable: bool,

    /// Lines end with a zero byte
    #[arg(long, short)]
    pub zero_terminated: bool,

    /// Records of so many bytes instead of lines; each is one field
    #[arg(long, value_name = "BYTES", conflicts_with = "zero_terminated", value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: Option<u32>,

    /// Say whether the input is sorted, and where it is not; exit with 1 then
    #[arg(long, short, conflicts_with = "check_quietly")]
    pub check: bool,

    /// The same without a word
    #[arg(long, short = 'C')]
    pub check_quietly: bool,

    /// Memory to use, in KiB or with a letter, b K M G T or % of the machine's; default: half of what is available
    #[arg(long, short = 'S', value_name = "SIZE", value_parser = parse_size)]
    pub buffer_size: Option<Memory>,

    /// Where to keep what memory does not hold, several in turn; default: TMPDIR, or /tmp
    #[arg(long, short = 'T', value_name = "DIR")]
    pub temporary_directory: Vec<PathBuf>,

    /// Threads to sort with; default: one a processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub parallel: Option<u16>,

    /// Say on stderr what was sorted, spilled and written, and where the time went
    #[arg(long)]
    pub figures: bool,

    /// No bar on a terminal
    #[arg(long, short)]
    pub quiet: bool,
}

/// An amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Bytes(u64),
    /// Of the machine's.
    Percent(u64),
}

/// As GNU `sort` reads `-S`.
fn parse_size(text: &str) -> Result<Memory, String> {
    let wrong = || format!("{text:?} is no size, such as 512M, 2G or 25%");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let shift = match unit {
        "%" if number <= 100 => return Ok(Memory::Percent(number)),
        "%" => return Err(format!("{text} is more than there is")),
        "b" => 0,
        "" | "k" | "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).map(Memory::Bytes).ok_or_else(wrong)
}

fn parse_separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        br"\0" => Ok(0),
        br"\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one byte; a tab is \\t, and a zero byte \\0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_gnu_sort() {
        assert_eq!(parse_size("1"), Ok(Memory::Bytes(1024)));
        assert_eq!(parse_size("7b"), Ok(Memory::Bytes(7)));
        assert_eq!(parse_size("3G"), Ok(Memory::Bytes(3 << 30)));
        assert_eq!(parse_size("50%"), Ok(Memory::Percent(50)));
        for wrong in ["", "G", "1X", "101%", "99999999999T", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_separator_is_one_byte() {
        assert_eq!(parse_separator(","), Ok(b','));
        assert_eq!((parse_separator(r"\0"), parse_separator(r"\t")), (Ok(0), Ok(b'\t')));
        assert!(parse_separator("").is_err() && parse_separator("ab").is_err() && parse_separator("é").is_err());
    }
}
