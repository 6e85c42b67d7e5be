//! Mapping names of objects to OSDs.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use rados::placement::Placement;
use rados::{Access, Cluster};

use super::{Compared, Wanted};
use crate::rig::ceph::place::Place;

pub const ROW: &str = "10,000 names placed";
const NAMES: usize = 10_000;
/// Names for which the monitors are asked; as many times longer as `NAMES` is more is what all of
/// them would take.
const ASKED: usize = 300;
const LIMIT_MS: f64 = 50.0;

/// Both on one connection: the list of PGs and all names, and the monitors' answers for some names.
/// Our time is that of a build without optimisation, and contains the request for the list.
pub fn compare(place: &Place<'_>) -> anyhow::Result<Compared> {
    eprintln!("{ROW}");
    let access = Access { conf: Some(place.cluster.conf()), ..Access::default() };
    let cluster = Cluster::connect(&access)?;
    let name = |number: usize| format!("object-{number}");

    let begun = Instant::now();
    let question = serde_json::json!({
        "prefix": "pg ls-by-pool", "poolstr": place.pool, "format": "json"
    });
    let placement = Placement::from_pg_list(&cluster.manager_command(&question.to_string())?)?;
    let placed: Vec<Option<u32>> =
        (0..NAMES).map(|number| placement.primary_of(b"", name(number).as_bytes())).collect();
    let ours = begun.elapsed();

    let begun = Instant::now();
    for (number, placed) in placed.iter().take(ASKED).enumerate() {
        let question = serde_json::json!({
            "prefix": "osd map", "pool": place.pool, "object": name(number), "format": "json"
        });
        let answer = cluster.monitor_command(&question.to_string())?;
        let answer: serde_json::Value = serde_json::from_slice(&answer).context("osd map")?;
        ensure!(
            answer["acting_primary"].as_u64() == placed.map(u64::from),
            "{} is on another OSD than computed",
            name(number)
        );
    }
    let theirs = begun.elapsed().mul_f64(NAMES as f64 / ASKED as f64);
    eprintln!("  the monitors were asked for {ASKED} of the {NAMES} names");
    Ok(Compared {
        row: ROW.to_owned(),
        what: "ms".to_owned(),
        ours: ours.as_secs_f64() * 1e3,
        theirs: theirs.as_secs_f64() * 1e3,
        wanted: Wanted::Below(LIMIT_MS),
    })
}
