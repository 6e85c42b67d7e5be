//! `flushmark run`: a suite, a plan, a fio job file or a fio command line on a target.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use workload::plan::PlanError;
use workload::{Plan, TargetName, suites};

use super::measure::Measurement;
use crate::args::RunArgs;
use crate::exit::{ExitStatus, WrongUse};

/// Runs the tests and prints a table of results.
pub fn run(args: &RunArgs) -> anyhow::Result<ExitStatus> {
    let (mut plan, given) = load(args)?;
    if args.as_published {
        let name = plan.name.clone();
        plan = plan.as_published().ok_or_else(|| {
            WrongUse(format!(
                "--as-published needs a plan with a [published] section, and `{name}` has none"
            ))
        })?;
    }
    plan = shortened(plan, args.time, args.smoke);
    if let (true, Some(error)) = (given.is_empty(), &plan.targets_differ) {
        return Err(WrongUse(error.to_string()).into());
    }
    let targets = match (&given[..], &plan.target) {
        ([], Some(target)) => std::slice::from_ref(target),
        (targets, _) => targets,
    };
    if targets.is_empty() {
        return Err(WrongUse(
            "missing target: after the suite, give a directory, a file, /dev/..., sim:MODEL, \
             nbd://HOST/EXPORT, rbd:POOL/IMAGE, rados:POOL or null:"
                .to_owned(),
        )
        .into());
    }
    let measurement = Measurement {
        plan: &plan,
        targets,
        group: &args.group,
        common: &args.common,
        keep: &args.keep,
        smoke: args.smoke,
        in_use: args.in_use,
        prepare_time_max: None,
    };
    let (_, verdict) = measurement.run(|document, look| report::run_page(&plan, document, look))?;
    Ok(verdict)
}

/// The plan as it runs: each timed test for this time, or all in seconds.
pub fn shortened(mut plan: Plan, time: Option<Duration>, smoke: bool) -> Plan {
    if let Some(time) = time {
        plan = plan.with_time(time);
    }
    if smoke {
        return plan.smoke();
    }
    plan.notes.extend(plan.short_form());
    plan
}

/// The plan to run, a suite or file by its name or a fio command line, and the targets.
fn load(args: &RunArgs) -> anyhow::Result<(Plan, Vec<String>)> {
    let command =
        [&args.fio, &args.fio_options.words].into_iter().filter(|words| !words.is_empty());
    let command: Vec<_> = command.collect();
    // fio options replace the suite, so the first word is a target.
    let (plan, first) = match &args.plan {
        Some(name) if !command.is_empty() && !is_plan(name) => (None, Some(name.clone())),
        plan => (plan.as_ref(), None),
    };
    let targets = first.into_iter().chain(args.targets.all()).collect();
    Ok((plan_of(plan, &command)?, targets))
}

/// Returns whether a word can only mean a suite or a plan, and not a target.
fn is_plan(name: &str) -> bool {
    let ending = Path::new(name).extension();
    suites::named(name).is_some()
        || ending.is_some_and(|ending| ending == "toml" || ending == "fio" || ending == "job")
}

fn plan_of(plan: Option<&String>, command: &[&Vec<String>]) -> anyhow::Result<Plan> {
    match (plan, command) {
        (Some(name), []) => named(name),
        (None, [words]) => {
            match words.iter().skip(usize::from(words[0] == "fio")).collect::<Vec<_>>()[..] {
                [file] if !file.starts_with('-') => named(file),
                _ => fio(Plan::from_fio_command(words, &environment)),
            }
        }
        (None, []) => Err(WrongUse(
            "missing plan: name a suite (see `flushmark suites`), a plan.toml, a fio job file, or \
             give fio options"
                .to_owned(),
        )
        .into()),
        (Some(name), _) => Err(WrongUse(format!(
            "both `{name}` and fio options say what to run; give one of the two"
        ))
        .into()),
        (None, _) => {
            Err(WrongUse("give fio options either before or after `--`, not both".to_owned())
                .into())
        }
    }
}

/// A built-in suite by its name, or else a file: TOML by its extension, otherwise a fio job.
pub fn named(name: &str) -> anyhow::Result<Plan> {
    if let Some(plan) = suites::named(name) {
        return Ok(plan);
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(WrongUse(suites::unknown_message(name)).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    if is_toml {
        return Ok(Plan::from_toml(name, &text).map_err(|error| WrongUse(error.to_string()))?);
    }
    fio(Plan::from_fio(name, &text, &environment))
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn fio(read: Result<Plan, PlanError>) -> anyhow::Result<Plan> {
    let plan = read.map_err(|error| WrongUse(error.to_string()))?;
    let target = plan.target.map(|name| place_of_file(&name).unwrap_or(name));
    Ok(Plan { target, ..plan })
}

/// The directory of a file that does not exist. fio would create the file there; flushmark creates
/// its own test file there.
fn place_of_file(name: &str) -> Option<String> {
    let TargetName::Path(path) = TargetName::parse(name) else { return None };
    let path = Path::new(path);
    // A missing device is a typing error.
    if path.exists() || drive::leads_to_device_path(path) {
        return None;
    }
    let directory = path.parent()?;
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    directory.is_dir().then(|| directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_means_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        assert_eq!(place_of_file(&path("new")), Some(directory.path().display().to_string()));
        std::fs::write(directory.path().join("old"), "x").unwrap();
        assert_eq!(place_of_file(&path("old")), None);
        assert_eq!(place_of_file(&path("missing/new")), None);
        assert_eq!(place_of_file("/dev/no-such-device"), None);
        std::os::unix::fs::symlink("/dev", path("devices")).unwrap();
        std::os::unix::fs::symlink("devices/no-such-device", path("link")).unwrap();
        assert_eq!(place_of_file(&path("devices/no-such-device")), None);
        assert_eq!(place_of_file(&path("link")), None);
        assert_eq!((place_of_file("null:"), place_of_file("sim:consumer-nvme")), (None, None));
        assert_eq!(place_of_file("no-such-file"), Some(".".to_owned()));
    }
}
