//! Simulated drives below the seam of [`Carrier`]: good ones, and ones with a fault.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::io::Errno;

use super::super::ata::identify::tests::Answer;
use super::super::ata::{smart, statistics};
use super::super::carrier::{Carrier, NvmeAnswer, NvmeCommand, Payload, ScsiAnswer};
use super::super::nvme;
use super::super::scsi::{inquiry, log_page, mode_page};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sata,
    Sas,
    Nvme,
    /// A bridge with a disk, which passes no ATA commands on.
    UsbBridge,
    UsbStick,
}

/// The drive's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Starting with the given command, the kernel ends every command with this error.
    KernelSays(Errno, usize),
    RefusesSwitch,
    /// Accepts the switch and does nothing.
    IgnoresSwitch,
    /// Answers everything with these bytes.
    Answers(Vec<u8>),
    /// First reports this many unit attentions.
    Attentions(usize),
    /// Knows only the 6-byte commands.
    OnlyShortForm,
    /// Has stopped to save power.
    Sleeps,
    /// The driver lost the drive, and reports it.
    PathLost,
    /// No fault: an NVMe drive with a list of its log pages that has these.
    ListsLogs(Vec<u8>),
    /// No fault: an NVMe drive of this vendor that has the vendor's log pages, but no list.
    HasVendorLogs(u16),
}

#[derive(Debug)]
pub struct Simulated {
    pub kind: Kind,
    pub fault: Fault,
    pub cache: Arc<Mutex<bool>>,
    /// First bytes of the received commands.
    pub commands: Arc<Mutex<Vec<u8>>>,
}

const REFUSED: [u8; 8] = [0x72, 0x05, 0x20, 0, 0, 0, 0, 0];
const BAD_FIELD: [u8; 8] = [0x72, 0x05, 0x24, 0, 0, 0, 0, 0];
const WAS_RESET: [u8; 8] = [0x72, 0x06, 0x29, 0, 0, 0, 0, 0];

fn check_condition(sense: &[u8]) -> ScsiAnswer {
    ScsiAnswer { status: 0x02, sense: sense.to_vec(), received: 0 }
}

fn done(received: usize) -> ScsiAnswer {
    ScsiAnswer { status: 0, sense: Vec::new(), received }
}

fn give(payload: Payload<'_>, answer: &[u8]) -> ScsiAnswer {
    let Payload::In(data) = payload else { panic!("a question without room for its answer") };
    let length = data.len().min(answer.len());
    data[..length].copy_from_slice(&answer[..length]);
    done(length)
}

/// Sense data with an ATA drive's registers.
fn registers(count: u8, lba_8_to_23: u16) -> Vec<u8> {
    let [lba8, lba16] = lba_8_to_23.to_le_bytes();
    let mut sense = vec![0x72, 0x01, 0x00, 0x1D, 0, 0, 0, 14];
    sense.extend([0x09, 0x0C, 0, 0, 0, count, 0, 0, 0, lba8, 0, lba16, 0, 0x50]);
    sense
}

impl Simulated {
    pub fn new(kind: Kind, fault: Fault) -> Simulated {
        Simulated { kind, fault, cache: Arc::new(Mutex::new(true)), commands: Arc::default() }
    }

    fn came(&self, command: u8) -> Result<usize, Errno> {
        let mut commands = self.commands.lock().unwrap();
        commands.push(command);
        match self.fault {
            Fault::KernelSays(errno, from) if commands.len() > from => Err(errno),
            _ => Ok(commands.len()),
        }
    }

    fn cache(&self) -> bool {
        *self.cache.lock().unwrap()
    }

    /// Returns whether the switch was accepted.
    fn switch(&self, on: bool) -> bool {
        match self.fault {
            Fault::RefusesSwitch => return false,
            Fault::IgnoresSwitch => {}
            _ => *self.cache.lock().unwrap() = on,
        }
        true
    }

    fn ata(&self, cdb: &[u8], payload: Payload<'_>) -> ScsiAnswer {
        let (feature, log, page, command) = (cdb[4], cdb[8], cdb[10], cdb[14]);
        match (command, feature) {
            (0xB0 | 0x2F, _) if self.fault == Fault::Sleeps => panic!("woken"),
            (0xEC, _) => give(payload, &Answer::new().cache_on(self.cache()).0),
            (0xEF, 0x02 | 0x82) if self.switch(feature == 0x02) => done(0),
            (0xB0, 0xD0) => {
                let attributes = [(9, 12345), (12, 3), (197, 2), (241, 1000), (243, 2500)];
                give(payload, &smart::tests::answer(&attributes))
            }
            (0xB0, 0xDA) => check_condition(&registers(0, 0x2CF4)),
            (0xE5, _) => check_condition(&registers(
                if self.fault == Fault::Sleeps { 0x00 } else { 0xFF },
                0,
            )),
            (0x2F, _) => match (log, page) {
                (statistics::DIRECTORY, 0) => {
                    let mut directory = vec![0; 512];
                    directory[2 * usize::from(statistics::LOG)] = 8;
                    give(payload, &directory)
                }
                (statistics::LOG, 0) => give(payload, &statistics::tests::list(&[0, 1, 7])),
                (statistics::LOG, 1) => give(
                    payload,
                    &statistics::tests::page(1, &[Some(61), Some(12346), Some(70_000_000)]),
                ),
                (statistics::LOG, 7) => give(payload, &statistics::tests::page(7, &[Some(13)])),
                _ => check_condition(&BAD_FIELD),
            },
            // A SAT layer reports an aborted command like this.
            _ => check_condition(&[0x72, 0x0B, 0, 0, 0, 0, 0, 0]),
        }
    }
}

impl Carrier for Simulated {
    fn scsi(&mut self, cdb: &[u8], payload: Payload<'_>, _: Duration) -> Result<ScsiAnswer, Errno> {
        let count = self.came(cdb[0])?;
        match &self.fault {
            Fault::Attentions(attentions) if count <= *attentions => {
                return Ok(check_condition(&WAS_RESET));
            }
            Fault::Answers(bytes) => {
                return Ok(match payload {
                    Payload::In(_) => give(payload, bytes),
                    _ => check_condition(bytes),
                });
            }
            Fault::OnlyShortForm if matches!(cdb[0], 0x5A | 0x55) => {
                return Ok(check_condition(&REFUSED));
            }
            _ => {}
        }
        Ok(match cdb[0] {
            0x12 if cdb[1] == 1 => match cdb[2] {
                _ if self.kind == Kind::UsbBridge => panic!("vital product data from a bridge"),
                inquiry::SERIAL_NUMBER => give(payload, b"\0\x80\0\x08S4Y0NABC"),
                _ => check_condition(&BAD_FIELD),
            },
            0x12 => {
                let vendor = if self.kind == Kind::Sata { "ATA" } else { "SEAGATE" };
                let mut answer = inquiry::tests::answer(vendor, "XS400LE70084", "B031");
                answer[1] = if self.kind == Kind::UsbStick { 0x80 } else { 0 };
                give(payload, &answer)
            }
            0x5A | 0x1A => {
                let form =
                    if cdb[0] == 0x5A { mode_page::Form::Long } else { mode_page::Form::Short };
                let changeable = cdb[2] >> 6 == 1;
                give(
                    payload,
                    &mode_page::tests::answer(
                        form,
                        &mode_page::tests::page(changeable || self.cache(), true),
                    ),
                )
            }
            0x55 | 0x15 => {
                let Payload::Out(list) = payload else { panic!("MODE SELECT without its list") };
                let page = if cdb[0] == 0x55 { &list[8..] } else { &list[4..] };
                if self.switch(page[2] & 0x04 != 0) { done(0) } else { check_condition(&BAD_FIELD) }
            }
            0x4D if self.kind == Kind::Sas => {
                let page =
                    log_page::tests::drive().into_iter().find(|page| page[0] == cdb[2] & 0x3f);
                page.map_or(check_condition(&BAD_FIELD), |page| give(payload, &page))
            }
            0x85 if self.kind == Kind::Sata => self.ata(cdb, payload),
            _ => check_condition(&REFUSED),
        })
    }

    fn nvme(
        &mut self,
        command: NvmeCommand,
        data: &mut [u8],
        _: Duration,
    ) -> Result<NvmeAnswer, Errno> {
        self.came(command.opcode)?;
        let mut reply = |answer: &[u8]| {
            let length = data.len().min(answer.len());
            data[..length].copy_from_slice(&answer[..length]);
        };
        let (status, result) = match (command.opcode, command.dword10) {
            _ if self.fault == Fault::PathLost => (0x371, 0),
            (0x06, 0x01) => {
                match &self.fault {
                    Fault::Answers(bytes) => reply(bytes),
                    fault => {
                        let mut answer = nvme::tests::identify("Samsung SSD 980 1TB", true, true);
                        match fault {
                            Fault::ListsLogs(_) => answer[261] |= 1 << 5,
                            Fault::HasVendorLogs(vendor) => {
                                answer[..2].copy_from_slice(&vendor.to_le_bytes());
                            }
                            _ => {}
                        }
                        reply(&answer);
                    }
                }
                (0, 0)
            }
            (0x02, dword10) => {
                let page = dword10 as u8;
                match (&self.fault, page) {
                    (Fault::Answers(bytes), _) => reply(bytes),
                    (_, 0x02) => reply(&nvme::tests::smart(0)),
                    (Fault::ListsLogs(pages), 0x00) => {
                        let mut list = vec![0; nvme::SUPPORTED_LOGS_BYTES];
                        pages.iter().for_each(|page| list[4 * usize::from(*page)] = 1);
                        reply(&list);
                    }
                    (Fault::ListsLogs(pages), _) if !pages.contains(&page) => {
                        panic!("asked for a page that it does not list")
                    }
                    (Fault::ListsLogs(_) | Fault::HasVendorLogs(_), nvme::OCP_PAGE) => {
                        reply(&nvme::tests::ocp(5 << 30));
                    }
                    (Fault::HasVendorLogs(_), nvme::INTEL_PAGE) => {
                        reply(&nvme::tests::intel(&[(0xF4, 100)]));
                    }
                    _ => return Ok(NvmeAnswer { status: 0x109, result: 0 }),
                }
                (0, 0)
            }
            (0x0A, 0x006) => (0, u32::from(self.cache())),
            // It claims to be saveable, but refuses to save.
            (0x0A, 0x306) => (0, 0b101),
            (0x09, 0x8000_0006) => (0x10D, 0),
            (0x09, 0x006) if self.switch(command.dword11 == 1) => (0, 0),
            (0x09, 0x006) => (0x10E, 0),
            _ => (0x001, 0),
        };
        Ok(NvmeAnswer { status, result })
    }
}
