//! Commits of the storage alone, where the server's log is, if the server runs on this host.

use std::path::PathBuf;
use std::time::Duration;

use database::Problem;
use drive::SystemRoot;
use engine::{EngineError, Intent, Options, Target};
use measurement::{DatabaseRecord, Outcome, RunDocument, Skipped, TestResult};
use predict::{LogWrite, SKIPPED_STORAGE};
use workload::{Plan, format_bytes};

use super::here::Here;
use super::refusals::too_small;
use crate::keeping::Keeping;
use crate::signals::STOP;

/// Upper bound of what commits write: some 20,000 per second, each with its row and its log.
const BYTES_PER_S_MAX: u64 = 16 << 20;
/// Space for the log's new segments, and other files of the server.
const BYTES_MIN: u64 = 256 << 20;
/// Limit for each size.
const TIME_MAX: Duration = Duration::from_secs(2);

/// About as much as a large transaction of the Insert Benchmark writes to the log.
const LARGE_BYTES: u64 = 128 << 10;

/// The directory of the log, as seen from here.
pub struct Storage {
    directory: PathBuf,
    plan: Plan,
}

impl Storage {
    /// The log of a server on this host, for a test that is not longer than those of the clients.
    pub fn of(here: &Here, record: &DatabaseRecord, time: Duration) -> Storage {
        let ms = time.min(TIME_MAX).as_millis().max(1);
        let limit = format!("time = \"{ms}ms\"\nwarm_up = \"300ms\"");
        Storage { directory: here.log.clone(), plan: plan(LogWrite::of(record), &limit) }
    }

    /// The problem with its free space for commits that take this long, if there is one.
    pub fn would_fill(&self, time: Duration) -> Option<Problem> {
        let needed = BYTES_MIN + time.as_secs().saturating_mul(BYTES_PER_S_MAX);
        too_small(&self.directory, needed, "measure for a shorter --time")
    }

    /// Measures, and enters the place and what was left out into the document; fewer results if the
    /// user interrupted it.
    ///
    /// # Errors
    /// Why it cannot be measured.
    fn measure(&self, document: &mut RunDocument) -> Result<Vec<TestResult>, String> {
        let given = self.directory.display().to_string();
        let intent = Intent::of(&self.plan, false);
        let target = Target::open(&SystemRoot::default(), &given, intent)
            .map_err(|error| error.to_string())?;
        document.drive = target.place().cloned();
        let mut results = Vec::new();
        for test in &self.plan.tests {
            let test = std::slice::from_ref(test);
            let outcomes = match engine::run(test, &target, &Options::default(), &STOP, &mut |_| {})
            {
                Err(EngineError::Interrupted) => break,
                outcomes => outcomes.map_err(|error| error.to_string())?,
            };
            for outcome in outcomes {
                match outcome {
                    Outcome::Measured(result) => results.push(*result),
                    Outcome::Skipped(skipped) => {
                        let test = SKIPPED_STORAGE.to_owned();
                        document.skipped.push(Skipped { test, because: skipped.because });
                    }
                }
            }
        }
        Ok(results)
    }
}

/// Measures the storage, and enters its place into the document, or why it was not measured.
pub fn measured(storage: Result<Storage, String>, document: &mut RunDocument) -> Vec<TestResult> {
    storage.and_then(|storage| storage.measure(document)).unwrap_or_else(|because| {
        document.skipped.push(Skipped { test: SKIPPED_STORAGE.to_owned(), because });
        Vec::new()
    })
}

/// Adds the results after those of the clients, which are what lists of runs show.
pub fn append(results: Vec<TestResult>, document: &mut RunDocument, keeping: &mut Keeping) {
    for result in results {
        keeping.append(&result);
        document.results.push(result);
    }
}

/// The writes of [`Storage`] for a model, long enough for a mean.
pub fn plan_of_model(log_write: LogWrite) -> Plan {
    plan(log_write, "count = 1000")
}

/// Writes to the log that are made durable as the server does it, of a page and larger; and those
/// of a page past the page cache, which show how long write and flush take.
fn plan(log_write: LogWrite, limit: &str) -> Plan {
    let LogWrite { page_bytes, sync, direct, .. } = log_write;
    let sync = sync.name();
    let test = |bytes: u64, direct: bool, how: &str| {
        let size = format_bytes(bytes);
        format!(
            "[[test]]\nname = \"storage: {size} {how}write + {sync}\"\npattern = \"write\"\nblock = \
             \"{bytes}B\"\nsync = \"{sync}\"\ndirect = {direct}\nsize = \"16MiB\"\n{limit}\n"
        )
    };
    let mut plan = test(page_bytes, direct, "") + &test(LARGE_BYTES, direct, "");
    if !direct {
        plan += &test(page_bytes, true, "direct ");
    }
    // The text is made here, and a test reads each form of it.
    Plan::from_toml("db commits", &plan).unwrap_or_else(|error| unreachable!("{error}"))
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, ServerSetting};

    use super::*;

    #[test]
    fn each_form_of_the_plan_is_read() {
        for (product, name) in [
            (DatabaseProduct::Postgresql, "storage: 8 KiB write + fdatasync"),
            (DatabaseProduct::Mariadb, "storage: 4 KiB write + fdatasync"),
            (DatabaseProduct::Mysql, "storage: 4 KiB write + fsync"),
        ] {
            let value = ["ON", "OFF"][usize::from(product == DatabaseProduct::Mariadb)].to_owned();
            let name_of_setting = "innodb_log_file_buffering".to_owned();
            let settings = vec![ServerSetting { name: name_of_setting, value, source: None }];
            let record = DatabaseRecord { product, version: String::new(), settings };
            let plan = plan_of_model(LogWrite::of(&record));
            let tests = if product == DatabaseProduct::Mariadb { 2 } else { 3 };
            assert_eq!((plan.tests.len(), plan.tests[0].name.as_str()), (tests, name));
        }
    }
}
