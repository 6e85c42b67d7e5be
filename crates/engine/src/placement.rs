//! The processors and the memory nodes of job threads: checked against the host, then set.

use std::collections::BTreeSet;

use drive::SystemRoot;
use drive::host::{HostProcessors, NumaNode};
use rustix::io::Errno;
use workload::{MemoryPolicy, Nodes, Numbers, Processors, RunOn};

use crate::affinity;
use crate::job::Failure;

/// Modes of `set_mempolicy` (`include/uapi/linux/mempolicy.h`).
const MPOL_PREFERRED: libc::c_int = 1;
const MPOL_BIND: libc::c_int = 2;
const MPOL_INTERLEAVE: libc::c_int = 3;
const MPOL_LOCAL: libc::c_int = 4;

/// The processors and memory nodes of the jobs of a test, which exist on this host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    cpus: Cpus,
    memory: Option<Memory>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Cpus {
    /// Those that the crew selects.
    #[default]
    Selected,
    Shared(Vec<u32>),
    /// One for each job, in turn.
    Split(Numbers),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Memory {
    mode: libc::c_int,
    nodes: Vec<u32>,
}

impl Placement {
    /// The placement on a host.
    ///
    /// # Errors
    /// The reason why the host does not have what is requested.
    pub fn on_host(processors: &Processors, root: &SystemRoot) -> Result<Placement, String> {
        if processors.is_default() {
            return Ok(Placement::default());
        }
        Placement::on(processors, &HostProcessors::read(root))
    }

    fn on(processors: &Processors, host: &HostProcessors) -> Result<Placement, String> {
        let cpus = match &processors.run_on {
            RunOn::Any => Cpus::Selected,
            RunOn::Shared(cpus) => {
                expect_online(cpus, host)?;
                Cpus::Shared(cpus.iter().collect())
            }
            RunOn::Split(cpus) => {
                expect_online(cpus, host)?;
                Cpus::Split(cpus.clone())
            }
            RunOn::Nodes(nodes) => Cpus::Shared(cpus_of(nodes, host)?),
        };
        let memory = |mode, nodes| Some(Memory { mode, nodes });
        let memory = match &processors.memory {
            MemoryPolicy::Inherited => None,
            MemoryPolicy::Local => memory(MPOL_LOCAL, Vec::new()),
            MemoryPolicy::Prefer(node) => {
                expect_node(*node, host)?;
                memory(MPOL_PREFERRED, vec![*node])
            }
            MemoryPolicy::Bind(nodes) => memory(MPOL_BIND, nodes_with_memory(nodes, host)?),
            MemoryPolicy::Interleave(nodes) => {
                memory(MPOL_INTERLEAVE, nodes_with_memory(nodes, host)?)
            }
        };
        Ok(Placement { cpus, memory })
    }

    /// Moves the calling thread to its processors, and sets the policy of the memory that it
    /// allocates from now on. `job` is its number within the test.
    pub fn apply(&self, job: u32) -> Result<(), Failure> {
        let cpus = match &self.cpus {
            Cpus::Selected => Vec::new(),
            Cpus::Shared(cpus) => cpus.clone(),
            Cpus::Split(cpus) => cpus.in_turn(job as usize).into_iter().collect(),
        };
        if !cpus.is_empty() {
            affinity::restrict(&cpus)
                .map_err(|errno| Failure::of("moving the job to its processors", errno))?;
        }
        let Some(Memory { mode, nodes }) = &self.memory else { return Ok(()) };
        set_memory_policy(*mode, nodes)
            .map_err(|errno| Failure::of("setting the memory policy", errno))
    }
}

fn expect_online(cpus: &Numbers, host: &HostProcessors) -> Result<(), String> {
    let Some(online) = &host.online else { return Ok(()) };
    match cpus.iter().find(|cpu| !online.contains(cpu)) {
        Some(cpu) => Err(format!(
            "it runs on processor {cpu}, which does not exist or is offline (online: {})",
            HostProcessors::list(online)
        )),
        None => Ok(()),
    }
}

fn expect_node(node: u32, host: &HostProcessors) -> Result<&NumaNode, String> {
    host.nodes.iter().find(|known| known.node == node).ok_or_else(|| {
        let known: BTreeSet<u32> = host.nodes.iter().map(|known| known.node).collect();
        let known = match known.len() {
            0 => "the kernel reports no nodes".to_owned(),
            1 => format!("the only one is {}", HostProcessors::list(&known)),
            _ => format!("the nodes are {}", HostProcessors::list(&known)),
        };
        format!("it requires NUMA node {node}, which this machine does not have; {known}")
    })
}

/// The processors of nodes.
fn cpus_of(nodes: &Nodes, host: &HostProcessors) -> Result<Vec<u32>, String> {
    let mut cpus = BTreeSet::new();
    match nodes {
        Nodes::All => cpus.extend(host.nodes.iter().flat_map(NumaNode::cpu_numbers)),
        Nodes::Listed(listed) => {
            for node in listed.iter() {
                cpus.extend(expect_node(node, host)?.cpu_numbers());
            }
        }
    }
    if cpus.is_empty() {
        return Err("it runs on the processors of NUMA nodes that have none".to_owned());
    }
    Ok(cpus.into_iter().collect())
}

fn nodes_with_memory(nodes: &Nodes, host: &HostProcessors) -> Result<Vec<u32>, String> {
    let has_memory =
        |node: u32| host.with_memory.as_ref().is_none_or(|known| known.contains(&node));
    let Nodes::Listed(listed) = nodes else {
        let all = host.nodes.iter().map(|node| node.node).filter(|node| has_memory(*node));
        let all: Vec<u32> = all.collect();
        return if all.is_empty() {
            Err("it requires NUMA nodes, but the kernel reports none".to_owned())
        } else {
            Ok(all)
        };
    };
    for node in listed.iter() {
        expect_node(node, host)?;
        if !has_memory(node) {
            return Err(format!("it uses memory of NUMA node {node}, which has none"));
        }
    }
    Ok(listed.iter().collect())
}

#[expect(unsafe_code, reason = "a system call that the C library does not wrap")]
fn set_memory_policy(mode: libc::c_int, nodes: &[u32]) -> Result<(), Errno> {
    let bits = u64::BITS as usize;
    let words = nodes.iter().map(|node| *node as usize / bits + 1).max().unwrap_or(0);
    let mut mask = vec![0_u64; words];
    for node in nodes {
        mask[*node as usize / bits] |= 1 << (*node as usize % bits);
    }
    // The kernel reads one bit less than stated (`get_nodes` in `mm/mempolicy.c`).
    let (pointer, length) = match words {
        0 => (std::ptr::null(), 0),
        words => (mask.as_ptr(), words * bits + 1),
    };
    // SAFETY: `pointer` is null with a length of 0, or points to at least `length - 1` bits, which
    // outlive the call; the kernel rounds up to whole words and only reads them.
    let set = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, length) };
    if set == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostProcessors {
        let node = |node, cpus: &str| NumaNode { node, cpus: cpus.to_owned() };
        HostProcessors {
            online: Some((0..8).collect()),
            nodes: vec![node(0, "0-3"), node(1, "4-7"), node(2, "")],
            with_memory: Some([0, 1].into()),
        }
    }

    fn numbers(text: &str) -> Numbers {
        Numbers::parse(text).unwrap()
    }

    fn on_host(run_on: RunOn, memory: MemoryPolicy) -> Result<Placement, String> {
        Placement::on(&Processors { run_on, memory }, &host())
    }

    #[test]
    fn nodes_become_their_processors() {
        let nodes = |nodes| on_host(RunOn::Nodes(nodes), MemoryPolicy::Inherited).unwrap().cpus;
        assert_eq!(nodes(Nodes::Listed(numbers("1-2"))), Cpus::Shared(vec![4, 5, 6, 7]));
        assert_eq!(nodes(Nodes::All), Cpus::Shared((0..8).collect()));
        let memory = on_host(RunOn::Any, MemoryPolicy::Interleave(Nodes::All)).unwrap().memory;
        assert_eq!(memory, Some(Memory { mode: MPOL_INTERLEAVE, nodes: vec![0, 1] }));
    }

    #[test]
    fn what_the_host_lacks_is_named() {
        let refused = |run_on, memory| on_host(run_on, memory).unwrap_err();
        let nodes = |text| Nodes::Listed(numbers(text));
        insta::assert_snapshot!(refused(RunOn::Nodes(nodes("0,3")), MemoryPolicy::Inherited), @"it requires NUMA node 3, which this machine does not have; the nodes are 0-2");
        insta::assert_snapshot!(refused(RunOn::Nodes(nodes("2")), MemoryPolicy::Inherited), @"it runs on the processors of NUMA nodes that have none");
        insta::assert_snapshot!(refused(RunOn::Any, MemoryPolicy::Bind(nodes("0-2"))), @"it uses memory of NUMA node 2, which has none");
        insta::assert_snapshot!(refused(RunOn::Any, MemoryPolicy::Prefer(9)), @"it requires NUMA node 9, which this machine does not have; the nodes are 0-2");
        insta::assert_snapshot!(refused(RunOn::Split(numbers("6-9")), MemoryPolicy::Inherited), @"it runs on processor 8, which does not exist or is offline (online: 0-7)");
        let none = HostProcessors::default();
        let processors = Processors { run_on: RunOn::Any, memory: MemoryPolicy::Bind(nodes("0")) };
        insta::assert_snapshot!(Placement::on(&processors, &none).unwrap_err(), @"it requires NUMA node 0, which this machine does not have; the kernel reports no nodes");
        let processors =
            Processors { run_on: RunOn::Any, memory: MemoryPolicy::Interleave(Nodes::All) };
        insta::assert_snapshot!(Placement::on(&processors, &none).unwrap_err(), @"it requires NUMA nodes, but the kernel reports none");
    }

    /// The processors and the memory policy of a thread that applies a placement.
    fn of_thread(placement: Placement, job: u32) -> (Vec<usize>, libc::c_int) {
        std::thread::spawn(move || {
            placement.apply(job).unwrap();
            let mut mode: libc::c_int = -1;
            let none = std::ptr::null_mut::<libc::c_ulong>();
            // SAFETY: `mode` is valid for writes; no mask is requested.
            #[expect(unsafe_code, reason = "the kernel's answer")]
            unsafe {
                libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, none, 0, 0, 0)
            };
            let mut cpus = affinity::allowed();
            cpus.sort_unstable();
            (cpus, mode)
        })
        .join()
        .unwrap()
    }

    #[test]
    fn a_thread_gets_its_processors_and_its_memory_policy() {
        let mut allowed = affinity::allowed();
        allowed.sort_unstable();
        let list = allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let split = Placement { cpus: Cpus::Split(numbers(&list)), memory: None };
        for job in 0..3 {
            let (cpus, mode) = of_thread(split.clone(), job);
            assert_eq!((cpus, mode), (vec![allowed[job as usize % allowed.len()]], 0));
        }
        let first = Cpus::Shared(vec![allowed[0] as u32]);
        let local = Memory { mode: MPOL_LOCAL, nodes: Vec::new() };
        let placed = of_thread(Placement { cpus: first, memory: Some(local) }, 5);
        assert_eq!(placed, (vec![allowed[0]], MPOL_LOCAL));
        for mode in [MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE] {
            let memory = Some(Memory { mode, nodes: vec![0] });
            let (cpus, found) = of_thread(Placement { cpus: Cpus::Selected, memory }, 0);
            assert_eq!((cpus, found), (allowed.clone(), mode));
        }
    }
}
