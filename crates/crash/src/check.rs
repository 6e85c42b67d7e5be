//! A person's check of one state: the drive is put up as the cut left it, mounted as after a reboot, and the check is run on it.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use emulate::chain::{ChainError, Filesystem, LoopDevice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::state::State;

/// What is kept of a check's words.
const WORDS_BYTES_MOST: usize = 4000;

/// How states are checked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Check {
    /// A command of the shell; it fails a state by its exit code.
    pub command: String,
    /// It fails a state, too, when its words are not these.
    pub expect: Option<String>,
    /// The filesystem that is mounted for it; none: it gets the drive itself.
    #[serde(with = "filesystem_name")]
    pub filesystem: Option<Filesystem>,
    /// It fails a state when it takes longer.
    pub timeout_s: u64,
}

mod filesystem_name {
    use emulate::chain::Filesystem;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde's own form")]
    pub fn serialize<S: Serializer>(filesystem: &Option<Filesystem>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(filesystem.map_or("none", Filesystem::name))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Filesystem>, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "none" => Ok(None),
            "ext4" => Ok(Some(Filesystem::Ext4)),
            "xfs" => Ok(Some(Filesystem::Xfs)),
            other => Err(serde::de::Error::custom(format!("`{other}` is no filesystem"))),
        }
    }
}

/// What became of a state.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The check was content.
    Passed,
    /// It was not; what it said.
    Failed(String),
}

/// Where one state after the other is put up: a file, a loop device on it if it is mounted, a directory to mount on.
#[derive(Debug)]
pub struct Place {
    file: PathBuf,
    device: Option<LoopDevice>,
    directory: PathBuf,
    /// The lines that had been printed go here.
    printed: PathBuf,
}

impl Place {
    /// On a served file. `directory` is empty and for this place alone.
    ///
    /// # Errors
    /// When there is no loop device.
    pub fn new(file: PathBuf, directory: PathBuf, printed: PathBuf, mounts: bool) -> Result<Place, ChainError> {
        let device = mounts.then(|| LoopDevice::attach(&file, true, false)).transpose()?;
        Ok(Place { file, device, directory, printed })
    }

    /// The drive: the loop device, or the file.
    pub fn drive(&self) -> &Path {
        self.device.as_ref().map_or(self.file.as_path(), LoopDevice::path)
    }

    /// Checks the state that stands in the file.
    ///
    /// # Errors
    /// When the check cannot even be started.
    pub fn check(&self, check: &Check, state: &State, printed: &[u8]) -> std::io::Result<Verdict> {
        std::fs::write(&self.printed, printed)?;
        let Some(filesystem) = check.filesystem else {
            return self.run(check, state, None);
        };
        let _mounted = match Mounted::new(self.drive(), &self.directory, filesystem) {
            Ok(mounted) => mounted,
            Err(error) => return Ok(Verdict::Failed(format!("it does not mount: {error}"))),
        };
        self.run(check, state, Some(&self.directory))
    }

    /// Calls `work` with the state's filesystem mounted.
    ///
    /// # Errors
    /// When it cannot be mounted.
    pub fn mounted<T>(&self, filesystem: Filesystem, work: impl FnOnce(&Path) -> T) -> std::io::Result<T> {
        let _mounted = Mounted::new(self.drive(), &self.directory, filesystem)?;
        Ok(work(&self.directory))
    }

    fn run(&self, check: &Check, state: &State, directory: Option<&Path>) -> std::io::Result<Verdict> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &check.command])
            .env("CRASH_DRIVE", self.drive())
            .env("CRASH_PRINTED", &self.printed)
            .env("CRASH_STATE", state.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, which is ended whole.
            .process_group(0);
        if let Some(directory) = directory {
            command.current_dir(directory).env("CRASH_DIR", directory);
        }
        let mut child = command.spawn()?;
        let reader = |pipe: Option<Box<dyn std::io::Read + Send>>| {
            std::thread::spawn(move || {
                let mut words = Vec::new();
                if let Some(pipe) = pipe {
                    // More is read and thrown away, so that the check does not wait for ever.
                    let mut pipe = pipe;
                    let _ = pipe.by_ref().take(WORDS_BYTES_MOST as u64).read_to_end(&mut words);
                    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
                }
                String::from_utf8_lossy(&words).trim().to_owned()
            })
        };
        let said = reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
        let complained = reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
        let status = wait(&mut child, Duration::from_secs(check.timeout_s))?;
        // Whatever it left running would keep the filesystem mounted.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        let said = said.join().unwrap_or_default();
        let complained = complained.join().unwrap_or_default();
        Ok(match status {
            None => Verdict::Failed(format!("it took more than {} s", check.timeout_s)),
            Some(status) if !status.success() => {
                let words = if complained.is_empty() { &said } else { &complained };
                Verdict::Failed(if words.is_empty() { status.to_string() } else { words.clone() })
            }
            Some(_) => match &check.expect {
                Some(expected) if said != *expected => Verdict::Failed(format!("it said: {said}")),
                _ => Verdict::Passed,
            },
        })
    }
}

/// Waits for a process; `None` when it takes longer.
fn wait(child: &mut Child, most: Duration) -> std::io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(child);
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: 0 };
    // An interruption is as rare as it is harmless: the process counts as not ended yet.
    let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout));
    child.try_wait()
}

/// A state's filesystem. By the kernel's own calls: each program that is started for it costs as much as the mount.
struct Mounted<'a> {
    directory: &'a Path,
}

impl Mounted<'_> {
    fn new<'a>(device: &Path, directory: &'a Path, filesystem: Filesystem) -> std::io::Result<Mounted<'a>> {
        let options = std::ffi::CString::new(filesystem.mount_options())?;
        mount(device, directory, filesystem.name(), MountFlags::empty(), options.as_c_str())?;
        Ok(Mounted { directory })
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // What was killed may need a moment to let go.
        for _ in 0..200 {
            match unmount(self.directory, UnmountFlags::empty()) {
                Err(rustix::io::Errno::BUSY) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        let _ = unmount(self.directory, UnmountFlags::DETACH);
    }
}
