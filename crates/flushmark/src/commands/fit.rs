//! `flushmark fit`: fits a model to a measured result.

use std::io::Write as _;

use anyhow::Context as _;
use catalogue::Model;
use measurement::RunDocument;
use simdrive::fit::{self, Fitted, measured};

use super::{look, print};
use crate::args::FitArgs;
use crate::exit::{ExitStatus, WrongUse, complain};

/// Prints the fitted model on stdout and the quality of the fit on stderr.
pub fn run(args: &FitArgs) -> anyhow::Result<ExitStatus> {
    let wrong = |error: String| WrongUse(format!("{}: {error}", args.result.display()));
    let text = std::fs::read_to_string(&args.result)
        .with_context(|| format!("cannot read {}", args.result.display()))?;
    let document = RunDocument::from_json(&text).map_err(|error| wrong(error.to_string()))?;
    let samples = measured::samples(&document).map_err(|error| wrong(error.to_string()))?;
    let start = match &args.like {
        Some(name) => {
            let model = simdrive::model(name).map_err(|error| WrongUse(error.to_string()))?;
            measured::alike(&model, document.drive.as_ref())
        }
        None => measured::start(&document, &samples).map_err(|error| wrong(error.to_string()))?,
    };
    let like = start.model.clone();
    let start = named(start, &args.name, &document, samples.len());
    let mut passes = 0;
    let fitted = fit::fit(&start, &samples, &mut |_| {
        passes += 1;
        if !args.quiet {
            complain(&format!("pass {passes} of {}", fit::PASSES));
        }
    })
    .map_err(|error| wrong(error.to_string()))?;
    if !args.quiet {
        let look = look();
        let page = report::fit_page(&like, &fitted.turned, &rows(&fitted), &look);
        // Ignore write errors on stderr, so that the model is not lost.
        let _ = anstream::stderr().write_all(page.as_bytes());
    }
    print(&toml::to_string(&fitted.model).context("cannot write the model")?)?;
    Ok(ExitStatus::Done)
}

fn named(start: Model, name: &str, document: &RunDocument, samples: usize) -> Model {
    let drives = document
        .drive
        .as_ref()
        .and_then(drive::Place::block_device)
        .map(drive::BlockDevice::drives);
    let label = drives.and_then(|drives| drives.first().and_then(|drive| drive.model.clone()));
    let on = document.began().map_or(String::new(), |began| format!(" on {began}"));
    Model {
        model: name.to_owned(),
        label: label.unwrap_or_else(|| name.to_owned()),
        basis: format!("{samples} tests of a run of `{}`{on}", document.suite),
        fitted_to: None,
        ..start
    }
}

fn rows(fitted: &Fitted) -> Vec<report::FitRow> {
    let row = |comparison: &simdrive::sample::Comparison| report::FitRow {
        test: comparison.result.test.clone(),
        measured: comparison.sample.figure.value(),
        modelled: comparison.modelled,
        holds: comparison.holds(),
    };
    fitted.comparisons.iter().map(row).collect()
}
