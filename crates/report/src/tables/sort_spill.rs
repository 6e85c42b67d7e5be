//! The table of sorts: bytes spilled, and the time of the sort, the kernel and the drive.

use measurement::TestResult;

use crate::columns::{Column, Columns};
use crate::look::Look;
use crate::sorting::{SORT_COLUMNS, sort_sentence};

/// Records, runs, bytes written and read, the time of each part; below, the limiting factor.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let mut table =
        Columns::<TestResult>::new().with(Column::prose("sort"), |result| result.test.clone());
    for figure in &SORT_COLUMNS {
        let column = Column::right(figure.name);
        let column = figure.leaves.map_or(column.clone(), |rank| column.may_drop(rank));
        table = table.with(column, |result| result.sort.and_then(|figures| figure.cell(&figures)));
    }
    table.of(results, look) + &sentences(results, look)
}

/// The sorts among the tests of any plan; empty if there are none.
pub(super) fn of_sorts(results: &[TestResult], look: &Look) -> String {
    let sorts: Vec<TestResult> =
        results.iter().filter(|result| result.sort.is_some()).cloned().collect();
    if sorts.is_empty() { String::new() } else { format!("\n{}", table(&sorts, look)) }
}

/// The sentence of each sort.
fn sentences(results: &[TestResult], look: &Look) -> String {
    let sorts = results.iter().filter_map(|result| Some((result, sort_sentence(result)?)));
    sorts.map(|(result, said)| look.hanging("  ", &format!("{}: {said}", result.test))).collect()
}

#[cfg(test)]
mod golden {
    use super::*;

    #[test]
    fn sorts_that_the_drive_and_the_sort_limit() {
        insta::assert_snapshot!(table(&samples::sorts(), &Look::plain()), @"
        sort                          runs  written  MiB/s each     read  MiB/s each  sort's own  drive's
        urls                            22  880 MiB         200  880 MiB         300      3.53 s   7.21 s
        composite keys                  22  880 MiB       1,000  880 MiB       1,492      3.53 s   1.35 s
        urls, through the page cache    22  880 MiB       1,443  880 MiB       2,000      3.53 s   0.28 s
        urls, 4 sorts at once           92  884 MiB        58.2  884 MiB        82.6      3.86 s  25.76 s
        urls: of 11.49 s, the sort itself took 3.53 s (31 %), the kernel's work for writes and reads
        0.12 s (1 %), waiting for the drive 7.21 s (63 %): 4.33 s in writes and 2.88 s in reads; the rest
        made the records. The drive limits: a faster one would save up to 7.21 s.
        composite keys: of 5.63 s, the sort itself took 3.53 s (63 %), the kernel's work for writes and
        reads 0.12 s (2 %), waiting for the drive 1.35 s (24 %): 0.81 s in writes and 0.54 s in reads; the
        rest made the records. The sort limits: even the fastest drive would save at most 1.35 s.
        urls, through the page cache: of 5.21 s, the sort itself took 3.53 s (68 %), the kernel's work for
        writes and reads 0.77 s (15 %), waiting for the drive 0.28 s (5 %): 0.13 s in writes and 0.15 s in
        reads; the rest made the records. The sort limits: even the fastest drive would save at most
        0.28 s. These figures do not include data that the kernel had not yet written at the end.
        urls, 4 sorts at once: of a total of 32.74 s in 4 sorts, the sort itself took 3.86 s (12 %), the
        kernel's work for writes and reads 0.14 s (0 %), waiting for the drive 25.76 s (79 %): 15.12 s in
        writes and 10.64 s in reads, waiting for a processor 2.36 s (7 %); the rest made the records. The
        drive limits: a faster one would save up to 25.76 s.
        ");
    }

    #[test]
    fn a_wide_terminal_has_every_column() {
        insta::assert_snapshot!(table(&samples::sorts()[3..], &Look { columns: 250, ..Look::plain() }), @"
        sort                     records  runs  written  MiB/s each     read  MiB/s each  first row  sorting  coding  merging  sort's own  kernel's  write waits  read waits  drive's  processor waits  making records      all
        urls, 4 sorts at once  9,300,000    92  884 MiB        58.2  884 MiB        82.6     5.40 s   1.42 s  0.81 s   1.63 s      3.86 s    0.14 s      15.12 s     10.64 s  25.76 s           2.36 s          0.62 s  32.74 s
        urls, 4 sorts at once: of a total of 32.74 s in 4 sorts, the sort itself took 3.86 s (12 %), the kernel's work for writes and reads 0.14 s (0 %), waiting for the drive 25.76 s (79 %): 15.12 s in writes and 10.64 s in reads, waiting for a processor
        2.36 s (7 %); the rest made the records. The drive limits: a faster one would save up to 25.76 s.
        ");
    }

    #[test]
    fn below_the_usual_table() {
        let results = [samples::sorts().remove(0), samples::check().remove(0)];
        insta::assert_snapshot!(super::super::tests::table(&results, &Look::plain()) + &of_sorts(&results, &Look::plain()), @"
        test   engine  per second  MiB/s     p50      p99   p99.9      max
        urls   psync        2,051    513  488 µs   507 µs  780 µs  2.44 ms
        write  psync       66,667    260   15 µs  15.6 µs   24 µs    75 µs

        sort  runs  written  MiB/s each     read  MiB/s each  sort's own  drive's  processor waits
        urls    22  880 MiB         200  880 MiB         300      3.53 s   7.21 s           0.01 s
        urls: of 11.49 s, the sort itself took 3.53 s (31 %), the kernel's work for writes and reads
        0.12 s (1 %), waiting for the drive 7.21 s (63 %): 4.33 s in writes and 2.88 s in reads; the rest
        made the records. The drive limits: a faster one would save up to 7.21 s.
        ");
        assert_eq!(of_sorts(&results[1..], &Look::plain()), "");
    }
}
