//! The built-in plans, in the same TOML that users write.

use crate::plan::Plan;

/// Name and text of a built-in plan.
type Suite = (&'static str, &'static str);

macro_rules! suites {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../suites/", $name, ".toml")))),*]
    };
}

/// All built-in plans, in recommended reading order.
const SUITES: [Suite; 15] = suites![
    "check", "journal", "ceph-disk", "slog", "wal", "commits", "fsync-study", "write-cache",
    "read-scaling", "open-blocks", "erase-block", "cache-size", "flush-cost", "fill", "sort-spill",
];

pub fn all() -> Vec<Plan> {
    SUITES.iter().filter_map(|(name, _)| named(name)).collect()
}

/// Looks up a built-in plan by name.
///
/// ```
/// assert_eq!(workload::suites::named("journal").unwrap().tests.len(), 3);
/// ```
pub fn named(name: &str) -> Option<Plan> {
    // Parsing cannot fail: a test parses every text.
    Plan::from_toml(name, text(name)?).ok()
}

/// The TOML text of a built-in plan, comments included.
pub fn text(name: &str) -> Option<&'static str> {
    SUITES.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The error message for a name that is neither a suite nor a file.
pub fn unknown_message(name: &str) -> String {
    let names: Vec<&str> = SUITES.iter().map(|&(name, _)| name).collect();
    format!("unknown suite or file `{name}`; suites are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Room;
    use crate::plan::{Table, Work};

    #[test]
    fn every_suite_parses_and_is_named_as_its_file() {
        for (name, text) in SUITES {
            let plan = Plan::from_toml(name, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.name, name);
            assert!(
                !plan.answers.is_empty() && !plan.source.is_empty(),
                "{name} says neither what for nor where from"
            );
        }
    }

    #[test]
    fn the_folder_and_the_list_agree() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/suites");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut listed: Vec<String> =
            SUITES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        files.sort();
        listed.sort();
        assert_eq!(files, listed);
    }

    #[test]
    fn suites_hold_the_tests_that_their_sources_have() {
        let count = |name| named(name).unwrap().tests.len();
        assert_eq!(count("ceph-disk"), 5 + 2 * 3);
        assert_eq!(count("journal"), 3);
        assert_eq!(count("slog"), 15);
        assert_eq!(count("fsync-study"), 2 * 3 * 6 * 2);
        assert_eq!(count("write-cache"), 2 * (8 + 4 + 4 + 6 + 6 + 2 + 2 + 3));
        assert_eq!(count("read-scaling"), 5 + 2);
        assert_eq!(count("wal"), 16 + 4);
        assert_eq!(named("slog").unwrap().table, Table::Slog);
    }

    #[test]
    fn check_leaves_time_for_preparation_within_its_minute() {
        assert!(named("check").unwrap().requested_time().as_secs() <= 42);
    }

    #[test]
    fn a_smoke_run_takes_seconds_and_keeps_every_test() {
        for plan in all() {
            let tests = plan.tests.len();
            let smoke = plan.smoke();
            assert_eq!(smoke.tests.len(), tests);
            assert!(
                smoke.requested_time().as_secs_f64() <= 2.1,
                "{}: {:?}",
                smoke.name,
                smoke.requested_time()
            );
            for test in &smoke.tests {
                if let Work::Blocks(workload) = &test.work {
                    assert!(
                        workload.size_per_job_bytes(Room::Unlimited)
                            >= u64::from(workload.block_bytes.get())
                    );
                }
                if let Work::Sort(sort) = &test.work {
                    assert!(
                        sort.size_per_job_bytes() >= 2 * sort.memory_bytes
                            && sort.size_bytes <= 64 << 20
                    );
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_suites() {
        insta::assert_snapshot!(unknown_message("slgo"), @"unknown suite or file `slgo`; suites are check, journal, ceph-disk, slog, wal, commits, fsync-study, write-cache, read-scaling, open-blocks, erase-block, cache-size, flush-cost, fill, sort-spill");
    }
}
