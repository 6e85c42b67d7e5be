//! Whole runs, added up test by test.

use super::NotOfOneKind;
use crate::document::{RunDocument, Source};
use crate::result::TestResult;
use crate::started_at;
use crate::target::TargetKind;

impl RunDocument {
    /// Several runs of the same tests as one. Tests come in the first's order; `merged_runs` counts.
    ///
    /// Facts of which the document holds only one and which differ (host, drive) are left out. Findings and fitness are empty: whoever merges has the
    /// sum judged anew, if it is [of one storage](RunDocument::of_one_storage).
    ///
    /// # Errors
    /// When there are fewer than two, or they are not of one kind.
    pub fn merged(runs: &[RunDocument]) -> Result<RunDocument, NotOfOneKind> {
        let [first, _, ..] = runs else { return Err(NotOfOneKind::TooFew) };
        alike(runs, "suite", |run| run.suite.clone())?;
        alike(runs, "smoke", |run| run.smoke.to_string())?;
        alike(runs, "target.kind", |run| run.target.kind.name().to_owned())?;
        alike(runs, "source.tool", |run| run.source.as_ref().map_or("flushmark".to_owned(), |it| it.tool.clone()))?;
        for (at, run) in runs.iter().enumerate() {
            // Two runs of one model with one seed are equal, too, and two runs all the same.
            if run.target.kind != TargetKind::Model && runs[..at].contains(run) {
                return Err(NotOfOneKind::Twice {
                    run: match run.began() {
                        Some(began) => format!("the run of {began}"),
                        None => format!("a run of `{}`", run.suite),
                    },
                });
            }
        }
        let one_storage = RunDocument::of_one_storage(runs);
        let joined = |text: fn(&RunDocument) -> &String| super::distinct(runs.iter().map(text)).join(", ");
        let mut target = first.target.clone();
        target.given = joined(|run| &run.target.given);
        Ok(RunDocument {
            schema: first.schema.clone(),
            flushmark: joined(|run| &run.flushmark),
            started_at: started_at::write(runs.iter().filter_map(RunDocument::began).min()),
            suite: first.suite.clone(),
            smoke: first.smoke,
            target,
            source: source(runs),
            merged_runs: Some(runs.iter().map(|run| run.merged_runs.unwrap_or(1)).sum()),
            host: if same(runs, machine) { first.host.clone() } else { drive::HostFacts::default() },
            drive: first.drive.clone().filter(|_| one_storage),
            drives: if one_storage { first.drives.clone() } else { Vec::new() },
            results: results(runs)?,
            skipped: skipped(runs),
            findings: Vec::new(),
            fitness: std::collections::BTreeMap::new(),
        })
    }

    /// Whether all were measured on the same drives by way of the same filesystem, as far as they tell. What has no serial number is taken for the same
    /// only on machines that are alike.
    pub fn of_one_storage(runs: &[RunDocument]) -> bool {
        let numbered = runs.iter().all(|run| {
            let device = run.drive.as_ref().and_then(drive::Place::block_device);
            device.is_some_and(|device| device.drives().iter().all(|drive| drive.serial.is_some()))
        });
        same(runs, storage) && (numbered || same(runs, machine))
    }
}

fn alike(runs: &[RunDocument], field: &'static str, of: impl Fn(&RunDocument) -> String) -> Result<(), NotOfOneKind> {
    let mut values = runs.iter().map(of);
    let first = values.next().unwrap_or_default();
    match values.find(|other| *other != first) {
        Some(other) => Err(NotOfOneKind::Run { field, first: format!("`{first}`"), other: format!("`{other}`") }),
        None => Ok(()),
    }
}

fn same<T: PartialEq>(runs: &[RunDocument], of: impl Fn(&RunDocument) -> T) -> bool {
    runs.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]))
}

/// What stays the same from run to run on one machine; counters and free memory do not.
fn machine(run: &RunDocument) -> impl PartialEq + use<> {
    let host = &run.host;
    (host.kernel_release.clone(), host.cpu_model.clone(), host.logical_cpus, host.memory_bytes)
}

/// The drives beneath and the filesystem on them; where no drive is seen, what was mounted. An imported run has what its tool or a person called the drive.
fn storage(run: &RunDocument) -> impl PartialEq + use<> {
    let device = run.drive.as_ref().and_then(drive::Place::block_device);
    let drives = device.map(|device| {
        let identity = |drive: &&drive::BlockDevice| {
            // A drive's kernel name tells it apart only where nothing else does, and a model's is what a person typed, seed and all.
            let name =
                Some(drive.name.clone()).filter(|_| drive.serial.is_none() && run.target.kind != TargetKind::Model);
            (drive.model.clone(), drive.serial.clone(), drive.size_bytes, name)
        };
        device.drives().iter().map(identity).collect::<Vec<_>>()
    });
    let mount = run.drive.as_ref().and_then(|place| place.mount.as_ref());
    let mount = mount.map(|mount| {
        let source = Some(mount.source.clone()).filter(|_| device.is_none());
        (mount.fs_type.clone(), mount.options.clone(), mount.super_options.clone(), source)
    });
    let told = run.source.as_ref().and_then(|source| source.drive.clone());
    (drives, mount, told)
}

fn source(runs: &[RunDocument]) -> Option<Source> {
    let first = runs.first()?.source.clone()?;
    let field = |of: fn(&Source) -> &Option<String>| {
        let value = of(&first);
        value.clone().filter(|_| runs.iter().all(|run| run.source.as_ref().is_some_and(|source| of(source) == value)))
    };
    Some(Source {
        version: field(|source| &source.version),
        drive: field(|source| &source.drive),
        tool: first.tool.clone(),
    })
}

/// Test by test; of several tests with one name, the first goes with the first.
fn results(runs: &[RunDocument]) -> Result<Vec<TestResult>, NotOfOneKind> {
    let missing = |test: &TestResult| NotOfOneKind::Missing { test: test.test.clone() };
    let mut rest: Vec<Vec<&TestResult>> = runs.iter().map(|run| run.results.iter().collect()).collect();
    let mut results = Vec::new();
    for test in &runs[0].results {
        let parts = rest.iter_mut().map(|tests| {
            let position = tests.iter().position(|other| other.test == test.test).ok_or_else(|| missing(test))?;
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
