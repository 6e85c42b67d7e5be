//! `flushmark db commits`: commits per second of a server, by number of clients.

use std::time::Duration;

use anyhow::Context as _;
use database::{Clients, DatabaseError, Facts, Meter, Problem, Run, ServerUrl, Session, Workspace};
use drive::{HostFacts, SystemRoot};
use measurement::{
    Ended, RunDocument, ServerActivity, Skipped, TargetKind, TargetRecord, TestResult,
};

use super::super::look;
use super::connect::{Server, connect};
use super::created;
use super::here::Here;
use super::host_meter::HostMeter;
use super::refusals::{expect_idle, expect_writable};
use super::storage::{self, Storage};
use report::Look;

use crate::args::db::CommitsArgs;
use crate::args::export::PrintFormat;
use crate::commands::measure::{deliver, expect_output};
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse};
use crate::keeping::Keeping;
use crate::progress::Progress;
use crate::session::{Completed, judge, new_document};
use crate::signals::{self, STOP};

/// The name of its results.
const SUITE: &str = "db-commits";

pub fn run(args: &CommitsArgs) -> anyhow::Result<ExitStatus> {
    expect_output(&args.delivery)?;
    let (completed, delivered) = measured(args, |document, look| {
        deliver(std::slice::from_ref(document), &args.delivery, || {
            report::database_commits_page(document, look)
        })
    })?;
    let ended = completed.end()?;
    delivered.map(|()| ended.1)
}

/// Measures the server, and delivers the result before what became of it is said.
pub fn measured(
    args: &CommitsArgs,
    delivered: impl FnOnce(&RunDocument, &Look) -> anyhow::Result<()>,
) -> anyhow::Result<(Completed, anyhow::Result<()>)> {
    let url: ServerUrl = args.url.parse().map_err(|error| WrongUse(format!("{error}")))?;
    signals::listen().context("cannot handle signals")?;
    let (server, mut session) = connect(url, args.timeout)?;
    let facts = Facts::read(&mut session)?;
    let here = Here::of(&facts);
    let host_meter = HostMeter::new(&here);
    let storage = here.map(|here| Storage::of(&here, &facts.record, args.time));
    let warm_up = (args.time / 10).clamp(Duration::from_millis(200), Duration::from_secs(2));
    let counts = distinct(&args.clients);
    let total = (args.time + warm_up) * counts.len() as u32;
    expect_fit(args, &facts, storage.as_ref().ok(), total, &mut session)?;
    let mut keeping = Keeping::open(&args.keep, &server.url.to_string())?;
    let look = look();
    let progress = Progress::new(args.delivery.quiet, &look);
    created::name_leftovers(&mut session)?;

    let target = TargetRecord::new(server.url.to_string(), TargetKind::Database)
        .with_database(facts.record.clone());
    let host = HostFacts::read(&SystemRoot::default());
    let began = Some(jiff::Timestamp::now());
    let label = args.keep.label.clone();
    let mut document = RunDocument { label, host, ..new_document(SUITE, target, began) };
    let alone = storage::measured(storage, &mut document);
    if args.delivery.format == PrintFormat::Text {
        print(&report::target_header(&document, None, &look))?;
    }
    keeping.begin(&document)?;
    alone.iter().for_each(|result| progress.measured(result));
    let meter = Meter::new(&facts, &mut session)?;
    let workspace = created::create(&mut session)?;
    let mut measurement = Measurement {
        server: &server,
        facts: &facts,
        meter,
        host_meter,
        session,
        workspace,
        args,
        warm_up,
    };
    let mut error = None;
    for clients in counts {
        if STOP.is_requested() {
            break;
        }
        match measurement.clients(clients) {
            Ok(Outcome::Measured(result)) => {
                progress.measured(&result);
                keeping.append(&result);
                let failed = matches!(result.ended, Ended::Failed { .. });
                document.results.push(*result);
                if failed {
                    break;
                }
            }
            Ok(Outcome::Skipped(skipped)) => {
                progress.skipped(&skipped);
                document.skipped.push(skipped);
            }
            Ok(Outcome::Nothing) => {}
            Err(cause) => {
                error = Some(cause.into());
                break;
            }
        }
    }
    storage::append(alone, &mut document, &mut keeping);
    let Measurement { workspace, session, .. } = measurement;
    created::remove(&workspace, session, &server);

    judge(&mut document, None);
    let completed = completed(document, error);
    let kept = keeping.finish(&completed);
    let delivered = delivered(&completed.document, &look);
    kept.report(&progress);
    Ok((completed, delivered))
}

/// Refuses a server that would be disturbed, or would disturb the measurement.
fn expect_fit(
    args: &CommitsArgs,
    facts: &Facts,
    storage: Option<&Storage>,
    total: Duration,
    session: &mut Session,
) -> Result<(), DatabaseError> {
    expect_writable(facts, session)?;
    if let Some(problem) = storage.and_then(|storage| storage.would_fill(total)) {
        return Err(session.error(problem));
    }
    if !args.busy {
        expect_idle(session)?;
    }
    Ok(())
}

enum Outcome {
    Measured(Box<TestResult>),
    Skipped(Skipped),
    /// Interrupted before anything was measured.
    Nothing,
}

struct Measurement<'a> {
    server: &'a Server,
    facts: &'a Facts,
    meter: Meter,
    host_meter: HostMeter,
    session: Session,
    workspace: Workspace,
    args: &'a CommitsArgs,
    warm_up: Duration,
}

impl Measurement<'_> {
    /// Measures this number of clients, in a new table.
    fn clients(&mut self, clients: u32) -> Result<Outcome, DatabaseError> {
        let skipped =
            |because| Ok(Outcome::Skipped(Skipped { test: Clients::name(clients), because }));
        // One more connection is this run's own.
        if let Some(most) = self.facts.connections_max.filter(|most| clients >= *most) {
            return skipped(format!("the server's max_connections is {most}"));
        }
        let statement = self.workspace.make_table(&mut self.session)?;
        let run = Run {
            url: &self.server.url,
            password: self.server.password.as_deref(),
            statement: &statement,
            clients,
            warm_up: self.warm_up,
            time: self.args.time,
            patience: self.args.timeout,
        };
        let counted = self.meter.read(&mut self.session)?;
        let host = self.host_meter.read();
        let before = engine::cpu_use();
        let seen = match database::run(&run, &|| STOP.is_requested()) {
            Ok(seen) => seen,
            Err(Problem::TooManyConnections(said)) => {
                return skipped(format!("the server accepts no more connections: {said}"));
            }
            Err(problem) => return Err(self.session.error(problem)),
        };
        if seen.all.is_empty() {
            return match seen.ended {
                database::Finish::Failed(problem) => Err(self.session.error(problem)),
                database::Finish::Interrupted => Ok(Outcome::Nothing),
                database::Finish::Complete => {
                    skipped("no commit ended within the time; use a longer --time".to_owned())
                }
            };
        }
        let cpu = engine::cpu_use_since(before);
        let activity = self.meter.activity_since(&counted, &mut self.session);
        // Nothing was committed while the clients started and ended.
        let elapsed_s = seen.committing_s;
        let server_cpu = self.host_meter.cpu(&host, &self.host_meter.read());
        let server_activity =
            activity.map(|activity| ServerActivity { elapsed_s, cpu: server_cpu, ..activity });
        let result = Clients {
            server: self.server.url.to_string(),
            product: self.facts.record.product,
            clients,
            statement: &statement,
            seen,
            server_activity,
            cpu,
        };
        Ok(Outcome::Measured(Box::new(result.result())))
    }
}

/// The numbers of clients in the order given, each once.
fn distinct(clients: &[u32]) -> Vec<u32> {
    let mut distinct = Vec::new();
    for count in clients {
        if !distinct.contains(count) {
            distinct.push(*count);
        }
    }
    distinct
}

fn completed(document: RunDocument, error: Option<anyhow::Error>) -> Completed {
    let of_clients = |result: &&TestResult| result.workload.pattern.is_none();
    let failed = document.results.iter().any(|result| matches!(result.ended, Ended::Failed { .. }));
    let verdict = match signals::received() {
        Some(signal) => ExitStatus::Interrupted(signal),
        None if failed => ExitStatus::Failed,
        None if error.is_none() && document.results.iter().find(of_clients).is_none() => {
            ExitStatus::NothingRan
        }
        None => ExitStatus::Done,
    };
    Completed { document, verdict, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_one_test() {
        assert_eq!(distinct(&[4, 1, 4, 2, 1]), [4, 1, 2]);
    }
}
