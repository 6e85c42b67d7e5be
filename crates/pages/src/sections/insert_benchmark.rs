//! The steps of the Insert Benchmark: their rates, and what an operation cost.

use measurement::{InsertBenchmarkStep, StatementFigures, TestResult};
use report::{STEP_COSTS, STEP_RATES};
use workload::number::latency;

use crate::table::{Table, or_dash};

/// Statements, by the name of their column.
type Statements = (&'static str, fn(&InsertBenchmarkStep) -> Option<&StatementFigures>);

const STATEMENTS: [Statements; 3] = [
    ("insert p99", |step| step.inserts.as_ref()),
    ("delete p99", |step| step.deletes.as_ref()),
    ("query p99", |step| step.queries.as_ref()),
];

/// A row for each step; `None` if there are none.
pub(super) fn table(names: &[String], results: &[TestResult]) -> Option<Table> {
    let steps = names.iter().zip(results);
    let steps: Vec<_> = steps
        .filter_map(|(name, result)| Some((name, result, result.insert_benchmark.as_deref()?)))
        .collect();
    let mut table = Table::new(["step"]);
    table.columns.extend(STEP_RATES.map(|column| column.name.to_owned()));
    table.columns.extend(STATEMENTS.map(|(name, _)| name.to_owned()));
    table.columns.extend(STEP_COSTS.map(|column| column.name.to_owned()));
    "The last columns are what one operation cost the server and its drives; a query also pays for \
     the rows inserted and deleted meanwhile."
        .clone_into(&mut table.note);
    for (name, result, step) in &steps {
        let dashed = |cell: Option<String>| or_dash(cell, |text| text);
        let p99 = |figures: &StatementFigures| latency(figures.us.p99);
        let rates = STEP_RATES.map(|column| dashed(column.cell(result)));
        let statements = STATEMENTS.map(|(_, figures)| or_dash(figures(step), p99));
        let costs = STEP_COSTS.map(|column| dashed(column.cell(result)));
        let cells = rates.into_iter().chain(statements).chain(costs);
        table.rows.push(std::iter::once((*name).clone()).chain(cells).collect());
    }
    (!steps.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_a_row() {
        let results = samples::insert_benchmark();
        let names: Vec<String> = results.iter().map(|result| result.test.clone()).collect();
        let table = table(&names, &results).unwrap();
        assert_eq!(table.rows.len(), results.len());
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        insta::assert_snapshot!(table.rows.iter().map(|row| row.join(" | ")).collect::<Vec<_>>().join("\n"), @"
        l.i0 | 3 s | 49,100 | – | 48,100 | 491 | – | – | 1.5 ms | – | – | inserted row | 0.0200 | 0.400 | 0.00100 | 0.0160 | 0.0105 | 1 | 12.5
        l.x | 2.5 s | 58,920 | – | – | – | – | – | – | – | – | indexed row | 0.0100 | 0.200 | 0.000500 | 0.00800 | 0.0105 | 1 | 6.25
        l.i1 | 3 s | 10,217 | – | 1,050 | 409 | – | – | 3 ms | 2 ms | – | inserted row | 0.180 | 3.6 | 0.00900 | 0.144 | 0.0105 | 1 | 112
        qr100 | 3 s | 100 | 7,001 | 6,901 | 4 | 100 | met | 12 ms | 8 ms | 120 µs | query | 0.0600 | 1.2 | 0.00300 | 0.0480 | 0.0105 | 1 | 37.5
        qp1000 | 3 s | 550 | 7,001 | 6,901 | 22 | 1,000 | FAILED, 55 % | 12 ms | 8 ms | 120 µs | query | 0.0600 | 1.2 | 0.00300 | 0.0480 | 0.0105 | 1 | 37.5
        ");
        assert_eq!(super::table(&[], &[]), None);
    }
}
