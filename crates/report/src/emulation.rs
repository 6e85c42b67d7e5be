//! The pages of an emulated drive: what is served, and its status.

use std::time::Duration;

use emulate::{Cut, Facts, Status, TransportCost};
use workload::number::{about_bytes, capacity, latency, number};

use crate::look::Look;

const LABEL: usize = 11;

/// The page shown when an emulated drive starts: its properties and how to reach it.
pub fn emulation_page(facts: &Facts, look: &Look) -> String {
    let mut text = String::new();
    let mut add = |label: &str, words: &str| text += &look.labelled(label, LABEL, words);
    let cache = match (facts.wants_flushes, facts.takes_fua) {
        (true, true) => "volatile write cache, supports FUA",
        (true, false) => "volatile write cache, no FUA",
        (false, _) => "no volatile write cache: hosts send no flush",
    };
    add(
        "drive",
        &format!("{} ({}), {}, {cache}", facts.label, facts.model, capacity(facts.capacity_bytes)),
    );
    add("honesty", &facts.honesty);
    match &facts.image {
        Some(path) => add("data", &format!("in {}", path.display())),
        None => add("data", "in memory, discarded on exit"),
    }
    if let Some(uri) = &facts.nbd {
        add("nbd", uri);
    }
    match (&facts.mounted, &facts.device, &facts.file) {
        (Some(directory), Some(device), _) => {
            add("mounted", &format!("{} on {}", device.display(), directory.display()));
        }
        (None, Some(device), _) => add("device", &device.display().to_string()),
        (_, None, Some(file)) => add(
            "file",
            &format!(
                "{}; as root, run `losetup --find --show --direct-io=on {}` to make it a block \
                 device",
                file.display(),
                file.display()
            ),
        ),
        _ => {}
    }
    for (way, floor) in [("NBD", facts.nbd_floor), ("FUSE", facts.file_floor)] {
        if let Some(floor) = floor {
            add("transport", &transport_words(way, floor, facts));
        }
    }
    if let Some(path) = &facts.control {
        add(
            "orders",
            &format!("flushmark emulate ctl {} status|cut|power-on|wear N|fill P", path.display()),
        );
    }
    look.finish(text)
}

/// The cost of the transport, and whether it can be subtracted from the model's time.
fn transport_words(way: &str, floor: TransportCost, facts: &Facts) -> String {
    let us = |ns: u64| latency(ns as f64 / 1e3);
    let flush = if facts.wants_flushes {
        format!(", {} a flush", us(floor.flush_ns))
    } else {
        String::new()
    };
    let costs =
        format!("{way} costs {} a write{flush}, {} a read", us(floor.write_ns), us(floor.read_ns));
    let nominal = facts.nominal;
    let mut slower = Vec::new();
    for (what, floor_ns, model_ns) in [
        ("write", floor.write_ns, nominal.write_ns),
        ("flush", floor.flush_ns, nominal.flush_ns),
        ("read", floor.read_ns, nominal.read_ns),
    ] {
        if floor_ns > model_ns && (what != "flush" || facts.wants_flushes) {
            slower.push(format!("a {what} takes {}", us(model_ns)));
        }
    }
    if slower.is_empty() {
        format!("{costs}; subtracted from the model's time")
    } else {
        format!(
            "{costs}; subtracted from the model's time, but {} in the model: clients see the \
             transport there",
            slower.join(", ")
        )
    }
}

/// The activity of one interval, usually a second.
pub fn emulation_line(
    before: &Status,
    after: &Status,
    over: Duration,
    wants_flushes: bool,
    look: &Look,
) -> String {
    let per_s = |count: u64| number(count as f64 / over.as_secs_f64().max(1e-3));
    let (writes, flushes) = (after.writes - before.writes, after.flushes - before.flushes);
    // The rate of commits: flushes if there is a volatile cache, otherwise writes.
    let commits = if wants_flushes { flushes } else { writes };
    let reads = after.reads.saturating_sub(before.reads);
    look.finish(format!(
        "{} commits/s, {} writes/s, {} reads/s, {} dirty, {} flushes, WA {}",
        per_s(commits),
        per_s(writes),
        per_s(reads),
        about_bytes(after.dirty_bytes),
        number(after.flushes as f64),
        number(after.write_amplification)
    ))
}

/// The effect of a power cut, in a sentence.
pub fn cut_sentence(cut: &Cut) -> String {
    let mut parts = Vec::new();
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            parts.push(format!("{} {what}", number(count as f64)));
        }
    };
    add(cut.lost_unacknowledged, "unacknowledged");
    add(cut.lost_unflushed, "acknowledged but not flushed");
    add(cut.lost_promised, "acknowledged as durable");
    let lost = if parts.is_empty() {
        "no write was lost".to_owned()
    } else {
        format!("writes lost: {}", parts.join(", "))
    };
    let mut counts = std::collections::BTreeMap::new();
    for injected in &cut.injected {
        *counts.entry(injected.fault).or_insert(0u64) += 1;
    }
    let faults: Vec<String> =
        counts.into_iter().map(|(fault, count)| format!("{count} {fault}")).collect();
    let faults =
        if faults.is_empty() { String::new() } else { format!("; faults: {}", faults.join(", ")) };
    format!("{lost}{faults}")
}

/// A drive's status as text.
pub fn emulation_status(status: &Status, look: &Look) -> String {
    let mut text = String::new();
    let mut add = |label: &str, words: String| text += &look.labelled(label, 21, &words);
    let power = match status.power {
        emulate::Power::On if status.read_only => "on, read-only",
        emulate::Power::On => "on",
        emulate::Power::Off => "off",
        emulate::Power::Dead => "dead since its last power cut",
    };
    add("power", power.to_owned());
    add("honesty", status.honesty.clone());
    add("capacity", capacity(status.capacity_bytes));
    add("reads", number(status.reads as f64));
    add(
        "writes",
        format!("{}, {}", number(status.writes as f64), about_bytes(status.written_bytes)),
    );
    add("FUA writes", number(status.fua_writes as f64));
    add("flushes", number(status.flushes as f64));
    add("dirty", about_bytes(status.dirty_bytes));
    add("write amplification", number(status.write_amplification));
    add("power cuts", number(status.cuts as f64));
    if let Some(cut) = &status.last_cut {
        add("last cut", cut_sentence(cut));
    }
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use emulate::{Fault, InjectedFault, Nominal, Power};

    use super::*;

    fn facts() -> Facts {
        Facts {
            model: "consumer-nvme".to_owned(),
            label: "Generic consumer NVMe drive".to_owned(),
            capacity_bytes: 1_000_203_091_968,
            wants_flushes: true,
            takes_fua: true,
            rotational: false,
            queue_depth: 1023,
            honesty: "honest".to_owned(),
            image: None,
            nbd: Some("nbd+unix:///?socket=drive.sock".to_owned()),
            file: None,
            device: None,
            mounted: None,
            control: Some(PathBuf::from("drive.ctl")),
            nominal: Nominal { write_ns: 17_000, flush_ns: 1_480_000, read_ns: 70_000 },
            nbd_floor: Some(TransportCost { read_ns: 41_000, write_ns: 42_300, flush_ns: 40_100 }),
            file_floor: None,
        }
    }

    #[test]
    fn what_is_served() {
        insta::assert_snapshot!(emulation_page(&facts(), &Look::plain()), @"
        drive      Generic consumer NVMe drive (consumer-nvme), 1 TB, volatile write cache, supports FUA
        honesty    honest
        data       in memory, discarded on exit
        nbd        nbd+unix:///?socket=drive.sock
        transport  NBD costs 42.3 µs a write, 40.1 µs a flush, 41 µs a read; subtracted from the model's
                   time, but a write takes 17 µs in the model: clients see the transport there
        orders     flushmark emulate ctl drive.ctl status|cut|power-on|wear N|fill P
        ");
        let protected = Facts {
            label: "Generic enterprise NVMe drive".to_owned(),
            model: "enterprise-nvme".to_owned(),
            wants_flushes: false,
            honesty: "shorn=0.01".to_owned(),
            image: Some(PathBuf::from("drive.img")),
            nbd: None,
            nbd_floor: None,
            file: Some(PathBuf::from("/run/flushmark-1/drive")),
            device: Some(PathBuf::from("/dev/loop0")),
            mounted: Some(PathBuf::from("/mnt")),
            nominal: Nominal { write_ns: 112_000, flush_ns: 0, read_ns: 170_000 },
            file_floor: Some(TransportCost { read_ns: 81_000, write_ns: 82_300, flush_ns: 0 }),
            ..facts()
        };
        insta::assert_snapshot!(emulation_page(&protected, &Look::plain()), @"
        drive      Generic enterprise NVMe drive (enterprise-nvme), 1 TB, no volatile write cache: hosts
                   send no flush
        honesty    shorn=0.01
        data       in drive.img
        mounted    /dev/loop0 on /mnt
        transport  FUSE costs 82.3 µs a write, 81 µs a read; subtracted from the model's time
        orders     flushmark emulate ctl drive.ctl status|cut|power-on|wear N|fill P
        ");
        let file = Facts { device: None, mounted: None, ..protected };
        insta::assert_snapshot!(emulation_page(&file, &Look::plain()), @"
        drive      Generic enterprise NVMe drive (enterprise-nvme), 1 TB, no volatile write cache: hosts
                   send no flush
        honesty    shorn=0.01
        data       in drive.img
        file       /run/flushmark-1/drive; as root, run `losetup --find --show --direct-io=on
                   /run/flushmark-1/drive` to make it a block device
        transport  FUSE costs 82.3 µs a write, 81 µs a read; subtracted from the model's time
        orders     flushmark emulate ctl drive.ctl status|cut|power-on|wear N|fill P
        ");
    }

    #[test]
    fn status_and_activity() {
        let status = Status {
            power: Power::On,
            read_only: false,
            honesty: "honest".to_owned(),
            capacity_bytes: 1 << 33,
            reads: 10,
            writes: 1000,
            written_bytes: 4_096_000,
            fua_writes: 10,
            flushes: 990,
            dirty_bytes: 40960,
            write_amplification: 3.456,
            cuts: 0,
            last_cut: None,
        };
        let later = Status { writes: 3000, flushes: 2900, ..status.clone() };
        let line = emulation_line(&status, &later, Duration::from_secs(2), true, &Look::plain());
        insta::assert_snapshot!(line, @"955 commits/s, 1,000 writes/s, 0 reads/s, 40 KiB dirty, 2,900 flushes, WA 3.46");
        let injected = |fault| InjectedFault { fault, offset: 0, bytes: 512, landed_at: None };
        let cut = Cut {
            lost_unacknowledged: 1,
            lost_unflushed: 12,
            lost_promised: 0,
            injected: vec![injected(Fault::Shorn), injected(Fault::Shorn), injected(Fault::Dead)],
        };
        insta::assert_snapshot!(cut_sentence(&cut), @"writes lost: 1 unacknowledged, 12 acknowledged but not flushed; faults: 2 shorn, 1 dead");
        insta::assert_snapshot!(cut_sentence(&Cut::default()), @"no write was lost");
        let dead = Status { power: Power::Dead, cuts: 1, last_cut: Some(cut), ..status };
        insta::assert_snapshot!(emulation_status(&dead, &Look::plain()), @"
        power                dead since its last power cut
        honesty              honest
        capacity             8.59 GB
        reads                10
        writes               1,000, 3.91 MiB
        FUA writes           10
        flushes              990
        dirty                40 KiB
        write amplification  3.46
        power cuts           1
        last cut             writes lost: 1 unacknowledged, 12 acknowledged but not flushed; faults: 2
                             shorn, 1 dead
        ");
    }
}
