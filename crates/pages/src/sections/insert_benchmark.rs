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
        .filter_map(|(name, result)| Some((name, result, result.insert_benchmark.as_ref()?)))
        .collect();
    let mut table = Table::new(["step"]);
    table.columns.extend(STEP_RATES.map(|column| column.name.to_owned()));
    table.columns.extend(STATEMENTS.map(|(name, _)| name.to_owned()));
    table.columns.extend(STEP_COSTS.map(|column| column.name.to_owned()));
    table.note = "The last columns are what one operation cost the server and its drives; a query \
                  also pays for the rows inserted and deleted meanwhile."
        .to_owned();
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
        insta::assert_snapshot!(table.rows.iter().map(|row| row.join(" | ")).collect::<Vec<_>>().join("\n"), @"");
        assert_eq!(super::table(&[], &[]), None);
    }
}
