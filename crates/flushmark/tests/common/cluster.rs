//! A real Ceph cluster that tests may spoil, and pools in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::RwLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::turn::Turn;
use super::{Run, flushmark, plan};

/// The path of the ceph.conf of a cluster that may be spoilt.
const CLUSTER_VARIABLE: &str = "FLUSHMARK_TEST_CEPH";

/// Tests that measure need the cluster for themselves; others share it.
static CLUSTER: RwLock<()> = RwLock::new(());

/// A pool of a test, deleted in the end.
pub struct Pool {
    conf: PathBuf,
    name: String,
    place: tempfile::TempDir,
    monitors: rados::Cluster,
    /// Held until the pool is gone.
    _turn: Turn,
}

impl Pool {
    /// For a test that may run beside others.
    pub fn new(test: &str, replicas: u32) -> Option<Pool> {
        Pool::during(test, replicas, Turn::shared)
    }

    /// For a test that compares latencies or stops a daemon.
    pub fn alone(test: &str, replicas: u32) -> Option<Pool> {
        Pool::during(test, replicas, Turn::alone)
    }

    fn during(test: &str, replicas: u32, turn: fn(&'static RwLock<()>) -> Turn) -> Option<Pool> {
        let Some(conf) = std::env::var_os(CLUSTER_VARIABLE) else {
            eprintln!("skipped: {test}: no Ceph cluster ({CLUSTER_VARIABLE} names no ceph.conf)");
            return None;
        };
        let turn = turn(&CLUSTER);
        let access = rados::Access { conf: Some(conf.clone().into()), ..Default::default() };
        let pool = Pool {
            conf: conf.into(),
            name: format!("flushmark-test-{}-{test}", std::process::id()),
            place: tempfile::tempdir().unwrap(),
            monitors: rados::Cluster::connect(&access).unwrap(),
            _turn: turn,
        };
        let name = &pool.name;
        pool.monitor(
            &json!({"prefix": "osd pool create", "pool": name, "pg_num": 16, "pgp_num": 16}),
        );
        let set = |var: &str, val: u32| {
            let sure = "yes_i_really_mean_it";
            pool.monitor(&json!({"prefix": "osd pool set", "pool": name, "var": var,
                "val": val.to_string(), sure: true}));
        };
        set("size", replicas);
        set("min_size", 1);
        pool.monitor(&json!({"prefix": "osd pool application enable", "pool": name, "app": "rbd"}));
        Some(pool)
    }

    /// Sends a command to the monitors; Ceph's own `ceph` would take a second to start.
    pub fn monitor(&self, command: &Value) -> Vec<u8> {
        self.monitors.monitor_command(&command.to_string()).unwrap()
    }

    /// The names of all pools.
    pub fn pools(&self) -> Vec<String> {
        let listed = self.monitor(&json!({"prefix": "osd pool ls", "format": "json"}));
        serde_json::from_slice(&listed).unwrap()
    }

    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("CEPH_CONF", &self.conf).current_dir(self.place.path());
        command
    }

    /// Runs one of Ceph's own tools, and returns its stdout.
    pub fn tool(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn flushmark(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(flushmark().get_program());
        command.args(arguments).env("FLUSHMARK_STORE", "none");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.flushmark(arguments).output().unwrap())
    }

    /// The result document of this plan.
    pub fn measure(&self, text: &str, target: &str, more: &[&str]) -> Value {
        let plan = plan(self.place.path(), text);
        let arguments = ["run", &plan, "--target", target, "--quiet", "--format", "json"];
        let run = self.run(&[&arguments[..], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.document()
    }

    pub fn objects(&self) -> String {
        self.tool("rados", &["--pool", &self.name, "ls", "--all"])
    }

    pub fn target(&self) -> String {
        format!("rados:{}", self.name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn conf(&self) -> &Path {
        &self.conf
    }

    /// The path of a ceph.conf for clients that says this as well.
    pub fn with_options(&self, options: &str) -> String {
        let whole = std::fs::read_to_string(&self.conf).unwrap() + "\n[client]\n" + options + "\n";
        let path = self.place.path().join("client.conf");
        std::fs::write(&path, whole).unwrap();
        path.display().to_string()
    }

    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// The process of an OSD.
    pub fn osd_process(&self, osd: u32) -> String {
        let file = self.conf.with_file_name(format!("osd.{osd}.pid"));
        std::fs::read_to_string(file).unwrap().trim().to_owned()
    }

    pub fn image(&self, name: &str) -> String {
        let image = format!("{}/{name}", self.name);
        self.tool("rbd", &["create", &image, "--size", "64M"]);
        image
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let delete = json!({"prefix": "osd pool delete", "pool": self.name, "pool2": self.name,
            "yes_i_really_really_mean_it": true});
        let _ = self.monitors.monitor_command(&delete.to_string());
    }
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for something that a running command does.
pub fn while_running(mut child: Child, mut happened: impl FnMut() -> bool) -> Child {
    until(|| match child.try_wait().unwrap() {
        None => happened(),
        Some(_) => true,
    });
    if child.try_wait().unwrap().is_some() {
        let run = Run::of(child.wait_with_output().unwrap());
        panic!("it has ended: {:?} {} {}", run.code, run.stdout, run.stderr);
    }
    child
}

pub fn until(mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}
