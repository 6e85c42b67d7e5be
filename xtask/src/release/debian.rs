//! The package for Debian, Ubuntu and their relatives.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::tree::{SETTINGS, files};
use super::{Release, in_directory, path, portable, write};

const MAINTAINER: &str = "The flushmark developers <flushmark@users.noreply.github.com>";

const DESCRIPTION: &str = "\
measure what a durable write really costs, and prove that it is durable
 flushmark measures what each commit of a database, of Ceph or of ZFS costs
 on this storage: the write and the flush that makes it durable. It explains
 why, grades the storage for each use, compares runs, hosts and drives, and
 proves by power cut whether acknowledged writes survive.
 .
 The second program, prefixsort, sorts files larger than memory like
 LC_ALL=C sort.
";

/// SQLite is compiled into the program on purpose: the package runs on many releases, and the store
/// uses newer functions of it than the oldest of them has.
pub const OVERRIDES: &str = "\
# One package for all releases since 2018, whose versions of SQLite differ.
flushmark: embedded-library *sqlite3*
";

/// Scripts of the package, by name. The timer is not started: an administrator sets the targets
/// first.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "postinst",
        "\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
",
    ),
    (
        "prerm",
        "\
#!/bin/sh
set -e
if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now flushmark-check.timer >/dev/null 2>&1 || true
fi
",
    ),
    (
        "postrm",
        "\
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ \"$1\" = purge ]; then
    # Results of the timer, and saved settings of write caches.
    rm -rf /var/lib/flushmark /var/lib/systemd/timers/stamp-flushmark-check.timer
fi
",
    ),
];

pub fn file_name(release: &Release) -> String {
    format!("flushmark_{}-1_amd64.deb", release.version)
}

/// Makes the package of a tree.
pub fn pack(root: &Path, release: &Release, directory: &Path) -> anyhow::Result<PathBuf> {
    let package = directory.join(file_name(release));
    let control = root.join("DEBIAN");
    fs::create_dir_all(&control).with_context(|| format!("cannot create {}", control.display()))?;
    let packed = fill(&control, root, release).and_then(|()| build(root, release, &package));
    // The tree is that of other packages, too.
    fs::remove_dir_all(&control).with_context(|| format!("cannot remove {}", control.display()))?;
    packed.map(|()| package)
}

fn fill(control: &Path, root: &Path, release: &Release) -> anyhow::Result<()> {
    let files: Vec<PathBuf> =
        files(root)?.into_iter().filter(|file| !file.starts_with(control)).collect();
    let sizes = files.iter().map(|file| Ok(fs::symlink_metadata(file)?.len().div_ceil(1024)));
    let kib = sizes.sum::<std::io::Result<u64>>()?;
    write(&control.join("control"), &control_file(release, kib))?;
    write(&control.join("conffiles"), &format!("/{SETTINGS}\n"))?;
    let hashed: Vec<&str> = files
        .iter()
        .filter(|file| !file.is_symlink() && !file.ends_with(SETTINGS))
        .map(|file| path(file.strip_prefix(root)?))
        .collect::<anyhow::Result<_>>()?;
    write(&control.join("md5sums"), &in_directory(root, "md5sum", &hashed)?)?;
    for (name, text) in SCRIPTS {
        let script = control.join(name);
        write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn control_file(release: &Release, installed_kib: u64) -> String {
    let version = &release.version;
    let (major, minor) = portable::GLIBC;
    let homepage = env!("CARGO_PKG_REPOSITORY");
    format!(
        "Package: flushmark\nVersion: {version}-1\nArchitecture: amd64\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {installed_kib}\nDepends: libc6 (>= {major}.{minor})\n\
         Suggests: bash-completion\nSection: utils\nPriority: optional\nHomepage: {homepage}\n\
         Description: {DESCRIPTION}"
    )
}

fn build(root: &Path, release: &Release, package: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("dpkg-deb");
    // Older dpkg knows no zstd. The number of threads would change the bytes.
    command.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]);
    command.arg(root).arg(package).stdout(std::process::Stdio::null());
    // The date of the package, and of files that are newer.
    let status = command
        .env("SOURCE_DATE_EPOCH", release.date.as_second().to_string())
        .status()
        .context("cannot start dpkg-deb")?;
    ensure!(status.success(), "dpkg-deb ended with {status}");
    Ok(())
}

/// Debian's changelog: of the package, not of the programs.
pub fn changelog(release: &Release) -> String {
    let date = release.date.strftime("%a, %d %b %Y %H:%M:%S +0000");
    format!(
        "flushmark ({}-1) unstable; urgency=medium\n\n  * Release {}; its changes are in \
         changelog.gz.\n\n -- {MAINTAINER}  {date}\n",
        release.version, release.version
    )
}

/// The licences in the format that Debian's tools read.
pub fn copyright() -> String {
    let source = env!("CARGO_PKG_REPOSITORY");
    let mit = include_str!("../../../LICENSE-MIT");
    // After its title and the line of the copyright. An empty line is a dot there.
    let conditions = mit.split_once("Permission").map(|(_, text)| format!("Permission{text}"));
    let indented: String = conditions
        .unwrap_or_default()
        .lines()
        .map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: flushmark\nSource: {source}\n\
         Comment: The programs contain crates of others, listed with their licences in\n \
         third-party-licences.txt.gz beside this file, and Apache ECharts: see NOTICE.\n\n\
         Files: *\nCopyright: 2025-2026 The flushmark developers\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{indented}\n\
         License: Apache-2.0\n On Debian systems, the text of the Apache License, Version 2.0, is in\n \
         /usr/share/common-licenses/Apache-2.0.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        let date = "2026-11-28T08:05:09Z".parse().unwrap();
        Release { version: "1.2.3".to_owned(), date }
    }

    #[test]
    fn the_description_of_the_package() {
        insta::assert_snapshot!(control_file(&release(), 4096), @"
        Package: flushmark
        Version: 1.2.3-1
        Architecture: amd64
        Maintainer: The flushmark developers <flushmark@users.noreply.github.com>
        Installed-Size: 4096
        Depends: libc6 (>= 2.28)
        Suggests: bash-completion
        Section: utils
        Priority: optional
        Homepage: https://github.com/flushmark/flushmark
        Description: measure what a durable write really costs, and prove that it is durable
         flushmark measures what each commit of a database, of Ceph or of ZFS costs
         on this storage: the write and the flush that makes it durable. It explains
         why, grades the storage for each use, compares runs, hosts and drives, and
         proves by power cut whether acknowledged writes survive.
         .
         The second program, prefixsort, sorts files larger than memory like
         LC_ALL=C sort.
        ");
    }

    #[test]
    fn the_date_of_the_changelog() {
        insta::assert_snapshot!(changelog(&release()), @"
        flushmark (1.2.3-1) unstable; urgency=medium

          * Release 1.2.3; its changes are in changelog.gz.

         -- The flushmark developers <flushmark@users.noreply.github.com>  Sat, 28 Nov 2026 08:05:09 +0000
        ");
    }

    #[test]
    fn the_copyright_file_has_no_empty_line_in_a_text() {
        let text = copyright();
        let mit = text.split("License: MIT\n").last().unwrap();
        assert!(mit.starts_with(" Permission is hereby granted"), "{mit}");
        assert!(mit.contains("\n .\n"), "{mit}");
    }
}
