//! `flushmark db predict`: what a server would commit on other storage.

use predict::{DrivePrediction, Limit, LoadPrediction, PredictionDocument, Rate, Refusal};
use workload::number::{latency, number};

use crate::columns::{Column, Columns};
use crate::database::settings_words;
use crate::look::Look;

const LABEL: usize = 13;

/// The page.
pub fn database_prediction_page(document: &PredictionDocument, look: &Look) -> String {
    let server = &document.server;
    let mut text =
        look.labelled("server", LABEL, &format!("{} {}", server.product.label(), server.version));
    text += &look.labelled("settings", LABEL, &settings_words(server));
    if !document.settings.is_empty() {
        let words: Vec<String> = document
            .settings
            .iter()
            .map(|setting| {
                let from = setting.from.as_deref().map_or(String::new(), |it| format!(" ({it})"));
                format!("{}={}{from}", setting.name, setting.to)
            })
            .collect();
        text += &look.labelled("assumed", LABEL, &words.join(", "));
    }
    text += &look.labelled("measured", LABEL, &measured(document));
    let is_of_rows = document.calibration.loads.iter().any(|load| load.rows_per_s.is_some());
    let heading = if is_of_rows {
        "Rows inserted per second, predicted"
    } else {
        "Commits per second, predicted, by number of clients"
    };
    text += &format!("\n{}", look.heading(heading));
    text += &table(document, look);
    for note in explained(document) {
        text += &look.paragraph(&note);
    }
    look.finish(text)
}

fn measured(document: &PredictionDocument) -> String {
    let calibration = &document.calibration;
    let rates: Vec<String> = calibration
        .loads
        .iter()
        .map(|load| match load.rows_per_s {
            Some(rows) => format!("{} {} rows/s", load.load, number(rows)),
            None => format!("{} {} commits/s", load.load, number(load.commits_per_s)),
        })
        .collect();
    format!("{}: {}", calibration.source, rates.join(", "))
}

fn table(document: &PredictionDocument, look: &Look) -> String {
    let loads: Vec<&LoadPrediction> =
        document.predictions.first().map(|first| first.loads.iter().collect()).unwrap_or_default();
    let mut columns = Columns::<&DrivePrediction>::new()
        .with(Column::left("on"), |row: &&DrivePrediction| row.on.clone())
        .with(Column::left("").may_drop(3), |row| row.label.clone())
        .with(Column::right("sync"), |row| latency(row.sync_us));
    for (at, load) in loads.iter().enumerate() {
        let name = load.load.strip_suffix(" clients").or(load.load.strip_suffix(" client"));
        let name = name.unwrap_or(&load.load).to_owned();
        columns = columns.with(Column::right(&name), move |row| {
            let load = row.loads.get(at)?;
            let rate = load.rows_per_s.or(load.commits_per_s)?;
            Some(number(rate.expected))
        });
    }
    columns = columns
        .with(Column::right("±").may_drop(1), |row| {
            let rates = row.loads.iter().filter_map(|load| load.commits_per_s);
            rates.map(error_percent).reduce(f64::max).map(|percent| format!("{percent:.0} %"))
        })
        .with(Column::left("limited by").may_drop(2), |row| {
            let limits: Vec<&str> = row.loads.iter().map(|load| words(load.limit)).collect();
            let mut distinct = limits.clone();
            distinct.dedup();
            distinct.join(", then ")
        });
    let rows: Vec<&DrivePrediction> = document.predictions.iter().collect();
    columns.of(&rows, look)
}

/// The wider half of the interval.
fn error_percent(rate: Rate) -> f64 {
    let Rate { expected, low, high } = rate;
    (expected - low).max(high - expected) / expected.max(f64::MIN_POSITIVE) * 100.0
}

const fn words(limit: Limit) -> &'static str {
    match limit {
        Limit::Sync => "sync",
        Limit::Processors => "processors",
        Limit::Server => "server",
    }
}

fn explained(document: &PredictionDocument) -> Vec<String> {
    let mut notes = document.notes.clone();
    let refusals = || {
        let loads = document.predictions.iter().flat_map(|row| &row.loads);
        loads.filter_map(|load| load.refused)
    };
    if refusals().any(|refused| refused == Refusal::ProcessorBound) {
        notes.push(
            "-: not predicted. The processors would be busier than they ever were when the server \
             was measured."
                .to_owned(),
        );
    }
    if refusals().any(|refused| refused == Refusal::ProcessorTimeUnknown) {
        notes.push(
            "-: not predicted. The rate would be higher than was measured, and what the server's \
             processors can do is unknown."
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, DatabaseRecord, ServerSetting};
    use predict::{Basis, CalibratedLoad, CalibrationRecord, ChangedSetting};

    use super::*;

    fn prediction(clients: u32, expected: Option<f64>, limit: Limit) -> LoadPrediction {
        let rate = |expected| Rate { expected, low: expected * 0.9, high: expected * 1.2 };
        LoadPrediction {
            load: if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") },
            clients,
            commits_per_s: expected.map(rate),
            rows_per_s: None,
            syncs_per_commit: 1.0,
            limit,
            refused: expected.is_none().then_some(Refusal::ProcessorBound),
        }
    }

    fn document() -> PredictionDocument {
        let on = |on: &str, label: &str, sync_us, loads| DrivePrediction {
            on: on.to_owned(),
            label: label.to_owned(),
            basis: Basis::Modelled,
            sync_us,
            loads,
        };
        let load = |load: &str, clients, commits_per_s| CalibratedLoad {
            load: load.to_owned(),
            clients,
            commits_per_s,
            rows_per_s: None,
        };
        let setting = |name: &str, value: &str| ServerSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            source: None,
        };
        PredictionDocument {
            schema: predict::SCHEMA.to_owned(),
            flushmark: "0.1.0".to_owned(),
            server: DatabaseRecord {
                product: DatabaseProduct::Postgresql,
                version: "15.18".to_owned(),
                settings: vec![setting("fsync", "on"), setting("wal_sync_method", "fdatasync")],
            },
            calibration: CalibrationRecord {
                source: "last".to_owned(),
                started_at: "2026-11-27T08:00:00Z".to_owned(),
                storage: "storage: 8 KiB write + fdatasync".to_owned(),
                sync_us: 500.0,
                processors: Some(2),
                loads: vec![load("1 client", 1, 1600.0), load("16 clients", 16, 14_000.0)],
            },
            settings: vec![ChangedSetting {
                name: "wal_sync_method".to_owned(),
                from: Some("fdatasync".to_owned()),
                to: "open_datasync".to_owned(),
            }],
            predictions: vec![
                on(
                    "sim:fast",
                    "Fast 1 TB",
                    20.0,
                    vec![
                        prediction(1, Some(9000.0), Limit::Server),
                        prediction(16, None, Limit::Processors),
                    ],
                ),
                on(
                    "sim:slow",
                    "Slow 1 TB",
                    4000.0,
                    vec![
                        prediction(1, Some(244.0), Limit::Sync),
                        prediction(16, Some(1980.0), Limit::Sync),
                    ],
                ),
            ],
            notes: vec!["Only a note.".to_owned()],
        }
    }

    #[test]
    fn the_page() {
        insta::assert_snapshot!(database_prediction_page(&document(), &Look::plain()), @"
        server       PostgreSQL 15.18
        settings     fsync=on, wal_sync_method=fdatasync
        assumed      wal_sync_method=open_datasync (fdatasync)
        measured     last: 1 client 1,600 commits/s, 16 clients 14,000 commits/s

        Commits per second, predicted, by number of clients
          on                    sync      1     16     ±  limited by
          sim:fast  Fast 1 TB  20 µs  9,000      -  20 %  server, then processors
          sim:slow  Slow 1 TB   4 ms    244  1,980  20 %  sync
        Only a note.
        -: not predicted. The processors would be busier than they ever were when the server was measured.
        ");
    }

    #[test]
    fn the_insert_benchmark_has_rows() {
        let mut document = document();
        document.settings.clear();
        document.calibration.loads = vec![CalibratedLoad {
            load: "l.i1".to_owned(),
            clients: 2,
            commits_per_s: 600.0,
            rows_per_s: Some(15_000.0),
        }];
        for row in &mut document.predictions {
            let step = prediction(2, Some(500.0), Limit::Sync);
            let rows_per_s = step.commits_per_s.map(|rate| Rate { expected: 12_500.0, ..rate });
            row.loads = vec![LoadPrediction { load: "l.i1".to_owned(), rows_per_s, ..step }];
        }
        document.notes.clear();
        insta::assert_snapshot!(database_prediction_page(&document, &Look::plain()), @"
        server       PostgreSQL 15.18
        settings     fsync=on, wal_sync_method=fdatasync
        measured     last: l.i1 15,000 rows/s

        Rows inserted per second, predicted
          on                    sync    l.i1     ±  limited by
          sim:fast  Fast 1 TB  20 µs  12,500  20 %  sync
          sim:slow  Slow 1 TB   4 ms  12,500  20 %  sync
        ");
    }
}
