//! The user's check of one state: the drive is served as the cut left it, mounted as after a
//! reboot, and the check is run on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emulate::{ChainError, Filesystem, LoopDevice};

use crate::error::CrashError;
use crate::group::{Group, Stream};
use crate::mounted::{Mounted, NotMounted};
use crate::served::QUEUE;
use crate::state::State;

/// Maximum length of a check's output that is kept, in bytes.
const WORDS_BYTES_MAX: usize = 4000;

/// The check of a state: a command and its conditions.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Check {
    /// A shell command; a non-zero exit code fails the state.
    pub command: String,
    /// If given, any other output fails the state, too.
    pub expect: Option<String>,
    /// The filesystem to mount for the check; `None`: the check gets the drive itself.
    #[serde(with = "crate::filesystem_name")]
    pub filesystem: Option<Filesystem>,
    /// A check that takes longer fails the state.
    pub timeout_s: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckVerdict {
    Passed,
    /// With the output of the check.
    Failed(String),
}

/// The place where states are served one after the other: a file, a loop device on it if it is
/// mounted, and a mount point.
#[derive(Debug)]
pub(crate) struct CheckSlot {
    file: PathBuf,
    device: Option<LoopDevice>,
    directory: PathBuf,
    /// The file for the printed lines.
    printed: PathBuf,
}

impl CheckSlot {
    /// Uses a served file. `directory` is empty and used by nothing else.
    pub(crate) fn new(
        file: PathBuf,
        directory: PathBuf,
        printed: PathBuf,
        mounts: bool,
    ) -> Result<CheckSlot, ChainError> {
        let device = mounts.then(|| LoopDevice::attach(&file, QUEUE)).transpose()?;
        Ok(CheckSlot { file, device, directory, printed })
    }

    /// The drive: the loop device, or the file.
    pub(crate) fn drive(&self) -> &Path {
        self.device.as_ref().map_or(self.file.as_path(), LoopDevice::path)
    }

    /// Checks the state that the file currently serves.
    ///
    /// # Errors
    /// When this host cannot mount it, whatever its content; when the check cannot be started; and
    /// when the check leaves a process behind that uses the filesystem.
    pub(crate) fn check(
        &self,
        check: &Check,
        state: &State,
        printed: &[u8],
    ) -> Result<CheckVerdict, CrashError> {
        let failed = |source| CrashError::Check { state: state.clone(), source };
        std::fs::write(&self.printed, printed).map_err(failed)?;
        let Some(filesystem) = check.filesystem else {
            return self.run(check, state, None).map_err(failed);
        };
        let mounted = match Mounted::new(self.drive(), &self.directory, filesystem) {
            Ok(mounted) => mounted,
            Err(NotMounted::Content(error)) => {
                return Ok(CheckVerdict::Failed(format!("it cannot be mounted: {error}")));
            }
            Err(NotMounted::Machine(source)) => {
                return Err(CrashError::CannotMount { state: state.clone(), source });
            }
        };
        let verdict = self.run(check, state, Some(&self.directory)).map_err(failed)?;
        let held =
            |holders| CrashError::Held { who: format!("the check of state {state}"), holders };
        mounted.unmount().map_err(held)?;
        Ok(verdict)
    }

    /// Calls `work` with the drive and the directory where the state's filesystem is mounted.
    pub(crate) fn mounted<T>(
        &self,
        state: &State,
        filesystem: Filesystem,
        work: impl FnOnce(&Path, &Path) -> T,
    ) -> Result<T, CrashError> {
        // There is no mount point if the check mounts nothing.
        let own = match self.device {
            Some(_) => None,
            None => Some(LoopDevice::attach(&self.file, QUEUE)?),
        };
        let device = own.as_ref().map_or(self.drive(), LoopDevice::path);
        let mounted =
            Mounted::new(device, &self.directory, filesystem).map_err(|error| match error {
                NotMounted::Content(source) => {
                    CrashError::DoesNotMount { state: state.clone(), source }
                }
                NotMounted::Machine(source) => {
                    CrashError::CannotMount { state: state.clone(), source }
                }
            })?;
        let result = work(device, &self.directory);
        let held =
            |holders| CrashError::Held { who: format!("the inspection of state {state}"), holders };
        mounted.unmount().map_err(held)?;
        Ok(result)
    }

    fn run(
        &self,
        check: &Check,
        state: &State,
        directory: Option<&Path>,
    ) -> std::io::Result<CheckVerdict> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &check.command])
            .env("CRASH_DRIVE", self.drive())
            .env("CRASH_PRINTED", &self.printed)
            .env("CRASH_STATE", state.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = directory {
            command.current_dir(directory).env("CRASH_DIR", directory);
        }
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let until = Instant::now() + Duration::from_secs(check.timeout_s);
        let mut group = Group::start(&mut command)?;
        let status = group.attend(
            || Instant::now() < until,
            |stream, pipe| {
                let kept = if stream == Stream::Stdout { &mut said } else { &mut complained };
                pipe.drain(|words| {
                    kept.extend_from_slice(&words[..words.len().min(WORDS_BYTES_MAX - kept.len())]);
                    Ok(())
                })
            },
        )?;
        // Processes left running would keep the filesystem mounted.
        drop(group);
        let [said, complained] =
            [said, complained].map(|words| String::from_utf8_lossy(&words).trim().to_owned());
        Ok(match status {
            None => CheckVerdict::Failed(format!("it took longer than {} s", check.timeout_s)),
            Some(status) if !status.success() => {
                let words = if complained.is_empty() { said } else { complained };
                CheckVerdict::Failed(if words.is_empty() { status.to_string() } else { words })
            }
            Some(_) => match &check.expect {
                Some(expected) if said != *expected => {
                    CheckVerdict::Failed(format!("unexpected output: {said}"))
                }
                _ => CheckVerdict::Passed,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_the_checks_exit_code_and_output() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("drive"), "content").unwrap();
        let slot = CheckSlot::new(path("drive"), path("mounted"), path("printed"), false).unwrap();
        let verdict = |command: &str, expect: Option<&str>, timeout_s| {
            let (command, expect) = (command.to_owned(), expect.map(str::to_owned));
            let check = Check { command, expect, filesystem: None, timeout_s };
            slot.check(&check, &State::whole(3), b"one\ntwo\n").unwrap()
        };
        let failed = |why: &str| CheckVerdict::Failed(why.to_owned());
        assert_eq!(verdict("echo fine; echo careful >&2", None, 60), CheckVerdict::Passed);
        assert_eq!(verdict("cat $CRASH_DRIVE", Some("content"), 60), CheckVerdict::Passed);
        assert_eq!(
            verdict("cat $CRASH_DRIVE", Some("contents"), 60),
            failed("unexpected output: content")
        );
        assert_eq!(
            verdict("echo $CRASH_STATE; cat $CRASH_PRINTED; exit 2", None, 60),
            failed("3\none\ntwo")
        );
        assert_eq!(verdict("echo fine; echo ' lost ' >&2; exit 2", None, 60), failed("lost"));
        assert_eq!(verdict("exit 2", Some(""), 60), failed("exit status: 2"));
        assert_eq!(verdict("sleep 60", None, 1), failed("it took longer than 1 s"));
        // In pieces, to exceed the limit of a single read.
        let much = "head -c 3000 /dev/zero | tr '\\0' x; sleep 0.3; head -c 3000 /dev/zero | tr \
                    '\\0' y; exit 1";
        assert_eq!(
            verdict(much, None, 60),
            failed(&("x".repeat(3000) + &"y".repeat(WORDS_BYTES_MAX - 3000)))
        );
    }

    #[test]
    fn a_failure_of_the_host_is_not_a_verdict() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        // Neither is a block device, and one does not even exist.
        std::fs::write(path("there"), [0; 4096]).unwrap();
        std::fs::create_dir(path("mounted")).unwrap();
        let check = Check {
            command: "true".to_owned(),
            expect: None,
            filesystem: Some(Filesystem::Ext4),
            timeout_s: 60,
        };
        for file in ["there", "gone"] {
            let slot = CheckSlot::new(path(file), path("mounted"), path("printed"), false).unwrap();
            let checked = slot.check(&check, &State::whole(3), &[]);
            assert!(matches!(checked, Err(CrashError::CannotMount { .. })), "{checked:?}");
        }
        let error = CrashError::CannotMount {
            state: State::whole(3),
            source: rustix::io::Errno::MFILE.into(),
        };
        insta::assert_snapshot!(error, @"state 3 cannot be mounted for a reason unrelated to its content, so it has no verdict; fix the cause and continue with --resume");
    }
}
