//! The common part of `check` and `run`: measures a plan on one target or several at once, then
//! keeps, judges and prints the results.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use engine::Options;
use measurement::RunDocument;
use report::Look;
use together::Runner;
use workload::Plan;

use super::{look_of, print};
use crate::args::export::{PrintFormat, TextFormat};
use crate::args::group::GroupArgs;
use crate::args::store::{KeepArgs, StoreName};
use crate::args::{CommonArgs, DeliveryArgs};
use crate::bench::TargetOptions;
use crate::exit::{ExitStatus, WrongUse, is_broken_pipe};
use crate::keeping::{Keeping, KeptAs};
use crate::live::Live;
use crate::progress::Progress;
use crate::session::{Completed, Session};
use crate::{export, signals, start_line};

/// A plan, its targets, and what to do with the results.
pub struct Measurement<'a> {
    pub plan: &'a Plan,
    /// At least one; all are measured at once.
    pub targets: &'a [String],
    pub group: &'a GroupArgs,
    pub common: &'a CommonArgs,
    pub keep: &'a KeepArgs,
    /// A smoke run's numbers are meaningless: it is neither judged nor kept.
    pub smoke: bool,
    /// The write cache of a drive in use may be switched.
    pub in_use: bool,
    /// Limits the time for preparing the test file.
    pub prepare_time_max: Option<Duration>,
}

/// One target, ready to be measured.
struct OnTarget {
    session: Session,
    keeping: Keeping,
    progress: Progress,
    runner: Option<Runner>,
}

impl Measurement<'_> {
    /// Measures and prints each part as soon as it is known; `page` renders a result as text.
    /// Returns a document for each target.
    pub fn run(
        self,
        page: impl Fn(&RunDocument, &Look) -> String,
    ) -> anyhow::Result<(Vec<RunDocument>, ExitStatus)> {
        let Measurement { plan, targets, common, .. } = self;
        expect_output(&common.delivery)?;
        self.expect_fit()?;
        signals::listen().context("cannot handle signals")?;
        let look = look_of(common.detail);
        let ready = self.ready(&look)?;
        let (completed, kept): (Vec<Completed>, Vec<KeptAs>) = match targets {
            [_] => ready.into_iter().map(|target| target.measured(plan, 0)).unzip(),
            _ => at_once(ready, plan),
        };
        let documents: Vec<RunDocument> =
            completed.iter().map(|completed| completed.document.clone()).collect();
        let delivered = deliver(&documents, &common.delivery, || match &documents[..] {
            [document] => page(document, &look),
            several => several_pages(several, &page, &look),
        });
        let progress = Progress::new(common.delivery.quiet, &look);
        kept.iter().for_each(|kept| kept.report(&progress));
        let ended: Vec<(RunDocument, ExitStatus)> =
            completed.into_iter().map(Completed::end).collect::<anyhow::Result<_>>()?;
        delivered?;
        let (documents, ends): (Vec<RunDocument>, Vec<ExitStatus>) = ended.into_iter().unzip();
        let ended = ends.into_iter().reduce(ExitStatus::of_both).unwrap_or(ExitStatus::Done);
        Ok((documents, ended))
    }

    /// Refuses what would otherwise fail only after minutes of measuring.
    fn expect_fit(&self) -> Result<(), WrongUse> {
        if let (true, Some(StoreName::Place(_))) = (self.smoke, &self.keep.store) {
            return Err(WrongUse(
                "a smoke run is never kept, because its numbers are meaningless; leave out --store"
                    .to_owned(),
            ));
        }
        let is_fio = matches!(self.common.delivery.format, PrintFormat::Fio | PrintFormat::FioPlus);
        if is_fio && self.targets.len() > 1 {
            return Err(WrongUse(format!(
                "fio's JSON holds a single run, but {} targets were given; choose another --format",
                self.targets.len()
            )));
        }
        let mut seen = Vec::new();
        for target in self.targets {
            if seen.contains(&target) {
                return Err(WrongUse(format!("the target {target} was given twice")));
            }
            seen.push(target);
        }
        Ok(())
    }

    /// Opens all targets, and prints what is known of them.
    fn ready(&self, look: &Look) -> anyhow::Result<Vec<OnTarget>> {
        let &Measurement { plan, targets, common, keep, smoke, in_use, .. } = self;
        let mut opened = Vec::new();
        for target in targets {
            let options = Options {
                engine: common.engine,
                prepare_time_max: self.prepare_time_max,
                ..Options::default()
            };
            let wanted = TargetOptions { destroy_data: common.destroy_data, in_use, options };
            let keeping = if smoke { Keeping::off() } else { Keeping::open(keep, target)? };
            let session = Session::open(plan, target, wanted, smoke, common.trace)?
                .labelled(keep.label.as_deref());
            let progress = match targets {
                [_] => Progress::new(common.delivery.quiet, look),
                _ => Progress::among_others(common.delivery.quiet, look, target),
            };
            opened.push((session, keeping, progress));
        }
        let mut ready = Vec::new();
        let runners = start_line::runners(self.group, keep, plan, targets)?;
        let mut runners = runners.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
        for (session, mut keeping, progress) in opened {
            if common.delivery.format == PrintFormat::Text {
                let document = session.document();
                print(&report::target_header(document, session.tested_bytes(plan), look))?;
                if targets.len() > 1 {
                    print("\n")?;
                }
            }
            for note in plan.notes.iter().cloned().chain(session.notes()) {
                progress.line(&note);
            }
            keeping.begin(session.document())?;
            ready.push(OnTarget { session, keeping, progress, runner: runners.next().flatten() });
        }
        Ok(ready)
    }
}

impl OnTarget {
    /// Measures it, as the run with this number of the process.
    fn measured(self, plan: &Plan, number: usize) -> (Completed, KeptAs) {
        let OnTarget { session, mut keeping, mut progress, runner } = self;
        let live = Live::of(session.document(), number, keeping.run());
        let completed =
            session.run(plan, runner, &mut progress, live, |result| keeping.append(result));
        let kept = keeping.finish(&completed);
        (completed, kept)
    }
}

/// Measures all targets at once.
fn at_once(ready: Vec<OnTarget>, plan: &Plan) -> (Vec<Completed>, Vec<KeptAs>) {
    std::thread::scope(|scope| {
        let threads: Vec<_> = ready
            .into_iter()
            .enumerate()
            .map(|(number, target)| scope.spawn(move || target.measured(plan, number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .unzip()
    })
}

/// The results of each target, and of all together.
fn several_pages(
    documents: &[RunDocument],
    page: impl Fn(&RunDocument, &Look) -> String,
    look: &Look,
) -> String {
    let each: String = documents
        .iter()
        .map(|document| {
            let target = unseen::escaped(&document.target.given);
            format!("\n== {target}\n{}", page(document, look))
        })
        .collect();
    each + &report::group_totals(documents, look)
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

/// Writes the files of `--output` and `--metrics-file`, and prints the documents in the requested
/// format. A failure does not stop the others: what took minutes to measure must not be lost. A
/// closed stdout is not an error.
pub(super) fn deliver(
    documents: &[RunDocument],
    delivery: &DeliveryArgs,
    page: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let kept = delivery.output.as_deref().map_or(Ok(()), |path| {
        let json = export::text(documents, TextFormat::Json)?;
        wholefile::replace(path, json.as_bytes(), None)
            .with_context(|| format!("cannot write the result to {}", path.display()))
    });
    let counted = delivery
        .metrics_file
        .as_deref()
        .map_or(Ok(()), |path| export::write_metrics(documents, path));
    let printed = match delivery.format.exported() {
        Some(format) => {
            export::text(documents, format).map_err(Into::into).and_then(|text| print(&text))
        }
        None if documents.iter().all(|document| document.results.is_empty()) => Ok(()),
        None => print(&page()),
    };
    kept.and(counted)
        .and(printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) }))
}
