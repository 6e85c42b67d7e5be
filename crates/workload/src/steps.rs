//! Step programs: loops of writes and syncs on several files, which is how software commits.
//!
//! A program has one step per line:
//!
//! | step | meaning |
//! | --- | --- |
//! | `write FILE PATTERN SIZE [xN]` | N writes of SIZE each; PATTERN is `append`, `seq`, `rand` or `same` |
//! | `write FILE tail SIZE/BLOCK [xN]` | a log grows by SIZE, N times; each time, the blocks that SIZE falls into are written whole |
//! | `sync FILE fsync` or `fdatasync` | the call, on FILE's handle |
//! | `truncate FILE SIZE` | sets the file's length |
//! | `rename FROM TO` | FROM replaces TO |
//! | `unlink FILE` | removes the name; the next write creates the file again |
//! | `reopen FILE` | closes and reopens the file |
//! | `sync-dir` | `fsync` of the directory that holds the files |
//!
//! One turn of the loop is one commit.

mod cursor;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::{Content, Jobs, Layout, Limit, WarmUp};
use crate::size::{ByteSize, InvalidSize, format_bytes};
use crate::sync::{OpenFlag, SyncCall};
pub use cursor::FileCursor;

/// The position of a write within its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    /// At the end of the file, which grows. At the declared size, the file is emptied and starts
    /// over.
    Append,
    /// After the last write, within the declared size; wraps around.
    Seq,
    /// At a random multiple of the write's size, within the declared size.
    Rand,
    /// At the file's start, every time.
    Same,
    /// After the last write, in whole blocks: the block that the last write ended in is written
    /// again. Wraps around within the declared size.
    Tail {
        /// Bytes of a block; at least 1.
        block_bytes: u32,
    },
}

impl Placement {
    /// The size that all offsets and lengths are multiples of, for a step with this size.
    pub const fn unit_bytes(self, bytes: u32) -> u64 {
        match self {
            Placement::Tail { block_bytes } => block_bytes as u64,
            _ => bytes as u64,
        }
    }

    /// The largest single write of a step with this size.
    pub const fn largest_write_bytes(self, bytes: u32) -> u64 {
        let bytes = bytes as u64;
        match self {
            // The first byte may be the last one of its block.
            Placement::Tail { block_bytes } => {
                let block = block_bytes as u64;
                ((bytes + block - 2) / block + 1) * block
            }
            _ => bytes,
        }
    }

    /// The mean of the writes of a step with this size.
    const fn mean_write_bytes(self, bytes: u32) -> u64 {
        match self {
            // Each byte but the first begins a new block once in `block_bytes` times.
            Placement::Tail { block_bytes } => bytes as u64 + block_bytes as u64 - 1,
            _ => bytes as u64,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSpec {
    pub name: String,
    /// Range of `seq` and `rand`, and the size at which `append` starts over.
    pub size_bytes: u64,
    /// The initial state of the file.
    pub layout: Layout,
    /// Open with `O_DIRECT`.
    pub direct: bool,
    /// The flag that makes each write durable, if any.
    pub open_flag: Option<OpenFlag>,
}

/// One step of a turn. Files are indices into [`StepProgram::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Writes to a file.
    Write {
        /// Index of the file.
        file: usize,
        /// Position within the file.
        placement: Placement,
        /// Bytes of one write, 1 to 64 MiB; with [`Placement::Tail`], bytes that the log grows by.
        bytes: u32,
        /// Number of consecutive writes; at least 1.
        times: u32,
    },
    /// Makes the completed writes to a file durable.
    Sync {
        /// Index of the file.
        file: usize,
        call: SyncCall,
    },
    /// Sets a file's length.
    Truncate {
        /// Index of the file.
        file: usize,
        /// The new length in bytes.
        bytes: u64,
    },
    /// Renames one file to another, which is replaced.
    Rename {
        /// The file that keeps its content.
        from: usize,
        /// The file that is replaced and whose content is lost. The next write to `from` creates it
        /// again.
        to: usize,
    },
    /// Removes a file.
    Unlink {
        /// Index of the file.
        file: usize,
    },
    /// Closes and reopens a file.
    Reopen {
        /// Index of the file.
        file: usize,
    },
    /// Makes directory entries durable: `fsync` of the directory.
    SyncDir,
}

/// An error in a line of a step program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The first word is not a known step.
    #[error(
        "unknown step `{0}`; expected one of `write FILE PATTERN SIZE [xN]`, `write FILE tail \
         SIZE/BLOCK [xN]`, `sync FILE fsync|fdatasync`, `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, \
         `sync-dir`"
    )]
    NoStep(String),
    /// The number of words is wrong.
    #[error("invalid step `{line}`; expected `{form}`")]
    Form {
        /// The line as written.
        line: String,
        form: &'static str,
    },
    #[error("unknown file `{name}`; this test's files are {declared}")]
    UnknownFile {
        name: String,
        /// The declared names, separated by commas.
        declared: String,
    },
    /// Unknown placement.
    #[error("unknown write pattern `{0}`; expected append, seq, rand, same or tail")]
    Placement(String),
    /// A tail without its block size.
    #[error("invalid size `{0}` of a tail; expected SIZE/BLOCK, such as 270B/8KiB")]
    NoBlock(String),
    /// Unknown sync call.
    #[error(
        "unknown sync call `{0}`; expected fsync or fdatasync (to sync each write, declare the \
         file with open = \"o_dsync\")"
    )]
    SyncCall(String),
    #[error(transparent)]
    Size(#[from] InvalidSize),
    /// A size or a repetition is out of range.
    #[error("invalid {what} {value}; expected {range}")]
    Range {
        /// The name of the quantity.
        what: &'static str,
        range: &'static str,
        value: String,
    },
}

impl Step {
    /// Parses one line. Files are looked up by name in `files`.
    ///
    /// # Errors
    /// Fails if the step is unknown, names an undeclared file, or contains a value that is out of
    /// range.
    pub fn parse(line: &str, files: &[FileSpec]) -> Result<Step, StepError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let file = |name: &str| {
            files.iter().position(|file| file.name == name).ok_or_else(|| StepError::UnknownFile {
                name: name.to_owned(),
                declared: files
                    .iter()
                    .map(|file| file.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
        };
        let form = |form| StepError::Form { line: line.trim().to_owned(), form };
        let (verb, rest) = words.split_first().ok_or_else(|| StepError::NoStep(line.to_owned()))?;
        match (*verb, rest) {
            ("write", [name, placement, size]) => Step::write(file(name)?, placement, size, "x1"),
            ("write", [name, placement, size, times]) => {
                Step::write(file(name)?, placement, size, times)
            }
            ("write", _) => Err(form("write FILE PATTERN SIZE [xN]")),
            ("sync", [name, call]) => {
                let call = match *call {
                    "fsync" => SyncCall::Fsync,
                    "fdatasync" => SyncCall::Fdatasync,
                    other => return Err(StepError::SyncCall(other.to_owned())),
                };
                Ok(Step::Sync { file: file(name)?, call })
            }
            ("sync", _) => Err(form("sync FILE fsync|fdatasync")),
            ("truncate", [name, size]) => match size.parse::<ByteSize>()?.0 {
                bytes if i64::try_from(bytes).is_ok() => {
                    Ok(Step::Truncate { file: file(name)?, bytes })
                }
                _ => Err(StepError::Range {
                    what: "length",
                    range: "less than 8 EiB",
                    value: (*size).to_owned(),
                }),
            },
            ("truncate", _) => Err(form("truncate FILE SIZE")),
            ("rename", [from, to]) if from != to => {
                Ok(Step::Rename { from: file(from)?, to: file(to)? })
            }
            ("rename", _) => Err(form("rename FROM TO")),
            ("unlink", [name]) => Ok(Step::Unlink { file: file(name)? }),
            ("unlink", _) => Err(form("unlink FILE")),
            ("reopen", [name]) => Ok(Step::Reopen { file: file(name)? }),
            ("reopen", _) => Err(form("reopen FILE")),
            ("sync-dir", []) => Ok(Step::SyncDir),
            ("sync-dir", _) => Err(form("sync-dir")),
            (other, _) => Err(StepError::NoStep(other.to_owned())),
        }
    }

    fn write(file: usize, placement: &str, size: &str, times: &str) -> Result<Step, StepError> {
        let in_range = |what, size: &str| match size.parse::<ByteSize>()?.0 {
            bytes @ 1..=0x400_0000 => Ok(bytes as u32),
            _ => Err(StepError::Range { what, range: "1 B to 64 MiB", value: size.to_owned() }),
        };
        let (placement, size) = match placement {
            "append" => (Placement::Append, size),
            "seq" => (Placement::Seq, size),
            "rand" => (Placement::Rand, size),
            "same" => (Placement::Same, size),
            "tail" => {
                let (size, block) =
                    size.split_once('/').ok_or_else(|| StepError::NoBlock(size.to_owned()))?;
                (Placement::Tail { block_bytes: in_range("block size", block)? }, size)
            }
            other => return Err(StepError::Placement(other.to_owned())),
        };
        let bytes = in_range("write size", size)?;
        let repetition = || StepError::Range {
            what: "repetition",
            range: "x1 to x65536",
            value: times.to_owned(),
        };
        let times = times.strip_prefix('x').ok_or_else(repetition)?;
        match times.parse() {
            Ok(times @ 1..=65536) => Ok(Step::Write { file, placement, bytes, times }),
            _ => Err(repetition()),
        }
    }

    /// The line that parses as this step.
    pub fn notation(&self, files: &[FileSpec]) -> String {
        let name = |file: usize| files.get(file).map_or("?", |file| file.name.as_str());
        match *self {
            Step::Write { file, placement, bytes, times } => {
                let word = |bytes: u32| format_bytes(u64::from(bytes)).replace(' ', "");
                let (placement, block) = match placement {
                    Placement::Append => ("append", String::new()),
                    Placement::Seq => ("seq", String::new()),
                    Placement::Rand => ("rand", String::new()),
                    Placement::Same => ("same", String::new()),
                    Placement::Tail { block_bytes } => ("tail", format!("/{}", word(block_bytes))),
                };
                let size = word(bytes) + &block;
                let times = if times == 1 { String::new() } else { format!(" x{times}") };
                format!("write {} {placement} {size}{times}", name(file))
            }
            Step::Sync { file, call } => format!("sync {} {}", name(file), call.name()),
            Step::Truncate { file, bytes } => {
                format!("truncate {} {}", name(file), format_bytes(bytes).replace(' ', ""))
            }
            Step::Rename { from, to } => format!("rename {} {}", name(from), name(to)),
            Step::Unlink { file } => format!("unlink {}", name(file)),
            Step::Reopen { file } => format!("reopen {}", name(file)),
            Step::SyncDir => "sync-dir".to_owned(),
        }
    }
}

/// A loop of steps on several files.
#[derive(Debug, Clone, PartialEq)]
pub struct StepProgram {
    /// The files, at least one.
    pub files: Vec<FileSpec>,
    /// The steps of one turn, at least one.
    pub steps: Vec<Step>,
    /// Independent loops, each with its own set of files.
    pub jobs: Jobs,
    /// The data to write.
    pub content: Content,
    /// The end of the measurement; a count is a number of turns.
    pub limit: Limit,
    /// Runtime before the measurement starts.
    pub warm_up: WarmUp,
    /// Seed of random positions and contents.
    pub seed: u64,
}

impl StepProgram {
    /// The test's default name: its steps on one line.
    pub fn title(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|step| step.notation(&self.files)).collect();
        format!("{}, jobs {}", steps.join(", "), self.jobs.get())
    }

    /// Returns `true` if the program only overwrites and syncs. It can then run on a block device,
    /// where files have no names and do not grow.
    pub fn runs_without_directory(&self) -> bool {
        let fixed = |step: &Step| match *step {
            Step::Write { placement, .. } => placement != Placement::Append,
            Step::Sync { .. } | Step::Reopen { .. } => true,
            Step::Truncate { .. } | Step::Rename { .. } | Step::Unlink { .. } | Step::SyncDir => {
                false
            }
        };
        self.steps.iter().all(fixed)
            && self.files.iter().all(|file| file.layout == Layout::Overwrite)
    }

    /// Returns `true` if a turn makes what it wrote durable, by a sync or by the flag of a file, so
    /// that it counts as a commit.
    pub fn commits(&self) -> bool {
        self.steps.iter().any(|step| match *step {
            Step::Sync { .. } | Step::SyncDir => true,
            Step::Write { file, .. } => self.files[file].open_flag.is_some(),
            _ => false,
        })
    }

    pub fn size_per_job_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }

    /// Bytes that a turn writes; the mean, where a log's tail is written again.
    pub fn turn_bytes(&self) -> u64 {
        let written = |step: &Step| match *step {
            Step::Write { bytes, times, placement, .. } => {
                placement.mean_write_bytes(bytes) * u64::from(times)
            }
            _ => 0,
        };
        self.steps.iter().map(written).sum()
    }

    /// The largest single write to one of the files; 1 for a file that is never written.
    pub fn largest_write_bytes(&self, index: usize) -> u64 {
        let bytes = |step: &Step| match *step {
            Step::Write { file, placement, bytes, .. } if file == index => {
                placement.largest_write_bytes(bytes)
            }
            _ => 1,
        };
        self.steps.iter().map(bytes).max().unwrap_or(1)
    }

    /// The largest single write, and so the buffer size that the program needs.
    pub fn write_bytes_max(&self) -> u64 {
        let bytes = |step: &Step| match *step {
            Step::Write { placement, bytes, .. } => placement.largest_write_bytes(bytes),
            _ => 0,
        };
        self.steps.iter().map(bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files() -> Vec<FileSpec> {
        let file = |name: &str| FileSpec {
            name: name.to_owned(),
            size_bytes: 1 << 20,
            layout: Layout::Overwrite,
            direct: false,
            open_flag: None,
        };
        vec![file("log"), file("data")]
    }

    #[test]
    fn each_kind_of_step_reads_back_as_it_was_written() {
        for line in [
            "write log append 2300B",
            "write data rand 16KiB x64",
            "write log same 8KiB",
            "write log tail 270B/8KiB x2",
            "sync log fdatasync",
            "truncate log 0B",
            "rename log data",
            "unlink log",
            "reopen data",
            "sync-dir",
        ] {
            assert_eq!(Step::parse(line, &files()).unwrap().notation(&files()), line);
        }
    }

    #[test]
    fn an_invalid_step_names_what_was_expected() {
        let error = |line| Step::parse(line, &files()).unwrap_err().to_string();
        insta::assert_snapshot!(error("flush log"), @"unknown step `flush`; expected one of `write FILE PATTERN SIZE [xN]`, `write FILE tail SIZE/BLOCK [xN]`, `sync FILE fsync|fdatasync`, `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, `sync-dir`");
        insta::assert_snapshot!(error("write log seq"), @"invalid step `write log seq`; expected `write FILE PATTERN SIZE [xN]`");
        insta::assert_snapshot!(error("write wal seq 4KiB"), @"unknown file `wal`; this test's files are log, data");
        insta::assert_snapshot!(error("write log backwards 4KiB"), @"unknown write pattern `backwards`; expected append, seq, rand, same or tail");
        insta::assert_snapshot!(error("sync log o_dsync"), @r#"unknown sync call `o_dsync`; expected fsync or fdatasync (to sync each write, declare the file with open = "o_dsync")"#);
        insta::assert_snapshot!(error("write log seq 65MiB"), @"invalid write size 65MiB; expected 1 B to 64 MiB");
        insta::assert_snapshot!(error("write log tail 270B"), @"invalid size `270B` of a tail; expected SIZE/BLOCK, such as 270B/8KiB");
        insta::assert_snapshot!(error("write log tail 270B/0B"), @"invalid block size 0B; expected 1 B to 64 MiB");
        insta::assert_snapshot!(error("truncate log 8388608TiB"), @"invalid length 8388608TiB; expected less than 8 EiB");
        insta::assert_snapshot!(error("write log seq 4KiB x0"), @"invalid repetition x0; expected x1 to x65536");
        insta::assert_snapshot!(error("write log seq 4KiB 3"), @"invalid repetition 3; expected x1 to x65536");
        insta::assert_snapshot!(error("write log seq big"), @"invalid size `big`; expected a whole number of bytes, or a number with KiB, MiB, GiB or TiB (4KiB, 16MiB)");
        insta::assert_snapshot!(error("rename log log"), @"invalid step `rename log log`; expected `rename FROM TO`");
    }

    proptest! {
        #[test]
        fn any_line_is_a_step_or_an_error(line in "(write|sync|truncate|rename|unlink|reopen|sync-dir| |log|data|seq|rand|tail|/|x[0-9]{1,6}|[0-9]{1,6}KiB|\\PC){0,12}") {
            if let Ok(step) = Step::parse(&line, &files()) {
                prop_assert_eq!(Step::parse(&step.notation(&files()), &files()), Ok(step));
            }
        }
    }

    #[test]
    fn a_program_counts_the_bytes_that_it_writes() {
        let lines = [
            "write log append 4KiB x3",
            "sync log fsync",
            "write data rand 16KiB",
            "truncate log 64KiB",
        ];
        let mut program = StepProgram {
            files: files(),
            steps: lines.iter().map(|line| Step::parse(line, &files()).unwrap()).collect(),
            jobs: Jobs::MIN,
            content: Content::Random,
            limit: Limit::Count(1),
            warm_up: WarmUp::default(),
            seed: 1,
        };
        assert_eq!(
            (program.turn_bytes(), program.size_per_job_bytes()),
            (3 * 4096 + 16384, 2 << 20)
        );
        assert_eq!(program.write_bytes_max(), 16384);
        assert_eq!([0, 1, 2].map(|file| program.largest_write_bytes(file)), [4096, 16384, 1]);
        assert_eq!(
            program.title(),
            "write log append 4KiB x3, sync log fsync, write data rand 16KiB, truncate log 64KiB, \
             jobs 1"
        );
        program.steps = vec![Step::SyncDir];
        assert_eq!(
            (program.turn_bytes(), program.write_bytes_max(), program.largest_write_bytes(0)),
            (0, 0, 1)
        );
    }

    #[test]
    fn only_what_overwrites_and_syncs_runs_without_a_directory() {
        let runs = |line: &str, layout| {
            let mut files = files();
            files[1].layout = layout;
            let steps =
                ["sync log fsync", line].map(|line| Step::parse(line, &files).unwrap()).to_vec();
            let (content, warm_up) = (Content::Random, WarmUp::default());
            let program = StepProgram {
                files,
                steps,
                jobs: Jobs::MIN,
                content,
                limit: Limit::Count(1),
                warm_up,
                seed: 1,
            };
            program.runs_without_directory()
        };
        for line in [
            "write log seq 4KiB", "write log rand 4KiB", "write log same 4KiB", "sync log fsync",
            "reopen log",
        ] {
            assert!(runs(line, Layout::Overwrite) && !runs(line, Layout::Append), "{line}");
        }
        for line in
            ["write log append 4KiB", "truncate log 0", "rename log data", "unlink log", "sync-dir"]
        {
            assert!(!runs(line, Layout::Overwrite), "{line}");
        }
    }

    #[test]
    fn the_limits_of_a_step_belong_to_its_range() {
        for line in [
            "write log seq 1B",
            "write log seq 64MiB",
            "write log seq 4KiB x65536",
            "truncate log 9223372036854775807B",
        ] {
            assert_eq!(Step::parse(line, &files()).unwrap().notation(&files()), line);
        }
        for line in [
            "write log seq 0",
            "write log seq 67108865",
            "write log seq 4KiB x65537",
            "truncate log 9223372036854775808",
        ] {
            assert!(matches!(Step::parse(line, &files()), Err(StepError::Range { .. })), "{line}");
        }
    }
}
