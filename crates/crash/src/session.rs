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
    /// The system said no.
    #[error("`{}`: {source}", path.display())]
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

    fn file(&self, name: &str) -> Result<File, SessionError> {
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.directory.join(name));
        open.map_err(|error| self.system(name, error))
    }

    /// The files of a drive that is going to be recorded: base and log.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn blank(&self, capacity_bytes: u64) -> Result<(File, File), SessionError> {
        let base = self.file("base.img")?;
        base.set_len(capacity_bytes).map_err(|error| self.system("base.img", error))?;
        Ok((base, self.file("writes.log")?))
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
        let (base, log) = (self.file("base.img")?, self.file("writes.log")?);
        let entries = log::read(&log).map_err(|error| self.system("writes.log", error))?;
        let mut tape = Tape::new(base, log, plan.capacity_bytes);
        entries.into_iter().for_each(|entry| tape.push(entry));
        Ok(Recording::new(tape))
    }

    /// The states that were checked. A line that was cut off counts as none.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn results(&self) -> Result<Vec<(State, Verdict)>, SessionError> {
        let lines = BufReader::new(self.file("results.jsonl")?).lines();
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
            check,
            samples: 3,
            seed: 4,
            atomic_bytes: 4096,
        };
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
}
