//! The result page of `check`.

use judge::Case;
use measurement::{Grade, RunDocument, TargetKind, TestResult, Use};
use workload::number::number;

use crate::columns::{Column, Columns};
use crate::distribution::distributions;
use crate::findings::{findings, fitness};
use crate::group::group_lines;
use crate::look::{Detail, Look};
use crate::nearest::{nearest, nearest_in_brief};
use crate::notes::notes;
use crate::tables::{flushes_each, max, p50, p99, p99_9, per_second, smoke};
use crate::trace::traces;

/// Number of published drives listed.
const NEAREST: usize = 3;
/// Drives further apart than by this factor are not similar.
const NEAR: f64 = 1.5;

/// The key numbers, their distributions, findings, grades, nearest drives, and the next command.
pub fn check_page(document: &RunDocument, look: &Look) -> String {
    let case = Case::new(&document.results, document.drive.as_ref(), &document.host)
        .with_export(document.target.export.as_ref())
        .with_ceph(document.target.ceph.as_ref());
    // No drive resembles memory, and no test of it shows what a drive would do.
    let in_memory =
        document.drive.as_ref().is_some_and(|place| judge::kept_in_memory(place).is_some());
    let near = if in_memory || document.smoke {
        Vec::new()
    } else {
        judge::nearest(&case, NEAREST).into_iter().filter(|near| near.factor < NEAR).collect()
    };
    let no_next = in_memory || document.smoke;
    let sections = [
        numbers(&document.results, look)
            + &look.finish(notes(&document.results, &document.skipped, look)),
        if look.detail == Detail::Full { pictures(&document.results, look) } else { String::new() },
        traces(&document.results, look),
        group_lines(document, look),
        fitness(&document.fitness, look),
        findings(&document.findings, look),
        match look.detail {
            Detail::Full => nearest(&near, look),
            Detail::Brief => nearest_in_brief(&near, look),
        },
        if no_next { String::new() } else { next_command(document, look) },
    ];
    sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .map(|section| format!("\n{section}"))
        .chain([smoke(document)])
        .collect()
}

/// One row per test: rate and latency as the application observes them.
fn numbers(results: &[TestResult], look: &Look) -> String {
    let table = Columns::<TestResult>::new()
        .with(Column::prose(""), |result| result.test.clone())
        .with(Column::right("per second"), |result| number(per_second(result)))
        .with(Column::right("p50"), p50)
        .with(Column::right("p99"), p99)
        .with(Column::right("p99.9").may_drop(1), p99_9)
        .with(Column::right("max").may_drop(2), max)
        .with(Column::right("flushes").optional(), flushes_each)
        .of(results, look);
    let heading = "Cost of each operation (4 KiB, random, one at a time unless noted)";
    look.finish(look.heading(heading) + &table)
}

/// The distribution of each test.
fn pictures(results: &[TestResult], look: &Look) -> String {
    let labelled: Vec<_> = results
        .iter()
        .filter_map(|result| {
            let histograms = &result.histograms;
            let histogram = histograms
                .commit
                .as_ref()
                .or(histograms.write.as_ref())
                .or(histograms.read.as_ref())?;
            Some((result.test.clone(), histogram))
        })
        .collect();
    distributions(&labelled, look)
}

/// The suggested next command: the suite for the use with the worst grade, or a longer test.
fn next_command(document: &RunDocument, look: &Look) -> String {
    let target = judge::shell_word(&document.target.given);
    // Only devices and existing files need the flag; in a directory a new file is created.
    let destroys = if matches!(
        document.target.kind,
        TargetKind::File | TargetKind::BlockDevice | TargetKind::Nbd | TargetKind::Image
    ) {
        " --destroy-data"
    } else {
        ""
    };
    let grade = |fit_for| document.fitness.get(&fit_for).map(|fitness| fitness.grade);
    let (suite, why) = if grade(Use::General) == Some(Grade::Unknown) {
        ("check", "to measure again")
    } else if grade(Use::DatabaseLog) <= Some(Grade::Fair)
        || matches!(document.target.kind, TargetKind::Nbd | TargetKind::Image | TargetKind::Objects)
    {
        // The suite `commits` consists of step programs, which need files.
        ("wal", "to find the cheapest sync method on this storage")
    } else {
        ("commits", "to see the commit rates of PostgreSQL, InnoDB, SQLite, etcd and others")
    };
    let command = look.hanging("Next: ", &format!("flushmark run {suite} {target}{destroys}"));
    let mut text = format!("{}   ({why})\n", command.trim_end());
    if text.lines().any(|line| line.chars().count() > look.columns()) {
        text = format!("{command}{}", look.hanging("      ", why));
    }
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of these results with its judgement.
    fn judged(results: Vec<measurement::TestResult>) -> RunDocument {
        let document = samples::document(results);
        let case = judge::Case::new(&document.results, None, &document.host);
        let judge::Judgement { findings, fitness, .. } = judge::judge(&case);
        RunDocument { findings, fitness, ..document }
    }

    #[test]
    fn the_next_command_can_be_pasted() {
        let next = |given: &str, kind: TargetKind| {
            let mut document = judged(samples::check());
            document.target.given = given.to_owned();
            document.target.kind = kind;
            next_command(&document, &Look::plain())
        };
        insta::assert_snapshot!(next("/srv/my data", TargetKind::Directory), @"Next: flushmark run wal '/srv/my data'   (to find the cheapest sync method on this storage)");
        insta::assert_snapshot!(next("it's", TargetKind::File), @r"
        Next: flushmark run wal 'it'\''s' --destroy-data
              to find the cheapest sync method on this storage
        ");
        insta::assert_snapshot!(next("/dev/sdx", TargetKind::BlockDevice), @"Next: flushmark run wal /dev/sdx --destroy-data   (to find the cheapest sync method on this storage)");
        insta::assert_snapshot!(next("nbd://host", TargetKind::Nbd), @"
        Next: flushmark run wal nbd://host --destroy-data
              to find the cheapest sync method on this storage
        ");
        insta::assert_snapshot!(next("null:", TargetKind::Null), @"Next: flushmark run wal null:   (to find the cheapest sync method on this storage)");
    }

    #[test]
    fn a_brief_page_fits_a_screen_of_any_width() {
        let page = |columns| {
            let brief = Look { detail: Detail::Brief, columns, ..Look::plain() };
            check_page(&judged(samples::check()), &brief)
        };
        insta::assert_snapshot!(page(80), @"

        Cost of each operation (4 KiB, random, one at a time unless noted)
                                 per second      p50      p99    p99.9      max  flushes
          write                      66,667    15 µs  15.6 µs    24 µs    75 µs        -
          write + fsync                 487  2.06 ms  2.14 ms  3.29 ms  10.3 ms     1.00
          write + fdatasync             583  1.72 ms  1.78 ms  2.74 ms  8.58 ms     1.00
          write O_DSYNC                 647  1.55 ms  1.61 ms  2.47 ms  7.73 ms     0.00
          read                       66,667    15 µs  15.6 µs    24 µs    75 µs        -
          16 KiB write + fsync          481  2.08 ms  2.16 ms  3.33 ms  10.4 ms     1.00
          write + fdatasync, 4        1,768  1.72 ms  1.78 ms  2.74 ms  8.58 ms     1.00
          jobs
          write, depth 32         1,066,667    30 µs  31.2 µs    48 µs   150 µs        -

        Fit for
          Ceph OSD      poor       487 commits/s; protected drives make 10,000 and more
          ZFS SLOG      poor       99 % of commits take 1.78 ms or less
          database log  fair       One connection makes 583 commits/s, p99 1.78 ms
          general use   good       99 % of commits take 1.78 ms or less

        Similar published drives: SanDisk Ultra II 960 GB (factor 1.03), Samsung 950 PRO
                                  (factor 1.1), Samsung 850 PRO 512 GB (factor 1.15)

        Next: flushmark run wal /var/lib/db
              to find the cheapest sync method on this storage
        ");
        insta::assert_snapshot!(page(60), @"

        Cost of each operation (4 KiB, random, one at a time unless
        noted)
                               per second      p50      p99  flushes
          write                    66,667    15 µs  15.6 µs        -
          write + fsync               487  2.06 ms  2.14 ms     1.00
          write + fdatasync           583  1.72 ms  1.78 ms     1.00
          write O_DSYNC               647  1.55 ms  1.61 ms     0.00
          read                     66,667    15 µs  15.6 µs        -
          16 KiB write +              481  2.08 ms  2.16 ms     1.00
          fsync
          write + fdatasync,        1,768  1.72 ms  1.78 ms     1.00
          4 jobs
          write, depth 32       1,066,667    30 µs  31.2 µs        -

        Fit for
          Ceph OSD      poor       487 commits/s; protected drives
                                   make 10,000 and more
          ZFS SLOG      poor       99 % of commits take 1.78 ms or
                                   less
          database log  fair       One connection makes
                                   583 commits/s, p99 1.78 ms
          general use   good       99 % of commits take 1.78 ms or
                                   less

        Similar published drives: SanDisk Ultra II 960 GB (factor
                                  1.03), Samsung 950 PRO (factor
                                  1.1), Samsung 850 PRO 512 GB
                                  (factor 1.15)

        Next: flushmark run wal /var/lib/db
              to find the cheapest sync method on this storage
        ");
        for columns in [60, 72, 80, 100, 120] {
            assert!(page(columns).lines().all(|line| line.chars().count() <= columns));
            assert!(page(columns).lines().count() <= 32, "{columns}");
        }
    }

    #[test]
    fn an_ascii_page_is_ascii_throughout() {
        let mut results = samples::check();
        results[0].notes.push("every 5th write took 90 µs".to_owned());
        let ascii = Look { glyphs: crate::look::Glyphs::Ascii, ..Look::plain() };
        let page = check_page(&judged(results), &ascii);
        assert!(page.is_ascii(), "{page}");
    }

    #[test]
    fn the_whole_page() {
        insta::assert_snapshot!(check_page(&judged(samples::check()), &Look::plain()), @"

        Cost of each operation (4 KiB, random, one at a time unless noted)
                                     per second      p50      p99    p99.9      max  flushes
          write                          66,667    15 µs  15.6 µs    24 µs    75 µs        -
          write + fsync                     487  2.06 ms  2.14 ms  3.29 ms  10.3 ms     1.00
          write + fdatasync                 583  1.72 ms  1.78 ms  2.74 ms  8.58 ms     1.00
          write O_DSYNC                     647  1.55 ms  1.61 ms  2.47 ms  7.73 ms     0.00
          read                           66,667    15 µs  15.6 µs    24 µs    75 µs        -
          16 KiB write + fsync              481  2.08 ms  2.16 ms  3.33 ms  10.4 ms     1.00
          write + fdatasync, 4 jobs       1,768  1.72 ms  1.78 ms  2.74 ms  8.58 ms     1.00
          write, depth 32             1,066,667    30 µs  31.2 µs    48 µs   150 µs        -

        Latency distribution (logarithmic axis; the lowest block may be a single operation)
          write                         █▂   ▁         ▁
          write + fsync                                                               █▂   ▁         ▁
          write + fdatasync                                                         ▄█   ▁          ▁
          write O_DSYNC                                                            ▄█   ▁          ▁
          read                          █▂   ▁         ▁
          16 KiB write + fsync                                                        █▂   ▁         ▁
          write + fdatasync, 4 jobs                                                 ▄█   ▁          ▁
          write, depth 32                     ▄█   ▁          ▁
                                     ┴────────────────────┴─────────────────────┴─────┴────────┴─────┴──────
                                     10 µs                100 µs                1 ms  2 ms     5 ms  10 ms

        Fit for
          Ceph OSD      poor       487 commits/s (4 KiB write + fsync, the slower of two methods); protected
                                   drives make 10,000 and more, consumer drives 500 to 2,000.
          ZFS SLOG      poor       99 % of commits take 1.78 ms or less (4 KiB write + fdatasync); at 2 ms a
                                   log device gains nothing, good ones take less than 0.2 ms.
          database log  fair       One connection makes 583 commits/s (4 KiB write + fdatasync), p99
                                   1.78 ms, within etcd's limit of 10 ms.
          general use   good       99 % of commits take 1.78 ms or less (4 KiB write + fdatasync), 99 % of
                                   random reads take 15.6 µs or less (4 KiB read).

        Nearest published drives
          drive                    cache    compared                    here  published  apart
          SanDisk Ultra II 960 GB  unknown  4 KiB write + fdatasync  1.72 ms    1.67 ms   1.03
          Samsung 950 PRO          default  4 KiB write + fdatasync  1.72 ms    2.09 ms    1.1
                                            16 KiB write + fsync     2.08 ms    2.08 ms
          Samsung 850 PRO 512 GB   default  4 KiB write + fsync      2.06 ms    2.26 ms   1.15
                                            16 KiB write + fsync     2.08 ms    2.52 ms

        Next: flushmark run wal /var/lib/db   (to find the cheapest sync method on this storage)
        ");
    }
}
