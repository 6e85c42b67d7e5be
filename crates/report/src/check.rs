//! What `check` prints once it has measured.

use judge::Case;
use measurement::{Grade, RunDocument, TestResult, Use};
use workload::Pattern;

use crate::columns::{Cell, Column, Columns};
use crate::distribution::distributions;
use crate::findings::{findings, fitness};
use crate::look::Look;
use crate::nearest::nearest;
use crate::notes::notes;
use crate::number::{latency, rate};

/// How many published drives are named.
const NEAREST: usize = 3;

/// The numbers that decide, their distributions, what they mean, and what to type next.
pub fn check_page(document: &RunDocument, look: &Look) -> String {
    let case = Case::new(&document.results, document.drive.as_ref(), &document.host);
    let sections = [
        numbers(&document.results, look) + &notes(&document.results, &document.skipped, look),
        pictures(&document.results, look),
        findings(&document.findings, look),
        fitness(&document.fitness, look),
        nearest(&judge::nearest(&case, NEAREST), look),
        next_command(document),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).map(|section| format!("\n{section}")).collect()
}

/// One row a test: rate and latency as an application sees them.
fn numbers(results: &[TestResult], look: &Look) -> String {
    let mut table = Columns::new([
        Column::prose(""),
        Column::right("per second"),
        Column::right("p50"),
        Column::right("p99"),
        Column::right("p99.9").may_leave(2),
        Column::right("max").may_leave(1),
        Column::right("flushes each").may_leave(3).optional(),
    ]);
    for result in results {
        let us = result.headline_us();
        let per_commit = result.proof.device.and_then(|device| device.flushes_per_commit);
        table.row([
            Cell::from(result.test.clone()),
            Cell::from(rate(result.commits_per_s.unwrap_or(result.iops))),
            Cell::maybe(us, |us| latency(us.p50)),
            Cell::maybe(us, |us| latency(us.p99)),
            Cell::maybe(us, |us| latency(us.p99_9)),
            Cell::maybe(us, |us| latency(us.max)),
            Cell::maybe(per_commit, |flushes| format!("{flushes:.2}")),
        ]);
    }
    look.finish(
        look.heading("What it costs (4 KiB at random, one at a time, where nothing else is said)")
            + &table.render(look),
    )
}

/// The distributions of the single-job, depth-1 tests.
fn pictures(results: &[TestResult], look: &Look) -> String {
    let plain = |result: &&TestResult| {
        let workload = &result.workload;
        workload.depth == 1 && workload.jobs == 1 && workload.pattern.is_some_and(Pattern::is_random)
    };
    let labelled: Vec<_> = results
        .iter()
        .filter(plain)
        .filter_map(|result| {
            let histograms = &result.histograms;
            let histogram = histograms.commit.as_ref().or(histograms.write.as_ref()).or(histograms.read.as_ref())?;
            Some((result.test.clone(), histogram))
        })
        .collect();
    distributions(&labelled, look)
}

/// What is worth typing after this: the suite of the use that came off worst, or the longer test of the same question.
fn next_command(document: &RunDocument) -> String {
    let target = &document.target.given;
    let destroys = if document.target.kind == "directory" { "" } else { " --destroy-data" };
    let grade = |fit_for| document.fitness.get(&fit_for).map(|fitness| fitness.grade);
    let (suite, why) = if grade(Use::General) == Some(Grade::Unknown) {
        ("quick", "to measure again")
    } else if grade(Use::DatabaseLog) <= Some(Grade::Fair) {
        ("wal", "to see which sync method costs least here")
    } else {
        ("commits", "to see what PostgreSQL, InnoDB, SQLite, etcd and others would get")
    };
    format!("Next: flushmark run {suite} --target {target}{destroys}   ({why})\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_whole_page() {
        insta::assert_snapshot!(check_page(&samples::document(samples::quick()), &Look::plain()), @"

        What it costs (4 KiB at random, one at a time, where nothing else is said)
                                     per second      p50      p99    p99.9      max  flushes each
          write                          66,667    15 µs  15.6 µs    24 µs    75 µs             -
          write + fsync                     583  1.72 ms  1.78 ms  2.74 ms  8.58 ms          1.00
          write + fdatasync                 583  1.72 ms  1.78 ms  2.74 ms  8.58 ms          1.00
          write O_DSYNC                     583  1.72 ms  1.78 ms  2.74 ms  8.58 ms          0.00
          read                           66,667    15 µs  15.6 µs    24 µs    75 µs             -
          16 KiB write + fsync              576  1.74 ms  1.81 ms  2.78 ms  8.69 ms          1.00
          write + fdatasync, 4 jobs         583  1.72 ms  1.78 ms  2.74 ms  8.58 ms          1.00
          write, depth 32                66,667    15 µs  15.6 µs    24 µs    75 µs             -

        Distribution of latencies (logarithmic axis; the lowest block may be a single one)
          write                 ▄█    ▁          ▁
          write + fsync                                                           █▂   ▁           ▁
          write + fdatasync                                                       █▂   ▁           ▁
          write O_DSYNC                                                           █▂   ▁           ▁
          read                  ▄█    ▁          ▁
                             ┴──────┴────────┴───────┴───────────────┴───────┴──────┴────────┴───────
                             10 µs  20 µs    50 µs   100 µs          500 µs  1 ms   2 ms     5 ms

        Findings
         1. 4 committers with fdatasync make 583 commits/s together, one alone 583: a device works on one
            flush at a time.
            because: 4 KiB write + fdatasync rate 583.1 commits/s; 4 KiB write + fdatasync, 4 jobs rate
                     583.1 commits/s; 4 KiB write + fdatasync: flushes 1 per commit; 4 KiB write +
                     fdatasync, 4 jobs: flushes 1 per commit
            confidence: medium
            to do: More connections will not commit faster; larger transactions will, and so will a drive
                   with power-loss protection. Group commit (the default of PostgreSQL and InnoDB) helps
                   only where commits wait together.

        Fit for
          Ceph OSD      poor       583 commits/s (4 KiB write + fsync, the slower of two ways); protected
                                   drives make 10,000 and more, consumer drives 500 to 2,000.
          ZFS SLOG      poor       1.72 ms for a 4 KiB write + fdatasync; at 2 ms a log device speeds
                                   nothing up, good ones need less than 0.2 ms.
          database log  fair       One connection commits every 1.72 ms (4 KiB write + fdatasync), p99 1.78
                                   ms, within etcd's limit of 10 ms.
          general use   good       A 4 KiB write + fdatasync takes 1.72 ms, a random 4 KiB read 15 µs.

        Nearest published drives
          drive                                       cache    compared                 here  published  apart
          Samsung 980 1 TB                            default  4 KiB write + fsync   1.72 ms    1.74 ms   1.01
          Samsung 950 PRO                             default  4 KiB write +         1.72 ms    2.09 ms   1.22
                                                               fdatasync
          Google Cloud Hyperdisk Balanced 1 TB, ext4  default  16 KiB write + fsync  1.74 ms    1.25 ms   1.39

        Next: flushmark run wal --target /var/lib/db   (to see which sync method costs least here)
        ");
    }
}
