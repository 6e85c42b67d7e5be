//! Processes and their open files, from procfs.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use drive::{DeviceNumber, SystemRoot};
use trace::SyncFlag;

use super::scope::device_at;

/// The open files that make a process worth tracing.
pub enum Opened {
    /// This file, or any below this directory.
    Below(PathBuf),
    /// Any on a filesystem on one of these devices, or the devices themselves.
    On(HashSet<DeviceNumber>),
}

impl Opened {
    /// Files on a device, its partitions and the layers built on them.
    pub fn on_device(path: &Path) -> anyhow::Result<Opened> {
        let root = SystemRoot::default();
        let number = device_at(&root, path)?;
        let usage = drive::Usage::of(&root, number);
        let parts = usage.iter().flat_map(drive::Usage::all);
        let numbers = parts.filter_map(|usage| root.device_at(&usage.path));
        Ok(Opened::On(numbers.chain([number]).collect()))
    }

    fn includes(&self, link: &Path) -> bool {
        match self {
            Opened::Below(path) => fs::read_link(link).is_ok_and(|target| target.starts_with(path)),
            Opened::On(devices) => fs::metadata(link).is_ok_and(|file| {
                let on = DeviceNumber::from_dev(file.dev());
                let is_it = file.file_type().is_block_device()
                    && devices.contains(&DeviceNumber::from_dev(file.rdev()));
                is_it || devices.contains(&on)
            }),
        }
    }
}

/// The threads of a process; empty if it has ended.
pub fn of_process(process: u32) -> Vec<u32> {
    numbers(format!("/proc/{process}/task"))
}

fn numbers(directory: impl AsRef<Path>) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of processes that opened such files and are not followed yet. Threads of a followed
/// process that were created since are followed by the kernel.
pub fn new_users(place: &Opened, followed: &mut HashSet<u32>) -> Vec<u32> {
    let own = std::process::id();
    let running: HashSet<u32> = numbers("/proc").into_iter().filter(|one| *one != own).collect();
    followed.retain(|process| running.contains(process));
    let mut threads = Vec::new();
    for process in running {
        if followed.contains(&process) {
            continue;
        }
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        if files.map(|file| file.path()).any(|link| place.includes(&link)) {
            followed.insert(process);
            threads.extend(of_process(process));
        }
    }
    threads
}

/// The names of threads, read while they run.
#[derive(Default)]
pub struct Names(pub HashMap<u32, String>);

impl Names {
    pub fn see(&mut self, thread: u32) {
        self.0.entry(thread).or_insert_with(|| {
            let name = fs::read_to_string(format!("/proc/{thread}/comm")).unwrap_or_default();
            name.trim_end().to_owned()
        });
    }
}

/// The flags with which files were opened.
#[derive(Default)]
pub struct Files(HashMap<(u32, i32), Option<SyncFlag>>);

impl Files {
    /// The flag that makes writes to the file durable; `None` also for a file that is closed
    /// already.
    pub fn sync_flag(&mut self, thread: u32, file: i32) -> Option<SyncFlag> {
        *self.0.entry((thread, file)).or_insert_with(|| {
            let info = fs::read_to_string(format!("/proc/{thread}/fdinfo/{file}")).ok()?;
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            SyncFlag::of_file(u32::from_str_radix(flags.trim(), 8).ok()?)
        })
    }
}
