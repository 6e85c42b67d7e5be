//! `flushmark db bench`: the steps of the Insert Benchmark, as its author publishes them.

use measurement::{
    DriveCosts, InsertBenchmarkStep, OperationCosts, OperationKind, RunDocument, ServerActivity,
    StatementFigures, TestResult,
};
use workload::number::{latency, number};

use crate::columns::{Cell, Column, Columns};
use crate::findings::findings;
use crate::look::Look;
use crate::notes::notes;
use crate::tables::{max, p50, p99, per_second};

/// The page.
pub fn insert_benchmark_page(document: &RunDocument, look: &Look) -> String {
    let steps: Vec<Row<'_>> = document.results.iter().filter_map(Row::of).collect();
    if steps.is_empty() {
        return String::new();
    }
    let sections = [
        look.heading("Insert Benchmark: rates")
            + &table(&steps, &STEP_RATES, look)
            + &explained(&steps, look),
        look.heading("Latencies") + &latencies(&steps, look),
        costs(&steps, look),
        storage_alone(&document.results, look),
        notes(&document.results, &document.skipped, look),
    ];
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    let mut page: String = sections.map(|section| format!("\n{}", look.finish(section))).collect();
    let found = findings(&document.findings, look);
    if !found.is_empty() {
        page += &format!("\n{found}");
    }
    if document.smoke {
        page += "\nA smoke run: it shows that everything works; its numbers are meaningless.\n";
    }
    page
}

/// Commits of the storage under the server's log; empty if they were not measured.
fn storage_alone(results: &[TestResult], look: &Look) -> String {
    let alone: Vec<&TestResult> =
        results.iter().filter(|result| result.workload.pattern.is_some()).collect();
    if alone.is_empty() {
        return String::new();
    }
    let table = Columns::<&TestResult>::new()
        .with(Column::left("test"), |result| result.test.clone())
        .with(Column::right("commits/s"), |result| number(per_second(result)))
        .with(Column::right("p50"), |result| p50(result))
        .with(Column::right("p99"), |result| p99(result))
        .with(Column::right("max").may_drop(1), |result| max(result))
        .of(&alone, look);
    look.heading("Commits of the storage alone") + &table
}

/// A completed step in a few words; `None` for any other test.
pub(crate) fn step_words(result: &TestResult) -> Option<String> {
    let row = Row::of(result)?;
    let rate = match (&row.step.queries, row.rows_per_s()) {
        (Some(queries), _) => format!("{} queries/s", number(queries.per_s)),
        (None, Some(rows)) => format!("{} rows/s", number(rows)),
        (None, None) => return Some("nothing was done".to_owned()),
    };
    let latencies = row.main().map(|(figures, _)| {
        format!(", p50 {}, p99 {}", latency(figures.us.p50), latency(figures.us.p99))
    });
    let sla = row.step.background_share().zip(row.step.background_is_met());
    let sla = sla.map(|(share, is_met)| {
        if is_met {
            ", SLA met".to_owned()
        } else {
            format!(", SLA failed: {} of the rows", percent(share))
        }
    });
    Some(rate + &latencies.unwrap_or_default() + &sla.unwrap_or_default())
}

/// A step.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    result: &'a TestResult,
    step: &'a InsertBenchmarkStep,
}

impl<'a> Row<'a> {
    fn of(result: &'a TestResult) -> Option<Row<'a>> {
        Some(Row { result, step: result.insert_benchmark.as_deref()? })
    }

    /// Rows inserted per second, or indexed.
    fn rows_per_s(&self) -> Option<f64> {
        let indexed = self.step.indexed_rows.filter(|_| self.result.elapsed_s > 0.0);
        indexed.map(|rows| rows as f64 / self.result.elapsed_s).or(self
            .step
            .inserts
            .as_ref()
            .map(|inserts| inserts.rows_per_s))
    }

    /// The statements that the step executes as fast as it can, with the rows of each that its rate
    /// counts.
    fn main(&self) -> Option<(&'a StatementFigures, f64)> {
        if let Some(queries) = &self.step.queries {
            return Some((queries, 1.0));
        }
        let inserts = self.step.inserts.as_ref()?;
        Some((inserts, f64::from(self.step.rows_per_commit)))
    }

    fn drives(&self, figure: fn(&DriveCosts) -> f64) -> Option<String> {
        Some(small(figure(self.step.costs.as_ref()?.drives.as_ref()?)))
    }

    /// Syncs of one operation, by the server's own counters.
    fn syncs(&self) -> Option<f64> {
        let operations = self.step.costs.as_ref()?.operations;
        let syncs = self.result.server.as_ref()?.syncs_in_total()?;
        (operations > 0).then(|| syncs / operations as f64)
    }

    /// The rate of rows or queries in the worst second.
    fn worst_second(&self) -> Option<f64> {
        let (figures, each) = self.main()?;
        Some(figures.worst_second()? as f64 * each)
    }
}

/// A column of a table with a row for each step, used for terminal and HTML.
#[derive(Debug, Clone, Copy)]
pub struct StepColumn {
    pub name: &'static str,
    /// Rank for dropping the column on a narrow terminal; highest first.
    leaves: Option<u8>,
    cell: fn(&Row<'_>) -> Option<String>,
}

impl StepColumn {
    const fn new(name: &'static str, cell: fn(&Row<'_>) -> Option<String>) -> StepColumn {
        StepColumn { name, leaves: None, cell }
    }

    const fn may_drop(self, rank: u8) -> StepColumn {
        StepColumn { leaves: Some(rank), ..self }
    }

    /// The cell of a step; `None` if the figure does not apply, or the test is not such a step.
    pub fn cell(&self, result: &TestResult) -> Option<String> {
        (self.cell)(&Row::of(result)?)
    }
}

/// The columns of the steps' rates.
pub const STEP_RATES: [StepColumn; 7] = [
    StepColumn::new("time", |row| Some(latency(row.result.elapsed_s * 1e6))),
    StepColumn::new("rows/s", |row| row.rows_per_s().map(number)),
    StepColumn::new("queries/s", |row| Some(number(row.step.queries.as_ref()?.per_s))),
    StepColumn::new("worst second", |row| row.worst_second().map(number)),
    StepColumn::new("commits/s", |row| row.result.commits_per_s.map(number)).may_drop(3),
    StepColumn::new("rate wanted", |row| row.step.background_rows_per_s.map(number)).may_drop(2),
    StepColumn::new("SLA", |row| {
        let share = row.step.background_share()?;
        let is_met = row.step.background_is_met()?;
        Some(if is_met { "met".to_owned() } else { format!("FAILED, {}", percent(share)) })
    }),
];

/// The columns of the costs of one operation in each step.
pub const STEP_COSTS: [StepColumn; 8] = [
    StepColumn::new("for one", |row| Some(row.step.costs.as_ref()?.operation.label().to_owned())),
    StepColumn::new("writes", |row| row.drives(|drives| drives.writes)),
    StepColumn::new("KiB written", |row| row.drives(|drives| drives.written_kib)),
    StepColumn::new("reads", |row| row.drives(|drives| drives.reads)),
    StepColumn::new("KiB read", |row| row.drives(|drives| drives.read_kib)),
    StepColumn::new("syncs", |row| row.syncs().map(small)),
    StepColumn::new("syncs/write", |row| row.result.server.as_ref()?.syncs_per_write().map(small)),
    StepColumn::new("CPU µs", |row| row.step.costs.as_ref()?.server_cpu_us.map(number)),
];

/// The table of these columns.
fn table(steps: &[Row<'_>], columns: &[StepColumn], look: &Look) -> String {
    let mut table =
        Columns::<Row<'_>>::new().with(Column::left("step"), |row| row.result.test.clone());
    for &StepColumn { name, leaves, cell } in columns {
        let column = Column::right(name).optional();
        let column = leaves.into_iter().fold(column, Column::may_drop);
        let bad = look.palette.bad;
        table = table.with(column, move |row| {
            let text = cell(row)?;
            Some(if text.starts_with("FAILED") { Cell::styled(text, bad) } else { text.into() })
        });
    }
    table.of(steps, look)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).floor())
}

/// Sentences that explain the rates.
fn explained(steps: &[Row<'_>], look: &Look) -> String {
    let mut sentences = Vec::new();
    let failed: Vec<&Row<'_>> =
        steps.iter().filter(|row| row.step.background_is_met() == Some(false)).collect();
    for row in failed {
        let (Some(wanted), Some(share)) =
            (row.step.background_rows_per_s, row.step.background_share())
        else {
            continue;
        };
        sentences.push(format!(
            "{}: the server did not keep up with {} rows/s of inserts and deletes, but made {}. \
             Its queries/s are not comparable with those of a server that did.",
            row.result.test,
            number(wanted),
            number(wanted * share)
        ));
    }
    if let Some(worst) = stalled(steps) {
        sentences.push(worst);
    }
    sentences.iter().map(|sentence| look.hanging("  ", sentence)).collect()
}

/// A sentence on the step whose worst second is the lowest share of its mean, if that is below a
/// half.
fn stalled(steps: &[Row<'_>]) -> Option<String> {
    let share = |row: &Row<'_>| {
        let (figures, each) = row.main()?;
        let mean = figures.per_s * each;
        row.worst_second().filter(|_| mean > 0.0).map(|worst| worst / mean)
    };
    let shares = steps.iter().filter_map(|row| Some((row, share(row)?)));
    let (row, share) =
        shares.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share < 0.5)?;
    Some(format!(
        "{}: in its worst second, the rate was {} of its mean. Write-back, checkpoints and the \
         removal of deleted rows cause such stalls.",
        row.result.test,
        percent(share)
    ))
}

fn latencies(steps: &[Row<'_>], look: &Look) -> String {
    let mut rows: Vec<(&str, &str, &StatementFigures)> = Vec::new();
    for Row { result, step } in steps {
        let kinds =
            [("insert", &step.inserts), ("delete", &step.deletes), ("query", &step.queries)];
        let made = kinds.into_iter().filter_map(|(kind, figures)| Some((kind, figures.as_ref()?)));
        rows.extend(made.map(|(kind, figures)| (result.test.as_str(), kind, figures)));
    }
    Columns::<(&str, &str, &StatementFigures)>::new()
        .with(Column::left("step"), |(step, _, _)| (*step).to_owned())
        .with(Column::left("statement"), |(_, kind, _)| (*kind).to_owned())
        .with(Column::right("rows each").may_drop(2), |(_, _, figures)| {
            number(figures.rows as f64 / figures.histogram.count() as f64)
        })
        .with(Column::right("p50"), |(_, _, figures)| latency(figures.us.p50))
        .with(Column::right("p99"), |(_, _, figures)| latency(figures.us.p99))
        .with(Column::right("p99.9").may_drop(3), |(_, _, figures)| latency(figures.us.p99_9))
        .with(Column::right("max"), |(_, _, figures)| latency(figures.us.max))
        .of(&rows, look)
}

/// The kinds of files whose syncs the server counts; `None` if there are none.
fn counted(server: &ServerActivity) -> Option<String> {
    let kinds = server.files.iter().filter(|file| file.syncs.is_some());
    let kinds: Vec<&str> = kinds.map(|file| file.file.label()).collect();
    let (last, others) = kinds.split_last()?;
    Some(match others {
        [] => (*last).to_owned(),
        others => format!("{} and {last}", others.join(", ")),
    })
}

/// The costs of each operation.
fn costs(steps: &[Row<'_>], look: &Look) -> String {
    let costs: Vec<&OperationCosts> =
        steps.iter().filter_map(|row| row.step.costs.as_ref()).collect();
    if costs.is_empty() {
        return String::new();
    }
    let mut remarks: Vec<String> = Vec::new();
    if costs.iter().any(|costs| costs.operation == OperationKind::Query) {
        remarks.push("A query also pays for the rows inserted and deleted meanwhile.".to_owned());
    }
    let servers = || steps.iter().filter_map(|row| row.result.server.as_ref());
    let counted = servers().find_map(counted);
    let uncounted: Vec<&String> = match &counted {
        Some(kinds) => {
            remarks.push(format!("Syncs by the server's own count: {kinds}."));
            Vec::new()
        }
        None => servers().flat_map(|server| &server.unknown).collect(),
    };
    for unknown in costs.iter().flat_map(|costs| &costs.unknown).chain(uncounted) {
        let sentence = format!("Not shown: {unknown}.");
        if !remarks.contains(&sentence) {
            remarks.push(sentence);
        }
    }
    let remarks: String = remarks.iter().map(|remark| look.hanging("  ", remark)).collect();
    look.heading("What one operation cost") + &table(steps, &STEP_COSTS, look) + &remarks
}

/// Three significant digits, also far below 1.
fn small(value: f64) -> String {
    if value == 0.0 || value >= 1.0 {
        return number(value);
    }
    let digits = (2 - value.log10().floor() as i32).clamp(2, 9) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use measurement::Skipped;

    use super::*;

    #[test]
    fn the_page() {
        let mut results = samples::insert_benchmark();
        let costs = results[4].insert_benchmark.as_mut().and_then(|step| step.costs.as_mut());
        let costs = costs.unwrap();
        (costs.drives, costs.server_cpu_us) = (None, None);
        costs.unknown.push("the requests to its drives are unknown: it is a tmpfs".to_owned());
        let because = "the server accepts no more connections".to_owned();
        let skipped = vec![Skipped { test: "qr2000".to_owned(), because }];
        let document = RunDocument { skipped, ..samples::document(results) };
        insta::assert_snapshot!(insert_benchmark_page(&document, &Look::plain()), @"
        Insert Benchmark: rates
          step     time  rows/s  queries/s  worst second  commits/s  rate wanted           SLA
          l.i0      3 s  49,100          -        48,100        491            -             -
          l.x     2.5 s  58,920          -             -          -            -             -
          l.i1      3 s  10,217          -         1,050        409            -             -
          qr100     3 s     100      7,001         6,901          4          100           met
          qp1000    3 s     550      7,001         6,901         22        1,000  FAILED, 55 %
          qp1000: the server did not keep up with 1,000 rows/s of inserts and deletes, but made 550. Its
          queries/s are not comparable with those of a server that did.
          l.i1: in its worst second, the rate was 10 % of its mean. Write-back, checkpoints and the removal
          of deleted rows cause such stalls.

        Latencies
          step    statement  rows each     p50     p99   p99.9     max
          l.i0    insert           100  1.5 ms  1.5 ms    6 ms    6 ms
          l.i1    insert            50    3 ms    3 ms   12 ms   12 ms
          l.i1    delete            50    2 ms    2 ms    8 ms    8 ms
          qr100   insert            50    3 ms   12 ms   12 ms   12 ms
          qr100   delete            50    2 ms    8 ms    8 ms    8 ms
          qr100   query             10  120 µs  120 µs  120 µs  480 µs
          qp1000  insert            50    3 ms   12 ms   12 ms   12 ms
          qp1000  delete            50    2 ms    8 ms    8 ms    8 ms
          qp1000  query             10  120 µs  120 µs  120 µs  480 µs

        What one operation cost
          step         for one  writes  KiB written     reads  KiB read   syncs  syncs/write  CPU µs
          l.i0    inserted row  0.0200        0.400   0.00100    0.0160  0.0105            1    12.5
          l.x      indexed row  0.0100        0.200  0.000500   0.00800  0.0105            1    6.25
          l.i1    inserted row   0.180          3.6   0.00900     0.144  0.0105            1     112
          qr100          query  0.0600          1.2   0.00300    0.0480  0.0105            1    37.5
          qp1000         query       -            -         -         -  0.0105            1       -
          A query also pays for the rows inserted and deleted meanwhile.
          Syncs by the server's own count: log.
          Not shown: the requests to its drives are unknown: it is a tmpfs.

          qr2000: skipped, the server accepts no more connections
        ");
    }

    #[test]
    fn a_smoke_run_says_so_and_an_empty_one_nothing() {
        let mut document = samples::document(samples::insert_benchmark());
        document.smoke = true;
        let page = insert_benchmark_page(&document, &Look::plain());
        assert!(page.ends_with("its numbers are meaningless.\n"), "{page}");
        assert_eq!(insert_benchmark_page(&samples::document(Vec::new()), &Look::plain()), "");
    }

    #[test]
    fn steps_in_a_few_words() {
        let words: Vec<String> =
            samples::insert_benchmark().iter().filter_map(step_words).collect();
        insta::assert_snapshot!(words.join("\n"), @"
        49,100 rows/s, p50 1.5 ms, p99 1.5 ms
        58,920 rows/s
        10,217 rows/s, p50 3 ms, p99 3 ms
        7,001 queries/s, p50 120 µs, p99 120 µs, SLA met
        7,001 queries/s, p50 120 µs, p99 120 µs, SLA failed: 55 % of the rows
        ");
        assert_eq!(step_words(&samples::check()[0]), None);
    }

    #[test]
    fn digits_of_small_numbers() {
        let written = [0.0, 0.00729, 0.0105, 0.25, 0.0000004, 3.25].map(small).join(" ");
        insta::assert_snapshot!(written, @"0 0.00729 0.0105 0.250 0.000000400 3.25");
    }
}
