//! The time of each sort, part by part.

use measurement::{SortFigures, TestResult};
use workload::number::seconds;

use super::figure::Figure;
use super::{Chart, Line, Stacks, Unit};
use crate::table::{Table, or_dash};

/// The sorts of a run with their names.
fn sorts<'a>(names: &'a [String], results: &[TestResult]) -> Vec<(&'a String, SortFigures)> {
    names.iter().zip(results).filter_map(|(name, result)| Some((name, result.sort?))).collect()
}

/// The bars; `None` if there are no sorts.
pub fn figure(id: String, names: &[String], results: &[TestResult]) -> Option<Figure> {
    let mut sorts = sorts(names, results);
    sorts.retain(|(_, figures)| figures.sorts > 0 && figures.total_s() > 0.0);
    let (name, longest) = sorts.iter().max_by(|(_, a), (_, b)| each_s(a).total_cmp(&each_s(b)))?;
    let (most, most_s) = longest.parts().into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let summary = format!(
        "The longest: {name}, {} each, of which {:.0} % are {most}.",
        seconds(each_s(longest)),
        most_s / longest.total_s() * 100.0
    );
    // Mean time per sort, so four concurrent sorts are as long as one.
    let shares: Vec<_> =
        sorts.iter().map(|(_, sort)| sort.parts().map(|(_, s)| s / sort.sorts as f64)).collect();
    // Making the records is not part of the sort; it is the last part.
    let parts: Vec<Line> = longest
        .parts()
        .iter()
        .enumerate()
        .map(|(index, (part, _))| Line {
            name: (*part).to_owned(),
            values: shares.iter().map(|sort| Some(sort[index])).collect(),
        })
        .collect();
    let mut table = Table::new(["test"]);
    table.columns.extend(parts.iter().map(|part| part.name.clone()));
    table.rows = sorts
        .iter()
        .zip(&shares)
        .map(|((name, _), sort)| {
            std::iter::once((*name).clone()).chain(sort.iter().map(|s| seconds(*s))).collect()
        })
        .collect();
    if sorts.iter().any(|(_, figures)| figures.sorts > 1) {
        "For several concurrent sorts, the mean.".clone_into(&mut table.note);
    }
    let tests = sorts.iter().map(|(name, _)| (*name).clone()).collect();
    let title = "Where the time of each sort went".to_owned();
    let chart = Chart::Stacks(Stacks { unit: Unit::S, tests, parts });
    Some(Figure { id, title, summary, chart, table })
}

fn each_s(figures: &SortFigures) -> f64 {
    figures.total_s() / figures.sorts as f64
}

/// Every figure of every sort; `None` if there are no sorts.
pub fn table(names: &[String], results: &[TestResult]) -> Option<Table> {
    let sorts = sorts(names, results);
    let mut table = Table::new(["sort"]);
    table.columns.extend(report::SORT_COLUMNS.map(|column| column.name.to_owned()));
    for (name, figures) in &sorts {
        let cells = report::SORT_COLUMNS.map(|column| or_dash(column.cell(figures), |text| text));
        table.rows.push(std::iter::once((*name).clone()).chain(cells).collect());
    }
    (!sorts.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> (Vec<String>, Vec<TestResult>) {
        let one = SortFigures {
            sorts: 1,
            records: 9_300_000,
            runs: 22,
            sorting_s: 1.5,
            coding_s: 0.5,
            merging_s: 1.0,
            waiting_s: 0.25,
            writing_s: 4.0,
            writing_cpu_s: 0.5,
            reading_s: 3.0,
            reading_cpu_s: 0.25,
            input_s: 0.75,
            ..SortFigures::default()
        };
        let mut results = samples::suite("sort-spill", 15.0, 0.0);
        results.truncate(3);
        results[0].sort = Some(one);
        results[1].sort = SortFigures::sum([one, one]);
        (results.iter().map(|result| result.test.clone()).collect(), results)
    }

    #[test]
    fn a_bar_is_one_sort_and_its_parts_add_up() {
        let (names, results) = results();
        let figure = figure("run-1-sorts".to_owned(), &names, &results).unwrap();
        let Chart::Stacks(stacks) = &figure.chart else { panic!("{figure:?}") };
        assert_eq!(stacks.tests, names[..2], "a test that is not a sort has no bar");
        for test in 0..2 {
            let whole_s: f64 = stacks.parts.iter().filter_map(|part| part.values[test]).sum();
            assert!((whole_s - 11.0).abs() < 1e-9, "{whole_s}");
        }
        assert_eq!(figure.table.columns.len(), 9);
        assert!(figure.table.rows.iter().all(|row| row.len() == 9), "{:?}", figure.table);
        insta::assert_snapshot!(figure.summary, @"The longest: composite keys, 11.00 s each, of which 32 % are write waits.");
        insta::assert_snapshot!(figure.table.note, @"For several concurrent sorts, the mean.");
        assert!(super::figure(String::new(), &names[2..], &results[2..]).is_none());
    }

    #[test]
    fn the_table_has_every_sort_and_every_column() {
        let (names, results) = results();
        let table = table(&names, &results).unwrap();
        assert_eq!(table.columns.len(), report::SORT_COLUMNS.len() + 1);
        insta::assert_snapshot!(table.rows[1].join(" | "), @"composite keys | 18,600,000 | 44 | 0 B | 0.00 | 0 B | 0.00 | – | 3.00 s | 1.00 s | 2.00 s | 6.00 s | 1.50 s | 7.00 s | 5.50 s | 12.50 s | 0.50 s | 1.50 s | 22.00 s");
        assert_eq!(super::table(&names[2..], &results[2..]), None);
    }
}
