//! The processors and memory nodes of a section.

use super::section::Section;
use crate::plan::PlanError;
use crate::processors::{MemoryPolicy, Nodes, Numbers, Processors, RunOn};

impl Section {
    /// The processors of the jobs, and the nodes of their memory.
    pub(super) fn processors(&self) -> Result<Processors, PlanError> {
        let takes = "numbers and ranges, such as 0,5,8-15";
        let allowed = self.read("cpus_allowed", takes, Numbers::parse)?;
        let split =
            self.read("cpus_allowed_policy", "one of shared, split", |text| match text {
                "shared" => Some(false),
                "split" => Some(true),
                _ => None,
            })?;
        let takes = "all, or numbers and ranges, such as 0-1";
        let nodes = self.read("numa_cpu_nodes", takes, Nodes::parse)?;
        let takes = "default, local, prefer:NODE, bind:NODES or interleave:NODES, where NODES are \
                     all, or numbers and ranges, such as 0-1";
        let memory = self.read("numa_mem_policy", takes, MemoryPolicy::parse)?;
        let run_on = match (allowed, nodes) {
            (Some(_), Some(_)) => {
                let message = "cpus_allowed and numa_cpu_nodes exclude each other";
                return Err(self.wrong("cpus_allowed", message));
            }
            (Some(cpus), None) if split == Some(true) => RunOn::Split(cpus),
            (Some(cpus), None) => RunOn::Shared(cpus),
            (None, Some(nodes)) => RunOn::Nodes(nodes),
            (None, None) => RunOn::Any,
        };
        Ok(Processors { run_on, memory: memory.unwrap_or_default() })
    }
}
