//! Shared by the end-to-end tests: running the binary, real loop devices, real mounts, visible
//! skips.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub fn flushmark() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flushmark"));
    // Tests must not write to a developer's own store.
    command.env("FLUSHMARK_STORE", "none");
    command
}

/// The outcome of a run of the program.
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

    /// stderr without messages about drives that other tests have killed and not removed yet.
    pub fn words(&self) -> String {
        let of_others = |line: &&str| line.contains("was left by an emulated drive whose process was killed");
        self.stderr.lines().filter(|line| !of_others(line)).collect::<Vec<_>>().join("\n")
    }

    /// stderr with a path replaced, for snapshots.
    pub fn said(&self, path: impl AsRef<Path>, name: &str) -> String {
        self.words().replace(&*path.as_ref().to_string_lossy(), name).trim_end().to_owned()
    }
}

/// Runs the program with these arguments.
pub fn run(args: &[&str]) -> Run {
    Run::of(flushmark().args(args).output().unwrap())
}

/// A plan in a separate file.
pub fn plan(directory: &Path, text: &str) -> String {
    let path = directory.join("plan.toml");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

/// Returns whether this machine can mount FUSE; prints a message if not.
pub fn needs_fuse(test: &str) -> bool {
    let there = Path::new("/dev/fuse").exists();
    if !there {
        eprintln!("skipped: {test}: the kernel has no FUSE");
    }
    there
}

/// Returns whether ordinary users can mount FUSE here; prints a message if not.
pub fn needs_fusermount(test: &str) -> bool {
    needs_fuse(test) && needs_program(test, "fusermount3", "fuse3")
}

/// Returns whether a program of a Debian package is installed; prints a message if not.
pub fn needs_program(test: &str, program: &str, package: &str) -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join(program).is_file());
    if !there {
        eprintln!("skipped: {test}: {program} is not installed (package {package})");
    }
    there
}

/// Returns whether a filesystem can be created here; prints a message if not.
pub fn needs_mkfs(test: &str, filesystem: &str) -> bool {
    let package = if filesystem == "xfs" { "xfsprogs" } else { "e2fsprogs" };
    needs_program(test, &format!("mkfs.{filesystem}"), package)
}

/// Returns whether the test runs as root; prints a message if not.
pub fn needs_root(test: &str) -> bool {
    if !is_root() {
        eprintln!("skipped: {test}: needs root");
    }
    is_root()
}

/// Returns whether emulated drives can be mounted here; prints a message if not.
pub fn needs_mounts(test: &str) -> bool {
    needs_root(test) && needs_fuse(test)
}

/// A directory in memory, like a user's runtime directory; prints a message if there is none.
pub fn memory(test: &str) -> Option<tempfile::TempDir> {
    let made = tempfile::tempdir_in("/dev/shm");
    if let Err(reason) = &made {
        eprintln!("skipped: {test}: no directory in memory: /dev/shm: {reason}");
    }
    made.ok()
}

/// Copies a file so that every user can run it, in another process: what this one writes is also
/// open for writing in a child that another test's thread forks meanwhile, and cannot be run until
/// that child has called `exec` (`ETXTBSY`).
pub fn install(file: &Path, place: &Path) {
    system("install", &["-m", "755", file.to_str().unwrap(), place.to_str().unwrap()]).unwrap();
}

/// Copies the program to where every user can run it: the build directory may be closed to others.
pub fn install_program(directory: &Path) -> PathBuf {
    let place = directory.join("flushmark");
    install(Path::new(flushmark().get_program()), &place);
    place
}

/// Runs of the program as an ordinary user.
pub struct Nobody {
    place: tempfile::TempDir,
}

impl Nobody {
    /// `None`, with a message, without root, which is needed to switch users.
    pub fn new(test: &str) -> Option<Nobody> {
        if !needs_root(test) {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        install_program(place.path());
        system("chmod", &["-R", "a+rX", place.path().to_str().unwrap()]).unwrap();
        Some(Nobody { place })
    }

    pub fn run(&self, args: &[&str]) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).arg(self.place.path().join("flushmark")).args(args);
        Run::of(command.output().unwrap())
    }

    /// Runs a shell script in which `$0` is the program.
    pub fn shell(&self, script: &str) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups", "bash", "-c", script]);
        Run::of(command.arg(self.place.path().join("flushmark")).output().unwrap())
    }

    /// The same with this mode of `/dev/fuse`, which is 666 with udev and 600 otherwise. Mounts are
    /// visible to the script only.
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

/// Returns whether tests with real components from packages may run; prints a message if not.
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

/// Runs a system program, and returns its output on success.
pub fn system(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The shell's own `kill`: the program is in a package (procps) that a small system lacks.
pub fn kill(args: &[&str]) -> Result<String, String> {
    system("sh", &[&["-c", "kill \"$@\"", "kill"], args].concat())
}

/// A loop device on a sparse file, detached at the end.
pub struct LoopDevice {
    pub path: String,
    directory: tempfile::TempDir,
}

impl LoopDevice {
    /// `None`, with a message, if the system has no free loop device.
    pub fn new(test: &str, bytes: u64, args: &[&str]) -> Option<LoopDevice> {
        LoopDevice::within(test, &std::env::temp_dir(), bytes, args)
    }

    /// With its file in this directory.
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

    /// Sets its size to zero, like a drive that lost its mapping table.
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

/// A mount that is unmounted at the end.
pub struct Mount {
    pub path: PathBuf,
    directory: Option<tempfile::TempDir>,
}

impl Mount {
    /// `None`, with a message, if it cannot be mounted.
    pub fn new(test: &str, args: &[&str]) -> Option<Mount> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Mount::at(test, args, directory.path())?;
        mount.directory = Some(directory);
        Some(mount)
    }

    /// On a directory of the test.
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

/// The entries of a directory.
pub fn entries(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// A real Chromium; `None`, with a message, if it is not installed.
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
