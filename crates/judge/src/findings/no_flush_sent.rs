//! The kernel assumes that there is no volatile cache and sends no flushes.

use drive::Transport;
use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::{flushes, median};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    // `loop_device` reports that of a file.
    if FlushPath::of(case) != FlushPath::NotNeeded || case.loop_device().is_some() {
        return None;
    }
    let commit = case.flushing_commit().or_else(|| case.cheapest_commit());
    let mut evidence = vec![Evidence::fact("volatile cache (kernel)", "write through")];
    evidence.extend(commit.map(median));
    evidence.extend(commit.and_then(flushes));
    let price = commit.map_or(String::new(), |commit| {
        format!(": a commit costs only its write, {}", latency(commit.p50_us()))
    });
    let (title, confidence, doubt, advice) = if let Some(ceph) = case.in_ceph() {
        (
            format!(
                "Each write to {} is on all replicas when the cluster acknowledges it, so the \
                 kernel needs to send no flush{price}.",
                ceph.label
            ),
            Confidence::High,
            None,
            "Nothing to do.".to_owned(),
        )
    } else if case.is_virtual() {
        (
            format!(
                "The virtual disk reports no volatile cache, so the kernel sends no \
                     flush{price}."
            ),
            Confidence::Medium,
            Some(
                "Whether a completed write is durable depends on the host: a host that keeps \
                  writes in memory without reporting a cache looks the same.",
            ),
            "Find out how the host writes. Directly to storage that needs no flush is safe; \
             Firecracker with `cache_type` `Unsafe` (its default) writes to the host's memory, and \
             `Writeback` makes it safe."
                .to_owned(),
        )
    } else if let Some(served) = case.drives().into_iter().find(|drive| is_served(drive.transport))
    {
        (
            format!(
                "{} reports no volatile cache, so the kernel sends no flush{price}.",
                served.path.display()
            ),
            Confidence::Medium,
            Some(
                "Whether a completed write is durable depends on the program or machine that \
                  serves the device.",
            ),
            "Check what serves it: it must either report a cache and honour flushes, or write \
             through."
                .to_owned(),
        )
    } else {
        let usb = case.drives().iter().any(|drive| drive.transport == Transport::Usb);
        let doubt = usb.then_some(
            "USB bridges often hide the drive's cache, and then a power cut loses \
                           acknowledged writes.",
        );
        (
            format!(
                "{} reports no volatile cache, so the kernel sends no flush{price}.",
                case.drive_label()
            ),
            if usb { Confidence::Low } else { Confidence::High },
            doubt,
            if case.is_modelled() {
                "Nothing to do: this drive is modelled that way.".to_owned()
            } else {
                format!("Nothing to do if that is true; check with `{}`.", query(case))
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

/// Returns whether another program or machine serves the device.
const fn is_served(transport: Transport) -> bool {
    use Transport::{Drbd, Nbd, NvmeFabrics, Ublk, Zvol};
    matches!(transport, Drbd | Nbd | NvmeFabrics | Ublk | Zvol)
}

/// The command that queries the drive's cache state.
fn query(case: &Case<'_>) -> String {
    let disk = case.disk_path();
    match case.drives().first().map(|drive| drive.transport) {
        Some(Transport::Nvme) => format!("nvme get-feature -f 6 -H {disk}"),
        Some(Transport::Sata) => format!("hdparm -W {disk}"),
        _ => format!("smartctl -g wcache {disk}"),
    }
}
