//! What end-to-end tests share: running the binary, real loop devices, real mounts, visible skips.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub fn flushmark() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flushmark"));
    // Nothing of a test belongs into a developer's own store.
    command.env("FLUSHMARK_STORE", "none");
    command
}

/// What a run of the program came to.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: Output) -> Run {
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The result document on stdout.
    pub fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// stderr without what it says of drives that other tests have killed and not taken away yet.
    pub fn words(&self) -> String {
        let of_others = |line: &&str| line.contains("was left by an emulated drive whose process was killed");
        self.stderr.lines().filter(|line| !of_others(line)).collect::<Vec<_>>().join("\n")
    }

    /// stderr with a path replaced, for golden sentences.
    pub fn said(&self, path: impl AsRef<Path>, name: &str) -> String {
        self.words().replace(&*path.as_ref().to_string_lossy(), name).trim_end().to_owned()
    }
}

/// Runs it with these arguments.
pub fn run(args: &[&str]) -> Run {
    Run::of(flushmark().args(args).output().unwrap())
}

/// A plan in a file of its own.
pub fn plan(directory: &Path, text: &str) -> String {
    let path = directory.join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// Whether this machine can mount FUSE; says so when it cannot.
pub fn needs_fuse(test: &str) -> bool {
    let there = Path::new("/dev/fuse").exists();
    if !there {
        eprintln!("skipped: {test}: the kernel has no FUSE");
    }
    there
}

/// Whether ordinary users can mount FUSE here; says so when they cannot.
pub fn needs_fusermount(test: &str) -> bool {
    needs_fuse(test) && needs_program(test, "fusermount3", "fuse3")
}

/// Whether a program of a Debian package is installed; says so when it is not.
pub fn needs_program(test: &str, program: &str, package: &str) -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(program).is_file());
    if !there {
        eprintln!("skipped: {test}: {program} is not installed (package {package})");
    }
    there
}

/// Whether a filesystem can be made here; says so when it cannot.
pub fn needs_mkfs(test: &str, filesystem: &str) -> bool {
    let package = if filesystem == "xfs" { "xfsprogs" } else { "e2fsprogs" };
    needs_program(test, &format!("mkfs.{filesystem}"), package)
}

/// Whether a test that needs root may go on; says so when it may not.
pub fn needs_root(test: &str) -> bool {
    if !is_root() {
        eprintln!("skipped: {test}: needs root");
    }
    is_root()
}

/// Whether emulated drives can be mounted here; says so when they cannot.
pub fn needs_mounts(test: &str) -> bool {
    needs_root(test) && needs_fuse(test)
}

/// A directory in memory, as a user's runtime directory is; says so when there is none.
pub fn memory(test: &str) -> Option<tempfile::TempDir> {
    let made = tempfile::tempdir_in("/dev/shm");
    if let Err(reason) = &made {
        eprintln!("skipped: {test}: no directory in memory: /dev/shm: {reason}");
    }
    made.ok()
}

/// Runs of the program as an ordinary user.
pub struct Nobody {
    // The binary lies where an ordinary user may not look, so a copy is run.
    place: tempfile::TempDir,
}

impl Nobody {
    /// `None` without root, which it takes to become somebody else; that is said.
    pub fn new(test: &str) -> Option<Nobody> {
        if !needs_root(test) {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        std::fs::copy(flushmark().get_program(), place.path().join("flushmark")).unwrap();
        system("chmod", &["-R", "a+rX", place.path().to_str().unwrap()]).unwrap();
        Some(Nobody { place })
    }

    pub fn run(&self, args: &[&str]) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).arg(self.place.path().join("flushmark")).args(args);
        Run::of(command.output().unwrap())
    }

    /// A script of the shell, in which `$0` is the program.
    pub fn shell(&self, script: &str) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups", "bash", "-c", script]);
        Run::of(command.arg(self.place.path().join("flushmark")).output().unwrap())
    }

    /// The same, where `/dev/fuse` has this mode. Where udev runs it is 666, elsewhere 600. Mounts
    /// are seen by the script alone.
    pub fn shell_with_fuse(&self, mode: &str, script: &str) -> Run {
        const WITH_FUSE: &str = "mount -t tmpfs devices \"$1\" && mknod -m \"$2\" \"$1/fuse\" c 10 229 \
             && mount --bind \"$1/fuse\" /dev/fuse \
             && exec setpriv --reuid 65534 --clear-groups bash -c \"$3\" \"$0\"";
        let devices = tempfile::tempdir().unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", WITH_FUSE]).arg(self.place.path().join("flushmark"));
        Run::of(command.arg(devices.path()).args([mode, script]).output().unwrap())
    }
}

/// Whether tests with real components from packages may go on; says so when they may not.
pub fn needs_rigs(test: &str) -> bool {
    let rigs = std::env::var_os("FLUSHMARK_RIGS").is_some();
    if !rigs {
        eprintln!("skipped: {test}: needs packages that `cargo xtask test --rigs` installs");
    }
    rigs && needs_root(test)
}

/// Sends a process the signal and waits for its end, which has to come within this time.
pub fn interrupt(child: Child, signal: &str, most: Duration) -> Run {
    kill(&[signal, &child.id().to_string()]).unwrap();
    let begun = Instant::now();
    let run = Run::of(child.wait_with_output().unwrap());
    assert!(begun.elapsed() < most, "{signal} took {:?}", begun.elapsed());
    run
}

/// Runs a system program; its output on success.
pub fn system(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The shell's own `kill`: as a program it belongs to a package (procps) that a small system lacks.
pub fn kill(args: &[&str]) -> Result<String, String> {
    system("sh", &[&["-c", "kill \"$@\"", "kill"], args].concat())
}

/// A loop device on a sparse file, detached at the end.
pub struct LoopDevice {
    pub path: String,
    directory: tempfile::TempDir,
}

impl LoopDevice {
    /// `None`, with the reason said, where the system has no loop devices to give.
    pub fn new(test: &str, bytes: u64, args: &[&str]) -> Option<LoopDevice> {
        LoopDevice::within(test, &std::env::temp_dir(), bytes, args)
    }

    /// With its file in a directory.
    pub fn within(test: &str, parent: &Path, bytes: u64, args: &[&str]) -> Option<LoopDevice> {
        let directory = tempfile::tempdir_in(parent).unwrap();
        let image = directory.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let image = image.to_string_lossy().into_owned();
        match system("losetup", &[&["--find", "--show"], args, &[&image]].concat()) {
            Ok(path) => Some(LoopDevice { path, directory }),
            Err(reason) => {
                eprintln!("skipped: {test}: {reason}");
                None
            }
        }
    }

    /// Takes its size away, as a drive does that lost the map of its flash.
    pub fn lose_size(&self) {
        std::fs::OpenOptions::new().write(true).truncate(true).open(self.directory.path().join("image")).unwrap();
        system("losetup", &["--set-capacity", &self.path]).unwrap();
    }

    /// The kernel's name, such as `loop3`.
    pub fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = system("losetup", &["--detach", &self.path]);
    }
}

/// A mount, taken away at the end.
pub struct Mount {
    pub path: PathBuf,
    directory: Option<tempfile::TempDir>,
}

impl Mount {
    /// `None`, with the reason said, where it cannot be mounted.
    pub fn new(test: &str, args: &[&str]) -> Option<Mount> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Mount::at(test, args, directory.path())?;
        mount.directory = Some(directory);
        Some(mount)
    }

    /// On a directory of the test's.
    pub fn at(test: &str, args: &[&str], path: &Path) -> Option<Mount> {
        let path = path.to_owned();
        match system("mount", &[args, &[&*path.to_string_lossy()]].concat()) {
            Ok(_) => Some(Mount { path, directory: None }),
            Err(reason) => {
                eprintln!("skipped: {test}: {reason}");
                None
            }
        }
    }

    pub fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = system("umount", &["--lazy", self.text()]);
    }
}

/// What lies in a directory.
pub fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// A real Chromium; `None`, with the reason said, where it is not installed.
pub fn browser(test: &str) -> Option<chromium::Browser> {
    match chromium::Browser::start() {
        Ok(browser) => Some(browser),
        Err(chromium::ChromiumError::NotInstalled) => {
            eprintln!("skipped: {test}: {}", chromium::ChromiumError::NotInstalled);
            None
        }
        Err(error) => panic!("{error}"),
    }
}
