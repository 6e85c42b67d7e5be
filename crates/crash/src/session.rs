//! A crash test on disk: the recording, the check, and the verdict on each state. It can be
//! resumed, and any state rebuilt.
//!
//! | file | content |
//! | --- | --- |
//! | `session.json` | the command, the check, the drive's size, the sampling |
//! | `base.img` | the drive when the command began, sparse |
//! | `writes.log` | what the command wrote ([`crate::log`]) |
//! | `results.jsonl` | one line per checked state |

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emulate::Filesystem;

use crate::check::{Check, CheckVerdict};
use crate::error::SessionError;
use crate::log;
use crate::state::State;
use crate::view::{Recording, Tape};

/// The facts of a session that are fixed before its first state is checked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// The recorded command and its arguments.
    pub command: Vec<String>,
    pub capacity_bytes: u64,
    /// The filesystem on it; `None`: the command got the drive itself.
    #[serde(with = "crate::filesystem_name")]
    pub filesystem: Option<Filesystem>,
    /// Length of the log. States of a truncated log would wrongly seem fine.
    pub log_bytes: u64,
    pub log_entries: usize,
    /// The check that runs on each state.
    pub check: Check,
    /// Maximum number of states to check between two flushes.
    pub samples: usize,
    pub seed: u64,
    /// Size of the aligned unit that is written completely or not at all.
    pub atomic_bytes: u64,
}

/// A line of `results.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Checked {
    pub state: String,
    pub verdict: CheckVerdict,
}

/// A session's directory.
#[derive(Debug)]
pub struct Session {
    directory: PathBuf,
}

impl Session {
    /// Creates a session in a directory that does not exist yet.
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

    /// Opens an existing session, and reads its plan.
    pub fn open(directory: &Path) -> Result<(Session, Plan), SessionError> {
        let none = |because| SessionError::None { directory: directory.to_owned(), because };
        let bytes = std::fs::read(directory.join("session.json")).map_err(none)?;
        let plan = serde_json::from_slice(&bytes).map_err(|error| none(error.into()))?;
        Ok((Session { directory: directory.to_owned() }, plan))
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn system(&self, name: &str, source: io::Error) -> SessionError {
        SessionError::System { path: self.directory.join(name), source }
    }

    /// Creates the files of a drive to be recorded: base and log.
    pub fn blank(&self, capacity_bytes: u64) -> Result<(File, File), SessionError> {
        let blank = |name: &str, bytes: u64| {
            let made = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(self.directory.join(name));
            made.and_then(|file| file.set_len(bytes).map(|()| file))
                .map_err(|error| self.system(name, error))
        };
        Ok((blank("base.img", capacity_bytes)?, blank("writes.log", 0)?))
    }

    /// Writes the plan: from now on the session can be resumed.
    pub fn keep(&self, plan: &Plan) -> Result<(), SessionError> {
        let text = serde_json::to_vec_pretty(plan).unwrap_or_default();
        std::fs::write(self.directory.join("session.json"), text)
            .map_err(|error| self.system("session.json", error))
    }

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

    /// Opens a file of the recording, whose length is known.
    fn recorded(&self, name: &str, bytes: u64) -> Result<File, SessionError> {
        let path = self.directory.join(name);
        let damaged = |what| SessionError::Damaged { path: path.clone(), what };
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged("it is missing".to_owned()),
            _ => self.system(name, error),
        })?;
        let found = file.metadata().map_err(|error| self.system(name, error))?.len();
        if found == bytes {
            Ok(file)
        } else {
            Err(damaged(format!("it has {found} bytes of {bytes}")))
        }
    }

    /// The checked states. An incomplete line is ignored.
    pub fn results(&self) -> Result<Vec<(State, CheckVerdict)>, SessionError> {
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

    /// Opens the file for appending results.
    pub fn log_results(&self) -> Result<ResultLog, SessionError> {
        let path = self.directory.join("results.jsonl");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|source| SessionError::System { path: path.clone(), source })?;
        // After an incomplete line.
        file.write_all(b"\n")
            .map_err(|source| SessionError::System { path: path.clone(), source })?;
        Ok(ResultLog { file, path })
    }
}

#[derive(Debug)]
pub struct ResultLog {
    file: File,
    path: PathBuf,
}

impl ResultLog {
    pub fn add(&mut self, state: &State, verdict: &CheckVerdict) -> Result<(), SessionError> {
        let checked = Checked { state: state.to_string(), verdict: verdict.clone() };
        let line = serde_json::to_string(&checked).unwrap_or_default() + "\n";
        self.file
            .write_all(line.as_bytes())
            .map_err(|source| SessionError::System { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printed::after_printing;
    use crate::recorded::Recorded;

    #[test]
    fn a_session_is_resumed() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("deep/crash");
        let session = Session::create(&directory).unwrap();
        let said =
            |error: SessionError| error.to_string().replace(place.path().to_str().unwrap(), "DIR");
        insta::assert_snapshot!(said(Session::create(&directory).unwrap_err()), @"`DIR/deep/crash` exists: continue it with `flushmark crash --resume DIR/deep/crash`, or choose another directory");
        insta::assert_snapshot!(said(Session::open(&directory).unwrap_err()), @"no crash test found in `DIR/deep/crash` (No such file or directory (os error 2))");
        let check =
            Check { command: "true".to_owned(), expect: None, filesystem: None, timeout_s: 5 };
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
        log.add(&State::whole(3), &CheckVerdict::Passed).unwrap();
        log.add(&State::boundary(4, 2), &CheckVerdict::Failed("gone".to_owned())).unwrap();
        // The process was killed in the middle of a line.
        let path = directory.join("results.jsonl");
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"{\"state\":\"5\",\"verd");
        std::fs::write(&path, text).unwrap();
        let (session, again) = Session::open(&directory).unwrap();
        assert_eq!(again, plan);
        session.log_results().unwrap().add(&State::whole(6), &CheckVerdict::Passed).unwrap();
        let states: Vec<String> =
            session.results().unwrap().iter().map(|(state, _)| state.to_string()).collect();
        assert_eq!(states, ["3", "4-0..1", "6"]);
    }

    /// Without a part of the recording, its states would look fine, or broken.
    #[test]
    fn an_incomplete_recording_is_refused() {
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
        insta::assert_snapshot!(said(&Plan { log_entries: 3, ..plan.clone() }), @"`DIR/writes.log` is damaged: it has 2 entries of 3; record the command again");
        let log = directory.join("writes.log");
        let whole = std::fs::read(&log).unwrap();
        std::fs::write(&log, &whole[..whole.len() - 1]).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/writes.log` is damaged: it has 39 bytes of 40; record the command again");
        std::fs::remove_file(&log).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/writes.log` is damaged: it is missing; record the command again");
        assert!(!log.exists());
        std::fs::write(&log, &whole).unwrap();
        std::fs::remove_file(directory.join("base.img")).unwrap();
        insta::assert_snapshot!(said(&plan), @"`DIR/base.img` is damaged: it is missing; record the command again");
    }
}
