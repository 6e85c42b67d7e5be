//! The processors on which the jobs of a workload run, and the nodes of their memory.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processors that the jobs' threads run on, and the memory nodes of their buffers.
///
/// On a machine with several NUMA nodes, a drive is attached to one of them: interrupts, queues and
/// buffers on another one add the latency of the interconnect to each I/O.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Processors {
    /// The processors of the threads.
    #[serde(default)]
    pub run_on: RunOn,
    /// The nodes of the memory that the threads allocate.
    #[serde(default)]
    pub memory: MemoryPolicy,
}

/// The processors of threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOn {
    /// The engine decides: one processor for each job, if there are enough.
    #[default]
    Any,
    /// All of these for each thread.
    Shared(Numbers),
    /// One of these for each thread, in turn.
    Split(Numbers),
    /// Those of these nodes for each thread.
    Nodes(Nodes),
}

/// The nodes of memory, as the kernel's `set_mempolicy` offers them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    /// That of the process.
    #[default]
    Inherited,
    /// The node of the processor that touches the memory first.
    Local,
    /// This node as long as it has free memory.
    Prefer(u32),
    /// Only these nodes.
    Bind(Nodes),
    /// Page by page, these nodes in turn.
    Interleave(Nodes),
}

/// NUMA nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nodes {
    /// Each node that has what is needed.
    All,
    Listed(Numbers),
}

/// Numbers of processors or nodes, in ascending order; not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Numbers(Vec<u32>);

impl Processors {
    /// Returns `true` if the engine decides.
    pub fn is_default(&self) -> bool {
        *self == Processors::default()
    }
}

impl Numbers {
    /// The largest number; more than the processors that Linux supports on any architecture.
    pub const MAX: u32 = 65_535;

    /// Parses numbers and ranges: `0,5,8-15`.
    pub fn parse(text: &str) -> Option<Numbers> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            if from > to || to > Numbers::MAX {
                return None;
            }
            numbers.extend(from..=to);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(Numbers(numbers))
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The number at a position, counted round and round.
    pub fn in_turn(&self, position: usize) -> Option<u32> {
        self.0.get(position.checked_rem(self.0.len())?).copied()
    }
}

impl fmt::Display for Numbers {
    /// The shortest list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adjacent = |one: &u32, next: &u32| one + 1 == *next;
        for (index, range) in self.0.chunk_by(adjacent).enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match range {
                [from, .., to] => write!(f, "{separator}{from}-{to}")?,
                [only] => write!(f, "{separator}{only}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl Nodes {
    /// Parses `all`, or numbers.
    pub fn parse(text: &str) -> Option<Nodes> {
        if text == "all" { Some(Nodes::All) } else { Numbers::parse(text).map(Nodes::Listed) }
    }
}

impl MemoryPolicy {
    /// Parses a policy in fio's notation: `default`, `local`, `prefer:0`, `bind:0-1`, `interleave`.
    pub fn parse(text: &str) -> Option<MemoryPolicy> {
        let (mode, nodes) = match text.split_once(':') {
            Some((mode, nodes)) => (mode, Some(nodes)),
            None => (text, None),
        };
        match (mode, nodes) {
            ("default", None) => Some(MemoryPolicy::Inherited),
            ("local", None) => Some(MemoryPolicy::Local),
            ("prefer", Some(node)) => {
                node.parse().ok().filter(|node| *node <= Numbers::MAX).map(MemoryPolicy::Prefer)
            }
            ("bind", Some(nodes)) => Nodes::parse(nodes).map(MemoryPolicy::Bind),
            ("interleave", nodes) => {
                Nodes::parse(nodes.unwrap_or("all")).map(MemoryPolicy::Interleave)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_read_and_written_back() {
        for (text, written) in [("0", "0"), ("0,5,8-10", "0,5,8-10"), ("3,2,1,2-2", "1-3")] {
            assert_eq!(Numbers::parse(text).unwrap().to_string(), written);
        }
        for wrong in ["", "a", "3-1", "0,", "-1", "65536", "all"] {
            assert_eq!(Numbers::parse(wrong), None, "{wrong}");
        }
        let numbers = Numbers::parse("0,4-5").unwrap();
        let turns: Vec<_> = (0..4).map(|job| numbers.in_turn(job).unwrap()).collect();
        assert_eq!(turns, [0, 4, 5, 0]);
    }

    proptest! {
        #[test]
        fn any_list_is_read_back(
            numbers in proptest::collection::btree_set(0..=Numbers::MAX, 1..40),
        ) {
            let numbers = Numbers(numbers.into_iter().collect());
            prop_assert_eq!(Numbers::parse(&numbers.to_string()), Some(numbers));
        }
    }

    #[test]
    fn policies_are_fio_s() {
        let listed = |text| Nodes::Listed(Numbers::parse(text).unwrap());
        for (text, policy) in [
            ("default", MemoryPolicy::Inherited),
            ("local", MemoryPolicy::Local),
            ("prefer:1", MemoryPolicy::Prefer(1)),
            ("bind:0,2", MemoryPolicy::Bind(listed("0,2"))),
            ("bind:all", MemoryPolicy::Bind(Nodes::All)),
            ("interleave:0-1", MemoryPolicy::Interleave(listed("0-1"))),
            ("interleave", MemoryPolicy::Interleave(Nodes::All)),
        ] {
            assert_eq!(MemoryPolicy::parse(text), Some(policy), "{text}");
        }
        for wrong in ["", "bind", "prefer", "prefer:0-1", "local:0", "default:0", "preferred:0"] {
            assert_eq!(MemoryPolicy::parse(wrong), None, "{wrong}");
        }
    }
}
