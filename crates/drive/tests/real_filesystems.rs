//! Tests signatures on what the real tools write. Tests whose tool is not installed are skipped
//! with a note.

#![allow(clippy::unwrap_used)] // Helpers of tests, which clippy.toml exempts only inside `#[test]`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use drive::SignatureKind::{self, *};
use drive::read_signatures;

const MIB: u64 = 1 << 20;

/// The tool with its arguments; `IMAGE` is replaced by the image, `SOURCE` by a directory with a
/// file in it, `KEY` by that file.
fn check(test: &str, image_bytes: u64, command: &str, expected: &[SignatureKind]) {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    let source = directory.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("file"), vec![b'a'; 100_000]).unwrap();
    if image_bytes > 0 {
        fs::File::create(&image).unwrap().set_len(image_bytes).unwrap();
    }
    if !run(command, &image, &source) {
        eprintln!("skipped: {test}: `{command}`: the tool is not installed");
        return;
    }
    let found: Vec<_> =
        read_signatures(&image).unwrap().iter().map(|signature| signature.kind).collect();
    assert_eq!(found, expected, "{command}");
}

/// False when the tool is not installed.
fn run(command: &str, image: &Path, source: &Path) -> bool {
    let key = source.join("file");
    let mut words = command.split(' ').map(|word| match word {
        "IMAGE" => image.to_str().unwrap(),
        "SOURCE" => source.to_str().unwrap(),
        "KEY" => key.to_str().unwrap(),
        word => word,
    });
    // A user's PATH often lacks the directories of mkfs.
    let path =
        format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let child = Command::new("env")
        .env("PATH", path)
        .arg(words.next().unwrap())
        .args(words)
        .stdin(Stdio::null())
        .output();
    match child {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => panic!("{command}: {error}"),
        Ok(output) if output.status.code() == Some(127) => false, // env(1): no such command
        Ok(output) => {
            assert!(
                output.status.success(),
                "{command}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            true
        }
    }
}

#[test]
fn ext() {
    check("ext", 16 * MIB, "mkfs.ext2 -q -F IMAGE", &[Ext2]);
    check("ext", 16 * MIB, "mkfs.ext3 -q -F IMAGE", &[Ext3]);
    check("ext", 16 * MIB, "mkfs.ext4 -q -F IMAGE", &[Ext4]);
    check("ext", 16 * MIB, "mkfs.ext4 -q -F -O ^has_journal IMAGE", &[Ext4]);
    check("ext", 16 * MIB, "mke2fs -q -F -O journal_dev IMAGE", &[ExtJournal]);
}

#[test]
fn swap() {
    check("swap", 4 * MIB, "mkswap IMAGE", &[Swap]);
}

#[test]
fn partition_tables() {
    check("partition_tables", 16 * MIB, "sgdisk -n 1:0:0 IMAGE", &[Gpt, GptBackup]);
    check("partition_tables", 16 * MIB, "sgdisk -n 1:0:0 -m 1 IMAGE", &[Mbr]);
}

#[test]
fn other_marks() {
    check("other_marks", 16 * MIB, "make-bcache -B IMAGE", &[Bcache]);
    check("other_marks", 320 * MIB, "mkfs.xfs -q IMAGE", &[Xfs]);
    check("other_marks", 128 * MIB, "mkfs.btrfs -q IMAGE", &[Btrfs]);
    check("other_marks", 64 * MIB, "mkfs.f2fs -q IMAGE", &[F2fs]);
    check("other_marks", 64 * MIB, "mkfs.vfat -F 32 IMAGE", &[Fat]);
    check("other_marks", 16 * MIB, "mkfs.vfat -F 16 IMAGE", &[Fat]);
    check("other_marks", 16 * MIB, "mkfs.exfat IMAGE", &[ExFat]);
    check("other_marks", 16 * MIB, "mkntfs -q -F -f IMAGE", &[Ntfs]);
    check("other_marks", 160 * MIB, "mkfs.nilfs2 -q IMAGE", &[Nilfs2]);
    check("other_marks", 32 * MIB, "mkfs.jfs -q IMAGE", &[Jfs]);
    check("other_marks", 64 * MIB, "mkfs.reiserfs -q -ff IMAGE", &[ReiserFs]);
    check("other_marks", 0, "mksquashfs SOURCE IMAGE -quiet -no-progress", &[Squashfs]);
    check("other_marks", 0, "mkfs.erofs IMAGE SOURCE", &[Erofs]);
    check("other_marks", 0, "xorriso -as mkisofs -quiet -o IMAGE SOURCE", &[Iso9660]);
}

#[test]
fn luks() {
    for (version, expected) in [("luks1", Luks1), ("luks2", Luks2)] {
        let format = format!(
            "cryptsetup luksFormat -q --type {version} --key-file KEY --pbkdf pbkdf2 \
             --pbkdf-force-iterations 1000 IMAGE"
        );
        check("luks", 32 * MIB, &format, &[expected]);
    }
}
