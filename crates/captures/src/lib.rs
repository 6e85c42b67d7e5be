//! Machines laid out in temporary directories, for tests: the parts of procfs and sysfs that flushmark reads, of machines
//! that look nothing like the one that the tests run on.
//!
//! Each machine is one text file in `trees/`, written by hand after the kernel's documentation (Documentation/ABI,
//! Documentation/admin-guide); [`tree`] reads that format. No serial number or address in them belongs to anybody.
//!
//! ```
//! let machine = captures::lay_out("cloud-vm");
//! let model = std::fs::read_to_string(machine.path().join("sys/class/dmi/id/sys_vendor"));
//! assert_eq!(model.unwrap(), "QEMU\n");
//! ```

pub mod tree;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::tree::{Content, Entry};

const MACHINES: [(&str, &str); 4] = [
    ("nvme-server", include_str!("../trees/nvme-server.txt")),
    ("raid-card-homelab", include_str!("../trees/raid-card-homelab.txt")),
    ("md-raid5", include_str!("../trees/md-raid5.txt")),
    ("cloud-vm", include_str!("../trees/cloud-vm.txt")),
];

/// The machines that there are.
pub const NAMES: [&str; 4] = [MACHINES[0].0, MACHINES[1].0, MACHINES[2].0, MACHINES[3].0];

/// A machine in a temporary directory, removed on drop.
#[derive(Debug)]
pub struct Capture(TempDir);

impl Capture {
    /// What stands for `/`.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes one file over the captured one, to see what a single setting changes; `path` is absolute, as on the machine.
    ///
    /// # Panics
    ///
    /// When the temporary directory cannot be written.
    pub fn set(&self, path: &str, value: &str) -> &Self {
        self.place(&Entry { path: path.to_owned(), content: Content::File(format!("{value}\n")) });
        self
    }

    fn place(&self, entry: &Entry) {
        let place = self.path().join(entry.path.trim_start_matches('/'));
        let parent = place.parent().expect("a path below the root has a parent");
        let done = fs::create_dir_all(parent).and_then(|()| match &entry.content {
            Content::File(text) => fs::write(&place, text),
            // Relative, as sysfs makes them: an absolute link would lead out of the directory into this machine's /sys.
            Content::Link(target) => {
                let up = "../".repeat(entry.path.matches('/').count() - 1);
                symlink(format!("{up}{}", target.trim_start_matches('/')), &place)
            }
        });
        if let Err(error) = done {
            panic!("cannot lay out {}: {error}", entry.path);
        }
    }
}

/// The text of a machine.
fn text(name: &str) -> Result<&'static str, String> {
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, text)| *text)
        .ok_or_else(|| format!("no captured machine is called {name}: there are {}", NAMES.join(", ")))
}

/// Lays the machine out.
///
/// # Panics
///
/// When there is no such machine, its text is malformed, or the temporary directory cannot be written.
pub fn lay_out(name: &str) -> Capture {
    let text = text(name).unwrap_or_else(|error| panic!("{error}"));
    let entries = tree::parse(text).unwrap_or_else(|error| panic!("trees/{name}.txt, {error}"));
    let capture = Capture(tempfile::tempdir().expect("a temporary directory can be made"));
    // Files first: they make the directories that links lead through.
    let (files, links): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| matches!(entry.content, Content::File(_)));
    files.into_iter().chain(links).for_each(|entry| capture.place(entry));
    capture
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn every_machine_can_be_laid_out_and_no_link_hangs() {
        for name in NAMES {
            let machine = lay_out(name);
            let (_, text) = MACHINES.iter().find(|(known, _)| *known == name).unwrap();
            for entry in tree::parse(text).unwrap() {
                let place = fs::canonicalize(machine.path().join(entry.path.trim_start_matches('/')));
                let place = place.unwrap_or_else(|error| panic!("{name}: {}: {error}", entry.path));
                assert!(place.starts_with(fs::canonicalize(machine.path()).unwrap()), "{name}: {}", entry.path);
            }
        }
    }

    #[test]
    fn every_block_device_is_linked_under_its_number_and_its_name() {
        for name in NAMES {
            let machine = lay_out(name);
            let sys = machine.path().join("sys");
            let devices: Vec<_> = fs::read_dir(sys.join("class/block")).unwrap().map(|entry| entry.unwrap()).collect();
            assert!(!devices.is_empty(), "{name}");
            for device in devices {
                let Ok(number) = fs::read_to_string(device.path().join("dev")) else { continue };
                let by_number = fs::canonicalize(sys.join("dev/block").join(number.trim()));
                assert_eq!(by_number.unwrap(), fs::canonicalize(device.path()).unwrap(), "{name}");
            }
        }
    }

    #[test]
    fn one_setting_can_be_changed() {
        let machine = lay_out("cloud-vm");
        machine.set("/sys/class/dmi/id/sys_vendor", "Amazon EC2");
        assert_eq!(fs::read_to_string(machine.path().join("sys/class/dmi/id/sys_vendor")).unwrap(), "Amazon EC2\n");
    }

    #[test]
    fn an_unknown_machine_is_refused() {
        let refused = text("toaster").unwrap_err();
        assert!(refused.starts_with("no captured machine is called toaster: there are nvme-server,"), "{refused}");
    }
}
