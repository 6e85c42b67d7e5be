//! The time of a sort by cause, as a sentence and as the columns of a table.

use measurement::{SortFigures, TestResult};

use workload::number::{about_bytes, number, seconds, throughput};

/// The time taken by the sort itself, by the kernel and by waiting for the drive, and which of them
/// limits; `None` for a test that is not a sort.
pub fn sort_sentence(result: &TestResult) -> Option<String> {
    let figures = result.sort?;
    let total_s = figures.total_s();
    if total_s <= 0.0 {
        return Some("it ended before any record was sorted.".to_owned());
    }
    let percent = |part_s: f64| format!("{} ({:.0} %)", seconds(part_s), part_s / total_s * 100.0);
    let whose = if figures.sorts > 1 {
        format!("of a total of {} in {} sorts", seconds(total_s), figures.sorts)
    } else {
        format!("of {}", seconds(total_s))
    };
    let medium = Medium::of(result);
    let mut parts = vec![format!("the sort itself took {}", percent(figures.own_s()))];
    match medium {
        Medium::Memory => parts.push(format!("copying its runs {}", percent(figures.kernel_s()))),
        Medium::PageCache | Medium::Drive => {
            parts.push(format!(
                "the kernel's work for writes and reads {}",
                percent(figures.kernel_s())
            ));
            parts.push(format!(
                "waiting for the drive {}: {} in writes and {} in reads",
                percent(figures.drive_s()),
                seconds(figures.write_wait_s()),
                seconds(figures.read_wait_s())
            ));
        }
    }
    // With a processor for each sort, there was no waiting.
    if figures.waiting_s >= total_s * 0.005 {
        parts.push(format!("waiting for a processor {}", percent(figures.waiting_s)));
    }
    Some(format!(
        "{whose}, {}; the rest made the records. {}",
        parts.join(", "),
        limit(&figures, medium)
    ))
}

/// The storage of a sort's runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Medium {
    Memory,
    PageCache,
    Drive,
}

impl Medium {
    fn of(result: &TestResult) -> Medium {
        match result.engine.as_str() {
            "null" => Medium::Memory,
            _ if result.workload.direct => Medium::Drive,
            _ => Medium::PageCache,
        }
    }
}

/// The limiting factor, and what a faster drive would save.
fn limit(figures: &SortFigures, medium: Medium) -> String {
    let (own_s, kernel_s, drive_s, waiting_s) =
        (figures.own_s(), figures.kernel_s(), figures.drive_s(), figures.waiting_s);
    let most_s = own_s.max(kernel_s).max(drive_s).max(waiting_s);
    let at_most = format!("even the fastest drive would save at most {}.", seconds(drive_s));
    let there_is_none = "there is no drive to wait for.";
    let others = if medium == Medium::Memory { there_is_none } else { &at_most };
    let said = if waiting_s >= most_s {
        format!(
            "Processors limit: one for each sort would save up to {}; {others}",
            seconds(waiting_s)
        )
    } else if drive_s >= most_s {
        format!("The drive limits: a faster one would save up to {}.", seconds(drive_s))
    } else if kernel_s >= most_s {
        format!("Copying by the processor limits: {others}")
    } else {
        format!("The sort limits: {others}")
    };
    match medium {
        Medium::PageCache => {
            format!(
                "{said} These figures do not include data that the kernel had not yet written at \
                 the end."
            )
        }
        Medium::Memory | Medium::Drive => said,
    }
}

/// A column of a table of sorts, used for terminal, Markdown and HTML.
#[derive(Debug, Clone, Copy)]
pub struct SortColumn {
    pub name: &'static str,
    /// Rank for dropping the column on a narrow terminal; highest first.
    pub(crate) leaves: Option<u8>,
    cell: fn(&SortFigures) -> Option<String>,
}

impl SortColumn {
    /// The cell of a sort; `None` if the figure does not apply.
    pub fn cell(&self, figures: &SortFigures) -> Option<String> {
        (self.cell)(figures)
    }
}

const fn column(
    name: &'static str,
    leaves: Option<u8>,
    cell: fn(&SortFigures) -> Option<String>,
) -> SortColumn {
    SortColumn { name, leaves, cell }
}

/// The columns of a table of sorts after the name: the work, the bytes written and read, and the
/// time by cause. Rates are those of each sort while it writes or reads; several sorts at once
/// reach more together, depending on how long they overlap.
pub const SORT_COLUMNS: [SortColumn; 18] = [
    column("records", Some(9), |figures| Some(number(figures.records as f64))),
    column("runs", None, |figures| Some(figures.runs.to_string())),
    column("written", None, |figures| Some(about_bytes(figures.written_bytes))),
    column("MiB/s each", Some(2), |figures| mib_per_s(figures.written_bytes, figures.writing_s)),
    column("read", Some(1), |figures| Some(about_bytes(figures.read_bytes))),
    column("MiB/s each", Some(3), |figures| mib_per_s(figures.read_bytes, figures.reading_s)),
    column("first row", Some(8), |figures| figures.first_row_s.map(seconds)),
    column("sorting", Some(13), |figures| Some(seconds(figures.sorting_s))),
    column("coding", Some(14), |figures| Some(seconds(figures.coding_s))),
    column("merging", Some(15), |figures| Some(seconds(figures.merging_s))),
    column("sort's own", None, |figures| Some(seconds(figures.own_s()))),
    column("kernel's", Some(6), |figures| Some(seconds(figures.kernel_s()))),
    column("write waits", Some(11), |figures| Some(seconds(figures.write_wait_s()))),
    column("read waits", Some(12), |figures| Some(seconds(figures.read_wait_s()))),
    column("drive's", None, |figures| Some(seconds(figures.drive_s()))),
    column("processor waits", Some(5), |figures| Some(seconds(figures.waiting_s))),
    column("making records", Some(10), |figures| Some(seconds(figures.input_s))),
    column("all", Some(7), |figures| Some(seconds(figures.total_s()))),
];

/// `None` if it took no time.
fn mib_per_s(bytes: u64, s: f64) -> Option<String> {
    (s > 0.0).then(|| throughput(bytes as f64 / s / f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limiting_factor_is_named() {
        let sorts = samples::sorts();
        let said = |index: usize| sort_sentence(&sorts[index]).unwrap();
        insta::assert_snapshot!(said(0), @"of 11.49 s, the sort itself took 3.53 s (31 %), the kernel's work for writes and reads 0.12 s (1 %), waiting for the drive 7.21 s (63 %): 4.33 s in writes and 2.88 s in reads; the rest made the records. The drive limits: a faster one would save up to 7.21 s.");
        insta::assert_snapshot!(said(1), @"of 5.63 s, the sort itself took 3.53 s (63 %), the kernel's work for writes and reads 0.12 s (2 %), waiting for the drive 1.35 s (24 %): 0.81 s in writes and 0.54 s in reads; the rest made the records. The sort limits: even the fastest drive would save at most 1.35 s.");
        insta::assert_snapshot!(said(2), @"of 5.21 s, the sort itself took 3.53 s (68 %), the kernel's work for writes and reads 0.77 s (15 %), waiting for the drive 0.28 s (5 %): 0.13 s in writes and 0.15 s in reads; the rest made the records. The sort limits: even the fastest drive would save at most 0.28 s. These figures do not include data that the kernel had not yet written at the end.");
        insta::assert_snapshot!(said(3), @"of a total of 32.74 s in 4 sorts, the sort itself took 3.86 s (12 %), the kernel's work for writes and reads 0.14 s (0 %), waiting for the drive 25.76 s (79 %): 15.12 s in writes and 10.64 s in reads, waiting for a processor 2.36 s (7 %); the rest made the records. The drive limits: a faster one would save up to 25.76 s.");
        let with = |change: fn(&mut SortFigures)| {
            let mut result = sorts[2].clone();
            change(result.sort.as_mut().unwrap());
            sort_sentence(&result).unwrap()
        };
        insta::assert_snapshot!(with(|figures| figures.waiting_s = 9.0), @"of 14.20 s, the sort itself took 3.53 s (25 %), the kernel's work for writes and reads 0.77 s (5 %), waiting for the drive 0.28 s (2 %): 0.13 s in writes and 0.15 s in reads, waiting for a processor 9.00 s (63 %); the rest made the records. Processors limit: one for each sort would save up to 9.00 s; even the fastest drive would save at most 0.28 s. These figures do not include data that the kernel had not yet written at the end.");
        insta::assert_snapshot!(with(|figures| (figures.writing_s, figures.writing_cpu_s) = (9.0, 8.9)), @"of 13.60 s, the sort itself took 3.53 s (26 %), the kernel's work for writes and reads 9.19 s (68 %), waiting for the drive 0.25 s (2 %): 0.10 s in writes and 0.15 s in reads; the rest made the records. Copying by the processor limits: even the fastest drive would save at most 0.25 s. These figures do not include data that the kernel had not yet written at the end.");
        insta::assert_snapshot!(with(|figures| *figures = SortFigures::default()), @"it ended before any record was sorted.");
        assert_eq!(sort_sentence(&samples::check()[0]), None);
    }

    #[test]
    fn a_sort_in_memory_does_not_wait_for_a_drive() {
        let mut result = samples::sorts()[0].clone();
        result.engine = "null".to_owned();
        let figures = result.sort.as_mut().unwrap();
        (figures.writing_s, figures.reading_s) = (figures.writing_cpu_s, figures.reading_cpu_s);
        insta::assert_snapshot!(sort_sentence(&result).unwrap(), @"of 4.28 s, the sort itself took 3.53 s (82 %), copying its runs 0.12 s (3 %); the rest made the records. The sort limits: there is no drive to wait for.");
        result.sort.as_mut().unwrap().waiting_s = 12.5;
        insta::assert_snapshot!(sort_sentence(&result).unwrap(), @"of 16.77 s, the sort itself took 3.53 s (21 %), copying its runs 0.12 s (1 %), waiting for a processor 12.50 s (75 %); the rest made the records. Processors limit: one for each sort would save up to 12.50 s; there is no drive to wait for.");
    }
}
