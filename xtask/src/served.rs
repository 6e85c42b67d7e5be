//! A drive that `flushmark emulate` serves to other programs.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::command::{command, output};

/// The way in which a program reaches a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// By an NBD socket.
    Nbd,
    /// As a loop device on a file in FUSE.
    Device,
    /// As an ext4 on that loop device.
    Mounted,
}

impl Access {
    pub const fn name(self) -> &'static str {
        match self {
            Access::Nbd => "NBD",
            Access::Device => "loop",
            Access::Mounted => "ext4",
        }
    }
}

/// A running emulator; ended when dropped.
pub struct Served {
    child: Child,
    facts: Value,
    program: PathBuf,
    _directory: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = output("kill", &["-TERM", &self.child.id().to_string()]);
        let _ = self.child.wait();
    }
}

impl Served {
    /// Serves a model, filled to `fill_percent`.
    pub fn start(
        program: &Path,
        model: &str,
        access: Access,
        fill_percent: &str,
    ) -> anyhow::Result<Served> {
        let directory = tempfile::tempdir()?;
        let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
        let (mount, socket, control) = (path("mounted"), path("nbd"), path("control"));
        std::fs::create_dir(&mount)?;
        let mut args = vec![
            "emulate", model, "--quiet", "--format", "json", "--control", &control, "--fill",
            fill_percent,
        ];
        match access {
            Access::Nbd => args.extend(["--nbd", &socket]),
            Access::Device => args.extend(["--fuse", &mount, "--loop"]),
            Access::Mounted => args.extend(["--mount", &mount]),
        }
        let mut child =
            command(&program.to_string_lossy(), &args).stdout(Stdio::piped()).spawn()?;
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().context("no stdout")?).lines() {
            let line = line?;
            text += &line;
            if line == "}" {
                break;
            }
        }
        let facts = serde_json::from_str(&text);
        let mut served = Served {
            child,
            facts: Value::Null,
            program: program.to_owned(),
            _directory: directory,
        };
        served.facts = facts.with_context(|| format!("{model} could not be emulated"))?;
        Ok(served)
    }

    /// The emulator's facts about itself: where it serves the drive, and its control socket.
    pub const fn facts(&self) -> &Value {
        &self.facts
    }

    /// The program that serves the drive.
    pub fn program(&self) -> &Path {
        &self.program
    }
}
