//! `cargo xtask reproduce`: every published table as the models reproduce it, in the layout of its
//! source.

use anyhow::anyhow;
use catalogue::{Drive, Row, WriteCache};
use simdrive::sample::{Comparison, compare, median_error};
use simdrive::{Machine, published};
use workload::format_bytes;

/// A drive's rows, with the results of its model.
struct Reproduced {
    drive: &'static Drive,
    rows: Vec<(&'static Row, Comparison)>,
}

impl Reproduced {
    fn of(&self, table: &str) -> Vec<&(&'static Row, Comparison)> {
        self.rows.iter().filter(|(row, _)| row.workload == table).collect()
    }
}

pub fn run() -> anyhow::Result<()> {
    print!("{}", page()?);
    Ok(())
}

/// The page of the documentation: Markdown whose columns also line up on a terminal.
pub fn page() -> anyhow::Result<String> {
    let mut all = Vec::new();
    for drive in catalogue::drives() {
        let samples = published::samples(drive)
            .map_err(|row| anyhow!("no suite contains the test of {row:?}"))?;
        let machine = Machine::new(catalogue::find_model(&drive.name)?.clone());
        let rows = drive.rows.iter().zip(compare(&machine, &samples)?).collect();
        all.push(Reproduced { drive, rows });
    }
    let mut text = INTRODUCTION.to_owned();
    text += &summary(&all);
    text += "\n## Write-cache matrix\n\nCeph performance (wiki): operations a second, MiB/s for \
             blocks of 4 MiB.\n";
    text += &sections(&all, "write-cache matrix", write_cache);
    text += "\n## SLOG list\n\nFreeBSD's `diskinfo -S`: microseconds for a write with its flush, \
             as the tool prints them.\n";
    text += &sections(&all, "slog", slog);
    text += "\n## fsync study\n\nSmall Datum, \"SSDs, power loss protection and fsync latency\": \
             writes a second, and the\nmean of the sync. Each test was published twice.\n";
    text += &sections(&all, "fsync study", fsync_study);
    text += "\n## Read scaling\n\nCeph performance (wiki): operations a second by depth, MiB/s for \
             blocks of 4 MiB.\n";
    text += &sections(&all, "read scaling", read_scaling);
    text += "\n## Journal write\n\nChoosing SSDs for Ceph: 4 KiB at random, fsync after each, one \
             at a time.\n\n";
    text += &journal(&all);
    Ok(text)
}

const INTRODUCTION: &str = "\
# What the models make of published measurements

Made by `cargo xtask reproduce`; a test holds this page to what it prints. Each published row is the
test of the suite that its source's method became, run as `flushmark run SUITE --target sim:MODEL`
runs it. The parameters are in `crates/catalogue/models`, fitted by `cargo xtask fit MODEL` to these
rows and starting from what is typical of the drive's class or printed in its datasheet. A model may
be off by 30 % in a row, or lie within what the runs of one test span where those differ by more.

";

fn summary(all: &[Reproduced]) -> String {
    let rows = all.iter().map(|reproduced| {
        let comparisons: Vec<Comparison> =
            reproduced.rows.iter().map(|(_, comparison)| comparison.clone()).collect();
        let worst = comparisons
            .iter()
            .map(Comparison::error)
            .fold(0.0f64, |worst, error| if error.abs() > worst.abs() { error } else { worst });
        let outside = comparisons.iter().filter(|comparison| !comparison.holds()).count();
        vec![
            reproduced.drive.name.clone(),
            comparisons.len().to_string(),
            format!("{:.1} %", median_error(&comparisons) * 100.0),
            percent(worst),
            outside.to_string(),
        ]
    });
    table(
        &["model", "rows", "median error", "largest", "rows too far off"],
        &rows.collect::<Vec<_>>(),
    )
}

/// A table for each drive that has rows of this workload, under the drive's name.
fn sections(
    all: &[Reproduced],
    name: &str,
    draw: fn(&[&(&'static Row, Comparison)]) -> String,
) -> String {
    let with_rows = all.iter().map(|reproduced| (reproduced.drive, reproduced.of(name)));
    with_rows
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(drive, rows)| format!("\n### {}\n\n{}", drive.label, draw(&rows)))
        .collect()
}

/// One line per test, with the cache on and off.
fn write_cache(rows: &[&(&'static Row, Comparison)]) -> String {
    let test = |row: &Row| (row.sync.name(), row.pattern.name(), row.block_bytes, row.depth);
    let mut tests: Vec<_> = Vec::new();
    for (row, _) in rows {
        if !tests.contains(&test(row)) {
            tests.push(test(row));
        }
    }
    let lines = tests.into_iter().map(|key| {
        let (sync, pattern, block, depth) = key;
        let mut line = vec![format!("{pattern} {}, {sync}, depth {depth}", format_bytes(block))];
        for cache in [WriteCache::On, WriteCache::Off] {
            match rows.iter().find(|(row, _)| test(row) == key && row.write_cache == cache) {
                Some((_, comparison)) => line.extend(three(comparison)),
                None => line.extend([const { String::new() }; 3]),
            }
        }
        line
    });
    table(
        &[
            "test", "cache on: published", "modelled", "error", "cache off: published", "modelled",
            "error",
        ],
        &lines.collect::<Vec<_>>(),
    )
}

fn slog(rows: &[&(&'static Row, Comparison)]) -> String {
    let lines = rows.iter().map(|(row, comparison)| {
        let us = 1e6 / comparison.modelled;
        let published_us = 1e6 / comparison.sample.figure.value();
        let mib_per_s = |us: f64| row.block_bytes as f64 / f64::from(1 << 20) / us * 1e6;
        let kbytes = row.block_bytes as f64 / 1024.0;
        vec![
            kbytes.to_string(),
            format!("{published_us:.1}"),
            format!("{us:.1}"),
            percent(us / published_us - 1.0),
            format!("{:.1}", mib_per_s(published_us)),
            format!("{:.1}", mib_per_s(us)),
        ]
    });
    table(
        &["kbytes", "published usec/IO", "modelled", "error", "published Mbytes/s", "modelled"],
        &lines.collect::<Vec<_>>(),
    )
}

fn fsync_study(rows: &[&(&'static Row, Comparison)]) -> String {
    let us = |us: Option<f64>| us.map_or(String::new(), |us| format!("{us:.1}"));
    let lines = rows.iter().map(|(row, comparison)| {
        let mut line = vec![format_bytes(row.block_bytes), row.sync.name().to_owned()];
        line.extend(three(comparison));
        line.push(us(row.sync_us));
        line.push(us(comparison.result.sync_us.map(|sync| sync.mean)));
        line
    });
    table(
        &["size", "sync", "published w/s", "modelled", "error", "published sync µs", "modelled"],
        &lines.collect::<Vec<_>>(),
    )
}

fn read_scaling(rows: &[&(&'static Row, Comparison)]) -> String {
    let lines = rows.iter().map(|(row, comparison)| {
        let mut line = vec![
            format!("{} {}", row.pattern.name(), format_bytes(row.block_bytes)),
            row.depth.to_string(),
        ];
        line.extend(three(comparison));
        line
    });
    table(&["test", "depth", "published", "modelled", "error"], &lines.collect::<Vec<_>>())
}

fn journal(all: &[Reproduced]) -> String {
    let mut lines = Vec::new();
    for reproduced in all {
        for (row, comparison) in reproduced.of("journal write") {
            let mut line = vec![reproduced.drive.label.clone()];
            line.extend(three(comparison));
            let us = |us: Option<f64>| us.map_or(String::new(), |us| format!("{us:.1}"));
            line.push(us(row.write_us));
            line.push(us(comparison.result.write_us.map(|write| write.mean)));
            line.push(us(row.sync_us));
            line.push(us(comparison.result.sync_us.map(|sync| sync.mean)));
            lines.push(line);
        }
    }
    let head = [
        "drive", "published", "modelled", "error", "published write µs", "modelled",
        "published fsync µs", "modelled",
    ];
    table(&head, &lines)
}

fn three(comparison: &Comparison) -> [String; 3] {
    let error = percent(comparison.error());
    let error = if comparison.holds() { error } else { format!("**{error}**") };
    [figure(comparison.sample.figure.value()), figure(comparison.modelled), error]
}

fn figure(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn percent(error: f64) -> String {
    format!("{:+.1} %", error * 100.0)
}

/// A Markdown table: the first column is left-aligned, all others are right-aligned.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let is_words = |column: usize| column == 0;
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if is_words(column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().enumerate().map(|(column, width)| {
        if is_words(column) { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
    });
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}", line(&head), line(&rule.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_what_the_models_make() {
        let committed = include_str!("../../docs/models.md");
        assert!(
            page().unwrap() == committed,
            "docs/models.md is out of date; run `cargo xtask docs`"
        );
    }
}
