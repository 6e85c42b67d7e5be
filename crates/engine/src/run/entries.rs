//! Tests whose operations create, look up or remove files or directories.

use std::time::Instant;

use rustix::fs::{fsync, syncfs};
use rustix::io::Errno;
use workload::random::generator;
use workload::{EntryCall, EntryKind, JobPart, Operation, Workload};

use super::blocks::{Threads, team};
use super::{Described, NotRun, Ready, Run};
use crate::block_job::BlockJob;
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::crew::Stage;
use crate::entries::Entries;
use crate::error::EngineError;
use crate::part::Part;
use crate::target::Opened;

/// Bytes of an empty directory on common filesystems.
const DIRECTORY_BYTES: u64 = 4096;

impl Run<'_> {
    /// Creates what the operations look up or remove. The jobs of the test are numbered from
    /// `first_job` on.
    pub(super) fn entries<'a>(
        &'a self,
        workload: &'a Workload,
        first_job: usize,
        threads: Threads,
        mut described: Described<'a>,
    ) -> Result<Ready<'a>, NotRun> {
        let pattern = workload.pattern;
        let (Opened::Directory { scratch, .. }, Operation::Entry(call, kind)) =
            (self.target.opened(), pattern.operation())
        else {
            return Err(NotRun::Skip("it requires a directory as the target".to_owned()));
        };
        let jobs = 0..workload.jobs.get() as usize;
        let prefixes: Vec<String> =
            jobs.map(|job| format!("{}-{}-", pattern.name(), first_job + job)).collect();
        let files: Vec<Part> = prefixes.iter().map(|prefix| entry_part(prefix)).collect();
        let asked = workload.entries_per_job();
        self.expect_room(workload, call, kind)?;
        let mut entries = Entries::new(scratch.directory(), kind, prefixes);
        let per_job = match call {
            EntryCall::Create => asked,
            EntryCall::Stat | EntryCall::Remove => {
                self.prepare_entries(workload, &mut entries)?;
                entries.prepared()
            }
        };
        fsync(scratch.directory()).map_err(|errno| self.failed("sync", errno))?;
        if per_job < asked {
            described.note = Some(format!(
                "used {per_job} instead of {asked} entries per job, which is what could be created \
                 in the time for preparation"
            ));
        }
        let part_bytes = per_job * u64::from(workload.block_bytes.get());
        described.record.direct = false;
        described.record.submission = described.carrier.submission();
        described.record.size_bytes = part_bytes * u64::from(workload.jobs.get());
        let (carrier, clock) = (described.carrier, Clock::calibrated());
        let work = Box::new(move |job: u32, stage: Stage<'_>| {
            // They exist until the test has ended.
            let _entries = &entries;
            BlockJob {
                target: self.target,
                workload,
                carrier,
                files: &files[job as usize..=job as usize],
                part: JobPart::within_one_file(0, part_bytes),
                zones: None,
                flow: threads.flow.clone(),
                writers: threads.writers.clone(),
                placement: &threads.placement,
                clock,
                job,
                stop: self.stop,
            }
            .run(stage)
        });
        Ok(Ready { team: team(workload, part_bytes, 1), work, described })
    }

    /// Creates entries until there are enough, or the time for preparation is over.
    fn prepare_entries(
        &self,
        workload: &Workload,
        entries: &mut Entries<'_>,
    ) -> Result<(), EngineError> {
        let failed = |errno| self.failed("create the test files in", errno);
        let bytes = workload.block_bytes.get() as usize;
        let mut draws = generator(workload.seed, 0);
        let mut buffers = Buffers::new(1, bytes, workload.content, &mut draws)
            .map_err(|_| failed(Errno::NOMEM))?;
        let begun = Instant::now();
        while entries.prepared() < workload.entries_per_job() {
            if self.stop.is_requested() {
                return Err(EngineError::Interrupted);
            }
            let most = self.options.prepare_time_max;
            if entries.prepared() > 0 && most.is_some_and(|most| begun.elapsed() >= most) {
                break;
            }
            entries.prepare_next(&buffers.next_stamped(0)[..bytes]).map_err(failed)?;
        }
        if let Opened::Directory { scratch, .. } = self.target.opened() {
            // One call for all of them: a separate fsync of each would take minutes on a rotating
            // disk.
            syncfs(scratch.directory()).map_err(|errno| self.failed("sync", errno))?;
        }
        Ok(())
    }

    /// Checks that half of the free space, and half of the free inodes, suffice.
    fn expect_room(
        &self,
        workload: &Workload,
        call: EntryCall,
        kind: EntryKind,
    ) -> Result<(), NotRun> {
        let Opened::Directory { place, scratch, budget_bytes } = self.target.opened() else {
            return Ok(());
        };
        let count = workload.entries_per_job() * u64::from(workload.jobs.get());
        let each_bytes = match (call, kind) {
            (EntryCall::Create, EntryKind::File) => 0,
            (_, EntryKind::File) => u64::from(workload.block_bytes.get()),
            (_, EntryKind::Directory) => DIRECTORY_BYTES,
        };
        let needed_bytes = count.saturating_mul(each_bytes);
        if needed_bytes > *budget_bytes {
            let path = self.target.path().to_owned();
            let free_bytes = place.space.map_or(0, |space| space.available_bytes);
            return Err(EngineError::NoSpace { path, free_bytes, needed_bytes }.into());
        }
        match rustix::fs::fstatvfs(scratch.directory()) {
            // Filesystems without a fixed number of inodes report 0.
            Ok(volume) if volume.f_files > 0 && count > volume.f_favail / 2 => {
                Err(NotRun::Skip(format!(
                    "it needs {count} files or directories, but the filesystem has {} free inodes, \
                     of which flushmark uses at most half",
                    volume.f_favail
                )))
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, action: &'static str, errno: Errno) -> EngineError {
        EngineError::Call { action, path: self.target.path().to_owned(), errno }
    }
}

/// The entries of a job, as its only file. Its name is the prefix of theirs.
fn entry_part(prefix: &str) -> Part {
    Part { name: prefix.to_owned(), start: 0, size_bytes: 0, direct: false, alignment_bytes: 1 }
}
