//! The drives of a machine: identity, cache state and usage.

use drive::cache_switch::{By, Record};
use drive::{Answer, BlockDevice, DriveRecord, Health, Queue, Usage, WriteCache};
use measurement::DrivesDocument;
use workload::number::{about_bytes, capacity};

use crate::cache::{on_off, told_by};
use crate::columns::{Cell, Column, Columns, NONE};
use crate::findings::findings;
use crate::look::Look;
use crate::target::{stack_words, transport_words};

const LABEL: usize = 13;

/// Each drive in one line; with `detailed`, also in a paragraph.
pub fn drives_page(document: &DrivesDocument, detailed: bool, look: &Look) -> String {
    let table = Columns::<DriveRecord>::new()
        .with(Column::left("drive"), |record| path(record, look))
        .with(Column::left("model").may_drop(2), |record| record.device.label())
        .with(Column::right("size").may_drop(3), |record| record.device.size_bytes.map(capacity))
        .with(Column::left("bus"), |record| bus(&record.device))
        .with(Column::left("media").may_drop(4), |record| media(&record.device))
        .with(Column::left("cache"), drive_view)
        .with(Column::left("kernel"), kernel_view)
        .with(Column::left("filesystem"), filesystem_view)
        .with(Column::prose("used for"), used_for);
    let mut text = list(document, table, look);
    if detailed {
        for record in &document.drives {
            text += &format!("\n{}", details(record, look));
        }
    }
    text += &closing(document, look);
    look.finish(text)
}

/// One line per cache: the state that drive, kernel and filesystems report, and recorded changes.
pub fn cache_status_page(document: &DrivesDocument, look: &Look) -> String {
    let reading =
        |record: &DriveRecord| record.cache.drive.told().filter(|reading| reading.present).copied();
    let table = Columns::<DriveRecord>::new()
        .with(Column::left("drive"), |record| path(record, look))
        .with(Column::left("model").may_drop(1), |record| record.device.model.clone())
        .with(Column::left("drive says"), drive_view)
        .with(Column::left("kernel"), kernel_view)
        .with(Column::left("filesystem"), filesystem_view)
        .with(Column::left("can be switched"), |record| {
            reading(record).map(|reading| if reading.switchable { "yes" } else { "no" })
        })
        .with(Column::prose("after a power cycle"), |record| {
            let reading = reading(record).filter(|reading| reading.switchable)?;
            Some(match reading.after_power_cycle {
                drive::AfterPowerCycle::Keeps => "kept",
                drive::AfterPowerCycle::Reverts => "forgotten",
                drive::AfterPowerCycle::Unknown => "unknown",
            })
        });
    let text = list(document, table, look) + &closing(document, look);
    look.finish(text)
}

fn list(document: &DrivesDocument, table: Columns<'_, DriveRecord>, look: &Look) -> String {
    if document.drives.is_empty() {
        return "No drives found.\n".to_owned();
    }
    table.of(&document.drives, look)
}

fn path(record: &DriveRecord, look: &Look) -> Cell {
    Cell::styled(record.device.path.display().to_string(), look.palette.strong)
}

/// The part below every table: unavailable facts, switched caches, contradictions.
fn closing(document: &DrivesDocument, look: &Look) -> String {
    let mut text = String::new();
    let hidden: Vec<String> = document
        .drives
        .iter()
        .filter(|record| record.needs_root())
        .map(|record| record.device.path.display().to_string())
        .collect();
    if !hidden.is_empty() {
        let who = if hidden.len() > 3 {
            format!("{} of these drives", hidden.len())
        } else {
            hidden.join(", ")
        };
        let words = format!(
            "Run as root to see more of {who}: the cache state that the drive reports, names that \
             sysfs hides, health."
        );
        text += &format!("\n{}", look.paragraph(&words));
    }
    for name in &document.vanished {
        text += &format!("\n/dev/{name} disappeared while it was being read.\n");
    }
    for record in &document.switched {
        text += &format!("\n{}", look.paragraph(&on_record(record)));
    }
    let findings = findings(&document.findings, look);
    if !findings.is_empty() {
        text += &format!("\n{findings}");
    }
    text
}

fn on_record(record: &Record) -> String {
    let Some(last) = record.changes.last() else { return String::new() };
    let who = match last.by {
        By::Command => "`flushmark cache`",
        By::Run => "a run that was killed or is still running",
    };
    format!(
        "{who} switched the write cache of {}, which was {}; run `flushmark cache restore` to \
         restore it.",
        record.drive.title(),
        on_off(last.was_on)
    )
}

/// The bus without its explanation, or the kind of layer.
fn bus(device: &BlockDevice) -> String {
    let words = transport_words(device.transport);
    device.layer.clone().unwrap_or_else(|| words.split(" (").next().unwrap_or(words).to_owned())
}

fn media(device: &BlockDevice) -> &'static str {
    match device.queue.rotational {
        Some(true) => "rotating",
        Some(false) => "flash",
        None => NONE,
    }
}

/// The cache state that the drive reports, in one word.
fn drive_view(record: &DriveRecord) -> String {
    match &record.cache.drive {
        Answer::Told { told } if !told.present => "none".to_owned(),
        Answer::Told { told } => on_off(told.enabled).to_owned(),
        Answer::NeedsRoot => "needs root".to_owned(),
        Answer::NotAsked { .. } => NONE.to_owned(),
        Answer::Failed { .. } => "no answer".to_owned(),
    }
}

/// The commands that the kernel sends.
fn kernel_view(record: &DriveRecord) -> String {
    match (record.cache.kernel.write_cache, record.cache.kernel.fua) {
        (Some(WriteCache::WriteBack), Some(true)) => "flushes, FUA".to_owned(),
        (Some(WriteCache::WriteBack), _) => "flushes".to_owned(),
        (Some(WriteCache::WriteThrough), _) => "no flushes".to_owned(),
        (None, _) => NONE.to_owned(),
    }
}

/// The flushes that reach the drive from the mounted filesystems, or what suppresses them.
fn filesystem_view(record: &DriveRecord) -> String {
    let views = &record.cache.filesystems;
    let off = views.iter().find_map(|view| view.flushes_disabled_by.clone());
    let stopped = views
        .iter()
        .find_map(|view| view.stopped_by.as_ref().map(|layer| format!("stopped by {layer}")));
    match (off.or(stopped), views.is_empty()) {
        (Some(words), _) => words,
        (None, true) => NONE.to_owned(),
        (None, false) => "flushes".to_owned(),
    }
}

/// `/ (ext4), /home (xfs), swap, md0 (raid1)`.
fn used_for(record: &DriveRecord) -> String {
    let mut words = Vec::new();
    if let Some(usage) = &record.usage {
        for part in usage.all() {
            words.extend(
                part.mounts
                    .iter()
                    .map(|mount| format!("{} ({})", mount.mount_point.display(), mount.fs_type)),
            );
            if part.mounts.is_empty() {
                words.extend(part.btrfs.as_ref().map(|uuid| format!("Btrfs {uuid}")));
            }
            if part.swap {
                words.push("swap".to_owned());
            }
        }
        if words.is_empty() {
            let layers = usage.all().into_iter().skip(1).filter_map(|part| {
                part.layer.as_ref().map(|layer| format!("{} ({layer})", part.path.display()))
            });
            words.extend(layers);
        }
    }
    if words.is_empty() && record.claimed == Some(true) {
        words.push("claimed by a program".to_owned());
    }
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

/// All facts about one drive.
fn details(record: &DriveRecord, look: &Look) -> String {
    let device = &record.device;
    let mut text = look.heading(&device.path.display().to_string());
    let mut add = |label: &str, words: Vec<String>| {
        if !words.is_empty() {
            text += &look.labelled(&format!("  {label}"), LABEL + 2, &words.join(", "));
        }
    };
    add("drive", identity_words(record));
    add("attached", attachment_words(record));
    if !device.layers.is_empty() || device.backing_file.is_some() {
        add("made of", vec![stack_words(device)]);
    }
    add("size", size_words(device));
    add("queue", queue_words(record));
    add("discard", vec![discard_words(&device.queue)]);
    add("write cache", vec![cache_words(record)]);
    add("health", vec![health_words(&record.health)]);
    if let Some(usage) = &record.usage {
        for (depth, line) in usage_lines(usage, 0) {
            add(if depth == 0 { "use" } else { "" }, vec![line]);
        }
    }
    text
}

fn identity_words(record: &DriveRecord) -> Vec<String> {
    let device = &record.device;
    [
        device.vendor.clone().filter(|vendor| vendor != "ATA"),
        device.model.clone(),
        device.serial.as_ref().map(|serial| format!("serial number {serial}")),
        device.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        record.wwn.clone(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn attachment_words(record: &DriveRecord) -> Vec<String> {
    [
        Some(transport_words(record.device.transport).to_owned()),
        record.pci_address.as_ref().map(|address| format!("PCI {address}")),
        record.numa_node.map(|node| format!("NUMA node {node}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn size_words(device: &BlockDevice) -> Vec<String> {
    let queue = &device.queue;
    let bytes = |what: &str, value: Option<u64>| {
        value.map(|value| format!("{what} {}", workload::format_bytes(value)))
    };
    [
        device.size_bytes.map(capacity),
        bytes("sectors of", queue.logical_block_bytes),
        bytes("physically", queue.physical_block_bytes),
        bytes("at best", queue.optimal_io_bytes),
        bytes("requests up to", queue.max_request_bytes),
        device.read_only.filter(|read_only| *read_only).map(|_| "read-only".to_owned()),
        queue.zoned.clone(),
        bytes("zones of", queue.zone_bytes),
        queue.max_open_zones.map(|zones| format!("at most {zones} open zones")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn queue_words(record: &DriveRecord) -> Vec<String> {
    let queue = &record.device.queue;
    [
        queue.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        queue.nr_requests.map(|requests| format!("{requests} requests")),
        queue.hardware_queues.map(|queues| {
            format!("{queues} hardware {}", if queues == 1 { "queue" } else { "queues" })
        }),
        match (record.poll_queues, queue.polls) {
            (Some(queues), _) if queues > 0 => Some(format!("{queues} poll queues")),
            (_, polls) => polls.map(|polls| if polls { "polled" } else { "not polled" }.to_owned()),
        },
        queue.io_timeout_ms.map(|ms| format!("timeout {} s", ms as f64 / 1e3)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn discard_words(queue: &Queue) -> String {
    match (queue.discard_max_bytes, queue.discard_granularity_bytes) {
        (Some(_), Some(granularity)) => {
            format!("yes, in units of {}", workload::format_bytes(granularity))
        }
        (Some(_), None) => "yes".to_owned(),
        (None, _) => "not supported".to_owned(),
    }
}

fn cache_words(record: &DriveRecord) -> String {
    let drive = match &record.cache.drive {
        Answer::Told { told } if !told.present => {
            format!("the drive reports none ({})", told_by(told.told_by))
        }
        Answer::Told { told } => format!("{} ({})", on_off(told.enabled), told_by(told.told_by)),
        Answer::NeedsRoot => "readable only by root".to_owned(),
        Answer::NotAsked { because } => because.clone(),
        Answer::Failed { error } => error.clone(),
    };
    let kernel = match record.cache.kernel.write_cache {
        Some(WriteCache::WriteBack) => "; the kernel assumes a volatile cache and sends flushes",
        Some(WriteCache::WriteThrough) => {
            "; the kernel assumes no volatile cache and sends no flushes"
        }
        None => "",
    };
    let fua = match record.cache.kernel.fua {
        Some(true) => ", and writes that bypass it (FUA)",
        _ => "",
    };
    let told = record
        .cache
        .kernel
        .cache_type
        .as_ref()
        .map_or(String::new(), |told| format!("; cache_type {told}"));
    format!("{drive}{kernel}{fua}{told}")
}

fn health_words(health: &Answer<Health>) -> String {
    let health = match health {
        Answer::Told { told } => told,
        Answer::NeedsRoot => return "readable only by root".to_owned(),
        Answer::NotAsked { because } => return because.clone(),
        Answer::Failed { error } => return error.clone(),
    };
    let parts = [
        health.failing.map(|failing| if failing { "failing" } else { "healthy" }.to_owned()),
        health.used_percent.map(|used| format!("{used} % of rated endurance used")),
        health.spare_percent.map(|spare| format!("{spare} % spare left")),
        health.temperature_celsius.map(|celsius| format!("{celsius} °C")),
        health.power_on_hours.map(|hours| format!("{hours} hours on")),
        health.power_cycles.map(|cycles| format!("{cycles} power cycles")),
        health.unsafe_shutdowns.map(|times| format!("{times} unsafe shutdowns")),
        health.media_errors.map(|errors| format!("{errors} media errors")),
        health.host_bytes_written.map(|bytes| format!("{} written", capacity(bytes))),
        health.medium_bytes_written.map(|bytes| format!("{} written to flash", capacity(bytes))),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    if told.is_empty() { "no counters".to_owned() } else { told.join(", ") }
}

/// One line per device on the disk, indented by its depth in the stack.
fn usage_lines(usage: &Usage, depth: usize) -> Vec<(usize, String)> {
    let mut words = vec![usage.path.display().to_string()];
    if let Some(layer) = &usage.layer {
        words[0] += &format!(" ({layer})");
    }
    if depth > 0 {
        words.extend(usage.size_bytes.map(about_bytes));
    }
    for mount in &usage.mounts {
        let options = if mount.options.is_empty() {
            String::new()
        } else {
            format!(" {}", mount.options.join(","))
        };
        words.push(format!("{} on {}{options}", mount.fs_type, mount.mount_point.display()));
    }
    words.extend(usage.btrfs.as_ref().map(|uuid| format!("device of Btrfs {uuid}")));
    if usage.swap {
        words.push("swap".to_owned());
    }
    let indent = "· ".repeat(depth);
    let mut lines = vec![(depth, format!("{indent}{}", words.join(", ")))];
    lines.extend(usage.parts.iter().flat_map(|part| usage_lines(part, depth + 1)));
    lines
}

#[cfg(test)]
mod golden;
