//! Raises the frequency governors of all CPUs for a while, and puts the previous ones back.
//!
//! The previous governors are recorded durably before the first one is changed, and the record is
//! removed once all are back. A record whose lock nobody holds was left by a killed process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::SystemRoot;
use crate::cache_switch::write_durably;

/// The governor that keeps CPUs at their highest frequency.
pub const PERFORMANCE: &str = "performance";

const POLICIES: &str = "sys/devices/system/cpu/cpufreq";
const RECORD: &str = "governors";

/// Why governors were not changed or not restored.
#[derive(Debug, thiserror::Error)]
pub enum GovernorError {
    #[error("the governors are being changed by another flushmark: wait until it is done")]
    Locked,
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

fn io_error(what: &'static str, path: &Path, source: io::Error) -> GovernorError {
    GovernorError::Io { what, path: path.to_owned(), source }
}

/// The governor [`PERFORMANCE`] on every CPU; dropped, it restores the previous ones.
#[derive(Debug)]
pub struct Raised(Changes);

impl Raised {
    /// Records the governors in the directory `state` and raises them.
    ///
    /// # Errors
    /// If another process is changing them, or something cannot be read or written. Nothing is
    /// changed then, or what was changed is restored.
    pub fn hold(root: &SystemRoot, state: &Path) -> Result<Raised, GovernorError> {
        let mut changes = Changes::lock(root, state)?;
        changes.restore()?;
        let policies = root.path(POLICIES);
        let listed = fs::read_dir(&policies).map_err(|error| io_error("list", &policies, error))?;
        for policy in listed.flatten() {
            let name = policy.file_name().to_string_lossy().into_owned();
            let Ok(own) = fs::read_to_string(changes.file(&name)) else { continue };
            if own.trim() != PERFORMANCE {
                changes.own.push((name, own.trim().to_owned()));
            }
        }
        changes.record()?;
        let raised = Raised(changes);
        for (name, _) in &raised.0.own {
            let file = raised.0.file(name);
            fs::write(&file, PERFORMANCE).map_err(|error| io_error("write to", &file, error))?;
        }
        Ok(raised)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        // On an error the record stays, for `restore_left_over`.
        let _ = self.0.restore();
    }
}

/// Restores what a killed process left raised, as recorded in the directory `state`. Returns the
/// number of policies; 0 if nothing was left, or if the process that raised them still runs.
///
/// # Errors
/// If something cannot be read or written.
pub fn restore_left_over(root: &SystemRoot, state: &Path) -> Result<usize, GovernorError> {
    if !state.join(RECORD).exists() {
        return Ok(0);
    }
    match Changes::lock(root, state) {
        Ok(mut changes) => changes.restore(),
        Err(GovernorError::Locked) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The recorded governors, whose lock this process holds.
#[derive(Debug)]
struct Changes {
    root: SystemRoot,
    path: PathBuf,
    /// Policies with their own governors.
    own: Vec<(String, String)>,
    _lock: File,
}

impl Changes {
    fn lock(root: &SystemRoot, state: &Path) -> Result<Changes, GovernorError> {
        fs::create_dir_all(state).map_err(|error| io_error("create", state, error))?;
        let path = state.join(RECORD);
        let lock_path = path.with_extension("lock");
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|error| io_error("open", &lock_path, error))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(GovernorError::Locked),
            Err(error) => return Err(io_error("lock", &lock_path, error.into())),
            Ok(()) => {}
        }
        let own = match fs::read_to_string(&path) {
            Ok(text) => text
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(policy, governor)| (policy.to_owned(), governor.to_owned()))
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io_error("read", &path, error)),
        };
        Ok(Changes { root: root.clone(), path, own, _lock: lock })
    }

    fn file(&self, policy: &str) -> PathBuf {
        self.root.path(POLICIES).join(policy).join("scaling_governor")
    }

    fn record(&self) -> Result<(), GovernorError> {
        let lines: String =
            self.own.iter().map(|(policy, governor)| format!("{policy} {governor}\n")).collect();
        write_durably(&self.path, lines.as_bytes())
            .map_err(|error| io_error("write", &self.path, error))
    }

    /// Restores the recorded governors and removes the record. Returns their number. The policy of
    /// a CPU that was taken offline is gone, and nothing is left to restore of it.
    fn restore(&mut self) -> Result<usize, GovernorError> {
        let mut restored = 0;
        for (policy, governor) in &self.own {
            let file = self.file(policy);
            if file.exists() {
                fs::write(&file, governor).map_err(|error| io_error("write to", &file, error))?;
                restored += 1;
            }
        }
        self.own.clear();
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("remove", &self.path, error))
            }
            _ => Ok(restored),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        directory: tempfile::TempDir,
        root: SystemRoot,
        state: PathBuf,
    }

    impl Machine {
        /// With one policy for each governor.
        fn new(governors: &[&str]) -> Machine {
            let directory = tempfile::tempdir().unwrap();
            let root = SystemRoot::new(directory.path());
            let state = directory.path().join("state");
            for (number, governor) in governors.iter().enumerate() {
                let policy = root.path(POLICIES).join(format!("policy{number}"));
                fs::create_dir_all(&policy).unwrap();
                fs::write(policy.join("scaling_governor"), format!("{governor}\n")).unwrap();
            }
            Machine { directory, root, state }
        }

        fn governors(&self) -> Vec<String> {
            let mut policies: Vec<PathBuf> = fs::read_dir(self.root.path(POLICIES))
                .unwrap()
                .map(|policy| policy.unwrap().path())
                .collect();
            policies.sort();
            let read = |policy: &PathBuf| {
                fs::read_to_string(policy.join("scaling_governor")).unwrap().trim().to_owned()
            };
            policies.iter().map(read).collect()
        }

        fn record(&self) -> Option<String> {
            fs::read_to_string(self.state.join(RECORD)).ok()
        }
    }

    #[test]
    fn governors_are_recorded_raised_and_restored() {
        let machine = Machine::new(&["schedutil", "performance", "powersave"]);
        let raised = Raised::hold(&machine.root, &machine.state).unwrap();
        assert_eq!(machine.governors(), ["performance"; 3]);
        let record = machine.record().unwrap();
        let mut lines: Vec<&str> = record.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["policy0 schedutil", "policy2 powersave"]);
        let second = Raised::hold(&machine.root, &machine.state);
        assert!(matches!(second, Err(GovernorError::Locked)));
        assert_eq!(restore_left_over(&machine.root, &machine.state).unwrap(), 0);
        assert_eq!(machine.governors(), ["performance"; 3], "the process still runs");
        drop(raised);
        assert_eq!(machine.governors(), ["schedutil", "performance", "powersave"]);
        assert_eq!(machine.record(), None);
    }

    #[test]
    fn what_a_killed_process_left_is_restored() {
        let machine = Machine::new(&["performance", "performance"]);
        fs::create_dir_all(&machine.state).unwrap();
        // The second policy's CPU was taken offline meanwhile.
        fs::write(machine.state.join(RECORD), "policy0 schedutil\npolicy7 powersave\n").unwrap();
        assert_eq!(restore_left_over(&machine.root, &machine.state).unwrap(), 1);
        assert_eq!(machine.governors(), ["schedutil", "performance"]);
        assert_eq!(machine.record(), None);
        assert_eq!(restore_left_over(&machine.root, &machine.state).unwrap(), 0);
    }

    #[test]
    fn a_new_change_starts_from_what_was_set_before_a_killed_one() {
        let machine = Machine::new(&["performance"]);
        fs::create_dir_all(&machine.state).unwrap();
        fs::write(machine.state.join(RECORD), "policy0 ondemand\n").unwrap();
        let raised = Raised::hold(&machine.root, &machine.state).unwrap();
        assert_eq!(machine.record().unwrap(), "policy0 ondemand\n");
        drop(raised);
        assert_eq!(machine.governors(), ["ondemand"]);
    }

    #[test]
    fn nothing_is_changed_without_a_record() {
        let machine = Machine::new(&["schedutil"]);
        // A file where the directory would have to be.
        fs::write(&machine.state, "").unwrap();
        let error = Raised::hold(&machine.root, &machine.state).unwrap_err().to_string();
        let shown = error.replace(&machine.directory.path().display().to_string(), "DIR");
        insta::assert_snapshot!(shown, @"cannot create DIR/state: File exists (os error 17)");
        assert_eq!(machine.governors(), ["schedutil"]);
    }
}
