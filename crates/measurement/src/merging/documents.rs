//! Merges whole runs, test by test.

use super::MergeError;
use crate::document::{RunDocument, Source};
use crate::result::TestResult;
use crate::started_at;
use crate::target::TargetKind;

impl RunDocument {
    /// Merges several runs of the same tests into one. Tests keep the order of the first run;
    /// `merged_runs` counts the runs.
    ///
    /// Facts that the document can hold only once (host, drive) are left out if they differ.
    /// Findings and fitness are empty: the caller has the merged run judged again if all runs are
    /// [of the same storage](RunDocument::of_one_storage).
    pub fn merged(runs: &[RunDocument]) -> Result<RunDocument, MergeError> {
        let [first, _, ..] = runs else { return Err(MergeError::TooFew) };
        alike(runs, "suite", |run| run.suite.clone())?;
        alike(runs, "smoke", |run| run.smoke.to_string())?;
        alike(runs, "target.kind", |run| run.target.kind.name().to_owned())?;
        alike(runs, "source.tool", |run| {
            run.source.as_ref().map_or("flushmark".to_owned(), |it| it.tool.clone())
        })?;
        for (at, run) in runs.iter().enumerate() {
            // Two runs of one model with one seed are equal but still two runs.
            if run.target.kind != TargetKind::Model && runs[..at].contains(run) {
                return Err(MergeError::Twice {
                    run: match run.began() {
                        Some(began) => format!("the run of {began}"),
                        None => format!("a run of `{}`", run.suite),
                    },
                });
            }
        }
        let one_storage = RunDocument::of_one_storage(runs);
        let joined =
            |text: fn(&RunDocument) -> &String| super::distinct(runs.iter().map(text)).join(", ");
        let mut target = first.target.clone();
        target.given = joined(|run| &run.target.given);
        Ok(RunDocument {
            schema: first.schema.clone(),
            flushmark: joined(|run| &run.flushmark),
            started_at: started_at::write(runs.iter().filter_map(RunDocument::began).min()),
            suite: first.suite.clone(),
            label: first.label.clone().filter(|_| same(runs, |run| run.label.clone())),
            smoke: first.smoke,
            target,
            source: source(runs),
            group: None,
            merged_runs: Some(runs.iter().map(|run| run.merged_runs.unwrap_or(1)).sum()),
            host: if same(runs, machine) {
                first.host.clone()
            } else {
                drive::HostFacts::default()
            },
            drive: first.drive.clone().filter(|_| one_storage),
            drives: if one_storage { first.drives.clone() } else { Vec::new() },
            results: results(runs)?,
            skipped: skipped(runs),
            findings: Vec::new(),
            fitness: std::collections::BTreeMap::new(),
            fitness_under_each_setting: None,
        })
    }

    /// Returns whether all runs were measured on the same drives through the same filesystem, as
    /// far as the documents record it. Drives without serial numbers count as the same only on
    /// identical machines.
    pub fn of_one_storage(runs: &[RunDocument]) -> bool {
        let numbered = runs.iter().all(|run| {
            let device = run.drive.as_ref().and_then(drive::Place::block_device);
            device.is_some_and(|device| device.drives().iter().all(|drive| drive.serial.is_some()))
        });
        same(runs, storage) && (numbered || same(runs, machine))
    }
}

fn alike(
    runs: &[RunDocument],
    field: &'static str,
    of: impl Fn(&RunDocument) -> String,
) -> Result<(), MergeError> {
    let mut values = runs.iter().map(of);
    let first = values.next().unwrap_or_default();
    match values.find(|other| *other != first) {
        Some(other) => {
            Err(MergeError::Run { field, first: format!("`{first}`"), other: format!("`{other}`") })
        }
        None => Ok(()),
    }
}

fn same<T: PartialEq>(runs: &[RunDocument], of: impl Fn(&RunDocument) -> T) -> bool {
    runs.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]))
}

/// Facts that stay the same between runs on one machine, unlike counters and free memory.
fn machine(run: &RunDocument) -> impl PartialEq + use<> {
    let host = &run.host;
    (host.kernel_release.clone(), host.cpu_model.clone(), host.logical_cpus, host.memory_bytes)
}

/// The drives and the filesystem on them; the mount source if there is no drive. For an imported
/// run also the drive's name as given by the tool or the user.
fn storage(run: &RunDocument) -> impl PartialEq + use<> {
    let device = run.drive.as_ref().and_then(drive::Place::block_device);
    let drives = device.map(|device| {
        let identity = |drive: &&drive::BlockDevice| {
            // The kernel name is used only if there is no serial number. A model's name is what the
            // user typed, including the seed.
            let name = Some(drive.name.clone())
                .filter(|_| drive.serial.is_none() && run.target.kind != TargetKind::Model);
            (drive.model.clone(), drive.serial.clone(), drive.size_bytes, name)
        };
        device.drives().iter().map(identity).collect::<Vec<_>>()
    });
    let mount = run.drive.as_ref().and_then(|place| place.mount.as_ref());
    let mount = mount.map(|mount| {
        let source = Some(mount.source.clone()).filter(|_| device.is_none());
        (mount.fs_type.clone(), mount.options.clone(), mount.super_options.clone(), source)
    });
    let imported_name = run.source.as_ref().and_then(|source| source.drive.clone());
    (drives, mount, imported_name)
}

fn source(runs: &[RunDocument]) -> Option<Source> {
    let first = runs.first()?.source.clone()?;
    let field = |of: fn(&Source) -> &Option<String>| {
        let value = of(&first);
        value.clone().filter(|_| {
            runs.iter().all(|run| run.source.as_ref().is_some_and(|source| of(source) == value))
        })
    };
    Some(Source {
        version: field(|source| &source.version),
        drive: field(|source| &source.drive),
        tool: first.tool.clone(),
        // Counters of several runs add up only if each run has them; single runs keep theirs.
        disks: Vec::new(),
    })
}

/// Matches tests by name; several tests with one name are matched in order.
fn results(runs: &[RunDocument]) -> Result<Vec<TestResult>, MergeError> {
    let missing = |test: &TestResult| MergeError::Missing { test: test.test.clone() };
    let mut rest: Vec<Vec<&TestResult>> =
        runs.iter().map(|run| run.results.iter().collect()).collect();
    let mut results = Vec::new();
    for test in &runs[0].results {
        let parts = rest.iter_mut().map(|tests| {
            let position = tests
                .iter()
                .position(|other| other.test == test.test)
                .ok_or_else(|| missing(test))?;
            Ok(tests.remove(position))
        });
        results.push(TestResult::merged(&parts.collect::<Result<Vec<_>, _>>()?)?);
    }
    match rest.iter().flatten().next() {
        Some(test) => Err(missing(test)),
        None => Ok(results),
    }
}

fn skipped(runs: &[RunDocument]) -> Vec<crate::document::Skipped> {
    let mut skipped = Vec::new();
    for one in runs.iter().flat_map(|run| &run.skipped) {
        if !skipped.contains(one) {
            skipped.push(one.clone());
        }
    }
    skipped
}
