//! `cargo xtask test`: everything that a change must pass.
//!
//! A test that cannot run on this machine prints `skipped: NAME: REASON` and passes, where NAME is
//! the function of the test. These lines are counted and listed at the end, so no skip goes
//! unnoticed.
//!
//! With `--rigs`, everything first runs on a bare root ([`bare_root`]), which proves that the
//! toolchain suffices. Then packages are installed, and only the tests that were skipped run again.

mod bare_root;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::command::{command, is_there, output, shown};
use crate::packages;
use crate::rig::{self, Rig};
use crate::site;

pub use self::bare_root::enter as enter_bare_root;

/// Debian packages with the real components that rig tests use.
const PACKAGES: [&str; 38] = [
    "fio",
    // Kept results of many hosts, and a terminal for the prompt before they are deleted.
    "postgresql-15",
    "bsdutils",
    // Clients of emulated drives, and the tools that check what is on them.
    "qemu-utils",
    "nbdkit",
    "libnbd-bin",
    "python3-libnbd",
    "fuse3",
    "sqlite3",
    "mount",
    "coreutils",
    "strace",
    "bpftrace",
    "util-linux",
    "procps",
    // Filesystems and volumes whose signatures are recognised.
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
    "f2fs-tools",
    "dosfstools",
    "exfatprogs",
    "ntfs-3g",
    "nilfs-tools",
    "jfsutils",
    "reiserfsprogs",
    "squashfs-tools",
    "erofs-utils",
    "xorriso",
    "cryptsetup-bin",
    "bcache-tools",
    "gdisk",
    // Ceph's client libraries.
    "librados2",
    "librbd1",
    // Displaying reports, and reading printed ones.
    "chromium",
    "poppler-utils",
    // Readers of exported results.
    "prometheus",
    "prometheus-node-exporter",
    "python3-venv",
];
/// The tests that need a Ceph cluster.
const CLUSTER_TESTS: [&str; 5] = ["cluster", "connecting", "outages", "ceph", "ceph_osds"];
/// Longer than any crate takes to compile and any test to run: a longer silence is a hang, and
/// fails.
const SILENCE_MAX: Duration = Duration::from_mins(15);
/// Seconds for which each fuzz target runs.
const FUZZ_SECONDS: u32 = 20;

/// Runs all steps. Stops at the first one that fails.
///
/// With a time limit, steps with real components start early or not at all: on a slow machine,
/// skipped steps that are listed are more useful than a run that is cut off.
pub fn run(rigs: bool, limit: Option<Duration>) -> anyhow::Result<()> {
    let mut steps = Steps::default();
    let mut tally = Tally::default();
    steps.run("formatting", || shown("cargo", &["fmt", "--all", "--", "--check"]))?;
    steps.run("lints", || {
        shown(
            "cargo",
            &["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"],
        )
    })?;
    steps.run("documentation", documentation)?;
    if rigs {
        steps.run("tests on a bare root", || on_a_bare_root(&mut tally))?;
        // Including those of the rigs, since packages cannot be installed side by side.
        let rigs = [
            &rig::qemu::PACKAGES[..],
            &rig::databases::PACKAGES,
            &rig::fleet::PACKAGES,
            &rig::ceph::PACKAGES,
        ];
        let all = [&PACKAGES[..], &rigs.concat()].concat();
        steps.run("packages", || packages::install(&all))?;
        // The last ones take a few minutes.
        let [early, late] = [2.0 / 3.0, 0.85].map(|share| limit.map(|limit| limit.mul_f64(share)));
        steps.side_by_side(with_components(&tally), early, &mut tally)?;
        steps.side_by_side(alone(), late, &mut tally)?;
    } else {
        steps.run("tests", || tests(&mut command("cargo", &CARGO_TEST), &mut tally))?;
    }
    if !tally.skips.is_empty() {
        println!("\n{} skipped:", tally.skips.len());
        for skip in &tally.skips {
            println!("  {skip}");
        }
    }
    println!("\n{steps}");
    println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skips.len());
    if tally.failed > 0 {
        bail!("{} tests failed", tally.failed);
    }
    Ok(())
}

/// The work of a step, which adds its counts.
type Work = Box<dyn FnOnce(&mut Tally) -> anyhow::Result<()> + Send>;

struct Step {
    name: &'static str,
    work: Work,
}

fn step(
    name: &'static str,
    work: impl FnOnce(&mut Tally) -> anyhow::Result<()> + Send + 'static,
) -> Step {
    Step { name, work: Box::new(work) }
}

/// Steps with real components, in two sequences that run at the same time. None of them measures
/// anything.
fn with_components(bare: &Tally) -> [Vec<Step>; 2] {
    let skipped: BTreeSet<String> =
        bare.skips.iter().filter_map(|skip| skipped_test(skip)).map(str::to_owned).collect();
    [
        vec![
            step("QEMU rig", |tally| rig(&Rig::Qemu(rig::qemu::Options::default()), tally)),
            step("database rig", |tally| {
                rig(&Rig::Databases(rig::databases::Options::default()), tally)
            }),
        ],
        vec![
            step("tests that were skipped", move |tally| with_packages(&skipped, tally)),
            step("website", website),
            step("licences", licences),
            step("fuzzing", fuzz),
            step("Miri", miri),
        ],
    ]
}

/// Measurements that are compared need the processors for themselves.
fn alone() -> [Vec<Step>; 1] {
    [vec![
        step("Ceph rig", |tally| rig(&Rig::Ceph(rig::ceph::Options::default()), tally)),
        step("fleet rig", |tally| rig(&Rig::Fleet(rig::fleet::Options::default()), tally)),
    ]]
}

#[derive(Debug, Default)]
pub struct Tally {
    passed: u64,
    failed: u64,
    skips: Vec<String>,
    /// The functions of the tests that ran, whether skipped or not.
    ran: BTreeSet<String>,
}

/// The steps so far, with their durations.
struct Steps {
    begun: Instant,
    done: Vec<(String, Duration)>,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { begun: Instant::now(), done: Vec::new() }
    }
}

impl Steps {
    fn run(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.done.push(timed(name, work)?);
        Ok(())
    }

    /// Runs sequences of steps at the same time, each until its first failure. A step that would
    /// begin after `latest` is listed as skipped.
    fn side_by_side<const N: usize>(
        &mut self,
        sequences: [Vec<Step>; N],
        latest: Option<Duration>,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        let begun = self.begun;
        let in_turn = |sequence: Vec<Step>| {
            let (mut done, mut tally) = (Vec::new(), Tally::default());
            for Step { name, work } in sequence {
                match latest {
                    Some(latest) if begun.elapsed() > latest => tally.skips.push(format!(
                        "{name}: {} minutes had passed, and it begins within {} or not at all",
                        begun.elapsed().as_secs() / 60,
                        latest.as_secs() / 60
                    )),
                    _ => done.push(timed(name, || work(&mut tally))?),
                }
            }
            anyhow::Ok((done, tally))
        };
        let ended = std::thread::scope(|scope| {
            let running = sequences.map(|sequence| scope.spawn(move || in_turn(sequence)));
            running.map(std::thread::ScopedJoinHandle::join)
        });
        for sequence in ended {
            let (done, counts) =
                sequence.map_err(|_| anyhow::anyhow!("a step stopped unexpectedly"))??;
            self.done.extend(done);
            tally.add(counts);
        }
        Ok(())
    }
}

/// Runs a step, and returns its name and how long it took.
fn timed(
    name: &str,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<(String, Duration)> {
    let begun = Instant::now();
    eprintln!("\n== {name}");
    work().with_context(|| format!("step {name} failed"))?;
    eprintln!("== {name}: {:.0} s", begun.elapsed().as_secs_f64());
    Ok((name.to_owned(), begun.elapsed()))
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, time) in &self.done {
            writeln!(f, "{name:<26} {:>5.0} s", time.as_secs_f64())?;
        }
        write!(f, "{:<26} {:>5.0} s", "total", self.begun.elapsed().as_secs_f64())
    }
}

fn documentation() -> anyhow::Result<()> {
    let mut cargo = command("cargo", &["doc", "--quiet", "--workspace", "--no-deps"]);
    let status =
        cargo.env("RUSTDOCFLAGS", "--deny warnings").status().context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo doc ended with {status}");
    }
    Ok(())
}

/// A line of output from cargo or a test.
enum Line {
    Out(String),
    Err(String),
}

const CARGO_TEST: [&str; 5] = ["test", "--workspace", "--no-fail-fast", "--", "--nocapture"];

/// Runs every test without any programs but those of the toolchain and of a small system.
fn on_a_bare_root(tally: &mut Tally) -> anyhow::Result<()> {
    shown("cargo", &["test", "--quiet", "--workspace", "--no-run"])?;
    if let Some(reason) = bare_root::unavailable() {
        tally.skips.push(format!("`bare root`: {reason}"));
        return tests(&mut command("cargo", &CARGO_TEST), tally);
    }
    tests(&mut bare_root::wrapped(&[&["cargo"], &CARGO_TEST[..]].concat()), tally)
}

/// Runs these tests again, with the packages that they need. They have been counted as passed.
fn with_packages(names: &BTreeSet<String>, tally: &mut Tally) -> anyhow::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let _protected = ProtectedLinks::set()?;
    let args = [
        "test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast", "--", "--nocapture",
    ];
    let mut cargo = command("cargo", &args);
    cargo.args(names).env("FLUSHMARK_RIGS", "1");
    let counted = tally.passed;
    tests(&mut cargo, tally)?;
    tally.passed = counted;
    Ok(())
}

/// `fs.protected_symlinks` as distributions set it, for tests of other users' links; restored when
/// dropped.
struct ProtectedLinks {
    before: String,
}

impl ProtectedLinks {
    const SETTING: &str = "/proc/sys/fs/protected_symlinks";

    fn set() -> anyhow::Result<ProtectedLinks> {
        let before = fs::read_to_string(Self::SETTING)
            .with_context(|| format!("cannot read {}", Self::SETTING))?;
        fs::write(Self::SETTING, "1").with_context(|| format!("cannot set {}", Self::SETTING))?;
        Ok(ProtectedLinks { before })
    }
}

impl Drop for ProtectedLinks {
    fn drop(&mut self) {
        if let Err(error) = fs::write(Self::SETTING, &self.before) {
            eprintln!("cannot restore {} to {}: {error}", Self::SETTING, self.before.trim());
        }
    }
}

impl Tally {
    /// Notes a part that could not run.
    pub fn skip(&mut self, reason: String) {
        self.skips.push(reason);
    }

    /// Adds later steps, whose tests may be those that were skipped before.
    fn add(&mut self, later: Tally) {
        self.passed += later.passed;
        self.failed += later.failed;
        self.skips.retain(|skip| skipped_test(skip).is_none_or(|name| !later.ran.contains(name)));
        self.skips.extend(later.skips);
    }
}

/// The function named in a skip.
fn skipped_test(skip: &str) -> Option<&str> {
    // `NAME: REASON`, `NAME (PART): REASON`, or NAME with its modules.
    let (path, _) = skip.split_once(' ')?;
    let name = path.trim_end_matches(':').rsplit("::").next()?;
    let is_function =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_function.then_some(name)
}

/// The function of the test that libtest names on this line.
fn test_in(line: &str) -> Option<&str> {
    let (path, _) = line.strip_prefix("test ")?.split_once(" ... ")?;
    path.split([' ', '(']).next()?.rsplit("::").next()
}

/// Runs `cargo test`, shows and counts its output, and collects skips.
fn tests(cargo: &mut Command, tally: &mut Tally) -> anyhow::Result<()> {
    cargo.stdout(Stdio::piped());
    // Skips are printed on stderr; both streams are read together, so neither is lost.
    cargo.stderr(Stdio::piped());
    let mut child = cargo.spawn().context("cannot start cargo")?;
    let (out, err) =
        (child.stdout.take().context("no stdout")?, child.stderr.take().context("no stderr")?);
    let (said, lines) = mpsc::channel();
    let reader = |stream: Box<dyn Read + Send>, kind: fn(String) -> Line| {
        let said = said.clone();
        std::thread::spawn(move || {
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            // The receiver is gone after a silence that was too long.
            lines.map(kind).try_for_each(|line| said.send(line))
        })
    };
    reader(Box::new(out), Line::Out);
    reader(Box::new(err), Line::Err);
    drop(said);
    loop {
        let line = match lines.recv_timeout(SILENCE_MAX) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                bail!(
                    "the tests have printed nothing for {SILENCE_MAX:?}; those that hang are named \
                     above"
                );
            }
        };
        let (Line::Out(text) | Line::Err(text)) = &line;
        if let Some(skip) = skip_in(text) {
            tally.skips.push(skip);
        }
        tally.ran.extend(test_in(text).map(str::to_owned));
        match line {
            Line::Err(text) if skip_in(&text).is_none() => eprintln!("{text}"),
            Line::Err(_) => {}
            Line::Out(text) => {
                if let Some((passed, failed)) = result_in(&text) {
                    tally.passed += passed;
                    tally.failed += failed;
                }
                if !text.ends_with("... ok") {
                    println!("{text}");
                }
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("cargo test ended with {status}: {} passed, {} failed", tally.passed, tally.failed);
    }
    Ok(())
}

/// The text after `skipped: ` at the start of a line, or after the name that libtest printed on it.
fn skip_in(line: &str) -> Option<String> {
    let (before, reason) = line.split_once("skipped: ")?;
    (before.is_empty() || before.starts_with("test ")).then(|| reason.to_owned())
}

/// The counts in libtest's last line.
fn result_in(line: &str) -> Option<(u64, u64)> {
    let counts = line.strip_prefix("test result: ")?;
    let before = |word: &str| {
        let words: Vec<&str> = counts.split_whitespace().collect();
        let position = words.iter().position(|other| other.trim_end_matches(';') == word)?;
        words.get(position.checked_sub(1)?)?.parse().ok()
    };
    Some((before("passed")?, before("failed")?))
}

/// Runs the tests that need a Ceph cluster, with these variables.
pub fn cluster_tests(
    variables: &[(&str, PathBuf)],
    filter: Option<&str>,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    // All of the workspace, so nothing is compiled again with other features.
    let mut args = vec!["test", "--workspace", "--no-fail-fast"];
    for test in CLUSTER_TESTS {
        args.extend(["--test", test]);
    }
    // Most of them wait. Those that measure or stop daemons have the cluster for themselves.
    args.extend(["--", "--nocapture", "--test-threads", "4"]);
    let mut cargo = command("cargo", &args);
    cargo.args(filter).envs(variables.iter().map(|(name, value)| (name, value)));
    tests(&mut cargo, tally)
}

fn rig(rig: &Rig, tally: &mut Tally) -> anyhow::Result<()> {
    let outcome = rig.run(tally)?;
    tally.passed += outcome.passed;
    tally.failed += outcome.failed;
    Ok(())
}

/// Builds the site, whose links and anchors must all lead somewhere.
fn website(tally: &mut Tally) -> anyhow::Result<()> {
    site::build()?;
    tally.passed += 1;
    Ok(())
}

fn licences(tally: &mut Tally) -> anyhow::Result<()> {
    if !is_there("cargo", &["deny", "--version"]) {
        // Unoptimised: it runs for two seconds, and optimising it would take minutes.
        shown("cargo", &["install", "--quiet", "--locked", "--debug", "cargo-deny"])?;
    }
    shown("cargo", &["deny", "--workspace", "check", "licenses", "bans", "sources"])?;
    // The advisories are in a separate repository on the internet, which not every machine can
    // reach.
    match output("cargo", &["deny", "--workspace", "check", "advisories"]) {
        Ok(_) => tally.passed += 1,
        Err(error)
            if error.to_string().contains("advisory database")
                || error.to_string().contains("fetch") =>
        {
            tally.skips.push(
                "cargo deny check advisories: the advisory database cannot be fetched from here"
                    .to_owned(),
            );
        }
        Err(error) => return Err(error),
    }
    tally.passed += 1;
    Ok(())
}

fn fuzz(tally: &mut Tally) -> anyhow::Result<()> {
    for target in [
        "plan_toml", "fio_job", "verify_message", "nbd_session", "nbd_negotiation",
        "foreign_result", "sort_keys", "kernel_trace",
    ] {
        if !is_there("cargo", &["+nightly", "--version"]) {
            tally.skips.push(format!(
                "fuzz target {target}: no nightly toolchain, which cargo-fuzz needs"
            ));
            continue;
        }
        if !is_there("cargo", &["fuzz", "--version"]) {
            shown("cargo", &["install", "--quiet", "--locked", "--debug", "cargo-fuzz"])?;
        }
        let seconds = format!("-max_total_time={FUZZ_SECONDS}");
        let seeds = format!("fuzz/seeds/{target}");
        let corpus = tempfile::tempdir()?;
        let corpus = corpus.path().to_string_lossy().into_owned();
        // Without the address sanitizer: the fuzzed code is safe Rust, except the sort, which Miri
        // checks. With it the build took 8 minutes instead of 5.
        let build = ["--sanitizer", "none", "--codegen-units", "16"];
        let cargo = [
            &["+nightly", "fuzz", "run"],
            &build[..],
            &[target, &corpus, &seeds, "--", &seconds, "-verbosity=0"],
        ];
        shown("cargo", &cargo.concat())?;
        tally.passed += 1;
    }
    Ok(())
}

/// Interprets the unsafe code of the sort, and fails on undefined behaviour.
fn miri(tally: &mut Tally) -> anyhow::Result<()> {
    let components = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
    if !is_there("cargo", &["+nightly", "miri", "--version"])
        && shown("rustup", &components).is_err()
    {
        tally.skips.push(
            "Miri on prefixsort: no nightly toolchain has it, and rustup cannot add it".to_owned(),
        );
        return Ok(());
    }
    let modules = ["bits::", "huge_pages::", "permute::", "sort::"];
    let mut miri = command(
        "cargo",
        &["+nightly", "miri", "test", "--quiet", "--package", "prefixsort", "--lib", "--"],
    );
    // Interpreted programs have no access to files and clocks by default.
    miri.args(modules).env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Miri "builds" a test as a reference to its sources, which cargo never considers outdated.
    // In a target directory shared by two checkouts, one would interpret the other's sources, or
    // find them gone.
    let target = tempfile::tempdir()?;
    let status =
        miri.env("CARGO_TARGET_DIR", target.path()).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("Miri ended with {status}");
    }
    tally.passed += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_skips_are_read_from_libtest_s_output() {
        let line = "test result: ok. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; \
                    finished in 0.02s";
        assert_eq!(result_in(line), Some((12, 1)));
        assert_eq!(result_in("running 3 tests"), None);
        assert_eq!(skip_in("skipped: kill: no permission"), Some("kill: no permission".to_owned()));
        assert_eq!(skip_in("test a::b ... skipped: needs root"), Some("needs root".to_owned()));
        assert_eq!(skip_in("slog: 512 B skipped: below"), None);
        assert_eq!(skipped_test("kill_it: no permission"), Some("kill_it"));
        assert_eq!(skipped_test("kill_it (ext4): no mkfs.ext4"), Some("kill_it"));
        assert_eq!(skipped_test("processes::kill_it: no server"), Some("kill_it"));
        assert_eq!(skipped_test("`mkfs.xfs`: missing"), None);
        assert_eq!(skipped_test("kill_it"), None);
        assert_eq!(test_in("test served::files::kill_it ... ok"), Some("kill_it"));
        assert_eq!(test_in("test kill_it ... skipped: kill_it: needs root"), Some("kill_it"));
        assert_eq!(test_in("test result: ok. 12 passed"), None);
    }

    #[test]
    fn a_test_that_ran_again_counts_once_and_one_that_did_not_stays_skipped() {
        let skips = |reasons: &[&str]| reasons.iter().map(|&reason| reason.to_owned()).collect();
        let mut tally = Tally {
            passed: 9,
            skips: skips(&["kill_it: no fio", "other: no root"]),
            ..Tally::default()
        };
        tally.add(Tally { ran: ["kill_it".to_owned()].into(), ..Tally::default() });
        assert_eq!((tally.passed, tally.failed, tally.skips), (9, 0, skips(&["other: no root"])));
    }
}
