//! `flushmark db bench`: the steps of the Insert Benchmark, as its author publishes them.

use measurement::{
    DriveCosts, InsertBenchmarkStep, OperationCosts, OperationKind, RunDocument, StatementFigures, TestResult,
};
use workload::number::{latency, number};

use crate::columns::{Cell, Column, Columns};
use crate::findings::findings;
use crate::look::Look;
use crate::notes::notes;

/// The page.
pub fn insert_benchmark_page(document: &RunDocument, look: &Look) -> String {
    let steps: Vec<Row<'_>> = document.results.iter().filter_map(Row::of).collect();
    if steps.is_empty() {
        return String::new();
    }
    let sections = [
        look.heading("Insert Benchmark: rates") + &rates(&steps, look) + &explained(&steps, look),
        look.heading("Latencies") + &latencies(&steps, look),
        costs(&steps, look),
        notes(&document.results, &document.skipped, look),
    ];
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    let mut page: String =
        sections.map(|section| format!("\n{}", look.finish(section))).collect();
    let found = findings(&document.findings, look);
    if !found.is_empty() {
        page += &format!("\n{found}");
    }
    if document.smoke {
        page += "\nA smoke run: it shows that everything works; its numbers are meaningless.\n";
    }
    page
}

/// A step.
struct Row<'a> {
    result: &'a TestResult,
    step: &'a InsertBenchmarkStep,
}

impl<'a> Row<'a> {
    fn of(result: &'a TestResult) -> Option<Row<'a>> {
        Some(Row { result, step: result.insert_benchmark.as_ref()? })
    }

    /// Rows inserted per second, or indexed.
    fn rows_per_s(&self) -> Option<f64> {
        let indexed = self.step.indexed_rows.filter(|_| self.result.elapsed_s > 0.0);
        indexed
            .map(|rows| rows as f64 / self.result.elapsed_s)
            .or(self.step.inserts.as_ref().map(|inserts| inserts.rows_per_s))
    }

    /// What the step does as fast as it can, with the rows of each statement that its rate counts.
    fn main(&self) -> Option<(&'a StatementFigures, f64)> {
        match &self.step.queries {
            Some(queries) => Some((queries, 1.0)),
            None => {
                let inserts = self.step.inserts.as_ref()?;
                Some((inserts, f64::from(self.step.rows_per_commit)))
            }
        }
    }

    /// The rate of rows or queries in the worst second.
    fn worst_second(&self) -> Option<f64> {
        let (figures, each) = self.main()?;
        Some(figures.worst_second()? as f64 * each)
    }
}

fn rates(steps: &[Row<'_>], look: &Look) -> String {
    Columns::<Row<'_>>::new()
        .with(Column::left("step"), |row| row.result.test.clone())
        .with(Column::right("time"), |row| latency(row.result.elapsed_s * 1e6))
        .with(Column::right("rows/s"), |row| row.rows_per_s().map(number))
        .with(Column::right("queries/s").optional(), |row| {
            row.step.queries.as_ref().map(|queries| number(queries.per_s))
        })
        .with(Column::right("worst second"), |row| row.worst_second().map(number))
        .with(Column::right("commits/s").may_drop(3), |row| row.result.commits_per_s.map(number))
        .with(Column::right("rate wanted").may_drop(2).optional(), |row| {
            row.step.background_rows_per_s.map(number)
        })
        .with(Column::right("SLA").optional(), |row| {
            let (share, is_met) = (row.step.background_share()?, row.step.background_is_met()?);
            let (word, style) =
                if is_met { ("met", look.palette.good) } else { ("FAILED", look.palette.bad) };
            let text = if is_met { word.to_owned() } else { format!("{word}, {}", percent(share)) };
            Some(Cell::styled(text, style))
        })
        .of(steps, look)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).floor())
}

/// What the rates mean.
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
    let (row, share) = shares.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share < 0.5)?;
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

/// The costs of each operation.
fn costs(steps: &[Row<'_>], look: &Look) -> String {
    let rows: Vec<(&str, &OperationCosts)> = steps
        .iter()
        .filter_map(|row| Some((row.result.test.as_str(), row.step.costs.as_ref()?)))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let drives = |figure: fn(&DriveCosts) -> f64| {
        move |(_, costs): &(&str, &OperationCosts)| {
            costs.drives.as_ref().map(|drives| small(figure(drives)))
        }
    };
    let table = Columns::<(&str, &OperationCosts)>::new()
        .with(Column::left("step"), |(step, _)| (*step).to_owned())
        .with(Column::left("for one"), |(_, costs)| costs.operation.label())
        .with(Column::right("writes").optional(), drives(|drives| drives.writes))
        .with(Column::right("KiB written").optional(), drives(|drives| drives.written_kib))
        .with(Column::right("reads").optional(), drives(|drives| drives.reads))
        .with(Column::right("KiB read").optional(), drives(|drives| drives.read_kib))
        .with(Column::right("syncs").optional(), |(_, costs)| {
            costs.syncs.as_ref().map(|syncs| small(syncs.syncs))
        })
        .with(Column::right("syncs/write").optional(), |(_, costs)| {
            costs.syncs.as_ref().and_then(|syncs| syncs.per_write).map(small)
        })
        .with(Column::right("CPU µs").optional(), |(_, costs)| costs.server_cpu_us.map(number))
        .of(&rows, look);
    let mut remarks: Vec<String> = Vec::new();
    if rows.iter().any(|(_, costs)| costs.operation == OperationKind::Query) {
        remarks.push(
            "A query also pays for the rows inserted and deleted meanwhile.".to_owned(),
        );
    }
    if let Some(syncs) = rows.iter().find_map(|(_, costs)| costs.syncs.as_ref()) {
        remarks.push(format!("Syncs are those that {} counts.", syncs.counter));
    }
    for (_, costs) in &rows {
        for unknown in &costs.unknown {
            let sentence = format!("Not shown: {unknown}.");
            if !remarks.contains(&sentence) {
                remarks.push(sentence);
            }
        }
    }
    let remarks: String = remarks.iter().map(|remark| look.hanging("  ", remark)).collect();
    look.heading("What one operation cost") + &table + &remarks
}

/// Three significant digits, also far below 1.
fn small(value: f64) -> String {
    if value == 0.0 || value >= 1.0 {
        return number(value);
    }
    let digits = (2 - value.log10().floor() as i32).clamp(2, 6) as usize;
    format!("{value:.digits$}")
}
