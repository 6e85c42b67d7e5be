//! An emulated drive under an OSD.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::command;

/// `flushmark emulate` with a loop device on it. Dropping it detaches the device; the OSD must have
/// ended.
pub struct EmulatedDrive {
    child: Child,
    device: PathBuf,
}

impl EmulatedDrive {
    /// Serves a drive of this model; its files are in `directory`.
    pub fn start(binary: &Path, directory: &Path, model: &str) -> anyhow::Result<EmulatedDrive> {
        std::fs::create_dir(directory)?;
        let log = directory.join("emulate.log");
        let mut emulate = Command::new(binary);
        emulate.args(["emulate", model, "--loop", "--quiet", "--format", "json"]);
        emulate.arg("--fuse").arg(directory.join("fuse"));
        emulate.arg("--image").arg(directory.join("image"));
        emulate.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        // Ctrl-C ends the rig, which first ends the OSD on the drive.
        emulate.process_group(0);
        std::fs::create_dir(directory.join("fuse"))?;
        let mut child = emulate.spawn().context("cannot start flushmark emulate")?;
        let stdout = child.stdout.take().context("flushmark has no stdout")?;
        let mut facts = String::new();
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            facts += &line;
            if line == "}" {
                break;
            }
        }
        let device = serde_json::from_str::<Value>(&facts)
            .ok()
            .and_then(|facts| Some(PathBuf::from(facts["device"].as_str()?)));
        let Some(device) = device else {
            let _ = child.kill();
            bail!(
                "the drive of osd did not come up: {}",
                std::fs::read_to_string(&log).unwrap_or_default().trim()
            );
        };
        Ok(EmulatedDrive { child, device })
    }

    pub fn device(&self) -> &Path {
        &self.device
    }
}

impl Drop for EmulatedDrive {
    fn drop(&mut self) {
        let _ = command::output("kill", &["-TERM", &self.child.id().to_string()]);
        let _ = self.child.wait();
    }
}
