//! The filesystem of the guest: busybox, the tools, `flushmark`, their libraries, and the modules
//! of its drives.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;

use super::kernel::Kernel;
use crate::command;

/// Tools that `flushmark` is compared with, or that set up what it inspects.
const TOOLS: [&str; 19] = [
    "hdparm", "sdparm", "nvme", "smartctl", "lsblk", "mdadm", "lvm", "cryptsetup", "dmsetup",
    "mkfs.ext4", "mkfs.xfs", "xfs_repair", "blkid", "setpriv", "losetup", "mkswap", "wipefs",
    "fio", "blkzone",
];

/// Drivers of the machine's drives and of what is built on them. The last three are loaded by
/// tests.
const MODULES: [&str; 27] = [
    "virtio_pci", "virtio_blk", "virtio_scsi", "virtio_console", "nvme", "ahci", "sd_mod", "sg",
    "mptsas", "megaraid_sas", "xhci_pci", "usb-storage", "md_mod", "raid1", "raid456", "dm_mod",
    "dm_crypt", "aesni_intel", "xts", "ext4", "xfs", "crc32c_generic", "loop", "af_packet",
    "scsi_debug", "null_blk", "zram",
];
/// Loaded by the tests that need them.
const ON_DEMAND: [&str; 3] = ["scsi_debug", "null_blk", "zram"];

/// Builds the image; returns the path of the file.
pub fn build(work: &Path, kernel: &Kernel, binary: &Path) -> anyhow::Result<PathBuf> {
    let stage = tempfile::Builder::new().prefix("initramfs-").tempdir_in(work)?;
    let root = stage.path();
    for directory in
        ["bin", "proc", "sys", "dev", "run", "tmp", "mnt", "etc", "var/lib/flushmark", "modules"]
    {
        fs::create_dir_all(root.join(directory))?;
    }
    // For tests as an ordinary user.
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    fs::copy("/bin/busybox", root.join("bin/busybox"))
        .context("no /bin/busybox: is busybox-static installed?")?;
    fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\nnogroup:x:65534:\n")?;
    let stripped = root.join("bin/flushmark");
    command::shown("strip", &["-o", &text(&stripped), &text(binary)])?;
    libraries(root, &stripped)?;
    for tool in TOOLS {
        let found = which(tool).with_context(|| format!("{tool} is not installed"))?;
        // Programs such as mkfs.ext4 are links that behave according to their name.
        let place = root.join("bin").join(tool);
        fs::copy(fs::canonicalize(&found)?, &place)?;
        libraries(root, &place)?;
    }
    modules(root, kernel)?;
    let init = root.join("init");
    fs::write(&init, include_str!("init.sh"))?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    archive(root, &work.join("initramfs.cpio"))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn which(tool: &str) -> Option<PathBuf> {
    let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    places.iter().map(|place| Path::new(place).join(tool)).find(|path| path.exists())
}

/// Copies the shared libraries of a program to the same paths.
fn libraries(root: &Path, program: &Path) -> anyhow::Result<()> {
    let listed = command::output("ldd", &[&text(program)])?;
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(library.trim_start_matches('/'));
        if !place.exists() {
            fs::create_dir_all(place.parent().context("a library at the root")?)?;
            fs::copy(library, &place).with_context(|| format!("cannot copy {library}"))?;
        }
    }
    Ok(())
}

/// Copies modules with their dependencies, and writes the order in which they are loaded.
fn modules(root: &Path, kernel: &Kernel) -> anyhow::Result<()> {
    let base = text(&kernel.directory);
    let mut seen = BTreeSet::new();
    let mut at_boot = String::new();
    for module in MODULES {
        let listed = command::output(
            "modprobe",
            &["--dirname", &base, "--set-version", &kernel.release, "--show-depends", module],
        )?;
        let mut order = String::new();
        for path in listed.lines().filter_map(|line| line.trim().strip_prefix("insmod ")) {
            // Options of the module may follow.
            let path = Path::new(path.split_whitespace().next().unwrap_or_default());
            let name =
                path.file_name().context("a module without a name")?.to_string_lossy().into_owned();
            if seen.insert(name.clone()) {
                fs::copy(path, root.join("modules").join(&name))?;
                order += &format!("{name}\n");
            }
        }
        if ON_DEMAND.contains(&module) {
            fs::write(root.join("modules").join(format!("{module}.order")), order)?;
        } else {
            at_boot += &order;
        }
    }
    fs::write(root.join("modules/boot.order"), at_boot)?;
    Ok(())
}

fn archive(root: &Path, to: &Path) -> anyhow::Result<PathBuf> {
    let mut list = Vec::new();
    collect(root, root, &mut list)?;
    let file = fs::File::create(to)?;
    let mut cpio =
        command::command("cpio", &["--create", "--format=newc", "--quiet", "--owner=0:0"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(file)
            .spawn()
            .context("cannot start cpio")?;
    cpio.stdin.take().context("cpio has no stdin")?.write_all(list.join("\n").as_bytes())?;
    anyhow::ensure!(cpio.wait()?.success(), "cpio failed");
    Ok(to.to_owned())
}

fn collect(root: &Path, directory: &Path, list: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        list.push(text(path.strip_prefix(root)?));
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, list)?;
        }
    }
    Ok(())
}
