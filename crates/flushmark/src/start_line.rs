//! The start line of a command: other targets, other hosts, or a time of the day.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use jiff::Timestamp;
use store::Location;
use together::{Group, Hosts, Line, Runner, Schedule};
use workload::{Plan, TargetName};

use crate::args::group::GroupArgs;
use crate::args::store::KeepArgs;
use crate::exit::WrongUse;
use crate::keeping;

/// Time limit for the connection to the server of the store.
const CONNECT: Duration = Duration::from_secs(10);

/// A place on the start line for each target; none if nothing begins with these runs.
///
/// # Errors
/// If hosts cannot meet, or the tests have no times that could be planned.
pub fn runners(
    args: &GroupArgs,
    keep: &KeepArgs,
    plan: &Plan,
    targets: &[String],
) -> anyhow::Result<Vec<Runner>> {
    let model = targets.iter().find(|name| matches!(TargetName::parse(name), TargetName::Model(_)));
    if let (Some(model), true) = (model, args.group.is_some() || args.start_at.is_some()) {
        return Err(WrongUse(format!(
            "{model} is a model, which takes no real time: it cannot begin together with others"
        ))
        .into());
    }
    if let Some(start) = args.start_at {
        return Ok(Line::at(targets, schedule(start, plan)?));
    }
    let (Some(name), Some(hosts)) = (&args.group, args.hosts) else {
        return Ok(match targets {
            [_] => Vec::new(),
            _ if model.is_some() => Vec::new(),
            several => Line::of_targets(several),
        });
    };
    let Some(Location::Postgres(url)) = keeping::named(keep)? else {
        return Err(WrongUse(
            "hosts of a group meet in a PostgreSQL store: name it with --store postgres://..., or \
             give each host the same --start-at instead of --group"
                .to_owned(),
        )
        .into());
    };
    let member = keeping::own_name()
        .ok_or_else(|| WrongUse("this host has no name to take part in a group with".to_owned()))?;
    let group = Group {
        name: name.clone(),
        hosts,
        member,
        plan: identity(plan),
        patience: args.group_wait,
    };
    Ok(Line::of_hosts(targets, Hosts::join(&url, group, CONNECT)?))
}

/// The same on all hosts that run the same tests with the same version.
fn identity(plan: &Plan) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{:?}", plan.tests).hash(&mut hasher);
    format!("{} {} {:016x}", plan.name, env!("CARGO_PKG_VERSION"), hasher.finish())
}

fn schedule(start: Timestamp, plan: &Plan) -> Result<Schedule, WrongUse> {
    if start <= Timestamp::now() {
        return Err(WrongUse(format!("--start-at {start} is past; give a time to come")));
    }
    let mut times = Vec::new();
    for tests in plan.groups() {
        let mut longest = Duration::ZERO;
        for test in tests {
            let limit = test.work.limit().time().ok_or_else(|| {
                WrongUse(format!(
                    "--start-at needs tests that are limited in time, and `{}` is not",
                    test.name
                ))
            })?;
            longest = longest.max(limit + test.work.warm_up().0 + test.work.rest());
        }
        times.push(longest);
    }
    Ok(Schedule::new(start, &times))
}

#[cfg(test)]
mod tests {
    use workload::suites;

    use super::*;
    use crate::args::store::StoreName;

    fn refusal(args: &GroupArgs, suite: &str, target: &str) -> String {
        let plan = suites::named(suite).unwrap();
        let keep = KeepArgs { store: Some(StoreName::Nothing), ..KeepArgs::default() };
        runners(args, &keep, &plan, &[target.to_owned()]).err().unwrap().to_string()
    }

    #[test]
    fn what_cannot_begin_together() {
        let of_group =
            GroupArgs { group: Some("disks".to_owned()), hosts: Some(2), ..GroupArgs::default() };
        insta::assert_snapshot!(refusal(&of_group, "check", "/srv"), @"hosts of a group meet in a PostgreSQL store: name it with --store postgres://..., or give each host the same --start-at instead of --group");
        insta::assert_snapshot!(refusal(&of_group, "check", "sim:consumer-nvme"), @"sim:consumer-nvme is a model, which takes no real time: it cannot begin together with others");
        let past =
            GroupArgs { start_at: "2026-01-01T00:00:00Z".parse().ok(), ..GroupArgs::default() };
        insta::assert_snapshot!(refusal(&past, "check", "/srv"), @"--start-at 2026-01-01T00:00:00Z is past; give a time to come");
        let later = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let later = GroupArgs { start_at: Some(later), ..GroupArgs::default() };
        insta::assert_snapshot!(refusal(&later, "sort-spill", "/srv"), @"--start-at needs tests that are limited in time, and `urls` is not");
    }

    #[test]
    fn a_single_run_waits_for_nobody_and_several_targets_for_each_other() {
        let plan = suites::named("check").unwrap();
        let keep = KeepArgs::default();
        let of = |targets: &[&str]| {
            let targets: Vec<String> = targets.iter().map(|&target| target.to_owned()).collect();
            runners(&GroupArgs::default(), &keep, &plan, &targets).unwrap().len()
        };
        assert_eq!((of(&["/a"]), of(&["/a", "/b"])), (0, 2));
    }

    #[test]
    fn plans_are_the_same_if_their_tests_are() {
        let [check, wal] = ["check", "wal"].map(|name| suites::named(name).unwrap());
        assert_eq!(identity(&check), identity(&suites::named("check").unwrap()));
        assert_ne!(identity(&check), identity(&wal));
        assert_ne!(identity(&check), identity(&check.clone().with_time(Duration::from_secs(1))));
    }
}
