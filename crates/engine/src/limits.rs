//! Checks of system limits against the requirements of a workload.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use workload::{Test, Work};

use crate::error::EngineError;

/// Open files other than those of the jobs, with a margin for libraries.
const OTHER_FILES: u64 = 32;

/// Raises the limit on open files as far as concurrent tests require.
///
/// # Errors
/// Fails if the hard limit is too low.
pub fn open_files(tests: &[Test]) -> Result<(), EngineError> {
    let jobs = tests.iter().map(|test| test.work.jobs()).sum();
    let files = tests
        .iter()
        .map(|test| u64::from(test.work.jobs()) * files_per_job(&test.work))
        .sum::<u64>();
    raise_open_files(jobs, files + OTHER_FILES)
}

fn files_per_job(work: &Work) -> u64 {
    match work {
        Work::Blocks(workload) => u64::from(workload.files.per_job) + 2,
        Work::Steps(program) => program.files.len() as u64 + 2,
        Work::Sort(_) => 2,
    }
}

fn raise_open_files(jobs: u32, needed: u64) -> Result<(), EngineError> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < needed) {
        return Err(EngineError::OpenFiles { jobs, needed, limit: maximum.unwrap_or(needed) });
    }
    let raised = Rlimit { current: Some(needed), maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| EngineError::OpenFiles {
        jobs,
        needed,
        limit: current.unwrap_or(0),
    })
}

/// Checks that the buffers of all jobs together fit in half of the available memory: a measurement
/// must not push a production machine into swapping.
///
/// # Errors
/// Fails if they do not fit.
pub fn memory(tests: &[Test]) -> Result<(), EngineError> {
    let buffers = |test: &Test| {
        let Work::Blocks(workload) = &test.work else { return None };
        if !workload.pattern.transfers() {
            return None;
        }
        let (jobs, depth, block_bytes) =
            (workload.jobs.get(), workload.depth_effective(), u64::from(workload.largest_bytes()));
        Some((u64::from(jobs) * u64::from(depth) * block_bytes, jobs, depth, block_bytes))
    };
    let needed_bytes = tests.iter().filter_map(buffers).map(|(bytes, ..)| bytes).sum();
    let Some((_, jobs, depth, block_bytes)) = tests.iter().filter_map(buffers).max() else {
        return Ok(());
    };
    match available_bytes() {
        Some(available) if needed_bytes > available / 2 => Err(EngineError::NoMemory {
            jobs,
            depth,
            block_bytes,
            needed_bytes,
            available_bytes: available / 2,
        }),
        _ => Ok(()),
    }
}

/// Checks that sorts with this much memory each fit in half of the available memory.
///
/// # Errors
/// Fails if they do not fit.
pub fn memory_of_sorts(jobs: u32, each_bytes: u64) -> Result<(), EngineError> {
    let needed_bytes = u64::from(jobs).saturating_mul(each_bytes);
    match available_bytes() {
        Some(available) if needed_bytes > available / 2 => Err(EngineError::NoMemoryForSorts {
            jobs,
            needed_bytes,
            available_bytes: available / 2,
        }),
        _ => Ok(()),
    }
}

/// `MemAvailable` of `/proc/meminfo`: memory that can be allocated without swapping.
pub fn available_bytes() -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use workload::{BlockBytes, Depth, EngineChoice, Jobs, Pattern, Workload};

    use super::*;

    fn test(jobs: u64, depth: u64, block_bytes: u64) -> Test {
        let mut workload = Workload::new(Pattern::RandWrite, BlockBytes::new(block_bytes).unwrap());
        workload.jobs = Jobs::new(jobs).unwrap();
        workload.depth = Depth::new(depth).unwrap();
        workload.engine = EngineChoice::IoUring;
        Test::alone("test".to_owned(), Work::Blocks(workload))
    }

    #[test]
    fn the_largest_workload_is_refused_with_its_figures() {
        let (large, small) = (test(256, 1024, 64 << 20), test(1, 1, 4096));
        let error = memory(std::slice::from_ref(&large)).unwrap_err();
        assert!(
            matches!(error, EngineError::NoMemory { needed_bytes: 0x1000_0000_0000, .. }),
            "{error}"
        );
        assert!(memory(std::slice::from_ref(&small)).is_ok());
        // Concurrent tests need the sum of both; the error names the larger one.
        let error = memory(&[small, large]).unwrap_err();
        assert!(
            matches!(
                error,
                EngineError::NoMemory { needed_bytes: 0x1000_0000_1000, jobs: 256, .. }
            ),
            "{error}"
        );
        let error = memory_of_sorts(4, 1 << 50).unwrap_err();
        assert!(matches!(error, EngineError::NoMemoryForSorts { jobs: 4, .. }), "{error}");
        assert!(memory_of_sorts(1, 4 << 20).is_ok());
    }

    #[test]
    fn a_few_files_are_always_there() {
        assert!(open_files(&[test(1, 1, 4096)]).is_ok());
        assert!(matches!(raise_open_files(256, 1 << 40), Err(EngineError::OpenFiles { .. })));
    }
}
