//! The processors on which the kernel's threads may run while two programs are compared.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Confines the kernel's unbound workers, among them the loop driver's, to one processor until it
/// is dropped. Otherwise the scheduler places a worker sometimes on the program's processor and
/// sometimes on an idle one, which takes ten times as long to respond. Which of the two it is
/// depends on whatever else wakes up there, not on the measured program.
#[derive(Debug)]
pub struct KernelWorkers {
    allowed: PathBuf,
    before: String,
}

impl KernelWorkers {
    /// Confines them to the processor `cpu`, and remembers their previous processors.
    pub fn confine(cpu: u32) -> anyhow::Result<KernelWorkers> {
        KernelWorkers::confine_below(Path::new("/sys"), cpu)
    }

    fn confine_below(sysfs: &Path, cpu: u32) -> anyhow::Result<KernelWorkers> {
        let allowed = sysfs.join("devices/virtual/workqueue/cpumask");
        let before = fs::read_to_string(&allowed).with_context(|| {
            format!("cannot read the processors of kernel workers, {}", allowed.display())
        })?;
        let workers = KernelWorkers { allowed, before: before.trim().to_owned() };
        ensure!(!workers.before.is_empty(), "{} is empty", workers.allowed.display());
        let mask = mask(cpu);
        eprintln!(
            "kernel workers run on processor {cpu} only: {} from {} to {mask}",
            workers.allowed.display(),
            workers.before
        );
        fs::write(&workers.allowed, &mask).with_context(|| {
            format!("cannot write {mask} to {} (as root?)", workers.allowed.display())
        })?;
        Ok(workers)
    }
}

impl Drop for KernelWorkers {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.allowed, &self.before) {
            eprintln!("cannot write {} back to {}: {error}", self.before, self.allowed.display());
        }
    }
}

/// A set of one processor in the kernel's notation: groups of 32 bits in hexadecimal, the highest
/// first.
fn mask(cpu: u32) -> String {
    format!("{:x}{}", 1_u32 << (cpu % 32), ",00000000".repeat((cpu / 32) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_one_processor() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(5), "20");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(32), "1,00000000");
        assert_eq!(mask(65), "2,00000000,00000000");
    }

    #[test]
    fn workers_are_let_go_afterwards() {
        let sysfs = tempfile::tempdir().unwrap();
        let directory = sysfs.path().join("devices/virtual/workqueue");
        fs::create_dir_all(&directory).unwrap();
        let allowed = directory.join("cpumask");
        fs::write(&allowed, "3\n").unwrap();
        let workers = KernelWorkers::confine_below(sysfs.path(), 1).unwrap();
        assert_eq!(fs::read_to_string(&allowed).unwrap(), "2");
        drop(workers);
        assert_eq!(fs::read_to_string(&allowed).unwrap(), "3");
        fs::remove_file(&allowed).unwrap();
        let refusal = KernelWorkers::confine_below(sysfs.path(), 1).unwrap_err().to_string();
        assert!(refusal.starts_with("cannot read the processors of kernel workers"), "{refusal}");
    }
}
