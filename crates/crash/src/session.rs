//! A crash test on disk: what was recorded, what is checked, and what became of each state; so that it can be gone on with, and any state made again.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `session.json` | the command, the check, the drive's size, the sampling |
//! | `base.img` | the drive when the command began, sparse |
//! | `writes.log` | what was written since ([`crate::log`]) |
//! | `results.jsonl` | a line for each state that was checked |

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emulate::chain::Filesystem;

use crate::check::{Check, Verdict};
use crate::log;
use crate::state::State;
use crate::view::{Recording, Tape};

/// What is known of a session before its first state is checked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The command that was recorded, word by word.
    pub command: Vec<String>,
    /// The drive's size.
    pub capacity_bytes: u64,
    /// The filesystem on it; none: the command got the drive itself.
    #[serde(with = "crate::filesystem_name")]
    pub filesystem: Option<Filesystem>,
    /// How long the log is: what is missing of it would pass for states that are fine.
    pub log_bytes: u64,
    /// Entries of the log.
    pub log_entries: usize,
    /// How states are checked.
    pub check: Check,
    /// States between two flushes that are tried, at most.
    pub samples: usize,
    /// Decides which.
    pub seed: u64,
    /// Bytes that lie together and are written whole or not at all.
    pub atomic_bytes: u64,
}

/// A state that was checked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Checked {
    /// Its name.
    pub state: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// A session's directory.
#[derive(Debug)]
pub struct Session {
    directory: PathBuf,
}

/// Why a session cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is one already.
    #[error("`{}` exists; go on with it by `flushmark crash --resume {}`, or name another directory", .0.display(), .0.display())]
    Exists(PathBuf),
    /// There is none.
    #[error("`{}` holds no crash test ({because})", directory.display())]
    None {
        /// The directory.
        directory: PathBuf,
        /// Why.
        because: io::Error,
    },
    /// What was recorded is not there any more.
    #[error("`{}` is not as it was recorded: {what}; record the command once more", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The system said no.
    #[error("`{}` cannot be used", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl Session {
    /// A new one in a directory that does not exist yet.
    ///
    /// # Errors
    /// When it does, or cannot be made.
    pub fn create(directory: &Path) -> Result<Session, SessionError> {
        let system = |source| SessionError::System { path: directory.to_owned(), source };
        if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(system)?;
        }
        match std::fs::create_dir(directory) {
            Ok(()) => Ok(Session { directory: directory.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SessionError::Exists(directory.to_owned()))
            }
            Err(error) => Err(system(error)),
        }
    }

    /// One that was begun before, and its plan.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(directory: &Path) -> Result<(Session, Plan), SessionError> {
        let none = |because| SessionError::None { directory: directory.to_owned(), because };
        let bytes = std::fs::read(directory.join("session.json")).map_err(none)?;
        let plan = serde_json::from_slice(&bytes).map_err(|error| none(error.into()))?;
        Ok((Session { directory: directory.to_owned() }, plan))
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn system(&self, name: &str, source: io::Error) -> SessionError {
        SessionError::System { path: self.directory.join(name), source }
    }

    /// The files of a drive that is going to be recorded: base and log.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn blank(&self, capacity_bytes: u64) -> Result<(File, File), SessionError> {
        let blank = |name: &str, bytes: u64| {
            let made = OpenOptions::new().read(true).write(true).create_new(true).open(self.directory.join(name));
            made.and_then(|file| file.set_len(bytes).map(|()| file)).map_err(|error| self.system(name, error))
        };
        Ok((blank("base.img", capacity_bytes)?, blank("writes.log", 0)?))
    }

    /// Writes the plan down: from now on the session can be gone on with.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, plan: &Plan) -> Result<(), SessionError> {
        let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
        std::fs::write(self.directory.join("session.json"), text).map_err(|error| self.system("session.json", error))
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn recording(&self, plan: &Plan) -> Result<Recording, SessionError> {
        let base = self.recorded("base.img", plan.capacity_bytes)?;
        let log = self.recorded("writes.log", plan.log_bytes)?;
        let entries = log::read(&log).map_err(|error| self.system("writes.log", error))?;
        if entries.len() != plan.log_entries {
            let what = format!("it has {} entries of {}", entries.len(), plan.log_entries);
            return Err(SessionError::Damaged { path: self.directory.join("writes.log"), what });
        }
        let mut tape = Tape::new(Arc::new(base), Arc::new(log), plan.capacity_bytes);
        entries.into_iter().for_each(|entry| tape.push(entry));
        Ok(Recording::new(tape))
    }

    /// A file of the recording, of which it is known how long it is.
    fn recorded(&self, name: &str, bytes: u64) -> Result<File, SessionError> {
        let path = self.directory.join(name);
        let damaged = |what| SessionError::Damaged { path: path.clone(), what };
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged("it is gone".to_owned()),
            _ => self.system(name, error),
        })?;
        let found = file.metadata().map_err(|error| self.system(name, error))?.len();
        if found == bytes { Ok(file) } else { Err(damaged(format!("it has {found} bytes of {bytes}"))) }
    }

    /// The states that were checked. A line that was cut off counts as none.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn results(&self) -> Result<Vec<(State, Verdict)>, SessionError> {
        let file = match File::open(self.directory.join("results.jsonl")) {
            // It ended before its first result.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(|error| self.system("results.jsonl", error))?,
        };
        let lines = BufReader::new(file).lines();
        let mut results = Vec::new();
        for line in lines {
            let line = line.map_err(|error| self.system("results.jsonl", error))?;
            let Ok(Checked { state, verdict }) = serde_json::from_str(&line) else { continue };
            results.extend(state.parse().ok().map(|state| (state, verdict)));
        }
        Ok(results)
    }

    /// Where results are added to.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn log_results(&self) -> Result<ResultLog, SessionError> {
        let path = self.directory.join("results.jsonl");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|source| SessionError::System { path: path.clone(), source })?;
        // Behind a line that was cut off.
        file.write_all(b"\n").map_err(|source| SessionError::System { path: path.clone(), source })?;
        Ok(ResultLog { file, path })
    }
}

/// Where results are added to.
#[derive(Debug)]
pub struct ResultLog {
    file: File,
    path: PathBuf,
}

impl ResultLog {
    /// One more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, state: &State, verdict: &Verdict) -> Result<(), SessionError> {
        let checked = Checked { state: state.to_string(), verdict: verdict.clone() };
        let line = serde_json::to_string(&checked).unwrap_or_default() + "\n";
        self.file.write_all(line.as_bytes()).map_err(|source| SessionError::System { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printed::after_printing;
    use crate::recorded::Recorded;

    #[test]
    fn a_session_is_gone_on_with() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("deep/crash");
        let session = Session::create(&directory).unwrap();
        let said = |error: SessionError| error.to_string().replace(place.path().to_str().unwrap(), "DIR");
        insta::assert_snapshot!(said(Session::create(&directory).unwrap_err()), @"`DIR/deep/crash` exists; go on with it by `flushmark crash --resume DIR/deep/crash`, or name another directory");
        insta::assert_snapshot!(said(Session::open(&directory).unwrap_err()), @"`DIR/deep/crash` holds no crash test (No such file or directory (os error 2))");
        let check = Check { command: "true".to_owned(), expect: None, filesystem: None, timeout_s: 5 };
        let plan = Plan {
            command: vec!["a".to_owned()],
            capacity_bytes: 1 << 20,
            filesystem: Some(Filesystem::Ext4),
            log_bytes: 0,
            log_entries: 0,
            check,
            samples: 3,
            seed: 4,
            atomic_bytes: 4096,
        };
        assert_eq!(session.results().unwrap(), []);
        session.keep(&plan).unwrap();
        let mut log = session.log_results().unwrap();
        log.add(&State::whole(3), &Verdict::Passed).unwrap();
        log.add(&State::boundary(4, 2), &Verdict::Failed("gone".to_owned())).unwrap();
        // The process was killed in the middle of a line.
        let path = directory.join("results.jsonl");
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"{\"state\":\"5\",\"verd");
        std::fs::write(&path, text).unwrap();
        let (session, again) = Session::open(&directory).unwrap();
        assert_eq!(again, plan);
        session.log_results().unwrap().add(&State::whole(6), &Verdict::Passed).unwrap();
        let states: Vec<String> = session.results().unwrap().iter().map(|(state, _)| state.to_string()).collect();
        assert_eq!(states, ["3", "4-0..1", "6"]);
    }

    /// What is missing of a recording would make its states look fine, or broken.
    #[test]
    fn a_recording_that_is_not_whole_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("crash");
        let session = Session::create(&directory).unwrap();
        let (base, log) = session.blank(1 << 20).unwrap();
        let mut recorded = Recorded::new(base, log, after_printing("one\ntwo\n"), 1 << 20);
        recorded.begin().unwrap();
        recorded.note_lines().unwrap();
        let tape = recorded.end().unwrap().unwrap();
        let plan = Plan {
            command: vec![],
            capacity_bytes: 1 << 20,
            filesystem: None,
            log_bytes: tape.log_bytes(),
            log_entries: tape.entries().len(),
            check: Check { command: String::new(), expect: None, filesystem: None, timeout_s: 1 },
            samples: 1,
            seed: 0,
            atomic_bytes: 4096,
        };
        assert_eq!(session.recording(&plan).unwrap().entries().len(), 2);
        let said = |plan: &Plan| {
            let error = session.recording(plan).unwrap_err().to_string();
            error.replace(directory.to_str().unwrap(), "DIR")
        };
        insta::assert_snapshot!(said(&Plan { log_entries: 3, ..plan.clone() }), @"`DIR/writes.log` is not as it was recorded: it has 2 entries of 3; record the command once more");
        let log = directory.join("writes.log");
        let whole = std::fs::read(&log).unwrap();
        std::fs::write(&log, &whole[..whole.len() - 1]).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/writes.log` is not as it was recorded: it has 39 bytes of 40; record the command once more");
        std::fs::remove_file(&log).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/writes.log` is not as it was recorded: it is gone; record the command once more");
        assert!(!log.exists());
        std::fs::write(&log, &whole).unwrap();
        std::fs::remove_file(directory.join("base.img")).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/base.img` is not as it was recorded: it is gone; record the command once more");
    }
}
