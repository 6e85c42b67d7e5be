//! A real Ceph cluster that tests may spoil, and pools in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Run, flushmark, plan};

/// The path of the ceph.conf of a cluster that may be spoilt.
const CLUSTER_VARIABLE: &str = "FLUSHMARK_TEST_CEPH";

/// A pool of a test, deleted in the end.
pub struct Pool {
    conf: PathBuf,
    name: String,
    place: tempfile::TempDir,
}

impl Pool {
    pub fn new(test: &str, replicas: u32) -> Option<Pool> {
        let Some(conf) = std::env::var_os(CLUSTER_VARIABLE) else {
            eprintln!("skipped: {test}: no Ceph cluster ({CLUSTER_VARIABLE} names no ceph.conf)");
            return None;
        };
        let name = format!("flushmark-test-{}-{test}", std::process::id());
        let pool = Pool { conf: conf.into(), name, place: tempfile::tempdir().unwrap() };
        pool.tool("ceph", &["osd", "pool", "create", &pool.name, "16", "16", "replicated"]);
        let size = replicas.to_string();
        let sure = "--yes-i-really-mean-it";
        pool.tool("ceph", &["osd", "pool", "set", &pool.name, "size", &size, sure]);
        pool.tool("ceph", &["osd", "pool", "set", &pool.name, "min_size", "1"]);
        pool.tool("ceph", &["osd", "pool", "application", "enable", &pool.name, "rbd"]);
        Some(pool)
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
        let delete = ["osd", "pool", "delete", &self.name, &self.name];
        let _ = self.command("ceph").args(delete).arg("--yes-i-really-really-mean-it").output();
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

pub fn until(mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}
