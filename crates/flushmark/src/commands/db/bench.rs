//! `flushmark db bench`: the Insert Benchmark on a server.

use std::time::Duration;

use anyhow::Context as _;
use database::insert_benchmark::{
    self as benchmark, Clients, Step, StepMeasured, usual_steps, valid_order,
};
use database::{DatabaseError, Facts, Finish, Meter, Problem, ServerUrl, Session};
use drive::{HostFacts, Place, SystemRoot};
use measurement::{
    Ended, RunDocument, ServerActivity, Skipped, TargetKind, TargetRecord, TestResult,
};

use super::super::look;
use super::connect::{Server, connect};
use super::created;
use super::here::Here;
use super::host_meter::HostMeter;
use super::refusals::{expect_idle, expect_writable, too_small};
use super::storage::{self, Storage};
use crate::args::db::BenchArgs;
use crate::args::export::PrintFormat;
use crate::commands::measure::{deliver, expect_output};
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse};
use crate::keeping::Keeping;
use crate::progress::Progress;
use crate::session::{Completed, judge, new_document};
use crate::signals::{self, STOP};

/// The name of its results.
const SUITE: &str = "db-bench";
/// The same rows in every run.
const SEED: u64 = 1;
const SMOKE_ROWS: u64 = 5_000;
const SMOKE_TIME: Duration = Duration::from_secs(1);
/// The time for the storage alone.
const STORAGE_TIME: Duration = Duration::from_secs(2);

/// The steps to run and their sizes, from the arguments.
struct Plan {
    steps: Vec<Step>,
    clients: u32,
    /// Rows that each client loads.
    rows: u64,
    time: Duration,
}

impl Plan {
    fn of(args: &BenchArgs) -> Result<Plan, WrongUse> {
        let steps = match &args.steps {
            None => usual_steps(),
            Some(names) => names
                .iter()
                .map(|name| name.trim().parse::<Step>())
                .collect::<Result<Vec<Step>, _>>()
                .and_then(|steps| valid_order(&steps).map(|()| steps))
                .map_err(|error| WrongUse(error.to_string()))?,
        };
        let (rows, time) =
            if args.smoke { (SMOKE_ROWS, SMOKE_TIME) } else { (args.rows, args.time) };
        Ok(Plan {
            steps,
            clients: args.clients,
            rows: rows.div_ceil(u64::from(args.clients)),
            time,
        })
    }

    /// Connections in the step with the most, and this run's own.
    fn connections(&self) -> u32 {
        let most = self.steps.iter().map(|step| step.connections()).max().unwrap_or_default();
        most * self.clients + 1
    }
}

pub fn run(args: &BenchArgs) -> anyhow::Result<ExitStatus> {
    expect_output(&args.delivery)?;
    let plan = Plan::of(args)?;
    let url: ServerUrl = args.url.parse().map_err(|error| WrongUse(format!("{error}")))?;
    signals::listen().context("cannot handle signals")?;
    let (server, mut session) = connect(url, args.timeout)?;
    let facts = Facts::read(&mut session)?;
    let here = Here::of(&facts);
    expect_fit(args, &plan, &facts, here.as_ref().ok(), &mut session)?;
    let mut keeping = Keeping::open(&args.keep, &server.url.to_string())?;
    let look = look();
    let progress = Progress::new(args.delivery.quiet, &look);
    created::name_leftovers(&mut session)?;

    let target = TargetRecord::new(server.url.to_string(), TargetKind::Database)
        .with_database(facts.record.clone());
    let root = SystemRoot::default();
    let storage = here
        .as_ref()
        .map_err(Clone::clone)
        .map(|here| Storage::of(here, &facts.record, plan.time.min(STORAGE_TIME)));
    let began = Some(jiff::Timestamp::now());
    let mut document = RunDocument {
        label: args.keep.label.clone(),
        smoke: args.smoke,
        host: HostFacts::read(&root),
        ..new_document(SUITE, target, began)
    };
    let alone = storage::measured(storage, &mut document);
    // The tables may be on another drive than the log.
    document.drive = here.as_ref().ok().and_then(|here| Place::of(&root, &here.data).ok());
    if args.delivery.format == PrintFormat::Text {
        print(&report::target_header(&document, None, &look))?;
    }
    keeping.begin(&document)?;
    alone.iter().for_each(|result| progress.measured(result));
    let workspace = created::create(&mut session)?;
    let clients = Clients {
        url: &server.url,
        password: server.password.as_deref(),
        schema: workspace.name(),
        clients: plan.clients,
        rows: plan.rows,
        time: plan.time,
        patience: args.timeout,
        seed: SEED,
    };
    let (host_meter, meter) = (HostMeter::new(&here), Meter::new(&facts, &mut session)?);
    let mut benchmark =
        Benchmark { server: &server, facts: &facts, clients, meter, host_meter, session };
    let error = benchmark.run(&plan.steps, |result, skipped| {
        result.iter().for_each(|result| progress.measured(result));
        skipped.iter().for_each(|skipped| progress.skipped(skipped));
        if let Some(result) = result {
            keeping.append(&result);
            document.results.push(result);
        }
        document.skipped.extend(skipped);
    });
    storage::append(alone, &mut document, &mut keeping);
    created::remove(&workspace, benchmark.session, &server);

    judge(&mut document, None);
    let completed = completed(document, error);
    let kept = keeping.finish(&completed);
    let document = &completed.document;
    let delivered = deliver(std::slice::from_ref(document), &args.delivery, || {
        report::insert_benchmark_page(document, &look)
    });
    kept.report(&progress);
    let ended = completed.end()?;
    delivered.map(|()| ended.1)
}

/// Refuses a server that would be disturbed, or would disturb the measurement.
fn expect_fit(
    args: &BenchArgs,
    plan: &Plan,
    facts: &Facts,
    here: Option<&Here>,
    session: &mut Session,
) -> anyhow::Result<()> {
    expect_writable(facts, session)?;
    let connections = plan.connections();
    if let Some(most) = facts.connections_max.filter(|most| connections > *most) {
        return Err(WrongUse(format!(
            "{} clients need {connections} connections, but the server's max_connections is \
             {most}: use fewer --clients, or raise it",
            plan.clients
        ))
        .into());
    }
    if let Some(problem) = here.and_then(|here| would_fill(here, plan)) {
        return Err(session.error(problem).into());
    }
    if !args.busy {
        expect_idle(session)?;
    }
    Ok(())
}

/// The problem with the free space of tables or log, if there is one.
fn would_fill(here: &Here, plan: &Plan) -> Option<Problem> {
    let needed = benchmark::bytes_needed(&plan.steps, plan.clients, plan.rows, plan.time);
    let directories = [&here.data, &here.log];
    directories.into_iter().find_map(|directory| too_small(directory, needed, "load fewer --rows"))
}

struct Benchmark<'a> {
    server: &'a Server,
    facts: &'a Facts,
    clients: Clients<'a>,
    meter: Meter,
    host_meter: HostMeter,
    session: Session,
}

impl Benchmark<'_> {
    /// Runs the steps, until one fails or the user stops. Returns the error that kept a step from
    /// being run.
    fn run(
        &mut self,
        steps: &[Step],
        mut take: impl FnMut(Option<TestResult>, Option<Skipped>),
    ) -> Option<anyhow::Error> {
        if let Err(error) = self.clients.create_tables(&mut self.session) {
            return Some(error.into());
        }
        let mut is_clean = false;
        let mut note = None;
        for (number, step) in steps.iter().enumerate() {
            if STOP.is_requested() {
                return None;
            }
            let queries = matches!(step, Step::Queries { .. });
            if queries && !is_clean {
                match self.clients.clean_up(&mut self.session, &|| STOP.is_requested()) {
                    Ok(failed) => note = failed,
                    Err(problem) => return Some(self.session.error(problem).into()),
                }
                is_clean = true;
                if STOP.is_requested() {
                    return None;
                }
            }
            match self.step(*step, number as u32) {
                Ok(Outcome::Measured(mut result)) => {
                    result.notes.extend(note.take());
                    let failed = matches!(result.ended, Ended::Failed { .. });
                    take(Some(*result), None);
                    if failed {
                        return None;
                    }
                }
                Ok(Outcome::Skipped(skipped)) => {
                    take(None, Some(skipped));
                    return None;
                }
                Ok(Outcome::Nothing) => return None,
                Err(error) => return Some(error.into()),
            }
        }
        None
    }

    fn step(&mut self, step: Step, number: u32) -> Result<Outcome, DatabaseError> {
        let before = (self.meter.read_settled(&mut self.session)?, self.host_meter.read());
        let cpu = engine::cpu_use();
        let seen = self.clients.step(step, number, &mut self.session, &|| STOP.is_requested());
        let seen = match seen {
            Ok(seen) => seen,
            Err(Problem::TooManyConnections(said)) => {
                let because = format!("the server accepts no more connections: {said}");
                return Ok(Outcome::Skipped(Skipped { test: step.to_string(), because }));
            }
            Err(problem) => return Err(self.session.error(problem)),
        };
        let is_complete = matches!(seen.ended, Finish::Complete);
        let is_empty = seen.inserts.count() + seen.deletes.count() + seen.queries.count() == 0;
        let measured = StepMeasured {
            server: self.server.url.to_string(),
            product: self.facts.record.product,
            step,
            clients: self.clients.clients,
            rows: self.clients.rows,
            seen,
            cpu: engine::cpu_use_since(cpu),
        };
        let operations = measured.operations();
        let mut result = measured.result();
        if is_empty && !is_complete && !matches!(result.ended, Ended::Failed { .. }) {
            return Ok(Outcome::Nothing);
        }
        // After a failure the server may be gone; what was measured counts.
        let activity = self.meter.activity_since(&before.0, &mut self.session);
        let after = self.host_meter.read();
        match activity {
            Ok(activity) => {
                let cpu = self.host_meter.cpu(&before.1, &after);
                result.server = Some(ServerActivity { cpu, ..activity });
            }
            Err(_) if matches!(result.ended, Ended::Failed { .. }) => {}
            Err(why) => result.notes.push(format!("syncs of the server are unknown: {why}")),
        }
        if let Some(benchmark) = &mut result.insert_benchmark {
            benchmark.costs = self.host_meter.costs(&before.1, &after, operations);
        }
        Ok(Outcome::Measured(Box::new(result)))
    }
}

enum Outcome {
    Measured(Box<TestResult>),
    Skipped(Skipped),
    /// Interrupted before anything was measured.
    Nothing,
}

fn completed(document: RunDocument, error: Option<anyhow::Error>) -> Completed {
    let failed = document.results.iter().any(|result| matches!(result.ended, Ended::Failed { .. }));
    let verdict = match signals::received() {
        Some(signal) => ExitStatus::Interrupted(signal),
        None if failed => ExitStatus::Failed,
        None if error.is_none() && !document.results.iter().any(is_step) => ExitStatus::NothingRan,
        None => ExitStatus::Done,
    };
    Completed { document, verdict, error }
}

/// Returns whether it is a step of the benchmark, not the storage alone.
fn is_step(result: &TestResult) -> bool {
    result.insert_benchmark.is_some()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn plan(arguments: &[&str]) -> Result<Plan, String> {
        let all = ["bench", "postgres://h/d"].iter().chain(arguments);
        let args = BenchArgs::try_parse_from(all).map_err(|error| error.to_string())?;
        Plan::of(&args).map_err(|error| error.0)
    }

    #[test]
    fn what_is_run() {
        let usual = plan(&[]).unwrap();
        assert_eq!((usual.steps.len(), usual.rows, usual.connections()), (10, 1_000_000, 4));
        let some = plan(&["--steps", "l.i0,l.x, l.i2", "--rows", "100", "--clients", "3"]).unwrap();
        assert_eq!((some.steps.len(), some.rows, some.connections()), (3, 34, 7));
        let smoke = plan(&["--smoke", "--clients", "2"]).unwrap();
        assert_eq!((smoke.rows, smoke.time), (2_500, Duration::from_secs(1)));
    }

    #[test]
    fn what_is_refused() {
        let refusal = |arguments: &[&str]| plan(arguments).err().unwrap();
        assert!(refusal(&["--steps", "l.i1"]).starts_with("the steps must begin with l.i0"));
        assert!(refusal(&["--steps", "l.i0,nothing"]).starts_with("unknown step `nothing`"));
        for invalid in [&["--smoke", "--rows", "5"][..], &["--rows", "0"], &["--clients", "0"]] {
            assert!(plan(invalid).is_err(), "{invalid:?}");
        }
    }
}
