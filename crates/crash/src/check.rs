//! A person's check of one state: the drive is put up as the cut left it, mounted as after a reboot, and the check is run on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use emulate::chain::{ChainError, Filesystem, LoopDevice};

use crate::error::CrashError;
use crate::group::{Group, Stream};
use crate::mounted::{Mounted, NotMounted};
use crate::served::QUEUE;
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
    #[serde(with = "crate::filesystem_name")]
    pub filesystem: Option<Filesystem>,
    /// It fails a state when it takes longer.
    pub timeout_s: u64,
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
        let device = mounts.then(|| LoopDevice::attach(&file, QUEUE)).transpose()?;
        Ok(Place { file, device, directory, printed })
    }

    /// The drive: the loop device, or the file.
    pub fn drive(&self) -> &Path {
        self.device.as_ref().map_or(self.file.as_path(), LoopDevice::path)
    }

    /// Checks the state that stands in the file.
    ///
    /// # Errors
    /// When the machine cannot mount it, whatever it holds, when the check cannot be started, and when it leaves something running that uses the filesystem.
    pub fn check(&self, check: &Check, state: &State, printed: &[u8]) -> Result<Verdict, CrashError> {
        let failed = |source| CrashError::Check { state: state.clone(), source };
        std::fs::write(&self.printed, printed).map_err(failed)?;
        let Some(filesystem) = check.filesystem else {
            return self.run(check, state, None).map_err(failed);
        };
        let mounted = match Mounted::new(self.drive(), &self.directory, filesystem) {
            Ok(mounted) => mounted,
            Err(NotMounted::Content(error)) => return Ok(Verdict::Failed(format!("it does not mount: {error}"))),
            Err(NotMounted::Machine(source)) => return Err(CrashError::CannotMount { state: state.clone(), source }),
        };
        let verdict = self.run(check, state, Some(&self.directory)).map_err(failed)?;
        let held = |holders| CrashError::Held { who: format!("the check of the state {state}"), holders };
        mounted.unmount().map_err(held)?;
        Ok(verdict)
    }

    /// Calls `work` with the drive and the directory where the state's filesystem is mounted.
    ///
    /// # Errors
    /// When it cannot be mounted, and when something is left that uses it.
    pub fn mounted<T>(
        &self,
        state: &State,
        filesystem: Filesystem,
        work: impl FnOnce(&Path, &Path) -> T,
    ) -> Result<T, CrashError> {
        // Where the check mounts nothing, there is none.
        let own = match self.device {
            Some(_) => None,
            None => Some(LoopDevice::attach(&self.file, QUEUE)?),
        };
        let device = own.as_ref().map_or(self.drive(), LoopDevice::path);
        let mounted = Mounted::new(device, &self.directory, filesystem).map_err(|error| match error {
            NotMounted::Content(source) => CrashError::DoesNotMount { state: state.clone(), source },
            NotMounted::Machine(source) => CrashError::CannotMount { state: state.clone(), source },
        })?;
        let result = work(device, &self.directory);
        let held = |holders| CrashError::Held { who: format!("the look at the state {state}"), holders };
        mounted.unmount().map_err(held)?;
        Ok(result)
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
                let kept = if stream == Stream::Said { &mut said } else { &mut complained };
                pipe.drain(|words| {
                    kept.extend_from_slice(&words[..words.len().min(WORDS_BYTES_MOST - kept.len())]);
                    Ok(())
                })
            },
        )?;
        // Whatever it left running would keep the filesystem mounted.
        drop(group);
        let [said, complained] = [said, complained].map(|words| String::from_utf8_lossy(&words).trim().to_owned());
        Ok(match status {
            None => Verdict::Failed(format!("it took more than {} s", check.timeout_s)),
            Some(status) if !status.success() => {
                let words = if complained.is_empty() { said } else { complained };
                Verdict::Failed(if words.is_empty() { status.to_string() } else { words })
            }
            Some(_) => match &check.expect {
                Some(expected) if said != *expected => Verdict::Failed(format!("it said: {said}")),
                _ => Verdict::Passed,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_the_checks_exit_code_and_its_words() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("drive"), "content").unwrap();
        let place = Place::new(path("drive"), path("mounted"), path("printed"), false).unwrap();
        let verdict = |command: &str, expect: Option<&str>, timeout_s| {
            let (command, expect) = (command.to_owned(), expect.map(str::to_owned));
            let check = Check { command, expect, filesystem: None, timeout_s };
            place.check(&check, &State::whole(3), b"one\ntwo\n").unwrap()
        };
        let failed = |why: &str| Verdict::Failed(why.to_owned());
        assert_eq!(verdict("echo fine; echo careful >&2", None, 60), Verdict::Passed);
        assert_eq!(verdict("cat $CRASH_DRIVE", Some("content"), 60), Verdict::Passed);
        assert_eq!(verdict("cat $CRASH_DRIVE", Some("contents"), 60), failed("it said: content"));
        assert_eq!(verdict("echo $CRASH_STATE; cat $CRASH_PRINTED; exit 2", None, 60), failed("3\none\ntwo"));
        assert_eq!(verdict("echo fine; echo ' lost ' >&2; exit 2", None, 60), failed("lost"));
        assert_eq!(verdict("exit 2", Some(""), 60), failed("exit status: 2"));
        assert_eq!(verdict("sleep 60", None, 1), failed("it took more than 1 s"));
        // In pieces, so that the limit is not that of a single read.
        let much = "head -c 3000 /dev/zero | tr '\\0' x; sleep 0.3; head -c 3000 /dev/zero | tr '\\0' y; exit 1";
        assert_eq!(verdict(much, None, 60), failed(&("x".repeat(3000) + &"y".repeat(WORDS_BYTES_MOST - 3000))));
    }

    #[test]
    fn what_the_machine_cannot_do_is_no_verdict() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        // Neither is a block device, and one is not even there.
        std::fs::write(path("there"), [0; 4096]).unwrap();
        std::fs::create_dir(path("mounted")).unwrap();
        let check =
            Check { command: "true".to_owned(), expect: None, filesystem: Some(Filesystem::Ext4), timeout_s: 60 };
        for file in ["there", "gone"] {
            let place = Place::new(path(file), path("mounted"), path("printed"), false).unwrap();
            let checked = place.check(&check, &State::whole(3), &[]);
            assert!(matches!(checked, Err(CrashError::CannotMount { .. })), "{checked:?}");
        }
        let error = CrashError::CannotMount { state: State::whole(3), source: rustix::io::Errno::MFILE.into() };
        insta::assert_snapshot!(error, @"the state 3 cannot be mounted for a reason that is not in its content, so nothing is said of it; --resume goes on when that is mended");
    }
}
