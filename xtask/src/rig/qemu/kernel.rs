//! Debian's kernel, unpacked and not installed.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command;

pub struct Kernel {
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The directory that contains `lib/modules`.
    pub directory: PathBuf,
    pub image: PathBuf,
}

/// Fetches the package that `linux-image-amd64` depends on, once, and unpacks it.
pub fn unpack(work: &Path) -> anyhow::Result<Kernel> {
    let depends = command::output("apt-cache", &["depends", "linux-image-amd64"])?;
    let package = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .context("linux-image-amd64 depends on no kernel: run `apt-get update`")?;
    let release = package
        .strip_prefix("linux-image-")
        .context("unexpected name of the kernel package")?
        .to_owned();
    let directory = work.join(package);
    let image = directory.join(format!("boot/vmlinuz-{release}"));
    // Created last, so an interrupted fetch is repeated.
    let ready = directory.join("ready");
    if !ready.exists() {
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory)?;
        let fetch = command::command("apt-get", &["download", "--quiet", package])
            .current_dir(&directory)
            .status();
        anyhow::ensure!(fetch?.success(), "apt-get download {package} failed");
        let entry =
            std::fs::read_dir(&directory)?.next().context("apt-get download left no file")??;
        let archive = entry.path().to_string_lossy().into_owned();
        let place = directory.to_string_lossy().into_owned();
        command::shown("dpkg-deb", &["--extract", &archive, &place])?;
        std::fs::remove_file(entry.path())?;
        command::shown("depmod", &["--basedir", &place, &release])?;
        std::fs::write(ready, "")?;
    }
    Ok(Kernel { release, directory, image })
}
