//! What a sort spilled, and how long it and the drive took.

use measurement::TestResult;

use crate::columns::{Cell, Column, Columns};
use crate::look::Look;
use crate::number::{about_bytes, grouped, seconds, throughput};
use crate::prose::hanging;
use crate::sorting::sort_sentence;

/// Records, runs, what went to the drive and came back, the time of each part; below it, which of the two limits.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let mut table = Columns::new([
        Column::prose("sort"),
        Column::right("records").may_leave(3),
        Column::right("runs"),
        Column::right("written"),
        Column::right("MiB/s").may_leave(2),
        Column::right("read"),
        Column::right("MiB/s").may_leave(1),
        Column::right("first row").may_leave(4),
        Column::right("sort's own"),
        Column::right("drive's"),
        Column::right("of all"),
    ]);
    for result in results {
        let figures = result.sort;
        let rate = |bytes: u64, s: f64| throughput(if s > 0.0 { bytes as f64 / s / f64::from(1 << 20) } else { 0.0 });
        table.row([
            Cell::from(result.test.clone()),
            Cell::maybe(figures, |figures| grouped(figures.records as f64)),
            Cell::maybe(figures, |figures| figures.runs.to_string()),
            Cell::maybe(figures, |figures| about_bytes(figures.written_bytes)),
            Cell::maybe(figures, |figures| rate(figures.written_bytes, figures.writing_s)),
            Cell::maybe(figures, |figures| about_bytes(figures.read_bytes)),
            Cell::maybe(figures, |figures| rate(figures.read_bytes, figures.reading_s)),
            Cell::maybe(figures.and_then(|figures| figures.first_row_s), seconds),
            Cell::maybe(figures, |figures| seconds(figures.own_s())),
            Cell::maybe(figures, |figures| seconds(figures.drive_s())),
            Cell::maybe(figures.filter(|figures| figures.total_s() > 0.0), |figures| {
                format!("{:.0} %", figures.drive_s() / figures.total_s() * 100.0)
            }),
        ]);
    }
    table.render(look) + &sentences(results, look)
}

/// Each sort in a sentence, below whatever table.
pub(super) fn sentences(results: &[TestResult], look: &Look) -> String {
    let sorts = results.iter().filter_map(|result| Some((result, result.sort?)));
    sorts
        .map(|(result, figures)| {
            hanging("  ", 2, &format!("{}: {}", result.test, sort_sentence(&figures)), look.columns())
        })
        .collect()
}

#[cfg(test)]
mod golden {
    use super::*;
    use crate::samples;

    #[test]
    fn sorts_that_the_drive_and_the_sort_limit() {
        insta::assert_snapshot!(table(&samples::sorts(), &Look::plain()), @"
        sort                    records  runs  written  MiB/s     read  MiB/s  sort's own  drive's  of all
        urls                  9,300,000    22  880 MiB    200  880 MiB    300      3.53 s   7.33 s    64 %
        composite keys        9,300,000    22  880 MiB  1,000  880 MiB  1,502      3.53 s   1.47 s    26 %
        urls, through the     9,300,000    22  880 MiB    200  880 MiB    300      3.53 s   7.33 s    64 %
        page cache
        urls, 4 sorts at      9,300,000    88  880 MiB    200  880 MiB    300      3.53 s   7.33 s    64 %
        once
        urls: of 11.48 s, the sort itself took 3.53 s (31 %), the drive 7.33 s (64 %): 4.40 s of writes
        and 2.93 s of reads; the rest made the records. The drive limits: a faster one would save up to
        7.33 s.
        composite keys: of 5.62 s, the sort itself took 3.53 s (63 %), the drive 1.47 s (26 %): 0.88 s of
        writes and 0.59 s of reads; the rest made the records. The sort limits: even the fastest drive
        would save no more than 1.47 s.
        urls, through the page cache: of 11.48 s, the sort itself took 3.53 s (31 %), the drive 7.33 s (64
        %): 4.40 s of writes and 2.93 s of reads; the rest made the records. The drive limits: a faster
        one would save up to 7.33 s.
        urls, 4 sorts at once: of 11.48 s of 4 sorts added up, the sort itself took 3.53 s (31 %), the
        drive 7.33 s (64 %): 4.40 s of writes and 2.93 s of reads; the rest made the records. The drive
        limits: a faster one would save up to 7.33 s.
        ");
    }

    #[test]
    fn below_the_usual_table() {
        let results = &samples::sorts()[..1];
        insta::assert_snapshot!(super::super::tests::table(results, &Look::plain()) + &sentences(results, &Look::plain()), @"
        test  engine  per second  MiB/s     p50     p99   p99.9      max
        urls  psync        2,051    513  488 µs  507 µs  780 µs  2.44 ms
        urls: of 11.48 s, the sort itself took 3.53 s (31 %), the drive 7.33 s (64 %): 4.40 s of writes
        and 2.93 s of reads; the rest made the records. The drive limits: a faster one would save up to
        7.33 s.
        ");
    }
}
