//! A plan's results, in the form that the plan asks for.

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

use measurement::{RunDocument, TestResult};
use workload::{Plan, Table};

use crate::findings::findings;
use crate::look::Look;
use crate::notes::notes;

/// The results of a run: the plan's table, what was done differently than asked, findings.
pub fn run_page(plan: &Plan, document: &RunDocument, look: &Look) -> String {
    results_page(plan.table, document, look)
}

/// The same, in this table.
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
    // A person's own plan has the usual table, which does not say where a sort's time went.
    let sorts = if form == Table::SortSpill { String::new() } else { sort_spill::of_sorts(results, look) };
    let smoke = if document.smoke {
        "\nA smoke run: it shows that everything works, and its numbers mean nothing.\n"
    } else {
        ""
    };
    // The slog table names its skipped sizes itself, where a person looks for them.
    let skipped = if form == Table::Slog { &[][..] } else { &document.skipped[..] };
    let sections = [look.finish(table + &sorts + &notes(results, skipped, look)), findings(&document.findings, look)];
    let sections: String =
        sections.into_iter().filter(|section| !section.is_empty()).map(|section| format!("\n{section}")).collect();
    sections + smoke
}

/// The rate that counts: commits where something was made durable, operations elsewhere.
fn per_second(result: &TestResult) -> f64 {
    result.commits_per_s.unwrap_or(result.iops)
}

/// A block size in a heading or a row.
fn size(result: &TestResult) -> String {
    result.workload.block_title()
}
