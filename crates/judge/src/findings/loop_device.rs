//! The target is a loop device: a file, and whatever stores it.

use drive::BlockDevice;
use measurement::{Confidence, Evidence, Finding};

use crate::case::Case;
use crate::flush_path::{FlushPath, kept_in_memory};
use crate::wording::{flushes, median, shell_word};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let device = case.loop_device()?;
    // `in_memory` reports it more precisely.
    if kept_in_memory(case.place?).is_some() {
        return None;
    }
    let file = device.backing_file.as_ref();
    let on = file.map_or("a file".to_owned(), |file| file.display().to_string());
    let path = device.path.display();
    let mut evidence = vec![Evidence::fact(format!("file of {path}"), on.clone())];
    let stored_by = device.backing_device.as_ref().map_or(String::new(), |below| {
        evidence.push(Evidence::fact("device of its filesystem", below.path.display().to_string()));
        format!(", stored by {}", drives_of(below))
    });
    let commit = case.flushing_commit();
    evidence.extend(commit.map(median));
    evidence.extend(commit.and_then(flushes));
    let effect = match FlushPath::of(case) {
        FlushPath::NotNeeded => "the kernel sends it no flushes, so nothing syncs that file",
        _ => "each flush is an fsync of that file",
    };
    let directory = file.and_then(|file| file.parent());
    let measure = directory
        .map_or("Run `flushmark check` where the file is".to_owned(), |parent| {
            format!("Run `flushmark check {}`", shell_word(&parent.display().to_string()))
        });
    Some(Finding {
        id: "loop-device".to_owned(),
        title: format!("{path} is a loop device on {on}{stored_by}: {effect}."),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: format!(
            "{measure} to judge that filesystem and its drive: the difference is the loop device."
        ),
    })
}

/// `Samsung SSD 980 1TB (/dev/nvme0n1)`, or the path alone where the model is unknown.
fn drives_of(below: &BlockDevice) -> String {
    let words = |drive: &&BlockDevice| {
        let path = drive.path.display();
        drive.model.as_ref().map_or_else(|| path.to_string(), |model| format!("{model} ({path})"))
    };
    below.drives().iter().map(words).collect::<Vec<_>>().join(", ")
}
