//! Divides the time of a commit: each nanosecond belongs to exactly one stage.
//!
//! Several things happen at once: a request is at the drive while the journal's thread writes the
//! next one. The one nearest to the drive counts. When none is known, it depends on the commit's
//! own thread: it works, it is about to run, or it waits for something that no event shows.

use std::collections::BTreeMap;

use measurement::Stage;

use crate::commits::{Commit, Role};
use crate::requests::Phase;

/// A stage of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub stage: Stage,
    pub from: u64,
    pub to: u64,
}

/// An activity of a commit, nearest to the drive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Stage(Stage),
    /// The thread is off its CPU and waits.
    OffCpu,
}

const RANKS: [Activity; 12] = [
    Activity::Stage(Stage::Flush),
    Activity::Stage(Stage::LogWrite),
    Activity::Stage(Stage::DataWrite),
    Activity::Stage(Stage::FlushQueue),
    Activity::Stage(Stage::LogQueue),
    Activity::Stage(Stage::DataQueue),
    Activity::Stage(Stage::EarlierCommit),
    Activity::Stage(Stage::Journal),
    Activity::Stage(Stage::OtherWrites),
    Activity::OffCpu,
    Activity::Stage(Stage::WakeUp),
    Activity::Stage(Stage::Thread),
];

fn rank(activity: Activity) -> usize {
    RANKS.iter().position(|&one| one == activity).unwrap_or(RANKS.len() - 1)
}

/// The stage of a request in this phase.
pub(crate) fn stage(role: Role, phase: Phase) -> Stage {
    match (role, phase) {
        (Role::Data, Phase::Waits) => Stage::DataQueue,
        (Role::Data, Phase::Device) => Stage::DataWrite,
        (Role::Journal, Phase::Waits) => Stage::LogQueue,
        (Role::Journal, Phase::Device) => Stage::LogWrite,
        (_, Phase::WaitsForFlush(_)) => Stage::FlushQueue,
        (_, Phase::Flush(_)) => Stage::Flush,
    }
}

/// The stages of a commit from its beginning to its end, without gaps.
pub(crate) fn divide(commit: &Commit) -> Vec<Part> {
    let mut parts = sweep(commit);
    let mut known = Vec::with_capacity(parts.len());
    for index in 0..parts.len() {
        let (activity, from, to) = parts[index];
        let stage = match activity {
            Activity::Stage(stage) => stage,
            Activity::OffCpu => {
                let off_cpu = commit.off_cpu.iter().flatten();
                let is_back = off_cpu.map(|off| off.waking).any(|back| back == to);
                why_off_cpu(&parts, index, is_back)
            }
        };
        parts[index].0 = Activity::Stage(stage);
        known.push(Part { stage, from, to });
    }
    known.dedup_by(|next, part| {
        let same = next.stage == part.stage;
        if same {
            part.to = next.to;
        }
        same
    });
    debug_assert_eq!(known.iter().map(|part| part.to - part.from).sum::<u64>(), commit.ns());
    known
}

/// The time in each stage, in nanoseconds.
pub(crate) fn stages_ns(parts: &[Part]) -> BTreeMap<Stage, u64> {
    let mut stages_ns = BTreeMap::new();
    for part in parts {
        *stages_ns.entry(part.stage).or_default() += part.to - part.from;
    }
    stages_ns
}

/// The highest-ranking activity of each moment.
fn sweep(commit: &Commit) -> Vec<(Activity, u64, u64)> {
    let mut edges: Vec<(u64, usize, i32)> = Vec::new();
    let mut add = |activity: Activity, from: u64, to: u64| {
        let (from, to) = (from.max(commit.enter), to.min(commit.exit));
        if from < to {
            edges.extend([(from, rank(activity), 1), (to, rank(activity), -1)]);
        }
    };
    for own in &commit.requests {
        for span in &own.request.spans {
            add(Activity::Stage(stage(own.role, span.phase)), span.from, span.to);
        }
    }
    for part in &commit.journal {
        let stage = if part.earlier { Stage::EarlierCommit } else { Stage::Journal };
        add(Activity::Stage(stage), part.from, part.to);
    }
    if let Some(from) = commit.log_forced
        && let Some(log) = commit.requests.iter().find(|own| own.role == Role::Journal)
    {
        add(Activity::Stage(Stage::Journal), from, log.request.queued);
    }
    for &(from, to) in &commit.other_writes {
        add(Activity::Stage(Stage::OtherWrites), from, to);
    }
    if let Some(off_cpu) = &commit.off_cpu {
        for off in off_cpu {
            add(Activity::OffCpu, off.from, off.waking);
            add(Activity::Stage(Stage::WakeUp), off.waking, off.to);
        }
    } else {
        // The thread works until the first request, and is woken after the last. What it does
        // between them is not known.
        let first = edges.iter().map(|edge| edge.0).min().unwrap_or(commit.exit);
        let last = edges.iter().map(|edge| edge.0).max().unwrap_or(commit.exit);
        for (activity, from, to) in
            [(Activity::OffCpu, first, last), (Activity::Stage(Stage::WakeUp), last, commit.exit)]
        {
            edges.extend([(from, rank(activity), 1), (to, rank(activity), -1)]);
        }
    }
    let thread = rank(Activity::Stage(Stage::Thread));
    edges.extend([(commit.enter, thread, 1), (commit.exit, thread, -1)]);
    edges.sort_unstable_by_key(|edge| edge.0);

    let mut active = [0_i32; RANKS.len()];
    let mut parts: Vec<(Activity, u64, u64)> = Vec::new();
    let mut from = commit.enter;
    for (at, rank, change) in edges {
        if at > from
            && let Some(highest) = active.iter().position(|&count| count > 0)
        {
            let activity = RANKS[highest];
            match parts.last_mut() {
                Some(last) if last.0 == activity => last.2 = at,
                _ => parts.push((activity, from, at)),
            }
            from = at;
        }
        active[rank] += change;
    }
    parts
}

/// The stage of a thread that waits, judged by what happens before and after. `is_back`: it runs
/// again afterwards. If the next work begins at the same time, the thread itself has begun it, and
/// the switch to the thread was not recorded (see `Joiner::event`).
fn why_off_cpu(parts: &[(Activity, u64, u64)], index: usize, is_back: bool) -> Stage {
    let is_work = |part: &(Activity, u64, u64)| {
        !matches!(part.0, Activity::OffCpu | Activity::Stage(Stage::Thread | Stage::WakeUp))
    };
    let before = index.checked_sub(1).is_some_and(|before| is_work(&parts[before]));
    match parts.get(index + 1) {
        Some((Activity::Stage(Stage::Journal | Stage::LogQueue), ..)) => Stage::JournalStart,
        // Its work is done, and nothing else begins until it runs: it is about to be woken.
        Some(after) if before && (is_back || !is_work(after)) => Stage::WakeUp,
        None if before => Stage::WakeUp,
        _ => Stage::Unexplained,
    }
}
