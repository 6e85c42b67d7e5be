//! A zram device that is created for this run and removed at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};

/// The kernel releases a device some time after the last io_uring on it was closed.
const RELEASE_WAIT: Duration = Duration::from_millis(50);
const RELEASE_TRIES: u32 = 40;

/// A zram device created for this process. Existing devices are left alone: whether one of them is
/// free cannot be determined without a race, because another program may claim it meanwhile.
#[derive(Debug)]
pub struct Zram {
    /// Its path under `/dev`.
    pub device: String,
    index: u32,
    sysfs: PathBuf,
}

impl Zram {
    /// Asks the kernel for a new device of `bytes` bytes.
    pub fn hot_add(bytes: u64) -> anyhow::Result<Zram> {
        Zram::hot_add_below(Path::new("/sys"), bytes)
    }

    fn hot_add_below(sysfs: &Path, bytes: u64) -> anyhow::Result<Zram> {
        let control = sysfs.join("class/zram-control");
        ensure!(
            control.is_dir(),
            "the kernel has no zram support ({} is missing): load the module with `modprobe zram`",
            control.display()
        );
        let control = control.join("hot_add");
        // Reading the attribute creates a device and returns its number.
        let answer = fs::read_to_string(&control).with_context(|| {
            format!("cannot make a zram device by reading {} (as root?)", control.display())
        })?;
        let index: u32 = answer.trim().parse().with_context(|| {
            format!(
                "{} returned `{}` instead of the number of a device",
                control.display(),
                answer.trim()
            )
        })?;
        let zram = Zram { device: format!("/dev/zram{index}"), index, sysfs: sysfs.to_owned() };
        let disksize = zram.block().join("disksize");
        fs::write(&disksize, bytes.to_string()).with_context(|| {
            format!("cannot set the size of {} by writing {}", zram.device, disksize.display())
        })?;
        Ok(zram)
    }

    fn block(&self) -> PathBuf {
        self.sysfs.join(format!("block/zram{}", self.index))
    }

    fn remove(&self) -> std::io::Result<()> {
        fs::write(self.block().join("reset"), "1")?;
        fs::write(self.sysfs.join("class/zram-control/hot_remove"), self.index.to_string())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let mut removed = self.remove();
        for _ in 0..RELEASE_TRIES {
            if !removed
                .as_ref()
                .is_err_and(|error| error.kind() == std::io::ErrorKind::ResourceBusy)
            {
                break;
            }
            std::thread::sleep(RELEASE_WAIT);
            removed = self.remove();
        }
        if let Err(error) = removed {
            eprintln!("cannot remove {}: {error}; it holds memory until it is reset", self.device);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sysfs whose next zram device is number 7, with a zram0 that is in use.
    fn sysfs() -> tempfile::TempDir {
        let sysfs = tempfile::tempdir().unwrap();
        let path = |name: &str| sysfs.path().join(name);
        for directory in ["class/zram-control", "block/zram0", "block/zram7"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        fs::write(path("class/zram-control/hot_add"), "7\n").unwrap();
        fs::write(path("block/zram0/disksize"), "1073741824\n").unwrap();
        sysfs
    }

    #[test]
    fn a_new_device_is_made_where_zram0_is_in_use_and_is_removed_afterwards() {
        let sysfs = sysfs();
        let read = |name: &str| fs::read_to_string(sysfs.path().join(name)).ok();
        let zram = Zram::hot_add_below(sysfs.path(), 4096).unwrap();
        assert_eq!(zram.device, "/dev/zram7");
        assert_eq!(read("block/zram7/disksize").as_deref(), Some("4096"));
        assert_eq!(read("class/zram-control/hot_remove"), None);
        drop(zram);
        assert_eq!(read("block/zram7/reset").as_deref(), Some("1"));
        assert_eq!(read("class/zram-control/hot_remove").as_deref(), Some("7"));
        assert_eq!(read("block/zram0/disksize").as_deref(), Some("1073741824\n"));
        assert_eq!(read("block/zram0/reset"), None);
    }

    #[test]
    fn a_device_whose_size_cannot_be_set_is_removed_again() {
        let sysfs = sysfs();
        fs::create_dir(sysfs.path().join("block/zram7/disksize")).unwrap();
        let error = Zram::hot_add_below(sysfs.path(), 4096).unwrap_err();
        assert!(error.to_string().starts_with("cannot set the size of /dev/zram7"), "{error}");
        assert_eq!(
            fs::read_to_string(sysfs.path().join("class/zram-control/hot_remove")).unwrap(),
            "7"
        );
    }

    #[test]
    fn the_kernel_makes_a_device_and_takes_it_back() {
        const TEST: &str = "the_kernel_makes_a_device_and_takes_it_back";
        if !rustix::process::geteuid().is_root() || !Path::new("/sys/class/zram-control").is_dir() {
            return eprintln!("skipped: {TEST}: needs root and the kernel's zram");
        }
        let in_use = Zram::hot_add(1 << 20).unwrap();
        let zram = Zram::hot_add(1 << 20).unwrap();
        assert_ne!(in_use.index, zram.index);
        assert_eq!(fs::read_to_string(zram.block().join("size")).unwrap().trim(), "2048");
        let sysfs = [in_use.block(), zram.block()];
        drop(zram);
        assert!(!sysfs[1].exists());
        let held = fs::File::open(&in_use.device).unwrap();
        let busy = rustix::io::Errno::BUSY.raw_os_error();
        assert_eq!(in_use.remove().unwrap_err().raw_os_error(), Some(busy));
        drop(held);
        drop(in_use);
        assert!(!sysfs[0].exists());
    }

    #[test]
    fn refusals_are_sentences() {
        let sysfs = sysfs();
        let refusal = || format!("{:#}", Zram::hot_add_below(sysfs.path(), 4096).unwrap_err());
        fs::write(sysfs.path().join("class/zram-control/hot_add"), "no\n").unwrap();
        assert!(
            refusal().contains("returned `no` instead of the number of a device"),
            "{}",
            refusal()
        );
        fs::remove_file(sysfs.path().join("class/zram-control/hot_add")).unwrap();
        assert!(refusal().contains("cannot make a zram device by reading"), "{}", refusal());
        fs::remove_dir(sysfs.path().join("class/zram-control")).unwrap();
        assert!(refusal().contains("load the module with `modprobe zram`"), "{}", refusal());
    }
}
