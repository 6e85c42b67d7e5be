//! Machines laid out in temporary directories, for tests: the parts of procfs and sysfs that
//! flushmark reads, of machines that differ from the one that the tests run on.
//!
//! Whole machines are text files in `trees/`, written by hand from the kernel's documentation
//! (Documentation/ABI, Documentation/admin-guide); [`tree`] parses that format. Small machines are
//! [`built`] from a few devices, to which a test adds what it needs. All serial numbers and
//! addresses are fictitious.
//!
//! ```
//! let machine = captures::lay_out("cloud-vm");
//! let model = std::fs::read_to_string(machine.path().join("sys/class/dmi/id/sys_vendor"));
//! assert_eq!(model.unwrap(), "QEMU\n");
//! ```

pub mod built;
mod machine;
pub mod tree;

pub use machine::Machine;

use crate::tree::{Content, Entry};

const MACHINES: [(&str, &str); 4] = [
    ("nvme-server", include_str!("../trees/nvme-server.txt")),
    ("raid-card-homelab", include_str!("../trees/raid-card-homelab.txt")),
    ("md-raid5", include_str!("../trees/md-raid5.txt")),
    ("cloud-vm", include_str!("../trees/cloud-vm.txt")),
];

/// The names of all machines in `trees/`.
pub const NAMES: [&str; 4] = [MACHINES[0].0, MACHINES[1].0, MACHINES[2].0, MACHINES[3].0];

fn text(name: &str) -> Result<&'static str, String> {
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        format!("unknown captured machine `{name}`; expected one of {}", NAMES.join(", "))
    })
}

/// Lays out the machine with this name.
///
/// # Panics
///
/// If there is no such machine, its text is malformed, or the temporary directory cannot be written
/// to.
pub fn lay_out(name: &str) -> Machine {
    let text = text(name).unwrap_or_else(|error| panic!("{error}"));
    let entries = tree::parse(text).unwrap_or_else(|error| panic!("trees/{name}.txt, {error}"));
    let machine = Machine::new();
    // Files first: they create the directories that links lead through.
    let (files, links): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| matches!(entry.content, Content::File(_)));
    for Entry { path, content } in files.into_iter().chain(links) {
        match content {
            Content::File(text) => machine.file(path, text),
            Content::Link(target) => machine.link(path, target),
        };
    }
    machine
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_machine_can_be_laid_out_without_dangling_links() {
        for name in NAMES {
            let machine = lay_out(name);
            let (_, text) = MACHINES.iter().find(|(known, _)| *known == name).unwrap();
            for entry in tree::parse(text).unwrap() {
                let place =
                    fs::canonicalize(machine.path().join(entry.path.trim_start_matches('/')));
                let place = place.unwrap_or_else(|error| panic!("{name}: {}: {error}", entry.path));
                assert!(
                    place.starts_with(fs::canonicalize(machine.path()).unwrap()),
                    "{name}: {}",
                    entry.path
                );
            }
        }
    }

    #[test]
    fn every_block_device_is_linked_under_its_number_and_its_name() {
        for name in NAMES {
            let machine = lay_out(name);
            let sys = machine.path().join("sys");
            let devices: Vec<_> = fs::read_dir(sys.join("class/block"))
                .unwrap()
                .map(|entry| entry.unwrap())
                .collect();
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
        assert_eq!(
            fs::read_to_string(machine.path().join("sys/class/dmi/id/sys_vendor")).unwrap(),
            "Amazon EC2\n"
        );
    }

    #[test]
    fn an_unknown_machine_is_refused() {
        let refused = text("toaster").unwrap_err();
        assert!(
            refused.starts_with("unknown captured machine `toaster`; expected one of nvme-server,"),
            "{refused}"
        );
    }
}
