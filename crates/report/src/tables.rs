//! A plan's results, in the table that the plan specifies.

mod ceph_disk;
mod commits;
mod fsync_study;
mod probe;
mod read_scaling;
mod slog;
mod sort_spill;
mod tests;
mod wal;
mod write_cache;

pub use commits::etcd_verdict;
pub use wal::answer as wal_answer;

use measurement::{RunDocument, TestResult};
use workload::number::latency;
use workload::{Plan, Table};

use crate::findings::{findings, fitness_under_each_setting};
use crate::group::group_lines;
use crate::look::Look;
use crate::notes::notes;
use crate::trace::traces;

/// The results of a run: the plan's table, deviations from the plan, findings.
pub fn run_page(plan: &Plan, document: &RunDocument, look: &Look) -> String {
    results_page(plan.table, document, look)
}

/// Like [`run_page`], in the given kind of table.
pub(crate) fn results_page(form: Table, document: &RunDocument, look: &Look) -> String {
    let results = &document.results;
    let table = match form {
        Table::Tests => tests::table(results, look),
        Table::Slog => slog::table(results, &document.skipped, look),
        Table::FsyncStudy => fsync_study::tables(results, look),
        Table::Wal => wal::table(results, look),
        Table::Commits => commits::table(results, look),
        Table::CephDisk => ceph_disk::table(results, look),
        Table::WriteCache => write_cache::table(results, look),
        Table::ReadScaling => read_scaling::table(results, look),
        Table::Probe => probe::table(results, look),
        Table::SortSpill => sort_spill::table(results, look),
    };
    // A user's plan has the general table, which does not break down the time of a sort.
    let sorts =
        if form == Table::SortSpill { String::new() } else { sort_spill::of_sorts(results, look) };
    // The slog table lists its skipped sizes itself, in place.
    let skipped = if form == Table::Slog { &[][..] } else { &document.skipped[..] };
    let grades = document.fitness_under_each_setting.as_ref();
    let sections = [
        look.finish(table + &sorts + &notes(results, skipped, look)),
        traces(results, look),
        group_lines(document, look),
        findings(&document.findings, look),
        grades.map_or(String::new(), |grades| fitness_under_each_setting(grades, look)),
    ];
    let sections: String = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .map(|section| format!("\n{section}"))
        .collect();
    sections + &smoke(document)
}

/// The warning below the numbers of a smoke run.
pub(crate) fn smoke(document: &RunDocument) -> String {
    if document.smoke {
        "\nA smoke run: it shows that everything works; its numbers are meaningless.\n".to_owned()
    } else {
        String::new()
    }
}

/// Commits per second if the test commits, otherwise operations per second.
pub(crate) fn per_second(result: &TestResult) -> f64 {
    result.commits_per_s.unwrap_or(result.iops)
}

/// Median of the latency that the application waits for.
pub(crate) fn p50(result: &TestResult) -> Option<String> {
    result.headline_us().map(|us| latency(us.p50))
}

pub(crate) fn p99(result: &TestResult) -> Option<String> {
    result.headline_us().map(|us| latency(us.p99))
}

pub(crate) fn p99_9(result: &TestResult) -> Option<String> {
    result.headline_us().map(|us| latency(us.p99_9))
}

pub(crate) fn max(result: &TestResult) -> Option<String> {
    result.headline_us().map(|us| latency(us.max))
}

pub(crate) fn flushes_each(result: &TestResult) -> Option<String> {
    result.flushes_per_commit().map(|flushes| format!("{flushes:.2}"))
}

/// The block size as text.
fn size(result: &TestResult) -> String {
    result.workload.block_title()
}
