//! What `check` and `run` share: measures a plan on a target, then keeps, judges and prints the
//! result.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use engine::Options;
use measurement::RunDocument;
use report::Look;
use workload::Plan;

use super::{look, print};
use crate::args::export::PrintFormat;
use crate::args::store::KeepArgs;
use crate::args::{CommonArgs, DeliveryArgs};
use crate::bench::TargetOptions;
use crate::exit::{ExitStatus, WrongUse, is_broken_pipe};
use crate::keeping::Keeping;
use crate::live::Live;
use crate::progress::Progress;
use crate::session::Session;
use crate::{export, signals};

/// A plan, its target, and what to do with the result.
pub struct Measurement<'a> {
    pub plan: &'a Plan,
    pub target: &'a str,
    pub common: &'a CommonArgs,
    pub keep: &'a KeepArgs,
    /// A smoke run's numbers are meaningless: it is neither judged nor kept.
    pub smoke: bool,
    /// The write cache of a drive in use may be switched.
    pub in_use: bool,
    /// Limits the time for preparing the test file.
    pub prepare_time_max: Option<Duration>,
}

impl Measurement<'_> {
    /// Measures and prints each part as soon as it is known; `page` renders the result as text.
    pub fn run(
        self,
        page: impl FnOnce(&RunDocument, &Look) -> String,
    ) -> anyhow::Result<(RunDocument, ExitStatus)> {
        let Measurement { plan, target, common, keep, smoke, in_use, prepare_time_max } = self;
        expect_output(&common.delivery)?;
        signals::listen().context("cannot handle signals")?;
        let options = Options { engine: common.engine, prepare_time_max, ..Options::default() };
        let wanted = TargetOptions { destroy_data: common.destroy_data, in_use, options };
        let mut keeping = if smoke { Keeping::off() } else { Keeping::open(keep, target)? };
        let session = Session::open(plan, target, wanted, smoke, common.trace)?;
        let look = look();
        let mut progress = Progress::new(common.delivery.quiet, &look);
        if common.delivery.format == PrintFormat::Text {
            let document = session.document();
            print(&report::target_header(document, session.tested_bytes(plan), &look))?;
        }
        for note in plan.notes.iter().cloned().chain(session.notes()) {
            progress.line(&note);
        }
        keeping.begin(session.document())?;
        let live = Live::of(session.document(), keeping.run());
        let completed = session.run(plan, &mut progress, live, |result| keeping.append(result));
        let kept = keeping.finish(&completed);
        let delivered =
            deliver(&completed.document, &common.delivery, |document| page(document, &look));
        kept.report(&progress);
        let ended = completed.end()?;
        delivered.map(|()| ended)
    }
}

/// Checks that the output files can be written, before minutes of measuring.
pub(super) fn expect_output(delivery: &DeliveryArgs) -> anyhow::Result<()> {
    expect_files(&[
        ("--output", &delivery.output, "result"),
        ("--metrics-file", &delivery.metrics_file, "metrics"),
    ])
}

/// The same for any files: the option that names each one, and what will be in it.
pub(super) fn expect_files(files: &[(&str, &Option<PathBuf>, &str)]) -> anyhow::Result<()> {
    for (option, file, what) in files {
        let Some(path) = file else { continue };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        // With the dot, the kernel follows a link as it does on the way to the file.
        if let Some(parent) = parent
            && let Err(error) = std::fs::metadata(parent.join("."))
            && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        {
            let parent = parent.display();
            return Err(WrongUse(format!(
                "{parent} is not a directory, so {option} cannot create a file there"
            ))
            .into());
        }
        wholefile::expect_replaceable(path)
            .with_context(|| format!("cannot write the {what} to {}", path.display()))?;
    }
    Ok(())
}

/// Writes the files of `--output` and `--metrics-file`, and prints the document in the requested
/// format. A failure does not stop the others: what took minutes to measure must not be lost. A
/// closed stdout is not an error.
pub(super) fn deliver(
    document: &RunDocument,
    delivery: &DeliveryArgs,
    page: impl FnOnce(&RunDocument) -> String,
) -> anyhow::Result<()> {
    let kept = delivery.output.as_deref().map_or(Ok(()), |path| {
        let json = report::json(document);
        wholefile::replace(path, json.as_bytes(), None)
            .with_context(|| format!("cannot write the result to {}", path.display()))
    });
    let counted = delivery
        .metrics_file
        .as_deref()
        .map_or(Ok(()), |path| export::write_metrics(document, path));
    let printed = match delivery.format.exported() {
        Some(format) => export::text(std::slice::from_ref(document), format)
            .map_err(Into::into)
            .and_then(|text| print(&text)),
        None if document.results.is_empty() => Ok(()),
        None => print(&page(document)),
    };
    kept.and(counted)
        .and(printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) }))
}
