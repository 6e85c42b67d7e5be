//! The kernel believes that there is no volatile cache.

use drive::Transport;
use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::{flushes, median};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if FlushPath::of(case) != FlushPath::NotNeeded {
        return None;
    }
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit());
    let mut evidence = vec![Evidence::fact("volatile cache, as the kernel lists it", "write through")];
    evidence.extend(commit.map(median));
    evidence.extend(commit.and_then(flushes));
    let price = commit
        .map_or(String::new(), |commit| format!(": a commit costs its write alone, {}", latency(commit.p50_us())));
    let (title, confidence, doubt, advice) = if case.is_virtual() {
        (
            format!("The virtual disk declares no volatile cache, so the kernel sends no flush{price}."),
            Confidence::Medium,
            Some("Whether a write is durable when it returns is the host's affair: one that keeps writes in its memory without saying so looks the same."),
            "Ask the host how it writes: straight to storage that needs no flush is safe; Firecracker with `cache_type` `Unsafe` (its default) writes to the host's memory, `Writeback` makes it honest.".to_owned(),
        )
    } else if let Some(served) = case.drives().into_iter().find(|drive| is_served(drive.transport)) {
        (
            format!("{} declares no volatile cache, so the kernel sends no flush{price}.", served.path.display()),
            Confidence::Medium,
            Some(
                "Whether a write is durable when it returns is the affair of the program or the machine that serves the device.",
            ),
            "Look at what serves it: it must either announce a cache and heed flushes, or write through.".to_owned(),
        )
    } else {
        let usb = case.drives().iter().any(|drive| drive.transport == Transport::Usb);
        let doubt =
            usb.then_some("USB bridges often hide the drive's cache, and then a power cut loses what was confirmed.");
        (
            format!("{} declares no volatile cache, so the kernel sends no flush{price}.", case.drive_label()),
            if usb { Confidence::Low } else { Confidence::High },
            doubt,
            if case.is_modelled() {
                "Nothing to do: that is how this drive is modelled.".to_owned()
            } else {
                format!("Nothing to do if that is true; `{}` asks the drive itself.", query(case))
            },
        )
    };
    Some(Finding {
        id: "no-flush-sent".to_owned(),
        title,
        evidence,
        confidence,
        doubt: doubt.map(str::to_owned),
        advice,
    })
}

/// Whether another program or machine answers for the device.
const fn is_served(transport: Transport) -> bool {
    use Transport::{Drbd, Loop, Nbd, NvmeFabrics, Rbd, Ublk, Zvol};
    matches!(transport, Drbd | Loop | Nbd | NvmeFabrics | Rbd | Ublk | Zvol)
}

/// The command that asks the drive for the state of its cache.
fn query(case: &Case<'_>) -> String {
    let disk = case.disk_path();
    match case.drives().first().map(|drive| drive.transport) {
        Some(Transport::Nvme) => format!("nvme get-feature -f 6 -H {disk}"),
        Some(Transport::Sata) => format!("hdparm -W {disk}"),
        _ => format!("smartctl -g wcache {disk}"),
    }
}
