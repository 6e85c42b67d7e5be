//! Step programs: a loop over writes and syncs on several files, because that is how software commits.
//!
//! A program is written one step a line:
//!
//! | step | meaning |
//! | --- | --- |
//! | `write FILE PATTERN SIZE [xN]` | N writes of SIZE each; PATTERN is `append`, `seq`, `rand` or `same` |
//! | `sync FILE fsync` or `fdatasync` | the call, on FILE's own handle |
//! | `truncate FILE SIZE` | sets the file's length |
//! | `rename FROM TO` | FROM takes TO's place |
//! | `unlink FILE` | removes the name; the next write makes the file anew |
//! | `reopen FILE` | closes the handle and opens another |
//! | `sync-dir` | `fsync` of the directory that holds the files |
//!
//! One turn of the loop is one commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::{Content, Jobs, Layout, Limit, WarmUp};
use crate::size::{ByteSize, NotASize, format_bytes};
use crate::sync::{OpenFlag, SyncCall};

/// Where in its file a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// At the end of the file, which grows. At the file's declared size it starts over, empty.
    Append,
    /// Behind the last write, within the declared size; wraps around.
    Seq,
    /// At a random multiple of the write's size, within the declared size.
    Rand,
    /// At the file's start, every time.
    Same,
}

/// One of a program's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSpec {
    /// The name that steps use.
    pub name: String,
    /// Bytes within which `seq` and `rand` stay, and at which `append` starts over.
    pub size_bytes: u64,
    /// What the file holds when the measurement starts.
    pub layout: Layout,
    /// Whether it is opened with `O_DIRECT`.
    pub direct: bool,
    /// Whether its writes are durable by themselves.
    pub open_flag: Option<OpenFlag>,
}

/// One step of a turn. Files are given by their index in [`StepProgram::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Writes to a file.
    Write {
        /// Which file.
        file: usize,
        /// Where in it.
        placement: Placement,
        /// Bytes of one write, 1 to 64 MiB.
        bytes: u32,
        /// How many writes, one after the other; at least 1.
        times: u32,
    },
    /// Makes a file's completed writes durable.
    Sync {
        /// Which file.
        file: usize,
        /// By which call.
        call: SyncCall,
    },
    /// Sets a file's length.
    Truncate {
        /// Which file.
        file: usize,
        /// Its new length.
        bytes: u64,
    },
    /// Gives one file the name of another, which is replaced.
    Rename {
        /// The file that keeps its content.
        from: usize,
        /// The file whose name it takes, and whose content is gone. The next write to `from` makes it anew.
        to: usize,
    },
    /// Removes a file.
    Unlink {
        /// Which file.
        file: usize,
    },
    /// Closes a file's handle and opens another.
    Reopen {
        /// Which file.
        file: usize,
    },
    /// Makes names durable: `fsync` of the directory.
    SyncDir,
}

/// What is wrong with a line of a step program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The first word is no step.
    #[error(
        "`{0}` is no step; steps are `write FILE PATTERN SIZE [xN]`, `sync FILE fsync|fdatasync`, `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, `sync-dir`"
    )]
    NoStep(String),
    /// Too few or too many words.
    #[error("`{line}` does not read as `{form}`")]
    Form {
        /// The line as written.
        line: String,
        /// How this step is written.
        form: &'static str,
    },
    /// A file that was not declared.
    #[error("`{name}` is not among this test's files ({declared})")]
    UnknownFile {
        /// The name used.
        name: String,
        /// The names declared, with commas.
        declared: String,
    },
    /// A placement that does not exist.
    #[error("`{0}` is no write pattern of a step; use append, seq, rand or same")]
    Placement(String),
    /// A sync call that does not exist.
    #[error(
        "`{0}` is no sync of a step; use fsync or fdatasync (a file that syncs each write is declared with open = \"o_dsync\")"
    )]
    SyncCall(String),
    /// Not a size.
    #[error(transparent)]
    Size(#[from] NotASize),
    /// A size or a repetition outside of its range.
    #[error("{what} must be {range}, not {value}")]
    Range {
        /// What was out of range.
        what: &'static str,
        /// The range.
        range: &'static str,
        /// The value as written.
        value: String,
    },
}

impl Step {
    /// Reads one line. Files are looked up by name in `files`.
    ///
    /// # Errors
    /// When the line is no step, names an undeclared file, or holds a value outside of its range.
    pub fn parse(line: &str, files: &[FileSpec]) -> Result<Step, StepError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let file = |name: &str| {
            files.iter().position(|file| file.name == name).ok_or_else(|| StepError::UnknownFile {
                name: name.to_owned(),
                declared: files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", "),
            })
        };
        let form = |form| StepError::Form { line: line.trim().to_owned(), form };
        let (verb, rest) = words.split_first().ok_or_else(|| StepError::NoStep(line.to_owned()))?;
        match (*verb, rest) {
            ("write", [name, placement, size]) => Step::write(file(name)?, placement, size, "x1"),
            ("write", [name, placement, size, times]) => Step::write(file(name)?, placement, size, times),
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
                bytes if i64::try_from(bytes).is_ok() => Ok(Step::Truncate { file: file(name)?, bytes }),
                _ => Err(StepError::Range { what: "a length", range: "below 8 EiB", value: (*size).to_owned() }),
            },
            ("truncate", _) => Err(form("truncate FILE SIZE")),
            ("rename", [from, to]) if from != to => Ok(Step::Rename { from: file(from)?, to: file(to)? }),
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
        let placement = match placement {
            "append" => Placement::Append,
            "seq" => Placement::Seq,
            "rand" => Placement::Rand,
            "same" => Placement::Same,
            other => return Err(StepError::Placement(other.to_owned())),
        };
        let bytes = match size.parse::<ByteSize>()?.0 {
            bytes @ 1..=0x400_0000 => bytes as u32,
            _ => return Err(StepError::Range { what: "a write", range: "1 B to 64 MiB", value: size.to_owned() }),
        };
        let repetition = || StepError::Range { what: "a repetition", range: "x1 to x65536", value: times.to_owned() };
        let times = times.strip_prefix('x').ok_or_else(repetition)?;
        match times.parse() {
            Ok(times @ 1..=65536) => Ok(Step::Write { file, placement, bytes, times }),
            _ => Err(repetition()),
        }
    }

    /// The line that reads back as this step.
    pub fn notation(&self, files: &[FileSpec]) -> String {
        let name = |file: usize| files.get(file).map_or("?", |file| file.name.as_str());
        match *self {
            Step::Write { file, placement, bytes, times } => {
                let placement = match placement {
                    Placement::Append => "append",
                    Placement::Seq => "seq",
                    Placement::Rand => "rand",
                    Placement::Same => "same",
                };
                let size = format_bytes(u64::from(bytes)).replace(' ', "");
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

/// A loop over steps on several files.
#[derive(Debug, Clone, PartialEq)]
pub struct StepProgram {
    /// The files, at least one.
    pub files: Vec<FileSpec>,
    /// The steps of one turn, at least one.
    pub steps: Vec<Step>,
    /// Independent loops, each with its own set of files.
    pub jobs: Jobs,
    /// What is written.
    pub content: Content,
    /// When the measurement ends; a count is a number of turns.
    pub limit: Limit,
    /// How long it runs before it is measured.
    pub warm_up: WarmUp,
    /// Decides random places and contents.
    pub seed: u64,
}

impl StepProgram {
    /// The test's name where the plan gives none: its steps in one line.
    pub fn title(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|step| step.notation(&self.files)).collect();
        format!("{}, jobs {}", steps.join(", "), self.jobs.get())
    }

    /// Whether it only overwrites and syncs, so that it can run on a block device, where files have no names and do not grow.
    pub fn runs_without_directory(&self) -> bool {
        let fixed = |step: &Step| match *step {
            Step::Write { placement, .. } => placement != Placement::Append,
            Step::Sync { .. } | Step::Reopen { .. } => true,
            Step::Truncate { .. } | Step::Rename { .. } | Step::Unlink { .. } | Step::SyncDir => false,
        };
        self.steps.iter().all(fixed) && self.files.iter().all(|file| file.layout == Layout::Overwrite)
    }

    /// Bytes of all files of one job.
    pub fn size_per_job_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }

    /// Bytes written in one turn.
    pub fn turn_bytes(&self) -> u64 {
        let written = |step: &Step| match *step {
            Step::Write { bytes, times, .. } => u64::from(bytes) * u64::from(times),
            _ => 0,
        };
        self.steps.iter().map(written).sum()
    }

    /// Largest single write to one of the files; 1 for a file that is never written.
    pub fn largest_write_bytes(&self, index: usize) -> u64 {
        let bytes = |step: &Step| match *step {
            Step::Write { file, bytes, .. } if file == index => u64::from(bytes),
            _ => 1,
        };
        self.steps.iter().map(bytes).max().unwrap_or(1)
    }

    /// Largest single write, the size of buffer that the program needs.
    pub fn write_bytes_max(&self) -> u32 {
        let bytes = |step: &Step| match *step {
            Step::Write { bytes, .. } => bytes,
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
    fn a_bad_step_says_what_it_takes() {
        let error = |line| Step::parse(line, &files()).unwrap_err().to_string();
        insta::assert_snapshot!(error("flush log"), @"`flush` is no step; steps are `write FILE PATTERN SIZE [xN]`, `sync FILE fsync|fdatasync`, `truncate FILE SIZE`, `rename FROM TO`, `unlink FILE`, `reopen FILE`, `sync-dir`");
        insta::assert_snapshot!(error("write log seq"), @"`write log seq` does not read as `write FILE PATTERN SIZE [xN]`");
        insta::assert_snapshot!(error("write wal seq 4KiB"), @"`wal` is not among this test's files (log, data)");
        insta::assert_snapshot!(error("write log backwards 4KiB"), @"`backwards` is no write pattern of a step; use append, seq, rand or same");
        insta::assert_snapshot!(error("sync log o_dsync"), @r#"`o_dsync` is no sync of a step; use fsync or fdatasync (a file that syncs each write is declared with open = "o_dsync")"#);
        insta::assert_snapshot!(error("write log seq 65MiB"), @"a write must be 1 B to 64 MiB, not 65MiB");
        insta::assert_snapshot!(error("truncate log 8388608TiB"), @"a length must be below 8 EiB, not 8388608TiB");
        insta::assert_snapshot!(error("write log seq 4KiB x0"), @"a repetition must be x1 to x65536, not x0");
        insta::assert_snapshot!(error("write log seq 4KiB 3"), @"a repetition must be x1 to x65536, not 3");
        insta::assert_snapshot!(error("write log seq big"), @"`big` is not a size; write a whole number of bytes, or one with KiB, MiB, GiB or TiB (4KiB, 16MiB)");
        insta::assert_snapshot!(error("rename log log"), @"`rename log log` does not read as `rename FROM TO`");
    }

    proptest! {
        #[test]
        fn any_line_is_a_step_or_an_error(line in "(write|sync|truncate|rename|unlink|reopen|sync-dir| |log|data|seq|rand|x[0-9]{1,6}|[0-9]{1,6}KiB|\\PC){0,12}") {
            if let Ok(step) = Step::parse(&line, &files()) {
                prop_assert_eq!(Step::parse(&step.notation(&files()), &files()), Ok(step));
            }
        }
    }

    #[test]
    fn a_program_counts_the_bytes_that_it_writes() {
        let lines = ["write log append 4KiB x3", "sync log fsync", "write data rand 16KiB", "truncate log 64KiB"];
        let mut program = StepProgram {
            files: files(),
            steps: lines.iter().map(|line| Step::parse(line, &files()).unwrap()).collect(),
            jobs: Jobs::MIN,
            content: Content::Random,
            limit: Limit::Count(1),
            warm_up: WarmUp::default(),
            seed: 1,
        };
        assert_eq!((program.turn_bytes(), program.size_per_job_bytes()), (3 * 4096 + 16384, 2 << 20));
        assert_eq!(program.write_bytes_max(), 16384);
        assert_eq!([0, 1, 2].map(|file| program.largest_write_bytes(file)), [4096, 16384, 1]);
        assert_eq!(
            program.title(),
            "write log append 4KiB x3, sync log fsync, write data rand 16KiB, truncate log 64KiB, jobs 1"
        );
        program.steps = vec![Step::SyncDir];
        assert_eq!((program.turn_bytes(), program.write_bytes_max(), program.largest_write_bytes(0)), (0, 0, 1));
    }

    #[test]
    fn only_what_overwrites_and_syncs_runs_without_a_directory() {
        let runs = |line: &str, layout| {
            let mut files = files();
            files[1].layout = layout;
            let steps = ["sync log fsync", line].map(|line| Step::parse(line, &files).unwrap()).to_vec();
            let (content, warm_up) = (Content::Random, WarmUp::default());
            let program =
                StepProgram { files, steps, jobs: Jobs::MIN, content, limit: Limit::Count(1), warm_up, seed: 1 };
            program.runs_without_directory()
        };
        for line in ["write log seq 4KiB", "write log rand 4KiB", "write log same 4KiB", "sync log fsync", "reopen log"]
        {
            assert!(runs(line, Layout::Overwrite) && !runs(line, Layout::Append), "{line}");
        }
        for line in ["write log append 4KiB", "truncate log 0", "rename log data", "unlink log", "sync-dir"] {
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
