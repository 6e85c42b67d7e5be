//! The pages of `flushmark verify`: the start and end of a run, its verdict, and the progress of
//! cycles.

mod cycles;

use judge::capitalised;
use verify::document::{FindingRecord, HeardBy, Promise, RunRecord, VerifyDocument};
use verify::{Class, CycleResult, FuaPath, LaneKind, RunHeader, SyncMethod, Written, sentences};
use workload::format_bytes;

use self::cycles::{ages, loss_bound};
pub use self::cycles::{verify_event, verify_standing};
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;
use crate::prose::counted;
use workload::number::{about_bytes, latency, number, span};

const LABEL: usize = 13;

/// The page of a judged run.
pub fn verify_page(document: &VerifyDocument, look: &Look) -> String {
    let mut text = String::new();
    let mut line = |label: &str, words: &str| text += &look.labelled(label, LABEL, words);
    line("target", &document.target);
    if !document.run.drive.is_empty() {
        line("drive", &document.run.drive);
    }
    line("run", &run_words(&document.run));
    line("recorded by", heard_words(document.heard_by));
    if !document.cut.is_empty() {
        let signs: Vec<&str> = document.cut.iter().map(|sign| sign.sentence.as_str()).collect();
        line("power cut", &signs.join("; "));
    }
    text += &format!("\n{}", look.heading("Acknowledged writes and surviving records"));
    text += &Columns::<Promise>::new()
        .with(Column::left(""), |promise| kind_words(promise.kind))
        .with(Column::right("acknowledged writes"), |promise| {
            count(promise.tally.acknowledged_writes)
        })
        .with(Column::right("records that must be there"), |promise| {
            count(promise.tally.obligations)
        })
        .with(Column::right("are there"), |Promise { tally, .. }| {
            let is_kept = tally.kept == tally.obligations;
            let style = if is_kept { look.palette.good } else { look.palette.bad };
            Cell::styled(count(tally.kept), style)
        })
        .of(&document.promises, look);
    text += &control_words(document, look);
    if !document.findings.is_empty() {
        text += &format!("\n{}", look.heading("Findings"));
        for (index, finding) in document.findings.iter().enumerate() {
            text += &finding_words(index + 1, finding, look);
        }
    }
    if let Some(rollback) = &document.rollback {
        let words = format!(
            "The whole target was rolled back by {}: the lost writes ({}) are the latest, in \
             order. The drive preserves the order of writes but not durability.",
            latency(rollback.by_us as f64),
            counted(rollback.writes, "acknowledged write")
        );
        text += &format!("\n{}", look.paragraph(&words));
    }
    if document.findings.iter().any(|finding| finding.records > 0) {
        text += &ages(&document.ages, look);
    }
    if !document.notes.is_empty() {
        text += &format!("\n{}", look.heading("Notes"));
        for note in &document.notes {
            text += &look.hanging("  - ", &capitalised(note));
        }
    }
    text += &format!("\n{}", verdict(document, look));
    look.finish(text)
}

fn verdict(document: &VerifyDocument, look: &Look) -> String {
    let (word, style, words) = match document.result {
        CycleResult::Kept => {
            ("KEPT", look.palette.good, "all acknowledged data is present.".to_owned())
        }
        CycleResult::Fails => {
            let what = if document.findings.is_empty() {
                "a superblock that was synced before the run is damaged or gone."
            } else {
                "acknowledged data is missing or damaged."
            };
            ("FAILS", look.palette.bad, what.to_owned())
        }
        CycleResult::Void => (
            "VOID",
            look.palette.warning,
            "the run proves nothing, neither for nor against the drive.".to_owned(),
        ),
    };
    let mut text = look.hanging(&format!("{style}{word}{style:#}: "), &words);
    let voids = document.void.iter().filter(|_| document.result == CycleResult::Void);
    for void in voids {
        text += &look.hanging("  - ", &format!("{}.", capitalised(&void.sentence)));
    }
    text + &loss_bound(&document.standing, look)
}

fn finding_words(number: usize, finding: &FindingRecord, look: &Look) -> String {
    let (class, meaning) = (finding.class.name(), sentences::meaning(finding.class));
    let title = match finding.class {
        Class::Dead => format!("{class}: {meaning}"),
        _ => format!(
            "{class}, in {}: {} {meaning}",
            kind_words(finding.kind),
            counted(finding.records, "record")
        ),
    };
    let mut text = look.hanging_in(look.palette.strong, &format!("{number:>2}. "), &title);
    let shown = finding.examples.iter().filter(|_| finding.class != Class::Dead);
    for example in shown {
        let words = format!("at byte {}: {}", example.address_bytes, example.sentence);
        text += &look.hanging("    - ", &words);
    }
    let more = finding.records.saturating_sub(finding.examples.len() as u64);
    if more > 0 && finding.class != Class::Dead {
        text += &format!("    - and {} more\n", count(more));
    }
    text
}

fn control_words(document: &VerifyDocument, look: &Look) -> String {
    let legal = &document.legal;
    let mut words = Vec::new();
    let is_dead = document.findings.iter().any(|finding| finding.class == Class::Dead);
    if document.run.lanes[2] > 0 && !is_dead {
        let completed = counted(legal.control_completed, "write");
        words.push(match legal.control_lost {
            0 => format!("Control: {completed} completed without a sync, and none is missing."),
            lost => format!(
                "Control: {completed} completed without a sync; the latest one is missing in {}, \
                 which is allowed.",
                counted(lost, "slot")
            ),
        });
    }
    if legal.torn > 0 {
        words.push(format!(
            "Allowed: a write in flight is partly present, in whole sectors, in {}.",
            counted(legal.torn, "slot")
        ));
    }
    if legal.reordered > 0 {
        words.push(format!(
            "Allowed: a write that no sync had covered is missing in {}, although later ones are \
             present.",
            counted(legal.reordered, "slot")
        ));
    }
    words.iter().map(|words| look.hanging("  ", words)).collect()
}

fn run_words(run: &RunRecord) -> String {
    let [flush, fua, control] = run.lanes;
    format!(
        "{}: {}; records of {}, sectors of {}, {} in all{}",
        run.id,
        lanes_words([flush, fua, control], run.flush_method, run.fua_method, run.fua_path),
        format_bytes(run.record_bytes),
        format_bytes(u64::from(run.sector_bytes)),
        about_bytes(run.size_bytes),
        if run.direct { "" } else { ", through the page cache" }
    )
}

fn lanes_words(
    lanes: [u16; 3],
    flush_method: SyncMethod,
    fua_method: SyncMethod,
    fua_path: FuaPath,
) -> String {
    let [flush, fua, control] = lanes.map(u64::from);
    let mut words = Vec::new();
    if flush > 0 {
        words.push(format!("{} ({})", counted(flush, "flush lane"), flush_method.name()));
    }
    if fua > 0 {
        let path = if fua_path == FuaPath::IoUring { " through io_uring" } else { "" };
        words.push(format!("{} ({}{path})", counted(fua, "FUA lane"), fua_method.name()));
    }
    if control > 0 {
        words.push(counted(control, "control lane"));
    }
    words.join(", ")
}

fn heard_words(heard_by: HeardBy) -> &'static str {
    match heard_by {
        HeardBy::Recorder => "the recorder",
        HeardBy::Journal => "the journal",
        HeardBy::Nobody => "nothing: judged from the media alone",
    }
}

fn kind_words(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Flush => "flush lanes",
        LaneKind::Fua => "FUA lanes",
        LaneKind::Control => "control lanes",
    }
}

/// The start of `verify write`.
pub fn verify_begun(run: &RunHeader, path: &str, heard_by: &str, look: &Look) -> String {
    let geometry = &run.geometry;
    let lanes = [geometry.flush_lanes, geometry.fua_lanes, geometry.control_lanes];
    let mut words = vec![
        format!(
            "Run {} on {path}: {}; records of {} in {}; recorded by {heard_by}.",
            run.name(),
            lanes_words(lanes, run.flush_method, run.fua_method, run.fua_path),
            format_bytes(geometry.record_bytes()),
            about_bytes(geometry.size_bytes())
        ),
        "Every record is written once and synced. Cut the power at any time while the writes \
         continue; press Ctrl-C to stop."
            .to_owned(),
    ];
    words.splice(1..1, run.fua_caveat().map(|caveat| format!("{}.", capitalised(caveat))));
    look.finish(words.iter().map(|words| look.paragraph(words)).collect())
}

/// The end of `verify write` without a power cut.
pub fn verify_written(run: &RunHeader, written: &Written, check: &str, look: &Look) -> String {
    let seconds = written.live.elapsed.as_secs_f64().max(1e-9);
    let [flush, fua, control] = written.by_kind;
    let geometry = &run.geometry;
    let mut parts = Vec::new();
    for (lanes, name, done) in [
        (geometry.flush_lanes, "by flush", flush),
        (geometry.fua_lanes, "by FUA", fua),
        (geometry.control_lanes, "unsynced control writes", control),
    ] {
        if lanes > 0 {
            parts.push(format!("{} {name}", count(done)));
        }
    }
    let mut words = vec![format!(
        "{} commits in {}, {} per second ({}).",
        count(written.live.commits),
        span(written.live.elapsed),
        number(written.live.commits as f64 / seconds),
        parts.join(", ")
    )];
    if let Some(flushes) = written.flushes {
        words.push(format!("The driver counted {} during the run.", counted(flushes, "flush")));
    }
    words.push(format!("To check: {check}"));
    look.finish(words.iter().map(|words| look.paragraph(words)).collect())
}

fn count(of: u64) -> String {
    number(of as f64)
}

fn percent(chance: f64) -> String {
    let percent = chance * 100.0;
    if percent >= 10.0 {
        format!("{percent:.0} %")
    } else {
        format!("{} %", workload::number::number(percent))
    }
}

#[cfg(test)]
mod golden {
    use std::time::Duration;

    use verify::document::{Example, Promise, SCHEMA, SignRecord, VoidRecord};
    use verify::{
        AgeCount, Circumstances, Event, Geometry, Legal, Live, Outcome, Rollback, Sign, Standing,
        Tally, Void, loss_per_cut_below,
    };

    use super::*;

    const SIGN: Sign = Sign::Counted { before: 12, now: 13 };

    fn kept() -> VerifyDocument {
        let tally = Tally { acknowledged_writes: 1_234_567, obligations: 43_000, kept: 43_000 };
        VerifyDocument {
            schema: SCHEMA.to_owned(),
            flushmark: "0.1.0".to_owned(),
            target: "/dev/sdx".to_owned(),
            run: RunRecord {
                id: "0123456789abcdef".to_owned(),
                started_unix_s: 1_795_257_600,
                drive: "Micron 5100 (S1)".to_owned(),
                lanes: [4, 1, 1],
                flush_method: SyncMethod::Fsync,
                fua_method: SyncMethod::RwfDsync,
                fua_path: FuaPath::IoUring,
                record_bytes: 4096,
                sector_bytes: 512,
                size_bytes: 256 << 20,
                direct: true,
            },
            heard_by: HeardBy::Recorder,
            result: CycleResult::Kept,
            cut: vec![SignRecord { sign: SIGN, sentence: SIGN.sentence() }],
            void: vec![],
            promises: vec![
                Promise { kind: LaneKind::Flush, tally },
                Promise {
                    kind: LaneKind::Fua,
                    tally: Tally { acknowledged_writes: 9000, obligations: 7000, kept: 7000 },
                },
            ],
            findings: vec![],
            rollback: None,
            legal: Legal { torn: 1, reordered: 2, control_lost: 12, control_completed: 34_567 },
            ages: vec![],
            notes: vec![],
            standing: Standing { clean: 3, ..Standing::default() },
            loss_per_cut_below: Some(loss_per_cut_below(3)),
        }
    }

    fn page(document: &VerifyDocument) -> String {
        verify_page(document, &Look::plain())
    }

    /// The page without the lines that describe the run.
    fn said(document: &VerifyDocument) -> String {
        page(document).split_once("\n\n").map(|(_, said)| said.to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_drive_that_keeps_all_acknowledged_data() {
        insta::assert_snapshot!(page(&kept()), @"
        target       /dev/sdx
        drive        Micron 5100 (S1)
        run          0123456789abcdef: 4 flush lanes (fsync), 1 FUA lane (rwf_dsync through io_uring), 1
                     control lane; records of 4 KiB, sectors of 512 B, 256 MiB in all
        recorded by  the recorder
        power cut    the drive's count of unsafe shutdowns rose from 12 before the run to 13

        Acknowledged writes and surviving records
                       acknowledged writes  records that must be there  are there
          flush lanes            1,234,567                      43,000     43,000
          FUA lanes                  9,000                       7,000      7,000
          Control: 34,567 writes completed without a sync; the latest one is missing in 12 slots, which is
          allowed.
          Allowed: a write in flight is partly present, in whole sectors, in 1 slot.
          Allowed: a write that no sync had covered is missing in 2 slots, although later ones are present.

        KEPT: all acknowledged data is present.
        With 3 clean cycles, the chance of a loss in one cut is below 63 % at 95 % confidence; 5 clean
        cycles would bring it below 50 %.
        ");
    }

    #[test]
    fn a_drive_that_loses_acknowledged_data() {
        let mut document = kept();
        document.result = CycleResult::Fails;
        document.promises[0].tally.kept -= 7;
        document.findings = vec![
            FindingRecord {
                class: Class::Unserializable,
                kind: LaneKind::Flush,
                records: 6,
                sectors: 48,
                examples: vec![Example {
                    address_bytes: 1 << 20,
                    required_version: 7,
                    found_version: Some(6),
                    age_us: Some(1250),
                    sentence: "found version 6 instead of version 7".to_owned(),
                }],
            },
            FindingRecord {
                class: Class::Corrupt,
                kind: LaneKind::Control,
                records: 1,
                sectors: 1,
                examples: vec![],
            },
        ];
        document.rollback = Some(Rollback { writes: 1234, by_us: 12_345 });
        document.ages = vec![
            AgeCount { up_to_ms: Some(1), obligations: 10, broken: 7 },
            AgeCount { up_to_ms: Some(3), obligations: 0, broken: 0 },
            AgeCount { up_to_ms: Some(1000), obligations: 3000, broken: 0 },
            AgeCount { up_to_ms: None, obligations: 40_000, broken: 0 },
        ];
        document.notes = vec!["the journal ends in the middle of an entry".to_owned()];
        document.standing = Standing { clean: 3, failed: 1, ..Standing::default() };
        insta::assert_snapshot!(said(&document), @"
        Acknowledged writes and surviving records
                       acknowledged writes  records that must be there  are there
          flush lanes            1,234,567                      43,000     42,993
          FUA lanes                  9,000                       7,000      7,000
          Control: 34,567 writes completed without a sync; the latest one is missing in 12 slots, which is
          allowed.
          Allowed: a write in flight is partly present, in whole sectors, in 1 slot.
          Allowed: a write that no sync had covered is missing in 2 slots, although later ones are present.

        Findings
         1. unserializable, in flush lanes: 6 records missing, although records survive that were written
            after it was acknowledged
            - at byte 1048576: found version 6 instead of version 7
            - and 5 more
         2. corrupt, in control lanes: 1 record damaged
            - and 1 more

        The whole target was rolled back by 12.3 ms: the lost writes (1,234 acknowledged writes) are the
        latest, in order. The drive preserves the order of writes but not durability.

        Losses by age
          acknowledged before the end  records  broken
          0 to 1 ms                         10       7
          3 ms to 1 s                    3,000       0
          1 s and more                  40,000       0

        Notes
          - The journal ends in the middle of an entry

        FAILS: acknowledged data is missing or damaged.
        A drive that failed once is not cleared by cycles that it passed.
        ");
    }

    #[test]
    fn a_dead_drive() {
        let mut document = kept();
        document.result = CycleResult::Fails;
        document.promises.iter_mut().for_each(|promise| promise.tally.kept = 0);
        document.findings = vec![FindingRecord {
            class: Class::Dead,
            kind: LaneKind::Flush,
            records: 1,
            sectors: 0,
            examples: vec![],
        }];
        document.standing = Standing { failed: 1, ..Standing::default() };
        insta::assert_snapshot!(said(&document), @"
        Acknowledged writes and surviving records
                       acknowledged writes  records that must be there  are there
          flush lanes            1,234,567                      43,000          0
          FUA lanes                  9,000                       7,000          0
          Allowed: a write in flight is partly present, in whole sectors, in 1 slot.
          Allowed: a write that no sync had covered is missing in 2 slots, although later ones are present.

        Findings
         1. dead: no sector of the target can be read

        FAILS: acknowledged data is missing or damaged.
        A drive that failed once is not cleared by cycles that it passed.
        ");
    }

    #[test]
    fn a_run_that_proves_nothing() {
        let why = Void::NoUnsafeShutdown { count: 12 };
        let mut document = kept();
        document.result = CycleResult::Void;
        document.legal = Legal { control_completed: 34_567, ..Legal::default() };
        document.cut = vec![];
        document.void = vec![VoidRecord { why, sentence: why.sentence() }];
        document.standing = Standing { void: 1, ..Standing::default() };
        document.heard_by = HeardBy::Nobody;
        insta::assert_snapshot!(said(&document), @"
        Acknowledged writes and surviving records
                       acknowledged writes  records that must be there  are there
          flush lanes            1,234,567                      43,000     43,000
          FUA lanes                  9,000                       7,000      7,000
          Control: 34,567 writes completed without a sync, and none is missing.

        VOID: the run proves nothing, neither for nor against the drive.
          - The drive counts 12 unsafe shutdowns, as many as before the run, so its power was not cut.
        ");
    }

    #[test]
    fn a_cycle_that_was_not_judged() {
        let mut document = kept();
        document.standing = Standing { clean: 3, unjudged: 1, ..Standing::default() };
        document.cut = vec![SignRecord { sign: Sign::Word, sentence: Sign::Word.sentence() }];
        let page = page(&document);
        let ends = page
            .lines()
            .filter(|line| line.starts_with("power cut"))
            .chain(page.lines().rev().take(2));
        insta::assert_snapshot!(ends.collect::<Vec<_>>().join("\n"), @"
        power cut    you state it (--power-was-cut)
        unjudged ones may contain a loss.
        1 cycle had acknowledged writes and was never judged, so nothing follows from the clean ones: the
        ");
    }

    fn run() -> RunHeader {
        let geometry = Geometry {
            sector_bytes: 512,
            record_sectors: 8,
            slots_per_lane: 10_000,
            flush_lanes: 4,
            fua_lanes: 1,
            control_lanes: 1,
            writes_per_sync: 1,
        };
        let circumstances = Circumstances {
            target: "/dev/sdx".to_owned(),
            drive: "Micron 5100 (S1)".to_owned(),
            ..Circumstances::default()
        };
        RunHeader { circumstances, ..RunHeader::plain(7, geometry) }
    }

    #[test]
    fn a_run_begins_and_ends() {
        let written = Written {
            live: Live { elapsed: Duration::from_secs(100), commits: 123_456, writes: 150_000 },
            by_kind: [100_000, 23_456, 26_544],
            syncs: 123_456,
            flushes: Some(99_999),
            failures: vec![],
        };
        let look = Look::plain();
        let text = verify_begun(&run(), "/dev/sdx", "the recorder at recorder.lan:5401", &look)
            + "\n"
            + &verify_written(&run(), &written, "flushmark verify check /dev/sdx", &look);
        insta::assert_snapshot!(text, @"
        Run 0000000000000007 on /dev/sdx: 4 flush lanes (fsync), 1 FUA lane (rwf_dsync), 1 control lane;
        records of 4 KiB in 235 MiB; recorded by the recorder at recorder.lan:5401.
        Every record is written once and synced. Cut the power at any time while the writes continue; press
        Ctrl-C to stop.

        123,456 commits in 1 min 40 s, 1,235 per second (100,000 by flush, 23,456 by FUA, 26,544 unsynced
        control writes).
        The driver counted 99,999 flushes during the run.
        To check: flushmark verify check /dev/sdx
        ");
    }

    #[test]
    fn recorder_events() {
        let ages = vec![AgeCount { up_to_ms: Some(1), obligations: 10, broken: 1 }];
        let standing =
            Standing { clean: 59, on_word: 3, void: 2, ages: ages.clone(), ..Standing::default() };
        let outcome = Outcome {
            run_id: 7,
            result: CycleResult::Kept,
            on_word: false,
            obligations: 43_000,
            broken: 0,
            ages,
        };
        let events = [
            Event::Began(3, Box::new(run())),
            Event::CutStarted(30),
            Event::CutFailed("exit status: 1: no such host".to_owned()),
            Event::Silent(123_456),
            Event::Ended("done".to_owned()),
            Event::Judged(outcome, standing.clone()),
        ];
        let lines: Vec<String> = events.iter().filter_map(verify_event).collect();
        insta::assert_snapshot!(lines.join("\n") + "\n\n" + &verify_standing(&standing, &Look::plain()), @"
        cycle 3: run 0000000000000007 begins on /dev/sdx (Micron 5100 (S1))
        cutting the power, 30 ms after a sync was acknowledged
        the cut command failed (exit status: 1: no such host); cut the power by hand, or fix the command
        the writer fell silent after 123,456 acknowledged writes; check the target when its power is back
        the writer ended on its own (done)
        verdict: kept, 0 of 43,000 records broken; so far 59 kept (3 with only the user's statement that the power was cut), 0 failed, 2 void

        61 cycles judged: 59 kept (3 with only the user's statement that the power was cut), 0 failed, 2
        void.

        Losses by age
          acknowledged before the end  records  broken
          0 to 1 ms                         10       1

        With 59 clean cycles, the chance of a loss in one cut is below 4.95 % at 95 % confidence; 299 clean
        cycles would bring it below 1 %.
        ");
    }
}
