//! `flushmark db commits`: commits by number of clients, beside those of the storage alone.

use measurement::{DatabaseRecord, RunDocument, TestResult};
use workload::number::number;

use crate::columns::{Column, Columns};
use crate::findings::findings;
use crate::look::Look;
use crate::notes::notes;
use crate::tables::{max, p50, p99, p99_9, per_second};

/// The page.
pub fn database_commits_page(document: &RunDocument, look: &Look) -> String {
    let results = &document.results;
    if results.is_empty() {
        return String::new();
    }
    let (clients, storage): (Vec<&TestResult>, Vec<&TestResult>) =
        results.iter().partition(|result| result.workload.pattern.is_none());
    let single = clients.iter().find(|result| result.workload.jobs == 1);
    let single = single.map(|result| per_second(result)).filter(|&rate| rate > 0.0);
    let rows: Vec<&TestResult> = clients.iter().chain(&storage).copied().collect();
    let mut text = look.heading("Commits of one row each, by number of clients");
    text += &Columns::<&TestResult>::new()
        .with(Column::left("clients"), |result| match result.workload.pattern {
            None => result.workload.jobs.to_string(),
            Some(_) => result.test.clone(),
        })
        .with(Column::right("commits/s"), |result| number(per_second(result)))
        .with(Column::right("× one client").may_drop(4).optional(), move |result| {
            let of_clients = result.workload.pattern.is_none();
            single.filter(|_| of_clients).map(|single| number(per_second(result) / single))
        })
        .with(Column::right("syncs/commit").may_drop(1).optional(), |result| {
            result.server.as_ref()?.syncs_per_commit().map(number)
        })
        .with(Column::right("p50"), |result| p50(result))
        .with(Column::right("p99"), |result| p99(result))
        .with(Column::right("p99.9").may_drop(3), |result| p99_9(result))
        .with(Column::right("max").may_drop(2), |result| max(result))
        .of(&rows, look);
    let mut page = format!("\n{}", look.finish(text + &notes(results, &document.skipped, look)));
    let found = findings(&document.findings, look);
    if !found.is_empty() {
        page += &format!("\n{found}");
    }
    page
}

/// `fsync=on, synchronous_commit=on`
pub(crate) fn settings_words(record: &DatabaseRecord) -> String {
    let settings = record.settings.iter().filter(|setting| !setting.value.is_empty());
    let words = settings.map(|setting| format!("{}={}", setting.name, setting.value));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use measurement::{
        DatabaseProduct, ServerSetting, Skipped, TargetKind, TargetRecord, WorkloadRecord,
    };
    use samples::machine::write;
    use workload::SyncMethod;

    use super::*;

    fn of_clients(clients: u32, commit_us: f64) -> TestResult {
        let mut result = write(SyncMethod::ODsync, commit_us, 0.0).result();
        let rate = f64::from(clients) * 1e6 / commit_us;
        result.commits_per_s = Some(rate);
        result.test = format!("{clients} clients");
        result.workload = WorkloadRecord {
            jobs: clients,
            depth: 1,
            block_bytes: 100,
            ..WorkloadRecord::unknown()
        };
        result
    }

    #[test]
    fn the_page() {
        let storage = TestResult {
            test: "storage: 8 KiB write + fdatasync".to_owned(),
            ..write(SyncMethod::Fdatasync, 1000.0, 900.0).result()
        };
        let setting = |name: &str, value: &str| ServerSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            source: Some("default".to_owned()),
        };
        let record = DatabaseRecord {
            product: DatabaseProduct::Postgresql,
            version: "15.18".to_owned(),
            settings: vec![setting("fsync", "off"), setting("synchronous_standby_names", "")],
        };
        let because = "max_connections of the server is 40".to_owned();
        let skipped = vec![Skipped { test: "64 clients".to_owned(), because }];
        let findings = {
            let host = drive::HostFacts::default();
            judge::database(&record, &judge::Case::new(&[], None, &host))
        };
        let target = TargetRecord::new("postgres://bench@db1/shop", TargetKind::Database)
            .with_database(record);
        let results = vec![storage, of_clients(1, 1100.0), of_clients(16, 1900.0)];
        let document = samples::document(results);
        let document = RunDocument { target, drive: None, findings, skipped, ..document };
        let look = Look::plain();
        let page =
            crate::target_header(&document, None, &look) + &database_commits_page(&document, &look);
        insta::assert_snapshot!(page, @"
        target       postgres://bench@db1/shop, a database server
        server       PostgreSQL 15.18
        settings     fsync=off
        host         kernel unknown

        Commits of one row each, by number of clients
          clients                           commits/s  × one client     p50      p99    p99.9      max
          1                                       909             1  1.1 ms  1.15 ms  1.16 ms  1.16 ms
          16                                    8,421          9.26  1.9 ms  1.99 ms     2 ms     2 ms
          storage: 8 KiB write + fdatasync        526             -  1.9 ms  1.99 ms     2 ms     2 ms
          64 clients: skipped, max_connections of the server is 40

        Findings
         1. These commits are not durable: with fsync = off, acknowledged commits are lost in a power loss,
            and the whole database may be damaged.
            because: fsync off (from: default)
            confidence: high
            to do: Set fsync = on and reload. Only a server whose data can be thrown away may run without
                   it. The rates above are not those of durable commits.
        ");
    }
}
