//! Arguments of `flushmark sort`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Parser, ValueEnum};
use sortfile::Key;

/// Sort lines or fixed-size records, beyond memory if needed
///
/// Keys and lines are compared byte by byte.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark sort urls.txt -o sorted.txt
  flushmark sort -t , -k 3,3 -k 1,1r -u table.csv
  flushmark sort --record-size 100 -k 1.1,1.10 -S 2G -T /mnt/scratch -o sorted.bin records.bin
  zcat log.gz | flushmark sort -S 25% | zstd > log.zst

The output is byte for byte that of `LC_ALL=C sort` with the same options. An output file is
written beside the old one and made durable before it takes its name; it may be one of the inputs.")]
#[allow(clippy::struct_excessive_bools, reason = "independent command-line switches")]
pub struct SortArgs {
    /// Files to sort together; - or no file for stdin
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The file to write, durable before success is reported [default: stdout]
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["check", "check_quietly"])]
    pub output: Option<PathBuf>,

    /// Compare this part: FIELD[.CHARACTER] or FIELD[.CHARACTER],FIELD[.CHARACTER], counted from 1;
    /// append b to skip blanks, r to reverse
    #[arg(long, short, value_name = "KEY")]
    pub key: Vec<Key>,

    /// Fields end at this byte instead of before blanks
    #[arg(long, short = 't', value_name = "BYTE", value_parser = OsStringValueParser::new().try_map(|text| parse_separator(&text)))]
    pub field_separator: Option<u8>,

    /// Ignore blanks at the beginning of keys
    #[arg(long, short = 'b', overrides_with = "ignore_leading_blanks")]
    pub ignore_leading_blanks: bool,

    /// Sort in descending order
    #[arg(long, short, overrides_with = "reverse")]
    pub reverse: bool,

    /// Output only the first of equal lines
    #[arg(long, short, overrides_with = "unique")]
    pub unique: bool,

    /// Keep the input order of lines with equal keys, instead of comparing whole lines
    #[arg(long, short, overrides_with = "stable")]
    pub stable: bool,

    /// Lines end with a zero byte, not a newline
    #[arg(long, short, overrides_with = "zero_terminated")]
    pub zero_terminated: bool,

    /// Sort records of this many bytes instead of lines; each is one field
    #[arg(long, value_name = "BYTES", conflicts_with = "zero_terminated", value_parser = clap::value_parser!(u32).range(1..))]
    pub record_size: Option<u32>,

    /// Check whether the input is sorted; if not, report where and exit with 1
    #[arg(
        long,
        short,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "diagnose-first",
        overrides_with = "check",
        conflicts_with = "check_quietly"
    )]
    check: Option<CheckAs>,

    /// Like --check, but print nothing
    #[arg(long, short = 'C', overrides_with = "check_quietly")]
    check_quietly: bool,

    /// Memory to use, in KiB or with a suffix: b K M G T P E, or % of the machine's [default: half
    /// of the available memory]
    #[arg(long, short = 'S', value_name = "SIZE", value_parser = parse_size)]
    pub buffer_size: Option<Memory>,

    /// Directory for temporary files; several are used in turn [default: TMPDIR, or /tmp]
    #[arg(long, short = 'T', value_name = "DIR")]
    pub temporary_directory: Vec<PathBuf>,

    /// Threads to sort with, up to 1024 [default: one per processor]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub parallel: Option<usize>,

    /// Report on stderr what was sorted, spilled and written, and where the time went
    #[arg(long, conflicts_with_all = ["check", "check_quietly"])]
    pub figures: bool,

    /// Show no progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

impl SortArgs {
    /// The kind of check; `None` if the input is to be sorted.
    pub fn check_as(&self) -> Option<CheckAs> {
        if self.check_quietly { Some(CheckAs::Quiet) } else { self.check }
    }
}

/// The output of a check of unsorted input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckAs {
    DiagnoseFirst,
    #[value(alias = "silent")]
    Quiet,
}

/// The arguments, with `-t=` of `flushmark sort` read as GNU `sort` does: the separator is the
/// equals sign. clap would take the sign as the start of an empty value.
pub fn with_separators(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|verb| verb != "sort") {
        return words;
    }
    let mut options = true;
    let split = |word: OsString| {
        options &= word != "--";
        if options && word == "-t=" { vec!["-t".into(), "=".into()] } else { vec![word] }
    };
    words.into_iter().flat_map(split).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Bytes(u64),
    /// Percentage of the machine's memory.
    Percent(u64),
}

/// Reads a size as GNU `sort -S` does.
fn parse_size(text: &str) -> Result<Memory, String> {
    let wrong = || format!("invalid size {text:?}; expected one such as 512M, 2G or 25%");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let shift = match unit {
        "%" if number <= 100 => return Ok(Memory::Percent(number)),
        "%" => return Err(format!("{text} is more than the machine has")),
        "b" => 0,
        "" | "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).map(Memory::Bytes).ok_or_else(wrong)
}

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|&threads| threads > 0);
    threads.ok_or_else(|| format!("invalid number of threads {text:?}; expected one such as 4"))
}

fn parse_separator(text: &OsStr) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        br"\0" => Ok(0),
        br"\t" => Ok(b'\t'),
        _ => Err(format!(
            "separator {:?} is not one byte; write \\t for a tab and \\0 for a zero byte",
            text.to_string_lossy()
        )),
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
        assert_eq!(parse_size("512m"), Ok(Memory::Bytes(512 << 20)));
        assert_eq!(parse_size("50%"), Ok(Memory::Percent(50)));
        for wrong in ["", "G", "1X", "101%", "99999999999T", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_separator_is_one_byte() {
        let parse = |text: &[u8]| parse_separator(OsStr::from_bytes(text));
        assert_eq!((parse(b","), parse(b"\xff")), (Ok(b','), Ok(0xff)));
        assert_eq!((parse(br"\0"), parse(br"\t")), (Ok(0), Ok(b'\t')));
        assert!(parse(b"").is_err() && parse(b"ab").is_err() && parse("é".as_bytes()).is_err());
    }

    #[test]
    fn an_equals_sign_is_a_separator_too() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(with_separators(words("flushmark sort -t= -k2")), words("flushmark sort -t = -k2"));
        for others in ["flushmark sort -- -t=", "flushmark sort --field-separator==", "flushmark run -t="] {
            assert_eq!(with_separators(words(others)), words(others));
        }
    }

    #[test]
    fn repeated_flags_are_accepted() {
        let parse = |text: &str| SortArgs::try_parse_from(text.split(' '));
        let twice = parse("sort -r -r -u -u -c -c -k1 -k2").unwrap();
        assert!(twice.reverse && twice.unique && twice.key.len() == 2);
        assert_eq!(twice.check_as(), Some(CheckAs::DiagnoseFirst));
        assert_eq!(parse("sort --check=silent file").unwrap().check_as(), Some(CheckAs::Quiet));
        assert_eq!(parse("sort --parallel 5000").unwrap().parallel, Some(5000));
        assert!(parse("sort --parallel 0").is_err() && parse("sort -c --figures").is_err());
    }
}
