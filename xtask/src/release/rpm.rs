//! The package for Fedora, RHEL, SUSE and their relatives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::tree::{DOCS, SETTINGS, files};
use super::{Release, path, write};

pub fn file_name(release: &Release) -> String {
    format!("flushmark-{}-1.x86_64.rpm", release.version)
}

/// Makes the package of a tree; `work` gets what is needed only meanwhile.
pub fn pack(
    root: &Path,
    work: &Path,
    release: &Release,
    directory: &Path,
) -> anyhow::Result<PathBuf> {
    let top = work.join("rpm");
    fs::create_dir_all(&top).with_context(|| format!("cannot create {}", top.display()))?;
    let installed: Vec<String> = files(root)?
        .iter()
        .map(|file| Ok(format!("/{}", path(file.strip_prefix(root)?)?)))
        .collect::<anyhow::Result<_>>()?;
    let description = top.join("flushmark.spec");
    write(&description, &spec(release, path(root)?, &installed))?;
    let mut command = Command::new("rpmbuild");
    command.args(["-bb", "--quiet", "--target", "x86_64", "--define"]);
    command.arg(format!("_topdir {}", path(&top)?)).arg(&description);
    let output = command
        .env("SOURCE_DATE_EPOCH", release.date.as_second().to_string())
        .output()
        .context("cannot start rpmbuild")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rpmbuild ended with {}: {}", output.status, said.trim());
    let name = file_name(release);
    let package = directory.join(&name);
    fs::copy(top.join("RPMS/x86_64").join(&name), &package)
        .with_context(|| format!("rpmbuild made no {name}"))?;
    Ok(package)
}

/// Directories that go with the package: its documents, with all below, and its settings.
fn directories(files: &[String]) -> BTreeSet<&Path> {
    let docs = Path::new("/").join(DOCS);
    let settings = Path::new("/").join(SETTINGS);
    let ours = [Some(docs.as_path()), settings.parent()];
    let is_ours = |path: &&Path| ours.iter().flatten().any(|directory| path.starts_with(directory));
    files.iter().flat_map(|file| Path::new(file).ancestors().skip(1)).filter(is_ours).collect()
}

/// The description of the package, with the files of a tree.
fn spec(release: &Release, root: &str, files: &[String]) -> String {
    let directories = directories(files);
    let files: String = files
        .iter()
        .map(|file| {
            let is_document = file.strip_prefix('/').is_some_and(|file| file.starts_with(DOCS));
            let kind = match file.as_str() {
                file if file.ends_with(SETTINGS) => "%attr(0600, root, root) %config(noreplace) ",
                file if file.contains("/LICENSE-") || file.contains("third-party") => "%license ",
                file if is_document || file.starts_with("/usr/share/man/") => "%doc ",
                _ => "",
            };
            format!("{kind}\"{file}\"\n")
        })
        .collect();
    let directories: String =
        directories.iter().map(|directory| format!("%dir \"{}\"\n", directory.display())).collect();
    format!(
        "\
# The files are ready: nothing is stripped, compressed or renamed.
%define __os_install_post %{{nil}}
%define debug_package %{{nil}}
%define _build_id_links none
# The same bytes from the same files.
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
# Older rpm knows no zstd.
%define _binary_payload w6.xzdio

Name: flushmark
Version: {version}
Release: 1
Summary: Measures what a durable write really costs, and proves that it is durable
License: MIT OR Apache-2.0
URL: {url}

%description
flushmark measures what each commit of a database, of Ceph or of ZFS costs on
this storage: the write and the flush that makes it durable. It explains why,
grades the storage for each use, compares runs, hosts and drives, and proves by
power cut whether acknowledged writes survive.

The second program, prefixsort, sorts files larger than memory like
LC_ALL=C sort.

%install
mkdir -p %{{buildroot}}
cp -a {root}/. %{{buildroot}}/

%post
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi

%preun
if [ $1 -eq 0 ] && [ -d /run/systemd/system ]; then
    systemctl disable --now flushmark-check.timer >/dev/null 2>&1 || :
fi

%postun
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi

%files
{directories}{files}",
        version = release.version,
        url = env!("CARGO_PKG_REPOSITORY"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_listed_with_its_kind() {
        let release =
            Release { version: "1.2.3".to_owned(), date: "2026-11-28T08:05:09Z".parse().unwrap() };
        let files = [
            "/usr/bin/flushmark",
            "/etc/flushmark/check.conf",
            "/usr/share/man/man1/flushmark.1.gz",
            "/usr/share/doc/flushmark/LICENSE-MIT",
            "/usr/share/doc/flushmark/docs/guide.md",
        ]
        .map(str::to_owned);
        let spec = spec(&release, "/stage", &files);
        let (_, list) = spec.split_once("%files\n").unwrap();
        insta::assert_snapshot!(list, @r#"
        %dir "/etc/flushmark"
        %dir "/usr/share/doc/flushmark"
        %dir "/usr/share/doc/flushmark/docs"
        "/usr/bin/flushmark"
        %attr(0600, root, root) %config(noreplace) "/etc/flushmark/check.conf"
        %doc "/usr/share/man/man1/flushmark.1.gz"
        %license "/usr/share/doc/flushmark/LICENSE-MIT"
        %doc "/usr/share/doc/flushmark/docs/guide.md"
        "#);
        assert!(spec.contains("Version: 1.2.3\n") && spec.contains("cp -a /stage/. %{buildroot}/"));
    }
}
