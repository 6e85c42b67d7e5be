//! I/O priorities: the kernel's numbers, and the I/Os of a workload that have one.

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{below, generator};

/// The draws do not affect the offsets.
const PRIORITY_STREAM: u64 = 0x7072_696f;

/// A class of I/O priorities, with the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriorityClass {
    /// Before all others; requires a privilege.
    Realtime = 1,
    /// The usual one.
    BestEffort = 2,
    /// Only when no other process needs the drive.
    Idle = 3,
}

impl PriorityClass {
    /// The class with this number; 0, no class, is the usual one, as in fio.
    pub const fn from_number(number: u64) -> Option<PriorityClass> {
        match number {
            1 => Some(PriorityClass::Realtime),
            0 | 2 => Some(PriorityClass::BestEffort),
            3 => Some(PriorityClass::Idle),
            _ => None,
        }
    }
}

/// The I/O priority of a thread or of a single I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct IoPriority {
    /// The class.
    pub class: PriorityClass,
    /// The level within the class: 0, the highest, to 7.
    pub level: u8,
    /// A hint for the drive, such as the number of a command duration limit: 0, none, to 1023.
    #[serde(default, skip_serializing_if = "is_none")]
    pub hint: u16,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_none(hint: &u16) -> bool {
    *hint == 0
}

impl IoPriority {
    /// The lowest level.
    pub const LEVEL_MAX: u64 = 7;
    /// The highest number of a hint.
    pub const HINT_MAX: u64 = 1023;

    /// The kernel's value (`include/uapi/linux/ioprio.h`): three bits for the class, ten for the
    /// hint, three for the level.
    pub const fn value(self) -> u16 {
        (self.class as u16) << 13 | self.hint << 3 | self.level as u16
    }
}

impl fmt::Display for IoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            PriorityClass::Realtime => "realtime",
            PriorityClass::BestEffort => "best effort",
            PriorityClass::Idle => "idle",
        };
        write!(f, "{class} {}", self.level)?;
        if self.hint > 0 {
            write!(f, " hint {}", self.hint)?;
        }
        Ok(())
    }
}

/// A percentage of I/Os with a separate priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityShare {
    /// Counts only I/Os of this size; `null`: all.
    pub bytes: Option<u32>,
    /// Percentage of these I/Os, 1 to 100.
    pub percent: u8,
    /// Their priority.
    pub priority: IoPriority,
}

/// The I/O priorities of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Priorities {
    /// The priority of the jobs' threads, and so of all I/Os without a separate one; `null`: the
    /// kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<IoPriority>,
    /// Reads with a separate priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PriorityShare>,
    /// Writes with a separate priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PriorityShare>,
}

impl Priorities {
    /// Returns `true` if all I/Os have the kernel's default.
    pub const fn is_default(&self) -> bool {
        self.thread.is_none() && !self.vary()
    }

    /// Returns `true` if some I/Os have a separate priority.
    pub const fn vary(&self) -> bool {
        !self.reads.is_empty() || !self.writes.is_empty()
    }

    /// All priorities that occur.
    pub fn all(&self) -> impl Iterator<Item = IoPriority> {
        let shares = self.reads.iter().chain(&self.writes).map(|share| share.priority);
        self.thread.into_iter().chain(shares)
    }
}

/// Draws the priority of each I/O of a job.
#[derive(Debug)]
pub struct PriorityDraws {
    generator: Xoshiro256PlusPlus,
    reads: Vec<PriorityShare>,
    writes: Vec<PriorityShare>,
}

impl PriorityDraws {
    /// The draws of one job, if some of its I/Os have a separate priority.
    pub fn new(priorities: &Priorities, seed: u64, job: u32) -> Option<PriorityDraws> {
        let Priorities { reads, writes, .. } = priorities.clone();
        let generator = generator(seed ^ PRIORITY_STREAM, job);
        priorities.vary().then_some(PriorityDraws { generator, reads, writes })
    }

    /// The priority of the next I/O, unless it has that of its thread.
    pub fn next(&mut self, reads: bool, bytes: u32) -> Option<IoPriority> {
        let mut drawn = below(&mut self.generator, 100);
        let shares = if reads { &self.reads } else { &self.writes };
        for share in shares.iter().filter(|share| share.bytes.is_none_or(|size| size == bytes)) {
            if drawn < u64::from(share.percent) {
                return Some(share.priority);
            }
            drawn -= u64::from(share.percent);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: IoPriority = IoPriority { class: PriorityClass::Realtime, level: 0, hint: 0 };
    const LOW: IoPriority = IoPriority { class: PriorityClass::Idle, level: 2, hint: 5 };

    #[test]
    fn values_are_the_kernel_s() {
        assert_eq!((HIGH.value(), LOW.value()), (1 << 13, 3 << 13 | 5 << 3 | 2));
        assert_eq!(
            (HIGH.to_string(), LOW.to_string()),
            ("realtime 0".into(), "idle 2 hint 5".into())
        );
        let classes = [0, 1, 2, 3].map(PriorityClass::from_number);
        let numbers = classes.map(|class| class.map(|class| class as u16));
        assert_eq!(numbers, [Some(2), Some(1), Some(2), Some(3)]);
        assert_eq!(PriorityClass::from_number(4), None);
    }

    #[test]
    fn each_size_has_its_shares() {
        let share = |bytes, percent, priority| PriorityShare { bytes, percent, priority };
        let small = Some(4096);
        let reads = vec![share(small, 25, HIGH), share(small, 75, LOW), share(Some(512), 10, LOW)];
        let priorities = Priorities { thread: Some(LOW), reads, writes: Vec::new() };
        assert!(priorities.vary() && !priorities.is_default());
        assert_eq!(priorities.all().count(), 4);
        let mut draws = PriorityDraws::new(&priorities, 1, 0).unwrap();
        let mut count = |reads: bool, bytes: u32, of: Option<IoPriority>| {
            (0..10_000).filter(|_| draws.next(reads, bytes) == of).count()
        };
        // Four standard deviations are at most 173.
        assert!(count(true, 4096, Some(HIGH)).abs_diff(2500) < 173);
        assert!(count(true, 4096, Some(LOW)).abs_diff(7500) < 173);
        assert!(count(true, 512, None).abs_diff(9000) < 173);
        assert_eq!((count(true, 8192, None), count(false, 4096, None)), (10_000, 10_000));
        assert!(PriorityDraws::new(&Priorities::default(), 1, 0).is_none());
    }
}
