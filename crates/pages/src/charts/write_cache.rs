//! The write-cache matrix: each test with the drive's volatile cache off and on.

use measurement::TestResult;
use serde::Serialize;
use workload::{Pattern, SyncMethod, WriteCache, format_bytes};

use super::curves::times;
use super::figure::Figure;
use super::{Chart, Unit, positive};
use crate::table::{Table, or_dash};

/// From this block size on, throughput is more meaningful than operations per second.
const LARGE_BYTES: u64 = 1 << 20;

/// A dumbbell for each test: its figure under one setting and under the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dumbbells {
    pub tests: Vec<String>,
    pub unit: Unit,
    /// The two settings, each with a value for each test.
    pub settings: Vec<super::Line>,
    /// The faster setting of each test, with the ratio: `off 13.9 ×`; `equal`, or a dash if only one
    /// setting was measured.
    pub ratios: Vec<String>,
}

/// Settings that differ by less than this share are called equal.
const EQUAL: f64 = 0.05;

/// A figure of rates and one of throughputs; none if fewer than two settings were measured.
pub fn figures(id: &str, results: &[TestResult]) -> Vec<Figure> {
    let (large, small): (Vec<&TestResult>, Vec<&TestResult>) =
        results.iter().partition(|result| result.workload.block_bytes >= LARGE_BYTES);
    let kinds = [
        ("small", "Operations per second with the write cache off and on", Unit::PerS, small),
        ("large", "Throughput with the write cache off and on", Unit::MibPerS, large),
    ];
    kinds
        .into_iter()
        .filter_map(|(what, title, unit, results)| {
            figure(format!("{id}-cache-{what}"), title, unit, &results)
        })
        .collect()
}

type Key = (u64, Option<Pattern>, u32, u32, Option<SyncMethod>, u32);

fn key(result: &TestResult) -> Key {
    let work = &result.workload;
    (work.block_bytes, work.pattern, work.depth, work.jobs, work.sync, work.sync_every)
}

fn figure(id: String, title: &str, unit: Unit, results: &[&TestResult]) -> Option<Figure> {
    let mut keys: Vec<Key> = Vec::new();
    for result in results {
        if !keys.contains(&key(result)) {
            keys.push(key(result));
        }
    }
    // In the order of the published matrix, not in the order in which they ran.
    keys.sort_by_key(|&(block_bytes, pattern, depth, jobs, sync, sync_every)| {
        let pattern = Pattern::ALL.iter().position(|&known| Some(known) == pattern);
        (
            block_bytes,
            pattern,
            depth,
            jobs,
            SyncMethod::ALL.iter().position(|&known| Some(known) == sync),
            sync_every,
        )
    });
    let value = |key_wanted: &Key, setting: WriteCache| {
        let found = results
            .iter()
            .find(|result| key(result) == *key_wanted && result.workload.write_cache == setting)?;
        positive(if unit == Unit::MibPerS { found.mib_per_s } else { found.iops })
    };
    let settings = [WriteCache::Off, WriteCache::On].map(|setting| super::Line {
        name: format!("cache {}", setting.name()),
        values: keys.iter().map(|key| value(key, setting)).collect(),
    });
    let [off, on] = &settings;
    let both: Vec<(usize, f64, f64)> = (0..keys.len())
        .filter_map(|index| Some((index, off.values[index]?, on.values[index]?)))
        .collect();
    // Without a pair there is nothing to compare.
    let (index, most_off, most_on) = both
        .into_iter()
        .max_by(|a, b| (a.1 / a.2).ln().abs().total_cmp(&(b.1 / b.2).ln().abs()))?;
    let tests: Vec<String> = keys.iter().map(name).collect();
    let summary = format!(
        "The largest difference: {} makes {} with the cache off and {} with it on.",
        tests[index],
        unit.words(most_off),
        unit.words(most_on)
    );
    let mut table = Table::new(["test", "cache off", "cache on", "off : on"]);
    for (index, test) in tests.iter().enumerate() {
        let (off, on) = (off.values[index], on.values[index]);
        table.rows.push(vec![
            test.clone(),
            or_dash(off, |value| unit.words(value)),
            or_dash(on, |value| unit.words(value)),
            or_dash(off.zip(on), |(off, on)| times(off / on)),
        ]);
    }
    let ratios = (0..tests.len()).map(|index| ratio(off.values[index], on.values[index])).collect();
    let chart = Chart::Dumbbells(Dumbbells { tests, unit, settings: settings.into(), ratios });
    Some(Figure { id, title: title.to_owned(), summary, chart, table })
}

/// The faster setting, and its ratio to the other: `off 13.9 ×`.
fn ratio(off: Option<f64>, on: Option<f64>) -> String {
    let (Some(off), Some(on)) = (off, on) else { return "–".to_owned() };
    let (faster, ratio) = if off > on { ("off", off / on) } else { ("on", on / off) };
    if ratio < 1.0 + EQUAL {
        return "equal".to_owned();
    }
    format!("{faster} {}", times(ratio))
}

/// `4 KiB randwrite, depth 32, fsync`.
fn name((block_bytes, pattern, depth, jobs, sync, sync_every): &Key) -> String {
    let pattern = pattern.map_or("steps", Pattern::name);
    let jobs = if *jobs == 1 { String::new() } else { format!(", {jobs} jobs") };
    let sync = sync.map_or("steps", SyncMethod::name);
    let sync = if sync == "none" { "no sync" } else { sync };
    let sync = if *sync_every == 1 { sync.to_owned() } else { format!("{sync}={sync_every}") };
    format!("{} {pattern}, depth {depth}{jobs}, {sync}", format_bytes(*block_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_settings_stand_side_by_side() {
        let results = samples::suite("write-cache", 15.0, 1700.0);
        let figures = figures("run-1", &results);
        assert_eq!(
            figures.iter().map(|figure| figure.id.as_str()).collect::<Vec<_>>(),
            ["run-1-cache-small", "run-1-cache-large"]
        );
        assert_eq!(figures[0].table.rows.len(), 30);
        assert_eq!(figures[1].table.rows.len(), 3);
    }

    #[test]
    fn the_ratio_names_the_faster_setting() {
        assert_eq!(ratio(Some(278.0), Some(20.0)), "off 13.9 ×");
        assert_eq!(ratio(Some(20.0), Some(30.0)), "on 1.5 ×");
        assert_eq!(ratio(Some(100.0), Some(104.0)), "equal");
        assert_eq!(ratio(None, Some(1.0)), "–");
    }

    #[test]
    fn one_setting_alone_is_no_matrix() {
        assert!(figures("run-1", &samples::check()).is_empty());
        let mut off = samples::suite("write-cache", 15.0, 1700.0);
        off.retain(|result| result.workload.write_cache == WriteCache::Off);
        assert!(figures("run-1", &off).is_empty());
    }
}
