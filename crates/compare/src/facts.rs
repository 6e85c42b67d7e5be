//! Other differences between runs: a faster drive means little if the kernel differs as well.

use drive::Place;
use measurement::RunDocument;
use schemars::JsonSchema;
use serde::Serialize;

use crate::group::Group;

/// A fact that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FactDifference {
    /// Name of the fact: `kernel`, `drive`, `scheduler`.
    pub fact: String,
    /// Values in the baseline's runs, each once; empty if unknown.
    pub baseline: Vec<String>,
    /// Values in the candidate's runs, each once; empty if unknown.
    pub candidate: Vec<String>,
}

type Fact = (&'static str, fn(&RunDocument) -> Option<String>);

/// Facts in display order, from the program that measured down to the drive.
const FACTS: [Fact; 20] = [
    ("measured by", |run| {
        Some(run.source.as_ref().map_or("flushmark".to_owned(), |source| source.tool.clone()))
    }),
    ("version", |run| match &run.source {
        Some(source) => source.version.clone(),
        None => Some(run.flushmark.clone()),
    }),
    ("suite", |run| Some(run.suite.clone())),
    ("smoke run", |run| Some(if run.smoke { "yes" } else { "no" }.to_owned())),
    ("target", |run| Some(run.target.given.clone())),
    ("kind of target", |run| Some(run.target.kind.name().to_owned())),
    ("server", |run| {
        let server = run.target.database.as_ref()?;
        Some(format!("{} {}", server.product.label(), server.version))
    }),
    ("server's settings", |run| {
        let settings = &run.target.database.as_ref()?.settings;
        let words = settings.iter().map(|one| format!("{}={}", one.name, one.value));
        Some(words.collect::<Vec<_>>().join(", "))
    }),
    ("machine", |run| run.host.product_name.clone()),
    ("processor", |run| run.host.cpu_model.clone()),
    ("processors", |run| run.host.logical_cpus.map(|count| count.to_string())),
    ("governor", |run| run.host.cpu_governor.clone()),
    ("kernel", |run| run.host.kernel_release.clone()),
    ("filesystem", |run| run.drive.as_ref()?.mount.as_ref().map(|mount| mount.fs_type.clone())),
    ("drive", drive),
    ("firmware", |run| device(run, |device| device.firmware.clone())),
    ("serial number", |run| device(run, |device| device.serial.clone())),
    ("scheduler", |run| device(run, |device| device.queue.scheduler.clone())),
    ("kernel's view of the cache", |run| {
        device(run, |device| written(device.queue.write_cache.as_ref()))
    }),
    ("drive's cache", |run| device(run, |device| device.cache_type.clone())),
];

/// The drive's name: the one in an imported result, or else its model.
pub(crate) fn drive(run: &RunDocument) -> Option<String> {
    let imported = run.source.as_ref().and_then(|source| source.drive.clone());
    imported.or_else(|| device(run, drive::BlockDevice::label))
}

/// Values of the drives under the target, each once.
fn device(
    run: &RunDocument,
    fact: impl Fn(&drive::BlockDevice) -> Option<String>,
) -> Option<String> {
    let drives = run.drive.as_ref().and_then(Place::block_device)?.drives();
    let mut answers: Vec<String> = drives.into_iter().filter_map(fact).collect();
    answers.dedup();
    (!answers.is_empty()).then(|| answers.join(", "))
}

/// A value as the document writes it.
fn written<T: Serialize>(value: Option<&T>) -> Option<String> {
    serde_json::to_value(value?).ok()?.as_str().map(str::to_owned)
}

/// The facts that are not the same in all runs of both groups.
pub(crate) fn differences(baseline: &Group<'_>, candidate: &Group<'_>) -> Vec<FactDifference> {
    let answers = |group: &Group<'_>, fact: fn(&RunDocument) -> Option<String>| {
        let mut answers: Vec<String> = group.runs.iter().filter_map(|run| fact(run)).collect();
        answers.sort();
        answers.dedup();
        answers
    };
    FACTS
        .into_iter()
        .map(|(name, fact)| FactDifference {
            fact: name.to_owned(),
            baseline: answers(baseline, fact),
            candidate: answers(candidate, fact),
        })
        .filter(|difference| difference.baseline != difference.candidate)
        .collect()
}
