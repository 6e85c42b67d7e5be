//! The list of suites.

use workload::Plan;
use workload::number::span;

use crate::look::{Look, paint};
use crate::prose::counted;

/// All plans: name, number of tests, duration, question and source.
pub fn suites(plans: &[Plan], look: &Look) -> String {
    let mut text = String::new();
    for plan in plans {
        let tests = counted(plan.tests.len() as u64, "test");
        let asked = plan.requested_time();
        let time = if asked.is_zero() { String::new() } else { format!(", {}", span(asked)) };
        let published = plan.clone().as_published().map(|published| published.requested_time());
        let published = published
            .filter(|&published| published != asked)
            .map_or(String::new(), |published| format!("; as published {}", span(published)));
        let name = format!("{:<14}", plan.name);
        text += &format!(
            "{}{}\n",
            paint(look.palette.strong, &name),
            paint(look.palette.faint, &format!("{tests}{time}{published}"))
        );
        text += &look.hanging("    ", &plan.answers);
        if !plan.source.is_empty() {
            let from = paint(look.palette.faint, "    from: ");
            text += &look.hanging(&from, &plan.source);
        }
    }
    text += "\n";
    text += &look.paragraph("Run one: flushmark run SUITE DIRECTORY.");
    text += &look.paragraph("Show one: flushmark suites SUITE.");
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_suites() {
        insta::assert_snapshot!(suites(&workload::suites::all(), &Look::plain()), @r#"
        check         8 tests, 39 s
            What does a commit cost here, and why?
            from: flushmark; the control row without durability is pg_test_fsync's idea
        journal       3 tests, 47 s
            Can this drive carry a Ceph journal? Ten thousand commits per second or more indicate power-loss
            protection; a few hundred indicate none.
            from: Ceph performance wiki and "Choosing SSDs for Ceph": the one-line fio test
        ceph-disk     11 tests, 1 min 56 s
            Is this drive suitable for a Ceph OSD, according to the eight tests of the Ceph performance
            wiki?
            from: Ceph performance wiki (yourcmc.ru, "Производительность Ceph"), section on testing drives
        slog          15 tests, 15 s
            How long does a ZFS intent log on this drive take to write and flush a block of each size?
            from: FreeBSD diskinfo(8), option -S (r320683, 2017); the TrueNAS forum's table of SLOG drives
        wal           20 tests, 1 min 50 s
            Which sync method is the fastest for a write-ahead log here, and does it matter whether the log
            advances?
            from: PostgreSQL, pg_test_fsync; the rows `advancing log` are flushmark's
        commits       18 tests, 1 min 39 s
            How many commits per second would PostgreSQL, InnoDB, SQLite, RocksDB, etcd, Ceph and ZFS get
            from this storage?
            from: system call traces and sources of each program; see the comments in `flushmark suites
                  commits`
        fsync-study   72 tests, 6 min 36 s; as published 12 h
            What do fsync and fdatasync cost after small and large writes, and do more committers help?
            from: Small Datum (Mark Callaghan), "SSDs, power loss protection and fsync latency", January
                  2026
        write-cache   70 tests, 6 min 25 s
            Is this drive faster with its write cache off or on, for commits and for other writes?
            from: Ceph performance wiki (yourcmc.ru), section on the write cache: Micron 5100, Seagate Nytro
                  1351
        read-scaling  7 tests, 1 min 14 s
            How do reads scale with queue depth: how much parallelism does the drive offer?
            from: Ceph performance wiki (yourcmc.ru), read tables of the Micron 5100 and Seagate Nytro 1351
        open-blocks   17 tests, 1 min 51 s
            How many places can this drive append to at once before it collapses? Sticks and cards manage
            one to ten, SSDs more than are tried here.
            from: Arnd Bergmann's flashbench, --open-au; LWN, "Optimizing Linux with cheap flash drives"
                  (2011)
        erase-block   12 tests, 54 s
            Does this drive map whole erase blocks, and of what size? Partitions and filesystems should be
            aligned to it.
            from: Arnd Bergmann's flashbench, alignment and erase block tests; LWN, "Optimizing Linux with
                  cheap flash drives" (2011)
        cache-size    11 tests, 3 min 10 s
            How large is this drive's write cache, and after how many bytes does a long write slow down?
            from: flushmark; the long write is the method of SSD reviews to show the SLC cache
        flush-cost    22 tests, 1 min 17 s
            What is the fixed cost of a flush, and how much does each write before it add?
            from: flushmark
        fill          7 tests, 14 min
            How much slower are random writes as this drive fills up, and how much spare flash does that
            indicate?
            from: SNIA Solid State Storage Performance Test Specification 2.0.2, steady state; Xiang and
                  Kurkoski (2010) for the effect of spare flash
        sort-spill    4 tests
            What does a database's sort write to and read from this drive, and is the sort or the drive the
            bottleneck?
            from: flushmark; runs and their merge as in Knuth, TAOCP 3, 5.4; PostgreSQL's tuplesort.c,
                  MySQL's filesort.cc

        Run one: flushmark run SUITE DIRECTORY.
        Show one: flushmark suites SUITE.
        "#);
    }
}
