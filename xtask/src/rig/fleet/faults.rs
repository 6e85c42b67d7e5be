//! Faults in fleets: a host that cannot be reached, hosts with another version, and a network or a
//! server that fails while hosts measure.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use measurement::RunDocument;

use super::{FIRST, Fleet, Running, hosts, server};

/// Two tests, so the server stops between what is kept and what is not yet.
const LOST: &str = r#"name = "lost"
answers = "What becomes of a run whose store is lost?"

[defaults]
pattern = "randwrite"
sync = "fdatasync"
file_size = "32MiB"
time = "1500ms"

[[test]]
name = "before"

[[test]]
name = "after"
block = "8KiB"
"#;

/// Neither keeps the others from being measured, and both are named.
pub fn hosts(fleet: &mut Fleet) -> anyhow::Result<String> {
    // The same program with another version in it. Nothing else in it looks like a version.
    let other = "mkdir -p other && LC_ALL=C sed 's/0\\.1\\.0/0.0.9/g' .local/bin/flushmark \
                 >other/flushmark && chmod +x other/flushmark && other/flushmark -V";
    let version = fleet.hosts.on("three", other)?;
    ensure!(version.trim() == "flushmark 0.0.9", "the other version is {version}");
    fleet.hosts.link("unplug", "one")?;
    let variables = [
        "-e",
        "{\"flushmark_targets\": [\"sim:enterprise-sata\"]}",
        "-e",
        "flushmark_directory={{ '/home/bench/other' if inventory_hostname == 'three' else \
         '/home/bench/.local/bin' }}",
    ];
    let printed = fleet.controller.play("check", 2, &variables);
    fleet.hosts.link("plug", "one")?;
    let printed = printed?;
    for expected in [
        "Completed: two, three. Failed: one",
        "Different versions",
        "flushmark 0.0.9: three",
        "unreachable",
    ] {
        ensure!(printed.contains(expected), "the playbook did not print `{expected}`:\n{printed}");
    }
    Ok("an unplugged one and one with another version are named, the others measured".to_owned())
}

/// Long enough that a host loses its network within the first test.
const CUT: &str = r#"name = "cut"
answers = "What becomes of a group if the network of a host fails?"

[defaults]
pattern = "randwrite"
sync = "fdatasync"
file_size = "32MiB"
time = "4s"

[[test]]
name = "first"

[[test]]
name = "second"
block = "8KiB"

[[test]]
name = "third"
block = "16KiB"
"#;

/// The server notices the loss ten seconds after what it sent first to that host, and nobody waits
/// for it again. Without this, each test would wait two minutes for it.
const NOTICED_MAX: Duration = Duration::from_secs(20);

/// All tests.
const MEASURED: Duration = Duration::from_secs(3 * 4);
/// Longer than the hosts take to prepare.
const BEGUN_MAX: Duration = Duration::from_secs(30);

/// The others go on without a host that is cut off, which goes on alone.
pub fn network(fleet: &mut Fleet) -> anyhow::Result<String> {
    let write = format!("cat >cut.toml <<'END'\n{CUT}END\n");
    fleet.hosts.on_all(|_| write.clone())?;
    let run = format!(
        ".local/bin/flushmark run cut.toml {FIRST} --group cut --hosts {} --store {} --quiet \
         --format json",
        hosts::names().len(),
        server::URL
    );
    // The shell of a host that is cut off may end before what runs in it.
    let detached = format!("nohup {run} >cut.json 2>cut.log </dev/null; touch cut.done");
    let cut_off = Running::start(&mut fleet.hosts.command("three", &detached)?)?;
    let begun = Instant::now();
    let others = ["one", "two"]
        .map(|host| Running::start(&mut fleet.hosts.command(host, &run)?))
        .into_iter()
        .collect::<anyhow::Result<Vec<_>>>()?;
    let all_began = format!(
        "SELECT count(*) >= {} FROM flushmark.run_group_begun JOIN flushmark.run_group_members ON \
         member = number JOIN flushmark.run_groups ON run_group = id WHERE run_groups.name = \
         'cut'",
        hosts::names().len()
    );
    while fleet.server.answer(&all_began)? != "t" {
        ensure!(begun.elapsed() < BEGUN_MAX, "the hosts did not begin in {BEGUN_MAX:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    fleet.hosts.link("unplug", "three")?;
    let cut_at = Instant::now();
    let others = others
        .into_iter()
        .map(|running| {
            let output = running.wait(&fleet.interruption)?;
            ensure!(output.status.success(), "{}", super::said(&output));
            Ok(serde_json::from_slice::<RunDocument>(&output.stdout)?)
        })
        .collect::<anyhow::Result<Vec<_>>>();
    let took = cut_at.elapsed();
    fleet.hosts.link("plug", "three")?;
    drop(cut_off);
    for document in others? {
        let group = document.group.as_ref().context("a run has no group")?;
        let absent: Vec<Vec<String>> =
            group.starts.iter().map(|start| start.absent.clone()).collect();
        let three = vec!["three".to_owned()];
        ensure!(absent == [vec![], three.clone(), three], "absent were {absent:?}");
        ensure!(group.notes.is_empty(), "the run has notes: {:?}", group.notes);
    }
    let waited = took.saturating_sub(MEASURED);
    ensure!(waited < NOTICED_MAX, "the others waited {waited:?}");
    let ended = "for attempt in $(seq 600); do [ -e cut.done ] && break; sleep 0.1; done; \
                 cat cut.log >&2; cat cut.json";
    let alone: RunDocument = serde_json::from_str(&fleet.hosts.on("three", ended)?)?;
    let notes = alone.group.context("the run of `three` has no group")?.notes;
    ensure!(
        notes.iter().any(|note| note.contains("this host went on alone")),
        "`three` did not notice that it was cut off: {notes:?}"
    );
    Ok(format!("a host that was cut off was waited for once, {:.1} s", waited.as_secs_f64()))
}

/// The run goes on and its document is kept; `results push` delivers it once.
pub fn server(fleet: &mut Fleet) -> anyhow::Result<String> {
    let write = format!("cat >lost.toml <<'END'\n{LOST}END\n");
    fleet.hosts.on("one", &write)?;
    let run = format!(".local/bin/flushmark run lost.toml {FIRST} --store {} --quiet", server::URL);
    let running = Running::start(&mut fleet.hosts.command("one", &run)?)?;
    std::thread::sleep(Duration::from_secs(2));
    fleet.server.crash()?;
    let output = running.wait(&fleet.interruption)?;
    let said = super::said(&output);
    let saved = fleet.hosts.on("one", "ls .local/state/flushmark")?;
    ensure!(!saved.trim().is_empty(), "no document was saved:\n{said}");
    fleet.server.up()?;
    ensure!(fleet.runs_of("lost")?.is_empty(), "the run is complete before it was pushed");
    let push = format!(".local/bin/flushmark results push --store {}", server::URL);
    for attempt in ["first", "second"] {
        fleet.hosts.on("one", &push)?;
        let kept = fleet.runs_of("lost")?.len();
        ensure!(kept == 1, "after the {attempt} push, the store has {kept} such runs");
    }
    let left = fleet.hosts.on("one", "ls .local/state/flushmark")?;
    ensure!(left.trim().is_empty(), "documents are left after the push: {left}");
    Ok("a run whose store stopped was kept by its host, and pushed once".to_owned())
}
