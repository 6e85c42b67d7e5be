//! Runs of a program as an ordinary user.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Run, install, needs_root, system};

/// Number of the user without privileges, and of its group.
pub const NOBODY: u32 = 65_534;

/// Copies a program to this directory, where every user can run it: the build directory may be
/// closed to others. Returns its new path.
pub fn install_program(program: &Path, directory: &Path) -> PathBuf {
    let place = directory.join(program.file_name().unwrap());
    install(program, &place);
    place
}

/// Runs of a program as an ordinary user.
pub struct Nobody {
    program: PathBuf,
    _place: tempfile::TempDir,
}

impl Nobody {
    /// `None`, with a message, without root, which is needed to switch users.
    pub fn new(test: &str, program: &Path) -> Option<Nobody> {
        if !needs_root(test) {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let program = install_program(program, place.path());
        system("chmod", &["-R", "a+rX", place.path().to_str().unwrap()]).unwrap();
        Some(Nobody { program, _place: place })
    }

    /// Runs the program with these arguments.
    pub fn run(&self, args: &[&str]) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).arg(&self.program).args(args);
        Run::of(command.output().unwrap())
    }

    /// Runs a shell script in which `$0` is the program.
    pub fn shell(&self, script: &str) -> Run {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups", "bash", "-c", script]);
        Run::of(command.arg(&self.program).output().unwrap())
    }

    /// The same with this mode of `/dev/fuse`, which is 666 with udev and 600 otherwise. Mounts are
    /// visible to the script only.
    pub fn shell_with_fuse(&self, mode: &str, script: &str) -> Run {
        const WITH_FUSE: &str = "mount -t tmpfs devices \"$1\" && mknod -m \"$2\" \"$1/fuse\" c 10 \
                                 229 \
             && mount --bind \"$1/fuse\" /dev/fuse \
             && exec setpriv --reuid 65534 --clear-groups bash -c \"$3\" \"$0\"";
        let devices = tempfile::tempdir().unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", WITH_FUSE]).arg(&self.program);
        Run::of(command.arg(devices.path()).args([mode, script]).output().unwrap())
    }
}
