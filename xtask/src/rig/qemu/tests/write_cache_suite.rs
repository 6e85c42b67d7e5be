//! The write-cache suite: both settings are measured, and the cache is restored however the run
//! ends.

use anyhow::ensure;
use serde_json::Value;

use super::cache::{Tool, is_on};
use crate::rig::qemu::guest::Guest;

/// The structure of the suite with its smallest tests, at a size that takes seconds under
/// emulation.
const PLAN: &str = r#"
table = "write-cache"
[defaults]
size = "4MiB"
time = "300ms"
warm_up = "0s"
[[test]]
pattern = "randwrite"
matrix = { write_cache = ["off", "on"], sync = ["none", "fsync", "o_sync"] }
"#;

/// Shell: waits until the cache of `$1` is off according to its tool.
const UNTIL_OFF: &str = "until_off() \
                         { for n in $(seq 200); do if nvme get-feature $1 -f 6 2>/dev/null | grep -q value:00000000 || \
                         hdparm -W $1 2>/dev/null | grep -q '(off)' || sdparm --get WCE $1 \
                         2>/dev/null | grep -q '^WCE  *0'; \
                         then return 0; fi; sleep 0.1; done; return 1; }";

/// One drive per command set.
const EACH: [(&str, Tool); 3] =
    [("NVMEON", Tool::Nvme), ("SATAON", Tool::Hdparm), ("SASON", Tool::Sdparm)];

pub fn both_settings(guest: &mut Guest) -> anyhow::Result<()> {
    guest.must(&format!("cat > /tmp/plan.toml << 'END'\n{PLAN}END"))?;
    for (serial, tool) in
        [("NVMEON", Tool::Nvme), ("SATAON", Tool::Hdparm), ("SASOFF", Tool::Sdparm)]
    {
        let device = guest.device(serial)?;
        let before = is_on(guest, tool, &device)?;
        let script = "flushmark run /tmp/plan.toml --quiet --destroy-data --format json";
        let document = guest.json(&format!("{script} --target {device}"))?;
        ensure!(is_on(guest, tool, &device)? == before, "{serial}: not restored");
        let results = document["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        for setting in ["off", "on"] {
            let count = results
                .iter()
                .filter(|result| result["workload"]["write_cache"] == setting)
                .count();
            ensure!(count == 3, "{serial}: {count} tests with the cache {setting}");
        }
        // With the cache off the kernel sends no flushes to a SCSI disk; with it on, one per fsync.
        let flushes = |setting: &str| -> u64 {
            let of = results.iter().filter(|result| {
                result["workload"]["write_cache"] == setting
                    && result["workload"]["sync"] == "fsync"
            });
            of.filter_map(|result| result.pointer("/proof/device/flushes").and_then(Value::as_u64))
                .sum()
        };
        if !matches!(tool, Tool::Nvme) {
            ensure!(flushes("off") == 0, "{serial}: {} flushes with the cache off", flushes("off"));
        }
        ensure!(flushes("on") > 0, "{serial}: no flush with the cache on");
    }
    let device = guest.device("NVMEON")?;
    let page = guest
        .must(&format!("flushmark run /tmp/plan.toml --quiet --destroy-data --target {device}"))?;
    ensure!(page.contains("cache off") && page.contains("off : on"), "{page}");
    ensure!(page.contains("write cache"), "no advice: {page}");
    // The complete suite.
    let smoke = guest.json(&format!(
        "flushmark run write-cache --smoke --quiet --format json --destroy-data --target {device}"
    ))?;
    let results = smoke["results"].as_array().map_or(0, Vec::len);
    let tests = workload::suites::named("write-cache").map_or(0, |plan| plan.tests.len());
    ensure!(results == tests, "the suite ran {results} of its {tests} tests");
    let nothing = guest.must("flushmark cache restore")?;
    ensure!(nothing.contains("Nothing to restore"), "{nothing}");
    Ok(())
}

pub fn signals(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, tool) in EACH {
        let device = guest.device(serial)?;
        for (signal, code) in [("INT", 130), ("TERM", 143)] {
            // A shell's background jobs ignore SIGINT; `setsid` is not a shell.
            let script = format!(
                "{UNTIL_OFF}; setsid flushmark run write-cache --quiet --destroy-data --target \
                 {device} > /tmp/page 2>&1 & pid=$!; \
                 until_off {device} || exit 99; kill -{signal} $pid; wait $pid"
            );
            let output = guest.run(&script)?;
            let page = guest.must("cat /tmp/page")?;
            ensure!(
                output.code == code,
                "{serial}, SIG{signal}: ended with {}\n{page}",
                output.code
            );
            ensure!(
                is_on(guest, tool, &device)?,
                "{serial}: not restored after SIG{signal}\n{page}"
            );
        }
    }
    let nothing = guest.must("flushmark cache restore")?;
    ensure!(nothing.contains("Nothing to restore"), "{nothing}");
    Ok(())
}

pub fn locked(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("SATAON")?;
    guest.must(&format!(
        "{UNTIL_OFF}; setsid flushmark run write-cache --quiet --destroy-data --target {device} > \
         /dev/null 2>&1 & echo $! > /tmp/pid; until_off {device}"
    ))?;
    let refused = guest.refused(&format!("flushmark cache on {device}"), 3)?;
    ensure!(refused.contains("is being switched by another flushmark (process"), "{refused}");
    let refused = guest.refused(&format!("flushmark cache restore {device}"), 3)?;
    ensure!(refused.contains("another flushmark"), "{refused}");
    let second = guest.refused(
        &format!("flushmark run write-cache --smoke --destroy-data --target {device}"),
        3,
    )?;
    ensure!(second.contains(&device), "{second}");
    guest.must(
        "kill -TERM $(cat /tmp/pid); for n in $(seq 100); do [ -d /proc/$(cat /tmp/pid) ] \
                || exit 0; sleep 0.1; done; exit 1",
    )?;
    ensure!(is_on(guest, Tool::Hdparm, &device)?, "not restored");
    Ok(())
}

pub fn mounted(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("SATAON")?;
    guest.must(&format!(
        "mkfs.ext4 -q {device} && mkdir -p /mnt/suite && mount {device} /mnt/suite"
    ))?;
    guest.must(&format!("cat > /tmp/plan.toml << 'END'\n{PLAN}END"))?;
    let script = "flushmark run /tmp/plan.toml --target /mnt/suite --format json";
    let refused = guest.run(script)?;
    ensure!(refused.code == 0, "{}", refused.stderr);
    ensure!(refused.stderr.contains("use --in-use to switch it"), "{}", refused.stderr);
    let document: Value = serde_json::from_str(&refused.stdout)?;
    let settings = |document: &Value| -> [usize; 3] {
        let results = document["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |name: &str| {
            results.iter().filter(|result| result["workload"]["write_cache"] == name).count()
        };
        ["off", "on", "unchanged"].map(count)
    };
    // A cache that cannot be switched is tested as found.
    ensure!(settings(&document) == [0, 0, 3], "{:?}", settings(&document));
    ensure!(
        document["skipped"].as_array().is_some_and(|skipped| skipped.len() == 3),
        "{}",
        document["skipped"]
    );
    let allowed = guest.json(&format!("{script} --quiet --in-use"))?;
    ensure!(settings(&allowed) == [3, 3, 0], "{:?}", settings(&allowed));
    ensure!(is_on(guest, Tool::Hdparm, &device)?, "not restored");
    guest.must(&format!("umount /mnt/suite && wipefs -qa {device}"))?;
    Ok(())
}

pub fn killed(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, _) in EACH {
        let device = guest.device(serial)?;
        guest.must(&format!(
            "{UNTIL_OFF}; setsid flushmark run write-cache --quiet --destroy-data --target \
             {device} > /dev/null 2>&1 & pid=$!; until_off {device} && kill -9 $pid"
        ))?;
    }
    guest.reboot()?;
    for (serial, tool) in EACH {
        let device = guest.device(serial)?;
        let was_off = !is_on(guest, tool, &device)?;
        // QEMU's drives keep the setting over a reset, as real ones do over a warm start.
        ensure!(was_off, "{serial}: the reset itself restored the cache, so nothing is proved");
    }
    let nvme = guest.device("NVMEON")?;
    let plan = "printf '[[test]]\\npattern = \"randwrite\"\\nsize = \"1MiB\"\\ncount = 5\\nwarm_up \
                = \"0s\"\\n' > /tmp/plan.toml";
    let warned = guest
        .run(&format!("{plan}; flushmark run /tmp/plan.toml --destroy-data --target {nvme}"))?
        .stderr;
    ensure!(warned.contains("a killed run left the write cache"), "no warning: {warned}");
    let said = guest.must("flushmark cache restore")?;
    ensure!(said.matches("a run that was killed").count() == 3, "{said}");
    for (serial, tool) in EACH {
        let device = guest.device(serial)?;
        ensure!(is_on(guest, tool, &device)?, "{serial}: not restored: {said}");
    }
    let nothing = guest.must("flushmark cache restore")?;
    ensure!(nothing.contains("Nothing to restore"), "{nothing}");
    Ok(())
}
