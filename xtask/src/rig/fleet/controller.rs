//! Ansible on this machine, with the collection of `fleet/ansible`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::{Interruption, LAYOUT, server};
use crate::command::{output, root};

pub struct Controller {
    directory: PathBuf,
    /// Programs of the virtual environment, then those of the system.
    search_path: std::ffi::OsString,
    interruption: Interruption,
}

impl Controller {
    /// Builds and installs the collection. `program` is what it installs on the hosts, and
    /// what it imports documents with here.
    pub fn start(
        hosts: &Path,
        python: &Path,
        program: &Path,
        interruption: &Interruption,
    ) -> anyhow::Result<Controller> {
        let directory = hosts.join("controller");
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let search_path = std::iter::once(python.to_owned())
            .chain(std::env::split_paths(&search_path))
            .collect::<Vec<_>>();
        let controller = Controller {
            directory,
            search_path: std::env::join_paths(search_path)?,
            interruption: interruption.clone(),
        };
        let Controller { directory, .. } = &controller;
        let variables = directory.join("host_vars");
        std::fs::create_dir_all(&variables)
            .with_context(|| format!("cannot create {}", variables.display()))?;
        std::fs::copy(hosts.join("inventory.ini"), directory.join("inventory.ini"))?;
        for layout in LAYOUT {
            let targets: Vec<String> =
                ('a'..).zip(layout.drives).map(|(letter, _)| format!("/srv/{letter}")).collect();
            let file = variables.join(format!("{}.json", layout.host));
            std::fs::write(file, json!({ "flushmark_targets": targets }).to_string())?;
        }
        let checksum = output("sha256sum", &[&program.to_string_lossy()])?;
        let sha256 = checksum.split_whitespace().next().context("no checksum")?;
        let all = json!({
            "flushmark_binary": program,
            "flushmark_sha256": sha256,
            "flushmark_collected": directory.join("collected"),
            "flushmark_controller_program": program,
            "flushmark_controller_store": server::URL,
        });
        std::fs::write(directory.join("variables.json"), all.to_string())?;
        let password = json!({ "flushmark_store_password": server::PASSWORD });
        std::fs::write(directory.join("password.json"), password.to_string())?;
        controller.interruption.text(&mut controller.collection("install"))?;
        Ok(controller)
    }

    /// An order to the script that builds and checks the collection.
    pub fn collection(&self, order: &str) -> Command {
        let mut command = Command::new(root().join("fleet/tests/collection.sh"));
        command.arg(order).arg(&self.directory);
        self.environment(&mut command);
        command
    }

    /// The directory of plans and of collected documents.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The environment of the controller's user.
    pub fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let Controller { directory, search_path, .. } = self;
        command
            .env("PATH", search_path)
            .env("HOME", directory.join("home"))
            .env("ANSIBLE_HOME", directory.join("ansible"))
            .env("ANSIBLE_COLLECTIONS_PATH", directory.join("collections"))
            .envs([("ANSIBLE_NOCOLOR", "1"), ("ANSIBLE_PIPELINING", "1"), ("LC_ALL", "C.UTF-8")])
            // For the import on the controller.
            .env("PGPASSWORD", server::PASSWORD)
    }

    /// Runs a playbook of the collection, which must end with this code, and returns what it
    /// printed.
    pub fn play(&self, playbook: &str, code: i32, args: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new("ansible-playbook");
        command
            .current_dir(&self.directory)
            .args(["-i", "inventory.ini", "-e", "@variables.json"])
            .arg(format!("flushmark.fleet.{playbook}"))
            .args(args);
        let output = self.interruption.output(self.environment(&mut command))?;
        let said = super::said(&output);
        if output.status.code() != Some(code) {
            bail!("the playbook {playbook} ended with {}, not {code}:\n{said}", output.status);
        }
        Ok(said)
    }
}
