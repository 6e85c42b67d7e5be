//! Recording: the drive is made, the command runs on it, and everything that it writes goes into the log.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use emulate::chain::{Blank, Filesystem, LoopDevice, MountedFilesystem};

use crate::error::CrashError;
use crate::recorded::Recorded;
use crate::served::{DRIVE, Served};
use crate::session::Session;
use crate::view::Recording;

/// What is recorded, and on what.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The command, word by word.
    pub command: Vec<String>,
    /// A command of the shell that lays out what the command finds; what it writes is safe before the recording begins.
    pub prepare: Option<String>,
    /// The filesystem; none: the command gets the drive itself.
    pub filesystem: Option<Filesystem>,
    /// The drive's size.
    pub capacity_bytes: u64,
    /// How long after the command's end is recorded: the kernel writes out by and by what nobody synced.
    pub settle: Duration,
}

/// What a recording came to.
#[derive(Debug)]
pub struct Outcome {
    /// It.
    pub recording: Recording,
    /// How the command ended.
    pub status: ExitStatus,
}

/// Records a command. `work` is an empty directory in which things are mounted.
///
/// # Errors
/// When the drive cannot be put up, or the command not be run. That the command fails is no error: what it wrote can be checked all the same.
pub fn record(scene: &Scene, session: &Session, work: &Path) -> Result<Outcome, CrashError> {
    let is_root = rustix::process::geteuid().is_root();
    if scene.filesystem.is_some() && !is_root {
        return Err(CrashError::Root);
    }
    let (base, log) = session.blank(scene.capacity_bytes)?;
    let drives = work.join("drives");
    let directory = work.join("mounted");
    for directory in [&drives, &directory] {
        std::fs::create_dir_all(directory).map_err(CrashError::call("a directory to mount on"))?;
    }
    let served = Served::mount(&drives, Recorded::new(base, log, scene.capacity_bytes), 0)?;
    let file = served.path(DRIVE);
    let device = scene.filesystem.is_some().then(|| LoopDevice::attach(&file, true, false)).transpose()?;
    let drive: PathBuf = device.as_ref().map_or(file.clone(), |device| device.path().to_owned());
    let mut mounted = match (&device, scene.filesystem) {
        (Some(device), Some(filesystem)) => {
            // What nobody synced is committed after a second, not after five.
            let commits = if filesystem == Filesystem::Ext4 { ",commit=1" } else { "" };
            let options = format!("{}{commits}", filesystem.mount_options());
            Some(MountedFilesystem::mount(device.path(), &directory, filesystem, &options, Blank::GetsAFilesystem)?)
        }
        _ => None,
    };
    let place = mounted.is_some().then_some(directory.as_path());
    if let Some(prepare) = &scene.prepare {
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), prepare.clone()];
        let status =
            start(&words, place, &drive, false)?.wait().map_err(CrashError::call("waiting for the preparation"))?;
        if !status.success() {
            return Err(CrashError::Prepare { command: prepare.clone(), status });
        }
    }
    // What there is by now is there to stay.
    if place.is_some() {
        let opened = std::fs::File::open(&directory).map_err(CrashError::call("syncing the filesystem"))?;
        rustix::fs::syncfs(&opened).map_err(|error| CrashError::call("syncing the filesystem")(error.into()))?;
    }
    served.recorded(Recorded::begin).map_err(CrashError::call("beginning the log"))?;
    let mut child = start(&scene.command, place, &drive, true)?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let Ok(line) = line else { break };
            served.recorded(|recorded| recorded.printed(&line)).map_err(CrashError::call("the log"))?;
        }
    }
    let status = child.wait().map_err(CrashError::call("waiting for the command"))?;
    if place.is_some() {
        std::thread::sleep(scene.settle);
    }
    if let Some(mounted) = &mut mounted {
        mounted.unmount()?;
    }
    let tape = served.recorded(Recorded::end).map_err(CrashError::call("ending the log"))?;
    drop(device);
    drop(served);
    let missing = || io::Error::other("nothing was recorded");
    let recording = Recording::new(tape.ok_or_else(missing).map_err(CrashError::call("the log"))?);
    Ok(Outcome { recording, status })
}

fn start(words: &[String], directory: Option<&Path>, drive: &Path, listen: bool) -> Result<Child, CrashError> {
    let failed = |source| CrashError::Command { command: words.join(" "), source };
    let (program, arguments) = words.split_first().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let mut command = Command::new(program);
    command.args(arguments).env("CRASH_DRIVE", drive).stdin(Stdio::null());
    if listen {
        command.stdout(Stdio::piped());
    }
    if let Some(directory) = directory {
        command.current_dir(directory).env("CRASH_DIR", directory);
    }
    command.spawn().map_err(failed)
}
