//! Recording: the drive is made, the command runs on it, and everything that it writes goes into the log.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use emulate::chain::{Blank, Filesystem, LoopDevice, MountedFilesystem};

use crate::error::CrashError;
use crate::group::{Group, Stream};
use crate::holders::Holders;
use crate::mounted::unmounted_by;
use crate::recorded::Recorded;
use crate::served::{DRIVE, QUEUE, Served};
use crate::session::Session;
use crate::view::Recording;

/// What is recorded, and on what.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The command, word by word.
    pub command: Vec<String>,
    /// A command of the shell that lays out what the command finds; what it has written by its end is safe before the recording begins.
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

/// Records a command. `work` is an empty directory in which things are mounted. When `stop` says so, the command is killed.
///
/// # Errors
/// When the drive cannot be put up, the command not be run, or what it writes not be kept. That the command fails is no error: what it wrote can be checked all the same.
pub fn record(scene: &Scene, session: &Session, work: &Path, stop: &dyn Fn() -> bool) -> Result<Outcome, CrashError> {
    let is_root = rustix::process::geteuid().is_root();
    if scene.filesystem.is_some() && !is_root {
        return Err(CrashError::Root);
    }
    let (base, log) = session.blank(scene.capacity_bytes)?;
    let drives = work.join("drives");
    let directory = work.join("mounted");
    for directory in [&drives, &directory] {
        std::fs::create_dir_all(directory).map_err(CrashError::call("making a directory to mount on"))?;
    }
    let recorded = Recorded::new(base, log, scene.capacity_bytes);
    let served = Served::of_recorded(&drives, recorded)?;
    let file = served.path(DRIVE);
    let device = scene.filesystem.is_some().then(|| LoopDevice::attach(&file, QUEUE)).transpose()?;
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
    // What it leaves running, a server perhaps, is there for the command, and ends with it.
    let mut prepared = None;
    if let Some(prepare) = &scene.prepare {
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), prepare.clone()];
        // Its words are no part of the result.
        let mut group = start(&words, place, &drive, io::stderr().into())?;
        let status =
            group.attend(|| !stop(), |_, _| Ok(())).map_err(CrashError::call("waiting for the preparation"))?;
        let status = status.ok_or(CrashError::Stopped)?;
        if !status.success() {
            return Err(CrashError::Prepare { command: prepare.clone(), status });
        }
        prepared = Some(group);
    }
    // What there is by now is there to stay.
    if place.is_some() {
        let opened = std::fs::File::open(&directory).map_err(CrashError::call("syncing the filesystem"))?;
        rustix::fs::syncfs(&opened).map_err(|error| CrashError::call("syncing the filesystem")(error.into()))?;
    }
    let broke_off = |source| CrashError::Recording { directory: session.directory().to_owned(), source };
    served.recorded(Recorded::begin).map_err(broke_off)?;
    let is_whole = || served.recorded(|recorded| recorded.is_whole());
    let go_on = || !stop() && is_whole().is_ok();
    let mut group = start(&scene.command, place, &drive, Stdio::piped())?;
    let mut lines = Lines::default();
    let printed = |line: &[u8]| served.recorded(|recorded| recorded.printed(line));
    let status = group
        .attend(go_on, |stream, words| if stream == Stream::Said { lines.hear(words, printed) } else { Ok(()) })
        .map_err(CrashError::call("waiting for the command"));
    is_whole().map_err(broke_off)?;
    let status = status?.ok_or(CrashError::Stopped)?;
    lines.end(printed).map_err(broke_off)?;
    if place.is_some() {
        let settled = Instant::now() + scene.settle;
        while go_on() && Instant::now() < settled {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // What they left running would keep the filesystem.
    drop((group, prepared));
    if stop() {
        return Err(CrashError::Stopped);
    }
    if let (Some(mounted), Some(device)) = (&mut mounted, &device)
        && !unmounted_by(|| mounted.unmount().is_ok())
    {
        mounted.unmount_lazily();
        return Err(CrashError::Held { who: "the command".to_owned(), holders: Holders::of(device.path()) });
    }
    let tape = served.recorded(Recorded::end).map_err(broke_off)?;
    drop(device);
    drop(served);
    let missing = || io::Error::other("it never began");
    let recording = Recording::new(tape.ok_or_else(missing).map_err(broke_off)?);
    Ok(Outcome { recording, status })
}

fn start(words: &[String], directory: Option<&Path>, drive: &Path, stdout: Stdio) -> Result<Group, CrashError> {
    let failed = |source| CrashError::Command { command: words.join(" "), source };
    let (program, arguments) = words.split_first().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let mut command = Command::new(program);
    command.args(arguments).env("CRASH_DRIVE", drive).stdin(Stdio::null()).stdout(stdout);
    if let Some(directory) = directory {
        command.current_dir(directory).env("CRASH_DIR", directory);
    }
    Group::start(&mut command).map_err(failed)
}

/// Lines out of pieces.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn hear(&mut self, words: &[u8], mut line: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut pieces = words.split(|&byte| byte == b'\n');
        // What follows the last line's end is the beginning of another one.
        self.begun.extend(pieces.next().unwrap_or_default());
        for piece in pieces {
            line(&self.begun)?;
            self.begun.clear();
            self.begun.extend(piece);
        }
        Ok(())
    }

    fn end(&self, mut line: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.begun.is_empty() { Ok(()) } else { line(&self.begun) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_put_together() {
        let mut lines = Lines::default();
        let mut heard: Vec<String> = Vec::new();
        let mut note = |line: &[u8]| {
            heard.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        for words in ["o", "ne\ntwo\n", "\nfo", "", "ur"] {
            lines.hear(words.as_bytes(), &mut note).unwrap();
        }
        lines.end(&mut note).unwrap();
        assert_eq!(heard, ["one", "two", "", "four"]);
    }
}
