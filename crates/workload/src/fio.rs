//! fio's job files and command lines, as far as flushmark supports them.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `options` | fio's options: the table behind the parser, errors and `docs/fio.md` |
//! | `section` | parses the lines of a job file into sections, and their values |
//! | `command` | parses the words of a command line into sections |
//! | `value` | numbers and times in fio's notation |
//! | `job` | builds the workload of a section |
//! | `entries` | builds the workload of a section that creates, stats or removes files |
//! | `compute` | builds the workload of a section that computes |
//! | `defragment` | the file with which a section exchanges blocks |
//! | `engine` | fio's engines, and what each does with reads, writes and trims |
//! | `verify` | options about the contents of blocks, their check, and ignored errors |
//! | `libblkio` | the library of that name, and its driver io_uring |
//! | `rbd` | an image of a Ceph cluster |
//! | `priority` | its I/O priorities |
//! | `preconditioning` | `sprandom` |
//! | `processors` | processors and memory nodes |
//! | `zones` | options about zones |
//! | `reference` | generates `docs/fio.md` |
//!
//! Unsupported options are rejected by name: silently ignoring an option would change what is
//! measured.

mod command;
mod compute;
mod defragment;
mod engine;
mod entries;
mod job;
mod libblkio;
pub mod options;
mod preconditioning;
mod priority;
mod processors;
mod rbd;
mod reference;
mod section;
pub mod value;
mod verify;
mod zones;

pub use engine::FioEngine;
pub use reference::reference;

use self::compute::{CPUIO, resolve_exits};
use self::defragment::number_donors;
use self::job::Start;
use self::section::Section;
use self::verify::find_shared_blocks;

use crate::blocks::{Layout, Room, Sharing, Workload};
use crate::dedupe::Dedupe;
use crate::ending::Ends;
use crate::files::SyncedFile;
use crate::pattern::{Operation, SpaceCall};
use crate::plan::{Plan, PlanError, Table, Test, Work};
use crate::target::TargetName;
use crate::verification::CheckTime;

/// Looks up an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The file name in errors about a command line.
const COMMAND_LINE: &str = "fio command line";

impl Plan {
    /// Parses a fio job file. Each section is a test. It starts at the same time as the previous
    /// one, unless it has `stonewall`.
    ///
    /// ```
    /// let plan = workload::Plan::from_fio("journal.fio", "
    ///     [journal]
    ///     rw=randwrite
    ///     bs=4k
    ///     fsync=1
    ///     direct=1
    ///     size=1g
    ///     runtime=15
    ///     time_based
    /// ", &|_| None)?;
    /// assert_eq!(plan.tests[0].name, "journal");
    /// # Ok::<(), workload::plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// Fails at the first line that is invalid or that flushmark cannot perform as fio would.
    pub fn from_fio(
        file: &str,
        text: &str,
        environment: Environment<'_>,
    ) -> Result<Plan, PlanError> {
        let sections = section::sections(file, text, environment)?;
        if sections.is_empty() {
            let message =
                "no job section; a job begins with its name in brackets, such as [journal]";
            return Err(PlanError::new(file, 1, message));
        }
        let stem = file.rsplit('/').next().unwrap_or(file);
        let name = stem.rsplit_once('.').map_or(stem, |(name, _)| name);
        plan(name, "a fio job file", &sections)
    }

    /// Parses the words of a fio command line, with or without `fio` as the first.
    ///
    /// ```
    /// let words = ["fio", "-rw=randwrite", "--bs", "4k", "--fsync=1", "-name=x", "-runtime", "60"];
    /// let plan = workload::Plan::from_fio_command(&words, &|_| None)?;
    /// assert_eq!(plan.tests[0].name, "x");
    /// # Ok::<(), workload::plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// Fails at the first word that is invalid or that flushmark cannot perform as fio would.
    pub fn from_fio_command(
        words: &[impl AsRef<str>],
        environment: Environment<'_>,
    ) -> Result<Plan, PlanError> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        plan("fio", "a fio command line", &command::sections(&words, environment)?)
    }
}

fn plan(name: &str, source: &str, sections: &[Section]) -> Result<Plan, PlanError> {
    let (mut tests, mut notes): (Vec<Test>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut targets, mut targets_differ): (Vec<Option<String>>, _) = (Vec::new(), None);
    // Number of tests that have ended when the current one starts.
    let mut ended = 0;
    for (index, section) in sections.iter().enumerate() {
        let with_previous = section.starts(&sections[..index])? == Start::WithPrevious;
        let (line, wanted) = target(index, sections)?.unzip();
        if index > 0 && wanted != targets[index - 1] {
            let name = |target: &Option<String>| target.clone().unwrap_or("none".to_owned());
            let (own, previous) = (name(&wanted), name(&targets[index - 1]));
            let error = |advice| {
                let message = format!(
                    "target {own} differs from {previous} of the previous section; {advice}"
                );
                section.error(line.unwrap_or(section.line), &message)
            };
            let advice = if with_previous {
                "give --target DIRECTORY, where each of them has its own file"
            } else {
                "give --target to run all sections on one target"
            };
            targets_differ.get_or_insert(error(advice));
        }
        targets.push(wanted);
        let mut workload = section.workload()?;
        if workload.sharing == Sharing::All {
            workload.kept_file = targets.iter().position(|target| *target == targets[index]);
        }
        // fio counts the delay from its own start, and has waited long enough when a later group
        // starts.
        if !workload.start_delay.is_zero() && (ended > 0 || index > 0 && !with_previous) {
            let message = "startdelay: fio counts the delay from the start of the run, so only \
                           sections of the first group \
                           of concurrent sections can have one; remove it, or stonewall";
            return Err(section.wrong("startdelay", message));
        }
        (workload.ends, workload.group) = (ends(index, sections)?, group(&sections[..=index])?);
        section.check_accepted()?;
        if !with_previous {
            ended = tests.len();
        }
        if (tests[..ended].iter().zip(&targets))
            .any(|(test, target)| *target == targets[index] && is_laid_out_by(test, &workload))
        {
            workload.layout = Layout::Overwrite;
        }
        // A name in [global] applies to every section.
        let names = [section.text("name", "a name")?, Some(section.name.clone())];
        let free = |name: &String| tests.iter().all(|test| test.name != *name);
        let Some(name) = names.into_iter().flatten().find(free) else {
            let message = format!("duplicate section name {}; rename one of them", section.name);
            return Err(section.error(section.line, &message));
        };
        notes.extend(section.notes());
        notes.extend(section.rbd_note());
        if workload.files.synced == SyncedFile::Next {
            notes.push(
                "nrfiles: as in fio, each sync in a directory covers the file whose turn comes \
                 after the write, so it is not a commit"
                    .to_owned(),
            );
        }
        tests.push(Test { with_previous, ..Test::alone(name, Work::Blocks(workload)) });
    }
    lay_out_shared(&mut tests);
    find_shared_blocks(&mut tests, sections)?;
    match_checked_reads(&mut tests, sections)?;
    number_donors(&mut tests, sections, &targets)?;
    resolve_exits(&mut tests, sections)?;
    number_duplicating_jobs(&mut tests);
    notes.sort();
    notes.dedup();
    let directory = common_directory(sections)?;
    if directory.is_some() {
        targets_differ = None;
    }
    let target = directory.or_else(|| targets.swap_remove(0));
    let (name, source, answers) = (name.to_owned(), source.to_owned(), String::new());
    Ok(Plan {
        name,
        answers,
        source,
        table: Table::Tests,
        target,
        targets_differ,
        notes,
        tests,
        published: None,
    })
}

/// The target of a section, with its line. One that computes uses none, and runs with whatever the
/// sections around it use.
fn target(index: usize, sections: &[Section]) -> Result<Option<(usize, String)>, PlanError> {
    let uses_one = |section: &&Section| !section.has_engine(CPUIO);
    let before = sections[..=index].iter().rev().find(uses_one);
    match before.or_else(|| sections[index..].iter().find(uses_one)) {
        Some(section) => section.target(),
        None => Ok(Some((sections[index].line, TargetName::Null.to_string()))),
    }
}

/// The sections that end with the first job of one. As in fio, `exitall` in one section applies to
/// all.
fn ends(index: usize, sections: &[Section]) -> Result<Ends, PlanError> {
    let what = sections[index].exit_what()?;
    sections[index].flag("exitall")?;
    let exits = sections.iter().any(|section| section.flag("exitall") == Ok(Some(true)));
    Ok(if exits { what } else { Ends::Nothing })
}

/// The number of the last section's group: each begins with `new_group` or `stonewall`.
fn group(sections: &[Section]) -> Result<u32, PlanError> {
    let mut group = 0;
    for (index, section) in sections.iter().enumerate() {
        let begins =
            section.flag("new_group")? == Some(true) || section.flag("stonewall")? == Some(true);
        group += u32::from(begins && index > 0);
    }
    Ok(group)
}

/// The directory that sections with different files have in common.
fn common_directory(sections: &[Section]) -> Result<Option<String>, PlanError> {
    let targets = (0..sections.len())
        .map(|index| target(index, sections))
        .collect::<Result<Vec<_>, PlanError>>()?;
    let same = targets.windows(2).all(|pair| {
        let path = |target: &Option<(usize, String)>| target.as_ref().map(|(_, path)| path.clone());
        path(&pair[0]) == path(&pair[1])
    });
    let mut directories = Vec::new();
    for section in sections {
        directories.push(section.text("directory", "the path of a directory")?);
    }
    let first = directories.first().cloned().flatten();
    let common = first.is_some() && directories.iter().all(|directory| *directory == first);
    Ok(first.filter(|_| common && !same))
}

/// Checks that each section that verifies its reads has an earlier section that wrote them.
fn match_checked_reads(tests: &mut [Test], sections: &[Section]) -> Result<(), PlanError> {
    let blocks = |test: &Test| match &test.work {
        Work::Blocks(workload) => Some(workload.clone()),
        Work::Steps(_) | Work::Sort(_) => None,
    };
    for index in 0..tests.len() {
        let Some(reader) = blocks(&tests[index]) else { continue };
        let Some(reading) = reader.verify.filter(|verify| verify.time == CheckTime::OnRead) else {
            continue;
        };
        let wrong = |message: &str| Err(sections[index].wrong("verify", message));
        let writes_file = |test: &Test| {
            blocks(test).filter(|workload| {
                workload.kept_file == reader.kept_file && workload.pattern.writes()
            })
        };
        let begin = (0..=index).rfind(|&test| !tests[test].with_previous).unwrap_or(0);
        let end = (index + 1..tests.len())
            .find(|&test| !tests[test].with_previous)
            .unwrap_or(tests.len());
        if let Some(other) = tests[begin..end].iter().find(|test| writes_file(test).is_some()) {
            return wrong(&format!(
                "verify: section {} writes the file at the same time as this one checks it; add \
                 stonewall",
                other.name
            ));
        }
        let writer = tests[..begin].iter().rev().find_map(|test| Some((test, writes_file(test)?)));
        let Some((test, writer)) = writer else {
            return wrong(
                "verify: no earlier section writes this file, so there is nothing to check it \
                 against",
            );
        };
        let written = writer.verify.filter(|written| written.time == CheckTime::InLaterTest);
        match written {
            Some(written)
                if written.read_by(&reading).understands(&written)
                    && reader.block_bytes == writer.block_bytes =>
            {
                if let Work::Blocks(reader) = &mut tests[index].work
                    && let Some(reading) = &mut reader.verify
                {
                    *reading = written.read_by(reading);
                    reading.latest &= written.latest;
                }
            }
            _ => {
                let name = &test.name;
                return wrong(&format!(
                    "verify: section {name} writes the file last; it must have do_verify=0 and \
                     the same verify, verify_pattern, verify_interval and bs as this one"
                ));
            }
        }
    }
    Ok(())
}

/// Before the first section starts, fio lays a file out for all sections that share it. If one of
/// them finds it filled, so do the others.
fn lay_out_shared(tests: &mut [Test]) {
    for group in tests.chunk_by_mut(|_, next| next.with_previous) {
        let filled = |test: &Test| match &test.work {
            Work::Blocks(workload) => (workload.sharing == Sharing::All
                && workload.layout == Layout::Overwrite)
                .then_some(workload.kept_file),
            Work::Steps(_) | Work::Sort(_) => None,
        };
        let filled: Vec<Option<usize>> = group.iter().filter_map(filled).collect();
        for test in group {
            if let Work::Blocks(workload) = &mut test.work
                && workload.sharing == Sharing::All
                && filled.contains(&workload.kept_file)
            {
                workload.layout = Layout::Overwrite;
            }
        }
    }
}

/// Numbers the jobs that write duplicates, beginning with those that share a working set.
fn number_duplicating_jobs(tests: &mut [Test]) {
    let mut of_jobs: Vec<(u32, &mut Dedupe)> = (tests.iter_mut())
        .filter_map(|test| match &mut test.work {
            Work::Blocks(workload) => Some((workload.jobs.get(), workload.dedupe.as_mut()?)),
            Work::Steps(_) | Work::Sort(_) => None,
        })
        .collect();
    of_jobs.sort_by_key(|(_, dedupe)| dedupe.shared_jobs == 0);
    let shared_jobs = of_jobs.iter().map(|(_, dedupe)| dedupe.shared_jobs).sum();
    let mut first_job = 0;
    for (jobs, dedupe) in of_jobs {
        dedupe.first_job = first_job;
        first_job += jobs;
        if dedupe.shared_jobs > 0 {
            dedupe.shared_jobs = shared_jobs;
        }
    }
}

/// Returns `true` if fio would find the shared file at sufficient size and leave it unchanged.
fn is_laid_out_by(earlier: &Test, workload: &Workload) -> bool {
    let Work::Blocks(earlier) = &earlier.work else { return false };
    let end = |workload: &Workload| {
        let last = workload.part_offset_bytes(workload.jobs.get() - 1);
        last.saturating_add(workload.size_per_job_bytes(Room::Unlimited))
    };
    // A file that is truncated is laid out anew, because its length is unknown.
    let truncates =
        |workload: &Workload| workload.pattern.operation() == Operation::Space(SpaceCall::Truncate);
    earlier.sharing == Sharing::All
        && !truncates(earlier)
        && !truncates(workload)
        && workload.sharing == Sharing::All
        && end(earlier) >= end(workload)
}

#[cfg(test)]
mod tests;
