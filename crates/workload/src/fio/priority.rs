//! The I/O priorities of a section.

use super::section::Section;
use super::value;
use crate::blocks::{EngineChoice, Workload};
use crate::plan::PlanError;
use crate::priority::{IoPriority, Priorities, PriorityClass, PriorityShare};

impl Section {
    /// The priorities of the jobs and of single I/Os.
    pub(super) fn priorities(&self, workload: &Workload) -> Result<Priorities, PlanError> {
        let class = self.whole("prioclass", 0, 3)?.and_then(PriorityClass::from_number);
        let level = self.whole("prio", 0, IoPriority::LEVEL_MAX)?;
        let hint = self.whole("priohint", 0, IoPriority::HINT_MAX)?;
        let given = class.is_some() || level.is_some() || hint.is_some();
        let thread = given.then(|| IoPriority {
            class: class.unwrap_or(PriorityClass::BestEffort),
            level: level.unwrap_or(0) as u8,
            hint: hint.unwrap_or(0) as u16,
        });
        let [reads, writes] = self.single_priorities()?;
        let pattern = workload.pattern;
        let priorities = Priorities {
            thread,
            reads: if pattern.reads() { reads } else { Vec::new() },
            writes: if pattern.writes() && !pattern.trims() { writes } else { Vec::new() },
        };
        let queues = matches!(workload.engine, EngineChoice::Libaio | EngineChoice::IoUring);
        if priorities.vary() && !queues {
            let key = self.later("cmdprio_percentage", "cmdprio_bssplit");
            let key = key.unwrap_or("cmdprio_percentage");
            let message = format!("{key}: requires ioengine=libaio or ioengine=io_uring");
            return Err(self.wrong(key, &message));
        }
        Ok(priorities)
    }

    /// The reads, and the writes, that have a separate priority.
    fn single_priorities(&self) -> Result<[Vec<PriorityShare>; 2], PlanError> {
        let number = |key, low, high| {
            let takes =
                format!("a whole number from {low} to {high}, or one for reads and one for writes");
            self.directions(key, &takes, |text| {
                value::number(text).filter(|number| (low..=high).contains(number))
            })
        };
        let percent = number("cmdprio_percentage", 0, 100)?;
        let class = number("cmdprio_class", 1, 3)?;
        let level = number("cmdprio", 0, IoPriority::LEVEL_MAX)?;
        let hint = number("cmdprio_hint", 0, IoPriority::HINT_MAX)?;
        // As in fio, the class of single I/Os is realtime by default.
        let usual = |direction: usize| IoPriority {
            class: class[direction]
                .and_then(PriorityClass::from_number)
                .unwrap_or(PriorityClass::Realtime),
            level: level[direction].unwrap_or(0) as u8,
            hint: hint[direction].unwrap_or(0) as u16,
        };
        let takes = "sizes with percentages of at most 100 for each size, such as 64k/25:1m/0, \
                     each of them also with class 0 to 3 and level 0 to 7, such as 64k/25/1/0, or \
                     with a hint up to 1023, such as 64k/25/2/0/1";
        let split = self.directions("cmdprio_bssplit", takes, entries)?;
        let any = percent.iter().flatten().any(|percent| *percent > 0);
        if any && split.iter().any(Option::is_some) {
            let message = "cmdprio_bssplit and cmdprio_percentage exclude each other";
            return Err(self.wrong("cmdprio_bssplit", message));
        }
        Ok([0, 1].map(|direction| match (&split[direction], percent[direction]) {
            (Some(entries), _) => (entries.iter())
                .map(|(bytes, percent, priority)| PriorityShare {
                    bytes: Some(*bytes),
                    percent: *percent,
                    priority: priority.unwrap_or(usual(direction)),
                })
                .collect(),
            (None, Some(percent @ 1..)) => vec![PriorityShare {
                bytes: None,
                percent: percent as u8,
                priority: usual(direction),
            }],
            (None, _) => Vec::new(),
        }))
    }
}

/// A size, the percentage of I/Os of that size, and their priority if it is given.
type Entry = (u32, u8, Option<IoPriority>);

/// Parses the entries of one direction: `64k/25/1/0:1m/0`. Those with 0 % are left out.
fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    for part in text.split(':') {
        let fields: Vec<&str> = part.split('/').collect();
        let number = |at: usize, high: u64| {
            let text: &str = fields.get(at)?;
            text.parse().ok().filter(|number: &u64| *number <= high)
        };
        let bytes = u32::try_from(value::number(fields[0])?).ok()?;
        // As in fio, a size without a percentage has none.
        let percent = match fields.get(1) {
            None | Some(&"") => 0,
            Some(_) => number(1, 100)? as u8,
        };
        let priority = match fields.len() {
            1 | 2 => None,
            4 | 5 => Some(IoPriority {
                class: PriorityClass::from_number(number(2, 3)?)?,
                level: number(3, IoPriority::LEVEL_MAX)? as u8,
                hint: if fields.len() == 5 { number(4, IoPriority::HINT_MAX)? as u16 } else { 0 },
            }),
            _ => return None,
        };
        if percent > 0 {
            entries.push((bytes, percent, priority));
        }
    }
    let sum = |size: u32| {
        entries
            .iter()
            .filter(|(bytes, ..)| *bytes == size)
            .map(|(_, percent, _)| u32::from(*percent))
            .sum::<u32>()
    };
    entries.iter().all(|(bytes, ..)| sum(*bytes) <= 100).then_some(entries)
}
