//! Adds up all commits of a trace, in memory that does not grow with their number.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use drive::DeviceNumber;
use measurement::{
    Anatomy, Committer, Company, Drawn, DrawnRequest, DrawnStage, Histogram, Reached, Stage,
    StageTimes,
};

use crate::attribution::{divide, stage, stages_ns};
use crate::commits::{Commit, Own, Role, SyncFlag};
use crate::event::{Command, Filesystem, Operation, Syscall};
use crate::requests::{Phase, Which};

/// Buckets of equal ratio: 16 for each doubling of the time.
const BUCKETS_PER_DOUBLING: f64 = 16.0;
/// Threads that are named in a list.
const NAMED: usize = 10;

/// Adds up commits, kind by kind.
#[derive(Debug, Default)]
pub struct Summary {
    kinds: BTreeMap<(Syscall, Option<SyncFlag>, Option<&'static str>), Kind>,
}

/// The commits of one kind.
#[derive(Debug, Default)]
struct Kind {
    devices: BTreeSet<DeviceNumber>,
    commits: Histogram,
    stages: BTreeMap<Stage, StageTimes>,
    reached: Reached,
    alone: Mean,
    accompanied: Mean,
    after_earlier_commit: u64,
    others: HashMap<u32, (Command, u64)>,
    committers: HashMap<u32, (Option<Command>, u64)>,
    by_time: BTreeMap<u32, Bucket>,
    longest: Drawn,
}

#[derive(Debug, Default)]
struct Mean {
    count: u64,
    total_ns: u64,
}

impl Mean {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    fn us(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 / 1e3 }
    }
}

/// Commits that took about the same time.
#[derive(Debug, Default)]
struct Bucket {
    count: u64,
    stages_ns: BTreeMap<Stage, u64>,
    /// One of them.
    drawn: Drawn,
}

fn filesystem_name(filesystem: Filesystem) -> &'static str {
    match filesystem {
        Filesystem::Ext4 => "ext4",
        Filesystem::Xfs => "xfs",
        Filesystem::Btrfs => "btrfs",
    }
}

impl Summary {
    /// Adds a commit. `flag` says what makes it durable, if it is a write of which that is known.
    pub fn add(&mut self, commit: &Commit, flag: Option<SyncFlag>) {
        let filesystem = commit.filesystem.map(filesystem_name);
        self.kinds.entry((commit.call, flag, filesystem)).or_default().add(commit);
    }

    /// The kinds of commits, most time first. `command` names a thread that was not seen with a
    /// request, `device` a drive.
    pub fn finish(
        self,
        command: impl Fn(u32) -> Option<String>,
        device: impl Fn(DeviceNumber) -> String,
    ) -> Vec<Anatomy> {
        let kinds = self.kinds.into_iter();
        let mut anatomies: Vec<Anatomy> = kinds
            .map(|((call, flag, filesystem), kind)| {
                let call = match flag {
                    Some(flag) => format!("{} with {}", call.name(), flag.name()),
                    None => call.name().to_owned(),
                };
                kind.finish(call, filesystem, &command, &device)
            })
            .collect();
        let time = |anatomy: &Anatomy| {
            anatomy.stages.values().fold(0_u64, |sum, stage| sum.saturating_add(stage.total_ns))
        };
        anatomies.sort_by_key(|anatomy| std::cmp::Reverse(time(anatomy)));
        anatomies
    }
}

impl Kind {
    fn add(&mut self, commit: &Commit) {
        let ns = commit.ns();
        let parts = divide(commit);
        let stages_ns = stages_ns(&parts);
        for (&stage, &stage_ns) in &stages_ns {
            let times = self.stages.entry(stage).or_default();
            times.times.record(stage_ns);
            times.total_ns = times.total_ns.saturating_add(stage_ns);
        }
        let drawn = || draw(commit, &parts);
        if ns >= self.longest.ns {
            self.longest = drawn();
        }
        let bucket = self.by_time.entry(bucket(ns)).or_default();
        bucket.count += 1;
        for (&stage, &ns) in &stages_ns {
            let sum = bucket.stages_ns.entry(stage).or_default();
            *sum = sum.saturating_add(ns);
        }
        // Not the first one: files grow and caches fill at the beginning.
        if bucket.count.is_power_of_two() {
            bucket.drawn = drawn();
        }
        self.commits.record(ns);
        self.devices.extend(commit.devices());
        count_reached(&mut self.reached, commit);
        let accompanied = !commit.company.is_empty();
        if accompanied { &mut self.accompanied } else { &mut self.alone }.add(ns);
        self.after_earlier_commit += u64::from(commit.journal.iter().any(|part| part.earlier));
        for &(thread, command) in &commit.company {
            self.others.entry(thread).or_insert((command, 0)).1 += 1;
        }
        let committer = self.committers.entry(commit.thread).or_insert((None, 0));
        committer.0 = committer.0.or(commit.command);
        committer.1 += 1;
    }

    fn finish(
        mut self,
        call: String,
        filesystem: Option<&'static str>,
        command: &impl Fn(u32) -> Option<String>,
        device: &impl Fn(DeviceNumber) -> String,
    ) -> Anatomy {
        let count = self.commits.count();
        for times in self.stages.values_mut() {
            times.times.record_n(0, count - times.times.count());
            times.times.compact();
        }
        self.commits.compact();
        let name = |thread: u32, known: Option<Command>| {
            let known = known.map(|known| known.to_string()).filter(|known| !known.is_empty());
            known.or_else(|| command(thread)).unwrap_or_else(|| "?".to_owned())
        };
        let committers = self.committers.iter().map(|(&thread, &(known, count))| Committer {
            command: name(thread, known),
            thread,
            count,
        });
        let others = self.others.iter().map(|(&thread, &(known, count))| Committer {
            command: name(thread, Some(known)),
            thread,
            count,
        });
        Anatomy {
            call,
            filesystem: filesystem.map(str::to_owned),
            devices: self.devices.iter().map(|&number| device(number)).collect(),
            slowest_us: slowest(&self.by_time, count.div_ceil(100)),
            median: middle(&self.by_time, count),
            longest: self.longest,
            company: Company {
                alone: self.alone.count,
                alone_mean_us: self.alone.us(),
                accompanied: self.accompanied.count,
                accompanied_mean_us: self.accompanied.us(),
                after_earlier_commit: self.after_earlier_commit,
                others: most(others),
            },
            committers: most(committers),
            commits: self.commits,
            stages: self.stages,
            reached: self.reached,
        }
    }
}

fn most(committers: impl Iterator<Item = Committer>) -> Vec<Committer> {
    let mut committers: Vec<Committer> = committers.collect();
    committers.sort_by_key(|one| (std::cmp::Reverse(one.count), one.thread));
    committers.truncate(NAMED);
    committers
}

fn bucket(ns: u64) -> u32 {
    ((ns.max(1) as f64).log2() * BUCKETS_PER_DOUBLING) as u32
}

/// The mean stages of the slowest commits, about `wanted` of them, in microseconds.
fn slowest(by_time: &BTreeMap<u32, Bucket>, wanted: u64) -> BTreeMap<Stage, f64> {
    let (mut count, mut sums) = (0, BTreeMap::<Stage, u64>::new());
    for bucket in by_time.values().rev() {
        if count >= wanted {
            break;
        }
        count += bucket.count;
        for (&stage, &ns) in &bucket.stages_ns {
            let sum = sums.entry(stage).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    let mean = |ns: u64| ns as f64 / count.max(1) as f64 / 1e3;
    sums.into_iter().map(|(stage, ns)| (stage, mean(ns))).collect()
}

/// A commit from the bucket in the middle.
fn middle(by_time: &BTreeMap<u32, Bucket>, count: u64) -> Drawn {
    let mut before = 0;
    let in_the_middle = by_time.values().find(|bucket| {
        before += bucket.count;
        before * 2 >= count
    });
    in_the_middle.map(|bucket| bucket.drawn.clone()).unwrap_or_default()
}

fn count_reached(reached: &mut Reached, commit: &Commit) {
    for own in &commit.requests {
        let request = &own.request;
        let has_data = request.extent.sectors > 0;
        let flushes = |which: Which| {
            let is_it = |phase: Phase| phase == Phase::Flush(which);
            request.spans.iter().filter(|span| is_it(span.phase)).count() as u64
        };
        match (request.flags.operation, own.role) {
            (Operation::Discard, _) => reached.discards += 1,
            (_, Role::Data) if has_data => reached.data_writes += 1,
            (_, Role::Journal) if has_data => reached.journal_writes += 1,
            _ => {}
        }
        if request.flags.operation != Operation::Discard {
            reached.bytes += u64::from(request.extent.sectors) * 512;
        }
        let before = flushes(Which::Before);
        *if has_data { &mut reached.flushes_before } else { &mut reached.bare_flushes } += before;
        reached.flushes_after += flushes(Which::After);
        reached.shared_flushes += u64::from(request.flush_shared);
        reached.fua_asked += u64::from(request.flags.fua());
        reached.fua_sent += u64::from(request.fua_sent);
        reached.merged += u64::from(request.merged);
        reached.split += u64::from(request.split);
        reached.failed += u64::from(request.failed);
        let sent = request.spans.iter().find(|span| span.phase == Phase::Device);
        if let (Some(inserted), Some(sent)) = (request.inserted, sent) {
            let held = sent.from.saturating_sub(inserted);
            reached.scheduler_ns = reached.scheduler_ns.saturating_add(held);
        }
    }
}

fn draw(commit: &Commit, parts: &[crate::attribution::Part]) -> Drawn {
    let since = |at: u64| at.saturating_sub(commit.enter);
    let drawn = |stage: Stage, from: u64, to: u64| DrawnStage {
        stage,
        from_ns: since(from),
        to_ns: since(to),
    };
    let mut requests: Vec<DrawnRequest> = Vec::new();
    let mut previous: Option<&Own> = None;
    for own in &commit.requests {
        let request = &own.request;
        // Bios that were merged into one request are drawn as one.
        if let (Some(last), Some(before)) = (requests.last_mut(), previous)
            && request.merged
            && before.request.extent.end() == request.extent.sector
            && before.request.done == request.done
        {
            last.sectors = last.sectors.saturating_add(request.extent.sectors);
            previous = Some(own);
            continue;
        }
        previous = Some(own);
        let spans = request.spans.iter();
        requests.push(DrawnRequest {
            flags: request.flags.to_string(),
            sector: request.extent.sector,
            sectors: request.extent.sectors,
            command: request.command.to_string(),
            journal: own.role == Role::Journal,
            spans: spans
                .map(|span| drawn(stage(own.role, span.phase), span.from, span.to))
                .collect(),
        });
    }
    Drawn {
        ns: commit.ns(),
        stages: parts.iter().map(|part| drawn(part.stage, part.from, part.to)).collect(),
        requests,
    }
}
