use drive::{BlockDevice, Transport, WriteCache};
use measurement::{Anatomy, Committer, Finding, Stage};

use super::*;

fn sda(cache: WriteCache, scheduler: &str) -> BlockDevice {
    let mut device = samples::place::drive("sda", Transport::Sata);
    device.queue.write_cache = Some(cache);
    device.queue.scheduler = Some(scheduler.to_owned());
    device
}

fn found(anatomy: &Anatomy, device: &BlockDevice) -> Vec<Finding> {
    trace(&[anatomy], &[device])
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

fn title(findings: &[Finding], id: &str) -> String {
    findings
        .iter()
        .find(|finding| finding.id == id)
        .map_or_else(String::new, |one| one.title.clone())
}

#[test]
fn fua_that_became_a_flush_and_a_cache_whose_flush_is_slow() {
    let findings = found(&samples::fsync_on_ext4(100), &sda(WriteCache::WriteBack, "none"));
    assert_eq!(ids(&findings), ["fua-emulated", "traced-flushes-twice", "traced-slow-flush"]);
    insta::assert_snapshot!(title(&findings, "fua-emulated"), @"FUA did not reach sda: the kernel sent a write and then a flush of the whole cache.");
    insta::assert_snapshot!(title(&findings, "traced-flushes-twice"), @"Each fsync on ext4 flushes the cache of sda 2 times.");
    insta::assert_snapshot!(title(&findings, "traced-slow-flush"), @"The write cache of sda makes the write fast and the flush slow: 92 % of fsync on ext4 is the flush.");
    insta::assert_snapshot!(findings[2].advice, @"With the cache off, a commit needs no flush, and its writes take as long as the medium does: on drives with power-loss protection that is often faster. Measure it: `flushmark cache off /dev/sda`, then `flushmark check`.");
}

fn plain(way: &[(Stage, f64)]) -> Anatomy {
    let mut anatomy = samples::traced("fdatasync", Some("ext4"), 100, way);
    anatomy.reached.data_writes = 100;
    anatomy
}

const WRITE: [(Stage, f64); 2] = [(Stage::Thread, 10.0), (Stage::DataWrite, 500.0)];

#[test]
fn a_flush_that_is_missing_and_one_that_nobody_needs() {
    let (back, through) =
        (sda(WriteCache::WriteBack, "none"), sda(WriteCache::WriteThrough, "none"));
    let missing = found(&plain(&WRITE), &back);
    assert_eq!(ids(&missing), ["traced-no-flush"]);
    insta::assert_snapshot!(missing[0].title, @"sda has a volatile cache, but fdatasync on ext4 sent it neither a flush nor FUA: a power cut loses what was committed.");
    assert!(found(&plain(&WRITE), &through).is_empty());
    let mut sent = plain(&WRITE);
    sent.reached.fua_sent = 100;
    assert!(found(&sent, &back).is_empty());
    let mut flushed = plain(&[WRITE[1], (Stage::Flush, 30.0)]);
    flushed.reached.bare_flushes = 100;
    assert_eq!(ids(&found(&flushed, &through)), ["traced-needless-flush"]);
    assert!(found(&flushed, &back).is_empty());
}

#[test]
fn others_their_journal_the_scheduler_and_discards() {
    let through = sda(WriteCache::WriteThrough, "bfq");
    let mut anatomy = plain(&[(Stage::EarlierCommit, 200.0), WRITE[1]]);
    anatomy.company.after_earlier_commit = 50;
    anatomy.company.others =
        vec![Committer { command: "mariadbd".to_owned(), thread: 99, count: 70 }];
    (anatomy.company.alone, anatomy.company.alone_mean_us) = (60, 400.0);
    (anatomy.company.accompanied, anatomy.company.accompanied_mean_us) = (40, 1_200.0);
    anatomy.reached.scheduler_ns = 100 * 200_000;
    anatomy.reached.discards = 10;
    let findings = found(&anatomy, &through);
    let words: Vec<&str> = findings.iter().map(|finding| finding.title.as_str()).collect();
    insta::assert_snapshot!(words.join("\n"), @"
    50 % of fdatasync on ext4 first waited for a commit of the journal that others had begun.
    While others use sda, fdatasync on ext4 takes 3 times as long.
    The I/O scheduler bfq holds requests for 29 % of fdatasync on ext4.
    Each fdatasync on ext4 waits for discards.
    ");
    // Just below each threshold.
    anatomy.company.after_earlier_commit = 4;
    anatomy.company.accompanied_mean_us = 590.0;
    anatomy.reached.scheduler_ns = 100 * 60_000;
    anatomy.reached.discards = 0;
    assert!(found(&anatomy, &through).is_empty());
}

#[test]
fn writes_of_others() {
    let through = sda(WriteCache::WriteThrough, "none");
    let anatomy = |others| plain(&[(Stage::Thread, 100.0), (Stage::OtherWrites, others), WRITE[1]]);
    let findings = found(&anatomy(400.0), &through);
    assert_eq!(ids(&findings), ["traced-waits-for-writes"]);
    insta::assert_snapshot!(findings[0].title, @"For 40 % of its time, fdatasync on ext4 waited for writes of other threads to sda.");
    assert!(found(&anatomy(60.0), &through).is_empty());
}

#[test]
fn few_commits_show_nothing() {
    let back = sda(WriteCache::WriteBack, "none");
    assert!(found(&samples::fsync_on_ext4(9), &back).is_empty());
    assert_eq!(found(&samples::fsync_on_ext4(10), &back).len(), 3);
}
