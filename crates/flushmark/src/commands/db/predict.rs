//! `flushmark db predict`: what a server would commit on other storage, or with other settings.

use std::collections::BTreeSet;

use catalogue::model::Filesystem;
use measurement::{Outcome, RunDocument};
use predict::{
    Basis, CalibratedLoad, Calibration, CalibrationRecord, Candidate, DrivePrediction, LogWrite,
    PredictionDocument, Predictor, SCHEMA, Settings, Storage,
};
use rayon::prelude::*;
use simdrive::{Machine, SimTarget};

use super::super::{look, print};
use super::commits;
use super::storage::plan_of_model;
use crate::args::db::{CommitsArgs, PredictArgs};
use crate::args::export::PrintFormat;
use crate::args::store::StoreArgs;
use crate::args::{DeliveryArgs, Format};
use crate::exit::{ExitStatus, WrongUse};
use crate::{modelled, selection};

/// Numbers of clients of a server that is measured first.
const CLIENTS: [u32; 4] = [1, 4, 16, 64];

pub fn run(args: &PredictArgs) -> anyhow::Result<ExitStatus> {
    let is_url = args.source.contains("://");
    let document = if is_url { measure(args)? } else { selected(&args.source, args)? };
    let wrong = |error: String| WrongUse(error);
    let calibration = Calibration::of(&document).map_err(|error| wrong(error.to_string()))?;
    let settings = Settings::changed(&calibration.server, &args.set)
        .map_err(|error| wrong(error.to_string()))?;
    let loads = calibration.loads_of(&args.clients).map_err(|error| wrong(error.to_string()))?;
    let log_write = settings.log_write();
    let candidates = if args.on.is_empty() {
        catalogue_drives(log_write)
    } else {
        args.on.iter().map(|on| candidate(on, log_write, args)).collect::<anyhow::Result<_>>()?
    };
    let predictor = Predictor::new(&calibration, &loads, &settings);
    let mut predictions: Vec<DrivePrediction> =
        candidates.par_iter().map(|candidate| predictor.on(candidate)).collect();
    if args.on.is_empty() {
        predictions.sort_by(|one, other| one.sync_us.total_cmp(&other.sync_us));
    }
    if let Some(own) = own(&calibration, &settings, document.drive.as_ref()) {
        predictions.insert(0, predictor.on(&own));
    }
    let prediction = PredictionDocument {
        schema: SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        calibration: record(&calibration, &args.source, &document),
        notes: predictor.notes(),
        settings: settings.changed,
        server: calibration.server.clone(),
        predictions,
    };
    match args.format {
        Format::Text => print(&report::database_prediction_page(&prediction, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&prediction)? + "\n"))?,
    }
    Ok(ExitStatus::Done)
}

/// Measures the server as `db commits` does, and keeps the run.
fn measure(args: &PredictArgs) -> anyhow::Result<RunDocument> {
    let commits = CommitsArgs {
        url: args.source.clone(),
        clients: CLIENTS.to_vec(),
        time: args.time,
        timeout: args.timeout,
        busy: args.busy,
        delivery: DeliveryArgs {
            format: PrintFormat::Json,
            output: None,
            metrics_file: None,
            quiet: args.quiet,
        },
        keep: args.keep.clone(),
    };
    let (completed, _) = commits::measured(&commits, |_, _| Ok(()))?;
    completed.end().map(|(document, _)| document)
}

fn selected(word: &str, args: &PredictArgs) -> anyhow::Result<RunDocument> {
    let place = StoreArgs { store: args.keep.store.clone() };
    let words = [word.to_owned()];
    let documents = selection::select(&words, &place)?.into_iter().flat_map(|it| it.documents);
    let mut documents = documents.collect::<Vec<_>>();
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        _ => Err(WrongUse(format!("`{word}` names several results; name one")).into()),
    }
}

fn candidate(on: &str, log_write: LogWrite, args: &PredictArgs) -> anyhow::Result<Candidate> {
    if let Some(target) = SimTarget::split(on) {
        return on_model(on, &modelled::machine(on, &target)?, log_write)
            .map_err(|because| WrongUse(because).into());
    }
    let document = selected(on, args)?;
    let storage = Storage::nearest(&document.results, log_write)
        .map_err(|error| WrongUse(format!("`{on}`: {error}")))?;
    let label = document.drive.as_ref().and_then(place_label);
    let label = label.unwrap_or_else(|| document.target.given.clone());
    Ok(Candidate { on: on.to_owned(), label, storage, basis: Basis::Measured })
}

/// Every drive of the catalogue, by its own model or that of its class, and the generic ones.
fn catalogue_drives(log_write: LogWrite) -> Vec<Candidate> {
    let models = catalogue::models().iter();
    let fitted: BTreeSet<&str> =
        models.clone().filter_map(|model| model.fitted_to.as_deref()).collect();
    let drives = catalogue::drives().iter().map(|drive| drive.name.as_str());
    let names: Vec<&str> = models
        .map(|model| model.model.as_str())
        .chain(drives.filter(|drive| !fitted.contains(drive)))
        .collect();
    let modelled = names.par_iter().filter_map(|name| {
        let machine = Machine::new(simdrive::model(name).ok()?.into_owned());
        on_model(&format!("sim:{name}"), &machine, log_write).ok()
    });
    modelled.collect()
}

/// Commits of a modelled drive, under ext4 as below a server.
fn on_model(on: &str, machine: &Machine, log_write: LogWrite) -> Result<Candidate, String> {
    let mut machine = machine.clone();
    machine.model.host.filesystem = Filesystem::Ext4;
    let mut results = Vec::new();
    for test in &plan_of_model(log_write).tests {
        match simdrive::run_alone(&machine, test, &mut |_| true) {
            Ok(Outcome::Measured(result)) => results.push(*result),
            Ok(Outcome::Skipped(skipped)) => return Err(format!("{on}: {}", skipped.because)),
            Err(impossible) => return Err(format!("{on}: {impossible}")),
        }
    }
    let storage = Storage::of(&results).map_err(|error| format!("{on}: {error}"))?;
    let label = machine.model.label.clone();
    Ok(Candidate { on: on.to_owned(), label, storage, basis: Basis::Modelled })
}

/// The storage that was measured, if the settings write the log as it was written then.
fn own(
    calibration: &Calibration,
    settings: &Settings,
    place: Option<&drive::Place>,
) -> Option<Candidate> {
    let (then, now) = (LogWrite::of(&calibration.server), settings.log_write());
    (then.sync == now.sync).then(|| Candidate {
        on: "as measured".to_owned(),
        label: place.and_then(place_label).unwrap_or_else(|| "its own storage".to_owned()),
        storage: calibration.storage.clone(),
        basis: Basis::Measured,
    })
}

fn place_label(place: &drive::Place) -> Option<String> {
    let device = place.block_device()?;
    Some(device.model.clone().unwrap_or_else(|| device.path.display().to_string()))
}

fn record(calibration: &Calibration, source: &str, document: &RunDocument) -> CalibrationRecord {
    let loads = calibration.loads.iter().map(|load| CalibratedLoad {
        load: load.name.clone(),
        clients: load.connections,
        commits_per_s: load.commits_per_s,
        rows_per_s: load.rows_per_s,
    });
    CalibrationRecord {
        source: source.to_owned(),
        started_at: document.started_at.clone(),
        storage: calibration.storage.small.test.clone(),
        sync_us: calibration.storage.small.times.mean_us(),
        processors: calibration.processors,
        loads: loads.collect(),
    }
}
