//! The machine: two NUMA nodes, and a drive of each kind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

use super::guest::Guest;
use super::monitor::{self, Monitor};
use crate::command;

/// The interface of a drive.
#[derive(Debug, Clone, Copy)]
enum Attachment {
    Nvme,
    /// A namespace with zones, of which few may be open.
    NvmeZoned,
    Sata {
        port: u8,
    },
    Sas {
        id: u8,
    },
    Raid,
    Usb,
    VirtioBlk {
        switchable: bool,
    },
    VirtioScsi,
    /// `flushmark emulate`, over NBD, as a virtio disk, which has no FUA.
    EmulatedBlk,
    /// The same as a SCSI disk with FUA.
    EmulatedScsi,
}

/// The model of the emulated drives.
const EMULATED: &str = "consumer-nvme,capacity=512MiB";

/// A drive. Tests find it by its serial number, because device names change from boot to boot.
struct Drive {
    serial: &'static str,
    attachment: Attachment,
    /// QEMU's cache mode, which determines whether the drive starts with its volatile cache on, and
    /// what a flush does.
    mode: Mode,
}

/// QEMU's cache modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A volatile cache; flushes are honoured.
    WriteBack,
    /// No volatile cache.
    WriteThrough,
    /// Like write back, but bypasses the host's page cache.
    None,
    /// Write back for the guest, but flushes are discarded.
    Unsafe,
}

const fn drive(serial: &'static str, attachment: Attachment, mode: Mode) -> Drive {
    Drive { serial, attachment, mode }
}

// QEMU's NVMe controllers all report a volatile cache (VWC bit 0); NVMEOFF starts with it switched
// off. A controller without one is covered by the unit tests of `drive::commands`.
const DRIVES: [Drive; 22] = [
    drive("STATE", Attachment::VirtioBlk { switchable: false }, Mode::WriteBack),
    drive("NVMEON", Attachment::Nvme, Mode::WriteBack),
    drive("NVMEOFF", Attachment::Nvme, Mode::WriteThrough),
    drive("ZONED", Attachment::NvmeZoned, Mode::WriteBack),
    drive("SATAON", Attachment::Sata { port: 0 }, Mode::WriteBack),
    drive("SATAOFF", Attachment::Sata { port: 1 }, Mode::WriteThrough),
    drive("SASON", Attachment::Sas { id: 0 }, Mode::WriteBack),
    drive("SASOFF", Attachment::Sas { id: 1 }, Mode::WriteThrough),
    drive("MEGARAID", Attachment::Raid, Mode::WriteBack),
    drive("USB", Attachment::Usb, Mode::WriteBack),
    drive("VBLKON", Attachment::VirtioBlk { switchable: true }, Mode::WriteBack),
    drive("VBLKOFF", Attachment::VirtioBlk { switchable: false }, Mode::WriteThrough),
    drive("VSCSION", Attachment::VirtioScsi, Mode::WriteBack),
    drive("VSCSIOFF", Attachment::VirtioScsi, Mode::WriteThrough),
    drive("VBLKNONE", Attachment::VirtioBlk { switchable: true }, Mode::None),
    drive("VSCSIUNSAFE", Attachment::VirtioScsi, Mode::Unsafe),
    drive("EMUBLK", Attachment::EmulatedBlk, Mode::WriteBack),
    drive("EMUSCSI", Attachment::EmulatedScsi, Mode::WriteBack),
    // For arrays and volumes.
    drive("SPARE1", Attachment::Sata { port: 2 }, Mode::WriteBack),
    drive("SPARE2", Attachment::Sata { port: 3 }, Mode::WriteBack),
    drive("SPARE3", Attachment::Sata { port: 4 }, Mode::WriteBack),
    drive("SPARE4", Attachment::Sata { port: 5 }, Mode::WriteBack),
];
/// Attempts to list the drives until all are present.
const TRIES: u32 = 20;
const DRIVE_BYTES: u64 = 256 << 20;
/// Number of processors; the second half is on the second node.
const CPUS: u32 = 4;

pub fn description() -> String {
    let names: Vec<&str> = DRIVES.iter().map(|drive| drive.serial).collect();
    format!("{CPUS} processors on 2 NUMA nodes, drives {}", names.join(" "))
}

/// A machine that can be booted repeatedly with the same drives. Dropping it ends QEMU.
pub struct Machine {
    kernel: PathBuf,
    initramfs: PathBuf,
    directory: PathBuf,
    binary: PathBuf,
    qemu: Option<Child>,
    /// Emulated drives, which live as long as the machine and outlive its boots.
    served: Vec<Child>,
}

impl Machine {
    /// A machine whose drives are files in `directory`.
    pub fn new(kernel: &Path, initramfs: &Path, directory: &Path, binary: &Path) -> Machine {
        Machine {
            kernel: kernel.to_owned(),
            initramfs: initramfs.to_owned(),
            directory: directory.to_owned(),
            binary: binary.to_owned(),
            qemu: None,
            served: Vec::new(),
        }
    }

    /// The socket of an emulated drive.
    fn socket(&self, serial: &str) -> PathBuf {
        self.directory.join(format!("{serial}.nbd"))
    }

    /// Starts the emulated drives.
    fn serve(&mut self) -> anyhow::Result<()> {
        let emulated = |drive: &&Drive| {
            matches!(drive.attachment, Attachment::EmulatedBlk | Attachment::EmulatedScsi)
        };
        for drive in DRIVES.iter().filter(emulated) {
            let socket = self.socket(drive.serial);
            let mut served = Command::new(&self.binary);
            served.args(["emulate", EMULATED, "--quiet", "--nbd"]).arg(&socket);
            served.arg("--control").arg(self.directory.join(format!("{}.ctl", drive.serial)));
            served.stdin(Stdio::null()).stdout(Stdio::null());
            self.served.push(served.spawn().context("cannot start flushmark emulate")?);
            for _ in 0..TRIES * 10 {
                if socket.exists() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
        Ok(())
    }

    pub fn boot(&mut self) -> anyhow::Result<Guest> {
        // Rarely, a kernel under emulation hangs before it is ready.
        let mut guest = self.start().or_else(|error| {
            eprintln!("{error:#}; the guest is started again");
            self.start()
        })?;
        // The kernel needs some time to probe some buses.
        for _ in 0..TRIES {
            if DRIVES.iter().all(|drive| guest.device(drive.serial).is_ok()) {
                return Ok(guest);
            }
        }
        for drive in &DRIVES {
            guest.device(drive.serial)?;
        }
        Ok(guest)
    }

    fn start(&mut self) -> anyhow::Result<Guest> {
        self.end();
        if self.served.is_empty() {
            self.serve()?;
        }
        let (agent, monitor) = (self.directory.join("agent"), self.directory.join("monitor"));
        let commands = self.directory.join("commands");
        for old in [&agent, &monitor, &commands] {
            let _ = std::fs::remove_file(old);
        }
        let mut qemu = self.qemu(&agent, &monitor)?;
        qemu.args(["-trace", monitor::LOGGED, "-D"]).arg(&commands);
        let log = File::create(self.directory.join("qemu.log"))?;
        let child = qemu.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        self.qemu = Some(child.context("cannot start qemu-system-x86_64")?);
        Guest::connect(&agent, || Monitor::connect(&monitor, &commands))
            .with_context(|| self.console_end())
    }

    /// QEMU with its machine and its drives, and the sockets of the guest's agent and of QEMU's
    /// monitor.
    fn qemu(&self, agent: &Path, monitor: &Path) -> anyhow::Result<Command> {
        let mut qemu = Command::new("qemu-system-x86_64");
        // KVM is not used: it may hang in nested virtual machines, and TCG works everywhere.
        qemu.args(["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024"])
            .args(["-smp", &CPUS.to_string(), "-display", "none", "-nodefaults", "-no-user-config"])
            .args([
                "-object",
                "memory-backend-ram,id=node0,size=512M",
                "-object",
                "memory-backend-ram,id=node1,size=512M",
            ])
            .args([
                "-numa",
                "node,nodeid=0,cpus=0-1,memdev=node0",
                "-numa",
                "node,nodeid=1,cpus=2-3,memdev=node1",
            ])
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&self.initramfs)
            // The kernel takes the TSCs of two nodes for unsynchronized. Each reading of the clock
            // would then be one of the HPET, for which QEMU stops the other processors.
            .args(["-append", "console=ttyS0 panic=-1 random.trust_cpu=on tsc=reliable"])
            .args(["-serial", "chardev:console", "-chardev"])
            .arg(format!("file,id=console,path={}", self.console().display()))
            .args([
                "-device",
                "virtio-serial-pci",
                "-device",
                "virtserialport,chardev=agent,name=agent",
                "-chardev",
            ])
            .arg(format!("socket,id=agent,path={},server=on,wait=off", agent.display()))
            .arg("-qmp")
            .arg(format!("unix:{},server=on,wait=off", monitor.display()))
            .args([
                "-device", "ich9-ahci,id=sata", "-device", "mptsas1068,id=sas", "-device",
                "megasas,id=raid",
            ])
            .args(["-device", "nvme,id=zoned,serial=ZONED"])
            .args(["-device", "qemu-xhci,id=usb", "-device", "virtio-scsi-pci,id=vscsi"]);
        for drive in &DRIVES {
            let file = match drive.attachment {
                Attachment::EmulatedBlk | Attachment::EmulatedScsi => {
                    format!("nbd+unix:///?socket={}", self.socket(drive.serial).display())
                }
                _ => {
                    let path = self.directory.join(drive.serial);
                    if !path.exists() {
                        File::create(&path)?.set_len(DRIVE_BYTES)?;
                    }
                    path.display().to_string()
                }
            };
            let cache = match drive.mode {
                Mode::WriteBack => "writeback",
                Mode::WriteThrough => "writethrough",
                Mode::None => "none",
                Mode::Unsafe => "unsafe",
            };
            qemu.arg("-drive")
                .arg(format!("if=none,id={},format=raw,cache={cache},file={file}", drive.serial));
            qemu.arg("-device").arg(drive.device());
        }
        Ok(qemu)
    }

    fn console(&self) -> PathBuf {
        self.directory.join("console")
    }

    /// The last lines that QEMU and the guest's console printed.
    pub fn console_end(&self) -> String {
        let end = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        };
        format!("{}\n{}", end(&self.directory.join("qemu.log")), end(&self.console()))
    }

    /// The kernel reported that a processor stood still: under software emulation on a busy machine,
    /// timer interrupts are lost now and then.
    pub fn has_stalled(&self) -> bool {
        let console = std::fs::read(self.console()).unwrap_or_default();
        String::from_utf8_lossy(&console).contains("detected stalls on CPUs")
    }

    fn end(&mut self) {
        if let Some(mut qemu) = self.qemu.take() {
            let _ = qemu.kill();
            let _ = qemu.wait();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
        for mut served in self.served.drain(..) {
            let _ = command::output("kill", &["-TERM", &served.id().to_string()]);
            let _ = served.wait();
        }
    }
}

impl Drive {
    /// The value of QEMU's option.
    fn device(&self) -> String {
        let serial = self.serial;
        let common = format!("drive={serial},serial={serial}");
        match self.attachment {
            Attachment::Nvme => format!("nvme,{common}"),
            // On the controller of the command line.
            Attachment::NvmeZoned => format!(
                "nvme-ns,bus=zoned,drive={serial},zoned=true,zoned.zone_size=4M,\
                 zoned.zone_capacity=3M,zoned.max_open=4,zoned.max_active=6"
            ),
            Attachment::Sata { port } => format!("ide-hd,bus=sata.{port},{common}"),
            // Linux finds a SAS disk by its address, which QEMU derives from the name.
            Attachment::Sas { id } => {
                format!(
                    "scsi-hd,bus=sas.0,scsi-id={id},wwn=0x5000c50015ea71a{id},rotation_rate=1,{common}"
                )
            }
            Attachment::Raid => format!("scsi-hd,bus=raid.0,{common}"),
            Attachment::Usb => format!("usb-storage,bus=usb.0,{common}"),
            Attachment::VirtioBlk { switchable } => {
                format!(
                    "virtio-blk-pci,config-wce={},{common}",
                    if switchable { "on" } else { "off" }
                )
            }
            Attachment::VirtioScsi => format!("scsi-hd,bus=vscsi.0,{common}"),
            Attachment::EmulatedBlk => format!("virtio-blk-pci,{common}"),
            Attachment::EmulatedScsi => format!("scsi-hd,bus=vscsi.0,dpofua=on,{common}"),
        }
    }
}
