//! The processors and NUMA nodes that threads and memory can be assigned to.

use std::collections::BTreeSet;

use super::cpu::numa_nodes;
use super::cpu_list;
use super::facts::NumaNode;
use crate::SystemRoot;

/// The processors and NUMA nodes of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostProcessors {
    /// The online processors; `None` if the kernel does not list them.
    pub online: Option<BTreeSet<u32>>,
    /// The online nodes; empty if the kernel reports none.
    pub nodes: Vec<NumaNode>,
    /// The nodes that have memory; `None` if the kernel does not list them.
    pub with_memory: Option<BTreeSet<u32>>,
}

impl HostProcessors {
    pub fn read(root: &SystemRoot) -> HostProcessors {
        let list = |path: &str| root.attributes("sys/devices/system").text(path);
        HostProcessors {
            online: list("cpu/online").as_deref().and_then(cpu_list::parse),
            nodes: numa_nodes(root),
            with_memory: list("node/has_memory").as_deref().and_then(cpu_list::parse),
        }
    }

    /// The numbers as a list such as `0-3,8`.
    pub fn list(numbers: &BTreeSet<u32>) -> String {
        cpu_list::format(numbers)
    }
}

impl NumaNode {
    /// The numbers of its processors.
    pub fn cpu_numbers(&self) -> BTreeSet<u32> {
        cpu_list::parse(&self.cpus).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_their_processors_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join("sys/devices/system").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = SystemRoot::new(directory.path());
        assert_eq!(HostProcessors::read(&root), HostProcessors::default());
        write("cpu/online", "0-5\n");
        write("node/has_memory", "0\n");
        write("node/node0/cpulist", "0-2\n");
        write("node/node1/cpulist", "\n");
        let host = HostProcessors::read(&root);
        assert_eq!(host.online, Some((0..6).collect()));
        assert_eq!(host.with_memory, Some([0].into()));
        let cpus: Vec<_> =
            host.nodes.iter().map(|node| (node.node, node.cpu_numbers().len())).collect();
        assert_eq!(cpus, [(0, 3), (1, 0)]);
        assert_eq!(HostProcessors::list(&host.online.unwrap()), "0-5");
    }
}
