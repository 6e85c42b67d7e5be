//! The layout of a Ceph cluster: OSDs with the drives under them, pools, settings that matter.

use std::collections::BTreeMap;

use ceph::{ClusterFacts, Device, Medium, OsdFacts, PoolFacts, PoolKind};
use measurement::Finding;
use workload::number::{about_bytes, capacity, number};

use crate::columns::{Cell, Column, Columns};
use crate::findings::findings as findings_list;
use crate::look::{Look, paint};

const LABEL: usize = 13;

/// The page of `flushmark ceph layout`. The findings are those of `judge::cluster`.
pub fn layout(facts: &ClusterFacts, findings: &[Finding], look: &Look) -> String {
    let mut text = header(facts, look);
    if !facts.osds.is_empty() {
        text += &format!("\n{}{}", look.heading("OSDs"), osds(facts, look));
    }
    text += &separate_devices(facts, look);
    if !facts.pools.is_empty() {
        text += &format!("\n{}{}", look.heading("Pools"), pools(facts, look));
    }
    text += &settings_section(facts, look);
    text += &not_known(facts, look);
    let found = findings_list(findings, look);
    if !found.is_empty() {
        text += &format!("\n{found}");
    }
    look.finish(text)
}

/// The settings that matter for the latency of a commit; empty if none is known.
pub(super) fn settings_section(facts: &ClusterFacts, look: &Look) -> String {
    let settings = settings(facts);
    if settings.is_empty() {
        return String::new();
    }
    let table = Columns::<(&'static str, String)>::new()
        .with(Column::left(""), |line| line.0)
        .with(Column::prose(""), |line| line.1.clone());
    format!("\n{}{}", look.heading("Settings"), table.of(&settings, look))
}

/// The questions without an answer; empty if there are none.
pub(super) fn not_known(facts: &ClusterFacts, look: &Look) -> String {
    if facts.not_known.is_empty() {
        return String::new();
    }
    let lines = facts.not_known.iter().map(|missing| look.hanging("  ", &missing.to_string()));
    format!("\n{}{}", look.heading("Not known"), lines.collect::<String>())
}

pub(super) fn header(facts: &ClusterFacts, look: &Look) -> String {
    let fsid = facts.fsid.as_deref().unwrap_or("fsid not known");
    let mut text = look.labelled("cluster", LABEL, fsid);
    text += &match &facts.health {
        Some(health) => {
            let style = match health.status.as_str() {
                "HEALTH_OK" => look.palette.good,
                "HEALTH_ERR" => look.palette.bad,
                _ => look.palette.warning,
            };
            let label = paint(look.palette.faint, &format!("{:<LABEL$}", "health"));
            format!("{label}{}\n", paint(style, &health.status))
        }
        None => look.labelled("health", LABEL, "not known"),
    };
    for check in facts.health.iter().flat_map(|health| &health.checks) {
        let muted = if check.muted { " (muted)" } else { "" };
        text += &look.labelled("", LABEL, &format!("{}: {}{muted}", check.name, check.message));
    }
    if !facts.versions.is_empty() {
        let versions: Vec<String> = match facts.daemons_by_version().as_slice() {
            [(version, _)] => vec![(*version).to_owned()],
            several => {
                several.iter().map(|(version, count)| format!("{version} ({count})")).collect()
            }
        };
        text += &look.labelled("version", LABEL, &versions.join(", "));
    }
    if let Some(pgs) = &facts.pgs {
        let mut states: Vec<_> = pgs.0.iter().collect();
        states.sort_by_key(|(state, count)| (std::cmp::Reverse(**count), *state));
        let states: Vec<String> =
            states.iter().map(|(state, count)| format!("{count} {state}")).collect();
        text += &look.labelled("PGs", LABEL, &states.join(", "));
    }
    text
}

fn osds(facts: &ClusterFacts, look: &Look) -> String {
    let all_well = facts.osds.iter().all(|osd| trouble(osd).is_none());
    let columns = Columns::<OsdFacts>::new()
        .with(Column::right("id"), |osd| Cell::styled(osd.id.to_string(), look.palette.strong))
        .with(Column::left("state").optional(), |osd| {
            let up = (!all_well && osd.up == Some(true)).then(|| Cell::from("up"));
            trouble(osd).map(|trouble| Cell::styled(trouble, look.palette.bad)).or(up)
        })
        .with(Column::left("host"), |osd| osd.host.clone())
        .with(Column::left("class").may_drop(3), |osd| osd.class.clone())
        .with(Column::prose("drive"), |osd| device_label(&osd.data))
        .with(Column::left("media"), |osd| media(&osd.data))
        .with(Column::right("size").may_drop(2), |osd| {
            osd.data.size_bytes.or(osd.size_bytes).map(capacity)
        })
        .with(Column::right("use"), |osd| {
            osd.use_percent.map(|percent| format!("{} %", number(percent)))
        })
        .with(Column::right("memory").may_drop(4), |osd| osd.memory_target_bytes().map(about_bytes))
        .with(Column::right("shards").may_drop(5), |osd| {
            let shards = osd.shards()?;
            let threads = osd.threads_per_shard();
            Some(threads.map_or_else(|| shards.to_string(), |t| format!("{shards} × {t}")))
        })
        .with(Column::right("unit").may_drop(6), |osd| osd.min_alloc_size_bytes.map(about_bytes));
    columns.of(&facts.osds, look)
}

/// A separate device of an OSD.
struct Separate<'a> {
    osd: &'a OsdFacts,
    part: &'static str,
    device: &'a Device,
}

impl Separate<'_> {
    fn of(osd: &OsdFacts) -> impl Iterator<Item = Separate<'_>> {
        let parts = [("block.db", &osd.db), ("block.wal", &osd.wal)].into_iter();
        parts.filter_map(move |(part, device)| {
            device.as_ref().map(|device| Separate { osd, part, device })
        })
    }
}

/// The separate devices for RocksDB, with what BlueFS keeps on them; empty if there are none.
fn separate_devices(facts: &ClusterFacts, look: &Look) -> String {
    let devices: Vec<Separate<'_>> = facts.osds.iter().flat_map(Separate::of).collect();
    if devices.is_empty() {
        return String::new();
    }
    let columns = Columns::<Separate<'_>>::new()
        .with(Column::right("id"), |one| Cell::styled(one.osd.id.to_string(), look.palette.strong))
        .with(Column::left("part"), |one| one.part)
        .with(Column::prose("drive"), |one| device_label(one.device))
        .with(Column::left("media").may_drop(2), |one| media(one.device))
        .with(Column::right("size"), |one| one.device.size_bytes.map(about_bytes))
        .with(Column::right("used").may_drop(1), |one| {
            let bluefs = one.osd.bluefs?;
            let is_db = one.part == "block.db";
            let used = if is_db { bluefs.db_used_bytes } else { bluefs.wal_used_bytes };
            used.map(about_bytes)
        })
        .with(Column::right("spilled"), |one| {
            let spilled = one.osd.bluefs?.slow_used_bytes.filter(|_| one.part == "block.db")?;
            let style = if spilled > 0 { look.palette.bad } else { look.palette.faint };
            Some(Cell::styled(about_bytes(spilled), style))
        });
    format!("\n{}{}", look.heading("Separate DB and WAL"), columns.of(&devices, look))
}

fn trouble(osd: &OsdFacts) -> Option<&'static str> {
    match (osd.up, osd.is_in) {
        (Some(false), Some(false)) => Some("down, out"),
        (Some(false), _) => Some("down"),
        (_, Some(false)) => Some("out"),
        _ => None,
    }
}

fn device_label(device: &Device) -> Option<String> {
    let label = device.label();
    (!label.is_empty()).then_some(label)
}

/// The OSD's own view, which may be wrong.
fn media(device: &Device) -> Option<&'static str> {
    device.rotational.map(|rotational| if rotational { "rotating" } else { "flash" })
}

fn pools(facts: &ClusterFacts, look: &Look) -> String {
    let columns = Columns::<PoolFacts>::new()
        .with(Column::left("pool"), |pool| Cell::styled(pool.name.as_str(), look.palette.strong))
        .with(Column::left("kind"), kind)
        .with(Column::right("size"), |pool| pool.size.map(|size| size.to_string()))
        .with(Column::right("min_size"), |pool| pool.min_size.map(|size| size.to_string()))
        .with(Column::right("PGs"), |pool| pool.pg_num.map(|pgs| pgs.to_string()))
        .with(Column::left("autoscaler").may_drop(3), |pool| pool.autoscale_mode.clone())
        .with(Column::left("rule").may_drop(2), |pool| pool.crush_rule.clone())
        .with(Column::left("classes"), |pool| {
            let classes: Vec<&str> = pool.device_classes.iter().map(String::as_str).collect();
            (!classes.is_empty()).then(|| classes.join(", "))
        })
        .with(Column::left("application").may_drop(4), |pool| {
            (!pool.applications.is_empty()).then(|| pool.applications.join(", "))
        });
    columns.of(&facts.pools, look)
}

fn kind(pool: &PoolFacts) -> String {
    match &pool.kind {
        PoolKind::Replicated => "replicated".to_owned(),
        PoolKind::Erasure { chunks: Some((data, coding)), .. } => {
            format!("erasure {data}+{coding}")
        }
        PoolKind::Erasure { profile, chunks: None } => format!("erasure ({profile})"),
        PoolKind::Other(number) => format!("type {number}"),
    }
}

/// A line of the settings: what it is, and an OSD's value as text.
type Line = (&'static str, fn(&OsdFacts) -> Option<String>);

const SETTINGS: [Line; 9] = [
    ("operation queue", |osd| {
        let profile = osd.settings.text("osd_mclock_profile").filter(|_| osd.uses_mclock());
        let profile = profile.map_or(String::new(), |profile| format!(", profile {profile}"));
        osd.queue().map(|queue| format!("{queue}{profile}"))
    }),
    ("mClock capacity", |osd| {
        let capacity = osd.mclock_capacity().filter(|_| osd.uses_mclock())?;
        let default = if capacity.is_default == Some(true) { " (default)" } else { "" };
        Some(format!("{} IOPS{default}", number(capacity.iops)))
    }),
    ("deferred up to", |osd| {
        osd.chosen("bluestore_prefer_deferred_size").map(|bytes| match bytes as u64 {
            0 => "never".to_owned(),
            bytes => about_bytes(bytes),
        })
    }),
    ("deferred at once", |osd| {
        osd.chosen("bluestore_deferred_batch_ops").map(|count| format!("{} writes", number(count)))
    }),
    ("throttle", |osd| {
        osd.settings.number("bluestore_throttle_bytes").map(|bytes| about_bytes(bytes as u64))
    }),
    ("RocksDB sharding", |osd| osd.settings.text("bluestore_rocksdb_cfs").map(str::to_owned)),
    ("DB space policy", |osd| {
        osd.settings.text("bluestore_volume_selection_policy").map(str::to_owned)
    }),
    ("WAL envelope", |osd| osd.settings.text("bluefs_wal_envelope_mode").map(str::to_owned)),
    ("cache autotuning", |osd| osd.settings.text("bluestore_cache_autotune").map(str::to_owned)),
];

/// More values of a setting than this are counted instead.
const VALUES_MAX: usize = 6;

/// Each setting with its values; which OSDs have which, if they differ.
fn settings(facts: &ClusterFacts) -> Vec<(&'static str, String)> {
    let line = |(what, value): &Line| {
        let mut by_value: BTreeMap<String, Vec<&OsdFacts>> = BTreeMap::new();
        for osd in &facts.osds {
            if let Some(value) = value(osd) {
                by_value.entry(value).or_default().push(osd);
            }
        }
        let mut values: Vec<_> = by_value.into_iter().collect();
        values.sort_by_key(|(_, osds)| osds.first().map(|osd| osd.id));
        match values.as_slice() {
            [] => None,
            [(value, _)] => Some((*what, value.clone())),
            several => {
                let mut words: Vec<String> = several
                    .iter()
                    .take(VALUES_MAX)
                    .map(|(value, osds)| format!("{value}: {}", which(osds, facts)))
                    .collect();
                if several.len() > VALUES_MAX {
                    words.push(format!("{} more values", several.len() - VALUES_MAX));
                }
                Some((*what, words.join("; ")))
            }
        }
    };
    SETTINGS.iter().filter_map(line).collect()
}

/// The OSDs by name, or all of a medium.
fn which(osds: &[&OsdFacts], facts: &ClusterFacts) -> String {
    const NAMES_MAX: usize = 8;
    for (medium, name) in [(Medium::Hdd, "rotating"), (Medium::Ssd, "flash")] {
        let all = facts.osds.iter().filter(|osd| osd.medium() == Some(medium)).count();
        let these = osds.iter().filter(|osd| osd.medium() == Some(medium)).count();
        if all > 1 && these == all && these == osds.len() {
            return format!("{name} OSDs");
        }
    }
    let names: Vec<String> = osds.iter().take(NAMES_MAX).map(|osd| osd.name()).collect();
    match osds.len().saturating_sub(NAMES_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod golden;
