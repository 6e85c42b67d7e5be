//! The interrupts of a disk and the processors that they are routed to: `/proc/interrupts`,
//! `/proc/irq`, Documentation/ABI/testing/sysfs-bus-pci (`msi_irqs`).

use std::collections::BTreeMap;

use super::facts::Interrupt;
use crate::SystemRoot;
use crate::bus::{Attached, driver};

/// The machine's numbered interrupts that have a handler, with the handlers' names.
pub(super) struct Interrupts(BTreeMap<u32, String>);

impl Interrupts {
    pub(super) fn read(root: &SystemRoot) -> Self {
        Self::parse(&root.attributes("proc").text("interrupts").unwrap_or_default())
    }

    /// A header with the online processors, then one line per interrupt: its number, a count per
    /// processor, the chip, the chip's interrupt number (with or without the trigger type), the
    /// names of the handlers.
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let cpus = lines.next().map_or(0, |header| header.split_whitespace().count());
        let handled = lines.filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().parse().ok()?;
            let mut words = rest.split_whitespace().skip(cpus + 2).peekable();
            // ARM prints the trigger as a separate word.
            words.next_if(|word| matches!(*word, "Edge" | "Level"));
            let name = words.collect::<Vec<_>>().join(" ");
            (!name.is_empty()).then_some((number, name))
        });
        Interrupts(handled.collect())
    }

    /// The interrupts of the controller that the disk is attached to: all disks of a controller
    /// share them.
    pub(super) fn of(&self, root: &SystemRoot, disk: &Attached) -> Vec<Interrupt> {
        let mut numbers = self.by_message(disk);
        if numbers.is_empty() {
            numbers = self.by_name(disk);
        }
        numbers
            .into_iter()
            .filter_map(|number| {
                let own = root.attributes(format!("proc/irq/{number}"));
                // `smp_affinity_list` is the allowed set; the effective one (since Linux 4.13) is
                // where the chip sends it.
                let cpus = ["effective_affinity_list", "smp_affinity_list"]
                    .iter()
                    .find_map(|file| own.text(file));
                Some(Interrupt { number, name: self.0.get(&number)?.clone(), cpus })
            })
            .collect()
    }

    /// Message-signalled interrupts, listed by the PCI device.
    fn by_message(&self, disk: &Attached) -> Vec<u32> {
        let listed = disk.pci_device().map(|device| device.entries("msi_irqs")).unwrap_or_default();
        let mut numbers: Vec<u32> =
            listed.iter().filter_map(|number| number.parse().ok()).collect();
        numbers.retain(|number| self.0.contains_key(number));
        numbers.sort_unstable();
        numbers
    }

    fn by_name(&self, disk: &Attached) -> Vec<u32> {
        // `nvme0n1` and `nvme0c0n1` belong to controller `nvme0`. The sysfs path names it too, even
        // for drives with two ports.
        let nvme = disk.numbered_part("nvme").map(|controller| format!("{controller}q"));
        let virtio = disk.numbered_part("virtio").map(|device| format!("{device}-"));
        let pci = disk.pci_device();
        let address = pci.as_ref().and_then(|pci| pci.directory.file_name()?.to_str());
        let bracketed = address.map(|address| format!("[{address}]"));
        let driver = pci.as_ref().and_then(|pci| driver(pci, ""));
        let is_its = |name: &str| {
            let word = |word: &Option<String>, is: fn(&str, &str) -> bool| {
                word.as_ref().is_some_and(|word| is(name, word))
            };
            word(&nvme, |name, start| name.starts_with(start))
                || word(&virtio, |name, start| name.starts_with(start))
                || word(&bracketed, |name, end| name.ends_with(end))
        };
        let named: Vec<u32> =
            self.0.iter().filter(|(_, name)| is_its(name)).map(|(number, _)| *number).collect();
        if !named.is_empty() {
            return named;
        }
        // Old controllers share an interrupt line and report the driver's name, possibly among
        // others: `ehci_hcd:usb1, ata_piix`.
        let Some(driver) = driver else { return Vec::new() };
        let shares = |name: &str| name.split(", ").any(|handler| handler == driver);
        self.0.iter().filter(|(_, name)| shares(name)).map(|(number, _)| *number).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_names_are_found_on_every_architecture() {
        let text = "            CPU0       CPU1
  0:         43          0   IO-APIC   2-edge      timer
 16:          0          9   IO-APIC  16-fasteoi   ehci_hcd:usb1, mei_me
 30:          1          2  PCI-MSIX-0000:02:00.0    1-edge      nvme0q1
 41:      12345          0     GICv3  27 Level     arch_timer
 52:          0          0   ITS-MSI 524288 Edge      nvme0q0
 60:          0          0   IO-APIC   6-edge
NMI:          0          0   Non-maskable interrupts
ERR:          0
";
        let found: Vec<String> = Interrupts::parse(text)
            .0
            .iter()
            .map(|(number, name)| format!("{number} {name}"))
            .collect();
        insta::assert_snapshot!(found.join("\n"), @"
        0 timer
        16 ehci_hcd:usb1, mei_me
        30 nvme0q1
        41 arch_timer
        52 nvme0q0
        ");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ 0-9:a-zA-Z\\n-]{0,200}") {
            let _ = Interrupts::parse(&text);
        }
    }
}
