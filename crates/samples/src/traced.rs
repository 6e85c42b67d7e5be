//! Traced commits, as `flushmark trace` would see them.

use std::collections::BTreeMap;

use measurement::{
    Anatomy, Committer, Drawn, DrawnRequest, DrawnStage, Histogram, Stage, StageTimes,
};

/// Commits that all took the same way: stage after stage, with the time of each in microseconds.
pub fn traced(call: &str, filesystem: Option<&str>, commits: u64, way: &[(Stage, f64)]) -> Anatomy {
    let ns = |us: f64| (us * 1e3) as u64;
    let mut stages: BTreeMap<Stage, StageTimes> = BTreeMap::new();
    let mut slowest_us = BTreeMap::new();
    let mut drawn = Drawn::default();
    for &(stage, us) in way {
        let from_ns = drawn.ns;
        drawn.ns += ns(us);
        drawn.stages.push(DrawnStage { stage, from_ns, to_ns: drawn.ns });
        *slowest_us.entry(stage).or_default() += us;
    }
    for (&stage, &us) in &slowest_us {
        let mut times = Histogram::new();
        times.record_n(ns(us), commits);
        stages.insert(stage, StageTimes { times, total_ns: ns(us) * commits });
    }
    let mut times = Histogram::new();
    times.record_n(drawn.ns, commits);
    let committer = Committer { command: "postgres".to_owned(), thread: 4711, count: commits };
    Anatomy {
        call: call.to_owned(),
        filesystem: filesystem.map(str::to_owned),
        devices: vec!["sda".to_owned()],
        commits: times,
        stages,
        slowest_us,
        longest: drawn.clone(),
        median: drawn,
        committers: vec![committer],
        ..Anatomy::default()
    }
}

/// fsync on ext4, on a SATA drive whose cache is on and which gets no FUA: a write of data, one of
/// the journal, and a flush before and after its last block.
pub fn fsync_on_ext4(commits: u64) -> Anatomy {
    let way = [
        (Stage::Thread, 22.0),
        (Stage::DataQueue, 3.0),
        (Stage::DataWrite, 340.0),
        (Stage::JournalStart, 12.0),
        (Stage::Journal, 30.0),
        (Stage::FlushQueue, 5.0),
        (Stage::Flush, 4_100.0),
        (Stage::LogWrite, 260.0),
        (Stage::Flush, 4_200.0),
        (Stage::WakeUp, 18.0),
    ];
    let mut anatomy = traced("fsync", Some("ext4"), commits, &way);
    anatomy.reached.data_writes = commits;
    anatomy.reached.journal_writes = commits * 2;
    anatomy.reached.bytes = commits * 3 * 4096;
    anatomy.reached.flushes_before = commits;
    anatomy.reached.flushes_after = commits;
    anatomy.reached.fua_asked = commits;
    anatomy.reached.merged = commits;
    anatomy.company.alone = commits;
    anatomy.company.alone_mean_us = 8_990.0;
    let span = |stage, from_ns, to_ns| DrawnStage { stage, from_ns, to_ns };
    anatomy.median.requests = vec![
        DrawnRequest {
            flags: "WS".to_owned(),
            sector: 2048,
            sectors: 8,
            command: "postgres".to_owned(),
            journal: false,
            spans: vec![
                span(Stage::DataQueue, 22_000, 25_000),
                span(Stage::DataWrite, 25_000, 365_000),
            ],
        },
        DrawnRequest {
            flags: "FWFSM".to_owned(),
            sector: 90_120,
            sectors: 8,
            command: "jbd2/sda-8".to_owned(),
            journal: true,
            spans: vec![
                span(Stage::FlushQueue, 407_000, 412_000),
                span(Stage::Flush, 412_000, 4_512_000),
                span(Stage::LogWrite, 4_512_000, 4_772_000),
                span(Stage::Flush, 4_772_000, 8_972_000),
            ],
        },
    ];
    anatomy
}
