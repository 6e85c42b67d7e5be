//! Faults in fleets: a host that cannot be reached, hosts with another version, a server that stops
//! while hosts measure.

use anyhow::ensure;

use super::{FIRST, Fleet, Running, server};

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

/// The run goes on and its document is kept; `results push` delivers it once.
pub fn server(fleet: &mut Fleet) -> anyhow::Result<String> {
    let write = format!("cat >lost.toml <<'END'\n{LOST}END\n");
    fleet.hosts.on("one", &write)?;
    let run = format!(".local/bin/flushmark run lost.toml {FIRST} --store {} --quiet", server::URL);
    let running = Running::start(&mut fleet.hosts.command("one", &run)?)?;
    std::thread::sleep(std::time::Duration::from_secs(2));
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
