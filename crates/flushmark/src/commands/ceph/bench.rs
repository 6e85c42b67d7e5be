//! `flushmark ceph bench`: a suite on a pool or an image, which is `flushmark run` on the target
//! `rados:POOL` or `rbd:POOL/IMAGE`. librbd's cache is a property of an opened image, so an image is
//! measured in two runs, which are compared as any other two.

use std::path::PathBuf;

use anyhow::Context as _;
use compare::{Comparison, Group};
use measurement::RunDocument;
use report::Figures;
use workload::{Plan, TargetName, Work};

use super::super::measure::Measurement;
use super::super::{look, print, run as run_command};
use crate::args::DetailArgs;
use crate::args::ceph::{AccessArgs, BenchArgs, CacheChoice};
use crate::args::export::PrintFormat;
use crate::args::group::GroupArgs;
use crate::exit::{ExitStatus, WrongUse};

pub fn run(args: &BenchArgs) -> anyhow::Result<ExitStatus> {
    let plan = run_command::named(&args.plan)?;
    let plan = run_command::shortened(plan, args.time, args.smoke);
    let access = access(&args.access)?;
    if let Some(pool) = &args.pool {
        let target = format!("{pool}{access}");
        return Ok(measure(args, &plan, TargetName::Pool(&target))?.1);
    }
    let image = args.image.clone().unwrap_or_default();
    let [off, on] = ["off", "on"].map(|cache| format!("{image}{access}:cache={cache}"));
    let filled = if args.no_fill { plan.clone() } else { filled(plan.clone()) };
    match args.cache {
        CacheChoice::Off => Ok(measure(args, &filled, TargetName::Image(&off))?.1),
        CacheChoice::On => Ok(measure(args, &filled, TargetName::Image(&on))?.1),
        CacheChoice::Both => {
            expect_text(args)?;
            let (without, verdict) = measure(args, &filled, TargetName::Image(&off))?;
            if verdict != ExitStatus::Done {
                return Ok(verdict);
            }
            print("\n")?;
            let (with, verdict) = measure(args, &plan, TargetName::Image(&on))?;
            compare(&without, &with, args.common.detail)?;
            Ok(verdict)
        }
    }
}

fn measure(
    args: &BenchArgs,
    plan: &Plan,
    target: TargetName<'_>,
) -> anyhow::Result<(RunDocument, ExitStatus)> {
    let measurement = Measurement {
        plan,
        targets: &[target.to_string()],
        group: &GroupArgs::default(),
        common: &args.common,
        keep: &args.keep,
        smoke: args.smoke,
        in_use: false,
        prepare_time_max: None,
    };
    let (documents, ended) =
        measurement.run(|document, look| report::run_page(plan, document, look))?;
    let document = documents.into_iter().next().context("nothing was measured")?;
    Ok((document, ended))
}

/// Options after the target's name that reach the same cluster.
fn access(access: &AccessArgs) -> anyhow::Result<String> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let options = [
        ("id", access.id.clone()),
        ("conf", path(&access.conf)),
        ("keyring", path(&access.keyring)),
        ("cluster", access.cluster.clone()),
    ];
    let mut suffix = String::new();
    for (name, value) in options {
        let Some(value) = value else { continue };
        if value.contains(':') {
            return Err(WrongUse(format!(
                "--{name} {value}: a colon separates the options of a target; use a name without"
            ))
            .into());
        }
        suffix += &format!(":{name}={value}");
    }
    Ok(suffix)
}

/// Writes the whole image before the first test, so that no test creates objects and both runs find
/// the same.
fn filled(mut plan: Plan) -> Plan {
    let writes = |work: &Work| matches!(work, Work::Blocks(blocks) if blocks.pattern.writes());
    if plan.tests.iter().any(|test| writes(&test.work))
        && let Some(Work::Blocks(first)) = plan.tests.first_mut().map(|test| &mut test.work)
    {
        first.precondition = true;
    }
    plan
}

/// Two runs are two documents, which a file or a program expects to be one.
fn expect_text(args: &BenchArgs) -> anyhow::Result<()> {
    let common = &args.common;
    let option = match (&common.delivery.output, &common.delivery.metrics_file) {
        (Some(_), _) => "--output",
        (_, Some(_)) => "--metrics-file",
        _ if common.delivery.format != PrintFormat::Text => "--format",
        _ => return Ok(()),
    };
    Err(WrongUse(format!(
        "{option} takes the result of one run; add --cache off or --cache on (runs with both are \
         kept, and `flushmark results export` writes them)"
    ))
    .into())
}

/// With the cache, a write without a sync is not a commit, so all figures of that run exist in the
/// other one too: it is the baseline.
fn compare(without: &RunDocument, with: &RunDocument, wanted: DetailArgs) -> anyhow::Result<()> {
    let group = |label: &str, document| Group { label: label.to_owned(), runs: vec![document] };
    let candidates = [group("librbd's cache off", without)];
    let comparison = Comparison::of(&group("librbd's cache on", with), &candidates, "");
    let figures = if wanted.verbose { Figures::Leading } else { Figures::Rate };
    print(&format!("\n{}", report::compare_page(&comparison, figures, &look())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_named_after_the_target() {
        let args = |conf: &str| AccessArgs {
            id: Some("bench".to_owned()),
            conf: Some(conf.into()),
            keyring: None,
            cluster: Some("site".to_owned()),
        };
        assert_eq!(access(&args("/c")).unwrap(), ":id=bench:conf=/c:cluster=site");
        let refused = access(&args("/a:b")).unwrap_err().to_string();
        insta::assert_snapshot!(refused, @"--conf /a:b: a colon separates the options of a target; use a name without");
    }

    #[test]
    fn only_what_writes_is_filled_beforehand() {
        let first = |text: &str| {
            let plan = filled(Plan::from_toml("p", text).unwrap());
            matches!(&plan.tests[0].work, Work::Blocks(blocks) if blocks.precondition)
        };
        let read = "[[test]]\npattern = \"randread\"\n";
        assert!(!first(read));
        assert!(first(&format!("{read}[[test]]\npattern = \"randwrite\"\n")));
    }
}
