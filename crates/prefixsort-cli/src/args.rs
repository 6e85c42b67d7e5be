//! The command-line arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use clierror::WrongUse;
use sortfile::{Key, Order, Ties, Unit};

use crate::generate::Generated;
use crate::memory::Memory;
use crate::unsupported;

const AFTER_HELP: &str = "\
Examples:
  prefixsort urls.txt -o sorted.txt
  prefixsort -t , -k 3,3 -k 1,1r -u table.csv
  prefixsort --record-size 100 -k 1.1,1.10 -S 2G -T /mnt/scratch -o sorted.bin records.bin
  zcat log.gz | prefixsort -S 25% | zstd > log.zst
  find . -name '*.sorted' -print0 | prefixsort -m --files0-from=- -o all.sorted

Lines and keys are compared byte by byte, and the output is that of `LC_ALL=C sort` with the same
options. Other orders, such as that of numbers (-n), are refused. An output file is written next to
the old one and made durable before it takes its name; it may be one of the inputs.

Exit codes:
  0  success
  1  not sorted (--check)
  2  error";

/// Sort lines or fixed-size records, beyond memory if needed
#[derive(Debug, Parser)]
#[command(name = "prefixsort", version, after_help = AFTER_HELP, max_term_width = 100)]
// GNU `sort -V` and `-h` are other orders, so they must not print something else and succeed.
#[command(disable_version_flag = true, disable_help_flag = true, arg = version(), arg = help())]
#[command(infer_long_args = true, args = unsupported::options())]
#[allow(clippy::struct_excessive_bools, reason = "independent command-line switches")]
pub struct Args {
    /// Files to sort together; - or no file for stdin
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Merge files that are already sorted, without sorting them
    #[arg(long, short, overrides_with = "merge", conflicts_with_all = ["check", "check_quietly"])]
    pub merge: bool,

    /// Read the names of the files from this one, each ended by a zero byte; - for stdin
    #[arg(long, value_name = "LIST", overrides_with = "files0_from", conflicts_with = "files")]
    pub files0_from: Option<PathBuf>,

    /// The file to write, durable before success is reported [default: stdout]
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["check", "check_quietly"])]
    output: Vec<PathBuf>,

    /// Compare this part: FIELD[.CHARACTER] or FIELD[.CHARACTER],FIELD[.CHARACTER], counted from 1;
    /// append b to skip blanks, r to reverse
    #[arg(long, short, value_name = "KEY")]
    pub key: Vec<Key>,

    /// Fields end at this byte instead of before blanks
    #[arg(long, short = 't', value_name = "BYTE", value_parser = OsStringValueParser::new().try_map(|text| parse_separator(&text)))]
    field_separator: Vec<u8>,

    /// Ignore blanks at the beginning of keys
    #[arg(long, short = 'b', overrides_with = "ignore_leading_blanks")]
    pub ignore_leading_blanks: bool,

    /// Sort in descending order
    // GNU `sort` has no other option that begins with these two letters.
    #[arg(long, alias = "re", short, overrides_with = "reverse")]
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

    /// Like --check=quiet
    // No long name: GNU `sort` has none, and `--che` means `--check`.
    #[arg(short = 'C', overrides_with = "check_quietly")]
    check_quietly: bool,

    /// Memory to use, in KiB or with a suffix: b K M G T P E, or % of the machine's [default: half
    /// of the available memory]
    #[arg(long, short = 'S', value_name = "SIZE", value_parser = Memory::parse, overrides_with = "buffer_size")]
    pub buffer_size: Option<Memory>,

    /// Directory for temporary files; several are used in turn [default: TMPDIR, or /tmp]
    #[arg(long, short = 'T', value_name = "DIR")]
    pub temporary_directory: Vec<PathBuf>,

    /// Threads to sort with, up to 1024 [default: one per processor]
    #[arg(long, value_name = "N", value_parser = parse_threads, overrides_with = "parallel")]
    pub parallel: Option<usize>,

    /// Report on stderr what was sorted, spilled and written, and where the time went
    #[arg(long, conflicts_with_all = ["check", "check_quietly"])]
    pub figures: bool,

    /// Show no progress bar
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the manual page, or the script that completes arguments in a shell; for packages
    #[arg(long, value_enum, value_name = "WHAT", hide = true, exclusive = true)]
    pub generate: Option<Generated>,
}

impl Args {
    /// Reads a command line.
    ///
    /// # Errors
    ///
    /// [`Unread`] for what is not a command line of this program, or asks for help.
    pub fn read(words: impl Iterator<Item = OsString>) -> Result<Self, Unread> {
        let mut command = Self::command();
        let given = command.try_get_matches_from_mut(with_separators(words)).map_err(|error| {
            ambiguous(&command, &error).map_or(Unread::Clap(error), Unread::Wrong)
        })?;
        unsupported::refuse(&given)?;
        let args = Self::from_arg_matches(&given)?;
        expect_one("--output", args.output.iter().map(|path| path.display()))?;
        let separator = |byte: &u8| char::from(*byte).escape_default();
        expect_one("--field-separator", args.field_separator.iter().map(separator))?;
        Ok(args)
    }

    pub fn output(&self) -> Option<&Path> {
        self.output.first().map(PathBuf::as_path)
    }

    /// The kind of check; `None` if the input is to be sorted.
    pub fn check_as(&self) -> Option<CheckAs> {
        if self.check_quietly { Some(CheckAs::Quiet) } else { self.check }
    }

    /// The order to sort by, or to check.
    pub fn order(&self) -> Order {
        let end = if self.zero_terminated { 0 } else { b'\n' };
        Order {
            unit: self.record_size.map_or(Unit::Lines { end }, |size| Unit::Records(size as usize)),
            keys: self.key.clone(),
            separator: self.field_separator.first().copied(),
            skip_blanks: self.ignore_leading_blanks,
            reverse: self.reverse,
            ties: match (self.unique, self.stable) {
                (true, _) => Ties::FirstOnly,
                (false, true) => Ties::AsTheyCame,
                (false, false) => Ties::WholeRecord,
            },
        }
    }
}

/// The output of a check of unsorted input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckAs {
    DiagnoseFirst,
    #[value(alias = "silent")]
    Quiet,
}

/// Why a command line was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// A message of clap: an error, help or the version.
    #[error(transparent)]
    Clap(#[from] clap::Error),
    #[error(transparent)]
    Wrong(#[from] WrongUse),
}

/// The error for an abbreviation of several options, which clap calls unexpected.
fn ambiguous(command: &clap::Command, error: &clap::Error) -> Option<WrongUse> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let begun = word.strip_prefix("--").filter(|begun| !begun.is_empty())?;
    let mut meant: Vec<_> = command
        .get_arguments()
        .filter_map(Arg::get_long)
        .filter(|long| long.starts_with(begun))
        .map(|long| format!("--{long}"))
        .collect();
    meant.sort();
    let several = error.kind() == ErrorKind::UnknownArgument && meant.len() > 1;
    several.then(|| WrongUse(format!("{word} is ambiguous; expected one of {}", meant.join(", "))))
}

/// Refuses an option with several values. GNU `sort`, too, accepts one that is repeated.
fn expect_one(option: &str, values: impl Iterator<Item = impl ToString>) -> Result<(), WrongUse> {
    let mut values: Vec<_> = values.map(|value| value.to_string()).collect();
    values.dedup();
    if values.len() < 2 {
        return Ok(());
    }
    Err(WrongUse(format!("{option} is given with different values: {}", values.join(", "))))
}

fn help() -> Arg {
    Arg::new("help").long("help").action(ArgAction::HelpShort).help("Print help")
}

fn version() -> Arg {
    Arg::new("version").long("version").action(ArgAction::Version).help("Print version")
}

/// The command line, with `-t=` read as GNU `sort` does: the separator is the equals sign. clap
/// would take the sign as the start of an empty value.
fn with_separators(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut options = true;
    let split = |word: OsString| {
        options &= word != "--";
        if options && word == "-t=" { vec!["-t".into(), "=".into()] } else { vec![word] }
    };
    words.flat_map(split).collect()
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
    fn a_separator_is_one_byte() {
        let parse = |text: &[u8]| parse_separator(OsStr::from_bytes(text));
        assert_eq!((parse(b","), parse(b"\xff")), (Ok(b','), Ok(0xff)));
        assert_eq!((parse(br"\0"), parse(br"\t")), (Ok(0), Ok(b'\t')));
        assert!(parse(b"").is_err() && parse(b"ab").is_err() && parse("é".as_bytes()).is_err());
    }

    #[test]
    fn an_equals_sign_is_a_separator_too() {
        let read =
            |text: &str| with_separators(text.split(' ').map(OsString::from)).join(OsStr::new(" "));
        assert_eq!(read("prefixsort -t= -k2"), "prefixsort -t = -k2");
        for others in ["prefixsort -- -t=", "prefixsort --field-separator=="] {
            assert_eq!(read(others), others);
        }
    }

    #[test]
    fn repeated_flags_are_accepted() {
        let parse = |text: &str| Args::read(text.split(' ').map(OsString::from));
        let twice = parse("prefixsort -r -r -u -u -c -c -k1 -k2").unwrap();
        assert!(twice.reverse && twice.unique && twice.key.len() == 2);
        assert_eq!(twice.check_as(), Some(CheckAs::DiagnoseFirst));
        let silent = parse("prefixsort --check=silent file").unwrap();
        assert_eq!(silent.check_as(), Some(CheckAs::Quiet));
        assert_eq!(parse("prefixsort --parallel 5000").unwrap().parallel, Some(5000));
        for wrong in ["prefixsort --parallel 0", "prefixsort -c --figures", "prefixsort -V"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
