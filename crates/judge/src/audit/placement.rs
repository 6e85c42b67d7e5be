//! NUMA placement of drives, their interrupts and the CPUs:
//! Documentation/core-api/irq/irq-affinity.rst, block/blk-mq.rst.

use std::collections::BTreeSet;

use drive::HostFacts;
use drive::host::{DiskSettings, Interrupt, NumaNode};
use measurement::AuditLine;

use super::line::{advised, costs, good, with_command};

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let nodes: Vec<&NumaNode> =
        host.numa_nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
    let mut lines = Vec::new();
    if nodes.len() > 1 {
        lines.extend(host.disks.iter().filter_map(|disk| node(disk, &nodes)));
    }
    lines.extend(host.disks.iter().filter_map(|disk| interrupts(disk, &nodes, host)));
    lines
}

fn node(disk: &DiskSettings, nodes: &[&NumaNode]) -> Option<AuditLine> {
    let own = nodes.iter().find(|node| Some(node.node) == disk.numa_node)?;
    let subject = format!("{}: NUMA node", disk.name);
    let found = format!("node {} of {}, with CPUs {}", own.node, nodes.len(), own.cpus);
    let why = "A commit submitted on another node crosses the link between the sockets several \
               times; run the committing program on the drive's node.";
    let line = good("numa", subject, found, why);
    Some(AuditLine {
        command: Some(format!("numactl --cpunodebind={} --membind={} COMMAND", own.node, own.node)),
        ..line
    })
}

/// The interrupts of I/O queues, without the NVMe admin queue and virtio configuration changes.
fn of_queues(disk: &DiskSettings) -> Vec<&Interrupt> {
    let is_admin = |name: &str| {
        ["-config", "-control", "-event"].iter().any(|ending| name.ends_with(ending))
            || (name.starts_with("nvme") && name.ends_with("q0"))
    };
    disk.interrupts.iter().filter(|interrupt| !is_admin(&interrupt.name)).collect()
}

fn interrupts(disk: &DiskSettings, nodes: &[&NumaNode], host: &HostFacts) -> Option<AuditLine> {
    let queues = of_queues(disk);
    let cpus: BTreeSet<u32> =
        queues.iter().filter_map(|interrupt| interrupt.cpus.as_deref()).flat_map(cpus).collect();
    if queues.is_empty() || cpus.is_empty() {
        return None;
    }
    let subject = format!("{}: interrupts", disk.name);
    let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let found = format!(
        "{} queue interrupt{}, on CPU{} {}",
        queues.len(),
        if queues.len() == 1 { "" } else { "s" },
        if cpus.len() == 1 { "" } else { "s" },
        if list.len() > 12 {
            format!("{} to {}", list[0], list[list.len() - 1])
        } else {
            list.join(", ")
        }
    );
    let own = nodes.iter().find(|node| Some(node.node) == disk.numa_node);
    let remote = own.is_some_and(|own| {
        let own: BTreeSet<u32> = self::cpus(&own.cpus).collect();
        nodes.len() > 1 && cpus.is_disjoint(&own)
    });
    let first = queues[0].number;
    if remote {
        let why = "Every completion is handled on the other socket, and the data crosses the link \
                   between the sockets before the commit can continue.";
        let line = costs("interrupts", subject, found, why);
        let node = own.map(|own| own.cpus.clone()).unwrap_or_default();
        return Some(with_command(
            line,
            "Move them to the drive's node, with irqbalance or by hand for each interrupt.",
            format!("echo {node} > /proc/irq/{first}/smp_affinity_list"),
        ));
    }
    // Interrupts that carry only the driver's name are ports of a controller, not queues of a
    // drive.
    let names: BTreeSet<&str> = queues.iter().map(|interrupt| interrupt.name.as_str()).collect();
    if names.len() > 1 && cpus.len() == 1 && host.logical_cpus.is_some_and(|count| count > 1) {
        let why = "All of the drive's queues interrupt one CPU: commits of many connections queue \
                   up for it.";
        return Some(advised(
            costs("interrupts", subject, found, why),
            "Spread them with irqbalance, or write other CPUs into /proc/irq/*/smp_affinity_list.",
        ));
    }
    Some(good("interrupts", subject, found, "Completions are handled on suitable CPUs."))
}

/// The CPU numbers of a list such as `0-3,8`, below the largest number that a kernel can have.
fn cpus(list: &str) -> impl Iterator<Item = u32> + '_ {
    const CPUS_MAX: u32 = 8192;
    list.split(',').flat_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        match (from.trim().parse::<u32>(), to.trim().parse::<u32>()) {
            (Ok(from), Ok(to)) if to < CPUS_MAX => from..to.saturating_add(1),
            _ => 0..0,
        }
    })
}
