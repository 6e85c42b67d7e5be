//! Commits as the kernel reports them, joined and divided.

use std::collections::HashMap;

use drive::{DeviceNumber, DriverAddress};
use measurement::{Anatomy, Stage};
use proptest::prelude::*;

use crate::attribution::divide;
use crate::commits::{Commit, Role, SyncFlag};
use crate::event::{Command, Edge, Event, Extent, Filesystem, Flags, Left, Syscall, What};
use crate::joining::Joiner;
use crate::live::Scope;
use crate::summary::Summary;

const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
/// The disk of another filesystem.
const ELSEWHERE: DeviceNumber = DeviceNumber { major: 254, minor: 0 };
const NVME: DriverAddress = DriverAddress::Nvme { subsystem: 0, controller: None, namespace: 1 };
const NVME_PATH: DriverAddress =
    DriverAddress::Nvme { subsystem: 10, controller: Some(0), namespace: 3 };
const SCSI: DriverAddress = DriverAddress::Scsi { host: 2, channel: 0, target: 1, lun: 16384 };
const WRITER: u32 = 7;
const JOURNAL: u32 = 9;
const OTHER: u32 = 11;
const WORKER: u32 = 13;

fn event(at: u64, thread: u32, what: What) -> Event {
    Event { at, thread, what }
}

fn extent(sector: u64, sectors: u32) -> Extent {
    Extent { device: DISK, sector, sectors }
}

fn enter(at: u64, call: Syscall) -> Event {
    event(at, WRITER, What::Enter { call, file: 3, flags: 0 })
}

fn back(at: u64) -> Event {
    event(at, WRITER, What::Return { result: 0 })
}

fn sync_file(at: u64, filesystem: Filesystem) -> Event {
    event(at, WRITER, What::SyncFile { filesystem, device: Some(DISK) })
}

fn journal(at: u64, edge: Edge) -> Event {
    event(at, JOURNAL, What::JournalCommit { device: DISK, edge })
}

fn bio(at: u64, thread: u32, sector: u64, sectors: u32, flags: &str) -> Event {
    let name = match thread {
        WRITER => "writer",
        JOURNAL => "jbd2/sda-8",
        WORKER => "kworker/u8:3",
        _ => "other",
    };
    let (flags, command) = (Flags::parse(flags.as_bytes()), Command::new(name.as_bytes()));
    event(at, thread, What::Bio { extent: extent(sector, sectors), flags, command })
}

fn issue(at: u64, sector: u64, sectors: u32, flags: &str) -> Event {
    let flags = Flags::parse(flags.as_bytes());
    event(at, 0, What::Issue { extent: extent(sector, sectors), flags })
}

fn complete(at: u64, sector: u64, sectors: u32, flags: &str) -> Event {
    let flags = Flags::parse(flags.as_bytes());
    event(at, 0, What::Complete { extent: extent(sector, sectors), flags, failed: false })
}

/// A write, from its submission to its completion.
fn write(at: [u64; 3], thread: u32, sector: u64, flags: &str) -> [Event; 3] {
    [
        bio(at[0], thread, sector, 8, flags),
        issue(at[1], sector, 8, flags),
        complete(at[2], sector, 8, flags),
    ]
}

fn flush(at: [u64; 3], thread: u32) -> [Event; 3] {
    [bio(at[0], thread, 0, 0, "FWS"), issue(at[1], 0, 0, "FF"), complete(at[2], 0, 0, "FF")]
}

/// The thread of the call leaves its CPU, is woken, and runs again.
fn off_cpu(at: [u64; 3]) -> [Event; 3] {
    let switch = |at, from, from_state, to| event(at, from, What::Switch { from, from_state, to });
    [
        switch(at[0], WRITER, Left::Waiting, 0),
        event(at[1], 0, What::Waking { thread: WRITER }),
        switch(at[2], 0, Left::Runnable, WRITER),
    ]
}

fn commits(mut events: Vec<Event>) -> Vec<Commit> {
    events.sort_by_key(|event| event.at);
    let filesystems = HashMap::from([DISK, ELSEWHERE].map(|disk| (disk, vec![disk])));
    let mut joiner = Joiner::new(&Scope { filesystems, ..Scope::default() });
    events.iter().filter_map(|event| joiner.event(event)).collect()
}

fn stages(commit: &Commit) -> Vec<(Stage, u64)> {
    divide(commit).iter().map(|part| (part.stage, part.to - part.from)).collect()
}

fn one(parts: &[&[Event]]) -> Commit {
    let mut commits = commits(parts.concat());
    assert_eq!(commits.len(), 1);
    commits.remove(0)
}

#[test]
fn fsync_on_a_raw_device() {
    let commit = one(&[
        &[enter(100, Syscall::Fsync)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &off_cpu([115, 152, 155]),
        &flush([160, 161, 260], WRITER),
        &off_cpu([165, 263, 270]),
        &[back(275)],
    ]);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 10),
            (Stage::DataQueue, 2),
            (Stage::DataWrite, 38),
            (Stage::WakeUp, 5),
            (Stage::Thread, 5),
            (Stage::FlushQueue, 1),
            (Stage::Flush, 99),
            (Stage::WakeUp, 10),
            (Stage::Thread, 5),
        ]
    );
    assert_eq!(commit.is_durable(), Some(true));
}

#[test]
fn fsync_that_waits_for_the_journal() {
    let commit = one(&[
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &off_cpu([115, 300, 310]),
        &[journal(160, Edge::Start)],
        &write([170, 171, 190], JOURNAL, 9000, "WSM"),
        &[journal(290, Edge::End)],
        &flush([200, 205, 280], JOURNAL),
        &[back(320)],
    ]);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 10),
            (Stage::DataQueue, 2),
            (Stage::DataWrite, 38),
            (Stage::JournalStart, 10),
            (Stage::Journal, 10),
            (Stage::LogQueue, 1),
            (Stage::LogWrite, 19),
            (Stage::Journal, 10),
            (Stage::FlushQueue, 5),
            (Stage::Flush, 75),
            (Stage::Journal, 10),
            (Stage::WakeUp, 20),
            (Stage::Thread, 10),
        ]
    );
}

#[test]
fn a_commit_of_the_journal_that_began_earlier_is_others() {
    let commit = one(&[
        &[journal(90, Edge::Start), journal(150, Edge::End)],
        &write([95, 96, 140], JOURNAL, 9000, "WSM"),
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4)],
        &off_cpu([110, 300, 310]),
        &[journal(160, Edge::Start), journal(290, Edge::End)],
        &[back(320)],
    ]);
    assert_eq!(commit.requests.len(), 0);
    assert_eq!(
        stages(&commit),
        [
            (Stage::EarlierCommit, 50),
            (Stage::JournalStart, 10),
            (Stage::Journal, 130),
            (Stage::WakeUp, 20),
            (Stage::Thread, 10),
        ]
    );
}

#[test]
fn a_wait_for_the_journal_that_no_switch_shows() {
    let switches = off_cpu([10, 11, 12]);
    let commit = one(&[
        // The trace knows the scheduler.
        &switches,
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &[journal(160, Edge::Start), journal(290, Edge::End)],
        &flush([200, 205, 280], JOURNAL),
        &[back(320)],
    ]);
    assert_eq!(commit.journal.len(), 1);
    assert_eq!(commit.requests.len(), 2);
}

#[test]
fn a_commit_of_the_journal_whose_end_is_announced_after_the_call_returned() {
    let commit = one(&[
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4)],
        &off_cpu([110, 285, 300]),
        &[journal(160, Edge::Start), journal(330, Edge::End)],
        &flush([200, 205, 280], JOURNAL),
        &[back(320)],
    ]);
    assert_eq!(commit.journal.len(), 1);
    assert_eq!(commit.requests.len(), 1);
}

#[test]
fn fdatasync_beside_a_commit_of_the_journal_did_not_wait_for_it() {
    let commit = one(&[
        &[journal(90, Edge::Start), journal(150, Edge::End)],
        &[enter(100, Syscall::Fdatasync), sync_file(101, Filesystem::Ext4)],
        &flush([110, 112, 200], WRITER),
        &off_cpu([115, 201, 205]),
        &[back(210)],
    ]);
    assert!(commit.journal.is_empty());
    assert_eq!(stages(&commit)[2], (Stage::Flush, 88));
}

#[test]
fn a_worker_writes_the_log_of_xfs() {
    let forced = event(150, WRITER, What::ForceLog { device: DISK });
    let commit = one(&[
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Xfs), forced],
        &off_cpu([155, 300, 305]),
        &write([170, 172, 290], WORKER, 9000, "WSM"),
        // Not its log: another device's, or data.
        &write([171, 173, 200], WORKER, 70000, "W"),
        &[back(310)],
    ]);
    assert_eq!(commit.requests.len(), 1);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 50),
            (Stage::Journal, 20),
            (Stage::LogQueue, 2),
            (Stage::LogWrite, 118),
            (Stage::WakeUp, 15),
            (Stage::Thread, 5),
        ]
    );
    assert_eq!(commit.company, [(WORKER, Command::new(b"kworker/u8:3"))]);
}

#[test]
fn the_first_commit_of_a_journal_begins_with_its_superblock() {
    let commit = one(&[
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4)],
        &off_cpu([110, 300, 305]),
        &write([120, 122, 180], JOURNAL, 9000, "WSM"),
        &[journal(190, Edge::Start), journal(290, Edge::End)],
        &[back(310)],
    ]);
    assert_eq!(commit.requests.len(), 1);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 10),
            (Stage::JournalStart, 10),
            (Stage::LogQueue, 2),
            (Stage::LogWrite, 58),
            (Stage::Journal, 110),
            (Stage::WakeUp, 15),
            (Stage::Thread, 5),
        ]
    );
}

#[test]
fn btrfs_writes_its_log_and_its_superblock_on_the_thread_of_the_call() {
    let sync = event(101, WRITER, What::SyncFile { filesystem: Filesystem::Btrfs, device: None });
    let commit = one(&[
        &[enter(100, Syscall::Fdatasync), sync],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &write([160, 162, 190], WRITER, 76224, "WSM"),
        &flush([200, 201, 260], WRITER),
        &[bio(270, WRITER, 128, 8, "WFSM")],
        &write([270, 271, 300], WRITER, 128, "WSM")[1..],
        &flush([300, 301, 350], WRITER)[1..],
        &[back(360)],
    ]);
    let roles: Vec<Role> = commit.requests.iter().map(|own| own.role).collect();
    assert_eq!(roles, [Role::Data, Role::Journal, Role::Data, Role::Journal]);
    let times: HashMap<Stage, u64> = commit.stages_ns().into_iter().collect();
    assert_eq!([times[&Stage::LogWrite], times[&Stage::Flush]], [28 + 29, 59 + 49]);
}

#[test]
fn write_back_that_others_began_is_waited_for() {
    let commit = one(&[
        &write([50, 52, 160], WORKER, 2048, "W"),
        &[enter(100, Syscall::Fdatasync)],
        // Reads, what ends while the thread runs, and what never ends in time are none of it.
        &write([51, 53, 102], WORKER, 4096, "W"),
        &write([54, 55, 158], OTHER, 8192, "R"),
        &write([56, 57, 400], OTHER, 9000, "W"),
        &off_cpu([110, 170, 175]),
        &flush([180, 182, 290], WRITER),
        &off_cpu([190, 295, 300]),
        &[back(310)],
    ]);
    assert_eq!(commit.other_writes, [(110, 160)]);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 10),
            (Stage::OtherWrites, 50),
            (Stage::WakeUp, 15),
            (Stage::Thread, 5),
            (Stage::FlushQueue, 2),
            (Stage::Flush, 108),
            (Stage::WakeUp, 10),
            (Stage::Thread, 10),
        ]
    );
}

#[test]
fn a_thread_that_waits_for_nothing_known_is_unexplained() {
    let commit = one(&[&[enter(0, Syscall::Fsync)], &off_cpu([10, 90, 95]), &[back(100)]]);
    assert_eq!(
        stages(&commit),
        [(Stage::Thread, 10), (Stage::Unexplained, 80), (Stage::WakeUp, 5), (Stage::Thread, 5)]
    );
}

#[test]
fn a_thread_whose_switch_is_missing_was_woken_before_it_went_on() {
    let [off, ..] = off_cpu([115, 0, 0]);
    let commit = one(&[
        &[enter(100, Syscall::Fsync)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &[off],
        &flush([180, 181, 260], WRITER),
        &off_cpu([185, 262, 265]),
        &[back(275)],
    ]);
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 10),
            (Stage::DataQueue, 2),
            (Stage::DataWrite, 38),
            (Stage::WakeUp, 30),
            (Stage::FlushQueue, 1),
            (Stage::Flush, 79),
            (Stage::WakeUp, 5),
            (Stage::Thread, 10),
        ]
    );
}

#[test]
fn without_the_scheduler_gaps_between_requests_are_unexplained() {
    let commit = one(&[
        &[enter(100, Syscall::Fsync)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &flush([160, 161, 260], WRITER),
        &[back(275)],
    ]);
    let stages = stages(&commit);
    assert_eq!(stages.first(), Some(&(Stage::Thread, 10)));
    assert_eq!(stages[3], (Stage::Unexplained, 10));
    assert_eq!(stages.last(), Some(&(Stage::WakeUp, 15)));
}

#[test]
fn how_a_file_was_opened_tells_whether_a_write_is_durable() {
    let open = |at, flags| event(at, WRITER, What::Open { flags });
    let opened = |at| event(at, WRITER, What::Opened { file: 3 });
    let written = |opening: &[Event]| {
        let write = write([110, 112, 150], WRITER, 2048, "WS");
        let commit = one(&[opening, &[enter(100, Syscall::Pwrite)], &write, &[back(160)]]);
        (commit.is_durable(), commit.sync_flag())
    };
    assert_eq!(written(&[]), (None, None));
    assert_eq!(written(&[open(1, 0o40002), opened(2)]), (Some(false), None));
    let durable = |flag| (Some(true), Some(flag));
    assert_eq!(written(&[open(1, 0o10002), opened(2)]), durable(SyncFlag::ODsync));
    assert_eq!(written(&[open(1, 0o4010002), opened(2)]), durable(SyncFlag::OSync));
    let moved = [
        open(1, 0o10002),
        event(2, WRITER, What::Opened { file: 5 }),
        event(3, WRITER, What::Duplicate { file: 5, into: 3 }),
    ];
    assert_eq!(written(&moved), durable(SyncFlag::ODsync));
    let failed = [open(1, 0o10002), event(2, WRITER, What::Opened { file: -2 })];
    assert_eq!(written(&failed), (None, None));
}

#[test]
fn a_thread_with_an_event_runs_even_if_its_switch_is_missing() {
    let [off, waking, _] = off_cpu([155, 295, 300]);
    let commit = one(&[
        &[enter(100, Syscall::Fsync), sync_file(101, Filesystem::Ext4), off],
        &[journal(160, Edge::Start), journal(290, Edge::End), waking, back(310)],
    ]);
    let times = stages(&commit);
    assert_eq!(times[1..], [(Stage::JournalStart, 5), (Stage::Journal, 130), (Stage::WakeUp, 20)]);
}

#[test]
fn a_call_across_lost_events_is_dropped() {
    let lost = event(120, 0, What::Lost { until: 150 });
    let call = |from, to| [enter(from, Syscall::Fsync), back(to)];
    let seen = |events: &[&[Event]]| {
        let commits = commits([&[&[lost][..]], events].concat().concat());
        commits.iter().map(|commit| (commit.enter, commit.exit)).collect::<Vec<_>>()
    };
    assert_eq!(seen(&[&call(100, 160)]), []);
    assert_eq!(seen(&[&call(100, 119), &call(150, 160)]), [(100, 119), (150, 160)]);
    // A call returned, and another one began, on a processor whose events were lost.
    assert_eq!(seen(&[&call(100, 140), &call(130, 149), &call(140, 160)]), []);
}

#[test]
fn files_may_be_opened_anew_while_events_are_lost() {
    let opening = [
        event(1, WRITER, What::Open { flags: 0o10002 }),
        event(2, WRITER, What::Opened { file: 3 }),
    ];
    let lost = [event(3, 0, What::Lost { until: 5 })];
    let write = write([110, 112, 150], WRITER, 2048, "WS");
    let commit = one(&[&opening, &lost, &[enter(100, Syscall::Pwrite)], &write, &[back(160)]]);
    assert_eq!((commit.is_durable(), commit.sync_flag()), (None, None));
}

#[test]
fn a_call_that_fails_before_it_does_anything_is_no_commit() {
    let failed = event(160, WRITER, What::Return { result: -22 });
    let call = [enter(100, Syscall::Fsync)];
    assert_eq!(one(&[&call, &[failed]]).is_durable(), Some(false));
    let write = write([110, 112, 150], WRITER, 2048, "WS");
    assert_eq!(one(&[&call, &write, &[failed]]).is_durable(), Some(true));
}

fn submit(at: u64, request: u64, call: Syscall, links: bool) -> Event {
    event(at, WRITER, What::UringSubmit { request, call: Some(call), links })
}

fn uring_complete(at: u64, request: u64) -> Event {
    event(at, WRITER, What::UringComplete { request, result: 0 })
}

fn uring_worker(at: [u64; 3]) -> [Event; 3] {
    let mut events = flush(at, JOURNAL);
    let What::Bio { command, .. } = &mut events[0].what else { unreachable!() };
    *command = Command::new(b"iou-wrk-7");
    events
}

#[test]
fn a_write_and_a_linked_fsync_of_io_uring_are_one_commit() {
    let queue = event(170, WRITER, What::UringQueue { request: 2 });
    let commit = one(&[
        &[enter(95, Syscall::IoUringEnter)],
        &[submit(100, 1, Syscall::UringWrite, true), submit(101, 2, Syscall::UringFsync, false)],
        &write([105, 107, 150], WRITER, 2048, "WS"),
        &off_cpu([110, 152, 155]),
        &[uring_complete(160, 1), back(165), enter(168, Syscall::IoUringEnter), queue],
        &uring_worker([180, 181, 280]),
        &[uring_complete(290, 2), back(295)],
    ]);
    assert_eq!((commit.call, commit.thread), (Syscall::UringFsync, WRITER));
    assert_eq!(
        stages(&commit),
        [
            (Stage::Thread, 5),
            (Stage::DataQueue, 2),
            (Stage::DataWrite, 43),
            (Stage::WakeUp, 30),
            (Stage::FlushQueue, 1),
            (Stage::Flush, 99),
            (Stage::Thread, 10),
        ]
    );
}

/// Another program syncs a file on another drive while a worker is to sync for the writer.
#[test]
fn a_sync_of_somebody_else_is_not_taken_for_that_of_a_worker() {
    let sync = |at, device| {
        let what = What::SyncFile { filesystem: Filesystem::Ext4, device: Some(device) };
        event(at, OTHER, what)
    };
    let queue = event(170, WRITER, What::UringQueue { request: 2 });
    let joined = |others: &[Event]| {
        one(&[
            &[enter(95, Syscall::IoUringEnter)],
            &[
                submit(100, 1, Syscall::UringWrite, true),
                submit(101, 2, Syscall::UringFsync, false),
            ],
            &write([105, 107, 150], WRITER, 2048, "WS"),
            &[uring_complete(160, 1), queue],
            others,
            &uring_worker([180, 181, 280]),
            &[uring_complete(290, 2), back(295)],
        ])
    };
    let alone = joined(&[]);
    assert_eq!(alone.requests.len(), 2);
    let named = bio(175, OTHER, 9000, 8, "WS");
    for others in [&[sync(172, ELSEWHERE)][..], &[sync(172, DISK), named]] {
        let commit = joined(others);
        assert_eq!(commit.filesystem, None);
        let queued = |commit: &Commit| {
            commit.requests.iter().map(|own| own.request.queued).collect::<Vec<_>>()
        };
        assert_eq!(queued(&commit), queued(&alone));
    }
}

#[test]
fn a_kernel_worker_syncs_for_the_oldest_direct_write_of_io_uring() {
    let on = Some(DISK);
    let sync =
        |at, worker| event(at, worker, What::SyncFile { filesystem: Filesystem::Ext4, device: on });
    let mut flushes = [flush([155, 156, 200], WORKER), flush([215, 216, 260], WORKER)].concat();
    for event in &mut flushes {
        if let What::Bio { command, .. } = &mut event.what {
            *command = Command::new(b"kworker/1:2");
        }
    }
    let commits = commits(
        [
            &[enter(95, Syscall::IoUringEnter), submit(100, 1, Syscall::UringWrite, false)][..],
            &write([105, 107, 150], WRITER, 2048, "WS"),
            &[submit(110, 2, Syscall::UringWrite, false)],
            &write([112, 113, 151], WRITER, 4096, "WS"),
            &off_cpu([115, 206, 207]),
            &[sync(154, WORKER), sync(210, WORKER)],
            &flushes,
            &[uring_complete(208, 1), uring_complete(265, 2), back(270)],
        ]
        .concat(),
    );
    let each: Vec<_> = commits
        .iter()
        .map(|commit| {
            let flush = commit.requests.iter().find(|own| own.request.is_bare_flush());
            (commit.enter, flush.map(|own| own.request.queued))
        })
        .collect();
    assert_eq!(each, [(100, Some(155)), (110, Some(215))]);
}

fn anatomy(parts: &[&[Event]]) -> Anatomy {
    let mut summary = Summary::default();
    commits(parts.concat()).iter().for_each(|commit| summary.add(commit, None));
    let mut anatomies = summary.finish(|_| None, |device| device.to_string());
    assert_eq!(anatomies.len(), 1);
    anatomies.remove(0)
}

#[test]
fn what_commits_add_up_to() {
    let fua = [
        bio(1_110, WRITER, 2048, 8, "WFS"),
        issue(1_112, 2048, 8, "WS"),
        complete(1_150, 2048, 8, "WS"),
        issue(1_151, 0, 0, "FF"),
        complete(1_250, 0, 0, "FF"),
    ];
    let anatomy = anatomy(&[
        &[enter(100, Syscall::Fsync)],
        &write([110, 112, 150], WRITER, 2048, "WS"),
        &write([111, 113, 400], OTHER, 9000, "WS"),
        &off_cpu([115, 150, 152]),
        &[back(160)],
        &[enter(1_100, Syscall::Fsync)],
        &fua,
        &off_cpu([1_115, 1_251, 1_252]),
        &[back(1_260)],
    ]);
    let reached = &anatomy.reached;
    assert_eq!((reached.data_writes, reached.bytes, reached.flushes_after), (2, 8192, 1));
    assert_eq!((reached.fua_asked, reached.fua_sent), (1, 0));
    assert_eq!((anatomy.company.accompanied, anatomy.company.alone), (1, 1));
    assert_eq!(anatomy.company.others[0].command, "other");
    let total: u64 = anatomy.stages.values().map(|stage| stage.total_ns).sum();
    assert_eq!(total, 60 + 160);
    assert_eq!((anatomy.longest.ns, anatomy.median.ns), (160, 60));
    // Each stage has a value for each commit, zero for those that did not pass it.
    assert!(anatomy.stages.values().all(|stage| stage.times.count() == 2));
}

/// Any events of one call and its surroundings, in any order of time.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let thread = prop::sample::select(vec![0, WRITER, JOURNAL, OTHER, WORKER]);
    let flags = prop::sample::select(vec!["WS", "FWS", "FWFSM", "WFS", "WSM", "FF", "R", "D"]);
    let place = (0_u64..40, 0_u32..9).prop_map(|(sector, sectors)| extent(sector, sectors));
    let request = (place, flags, thread.clone()).prop_flat_map(|(extent, flags, thread)| {
        let flags = Flags::parse(flags.as_bytes());
        let command = Command::new(b"kworker/1");
        prop::sample::select(vec![
            (thread, What::Bio { extent, flags, command }),
            (0, What::Issue { extent, flags }),
            (0, What::Insert { extent, flags }),
            (0, What::Merge { extent }),
            (0, What::Complete { extent, flags, failed: false }),
            (0, What::BioComplete { extent, flags }),
            (thread, What::CommandGiven { address: NVME, flags }),
            (thread, What::CommandRefused { address: SCSI, flags }),
            (0, What::CommandFailed { address: NVME_PATH }),
        ])
    });
    let rest = thread.prop_flat_map(|thread| {
        prop::sample::select(vec![
            (thread, What::Enter { call: Syscall::Fsync, file: 3, flags: 0 }),
            (thread, What::Return { result: 0 }),
            (thread, What::SyncFile { filesystem: Filesystem::Ext4, device: Some(DISK) }),
            (thread, What::ForceLog { device: DISK }),
            (JOURNAL, What::JournalCommit { device: DISK, edge: Edge::Start }),
            (JOURNAL, What::JournalCommit { device: DISK, edge: Edge::End }),
            (thread, What::Switch { from: thread, from_state: Left::Waiting, to: 0 }),
            (0, What::Switch { from: 0, from_state: Left::Runnable, to: thread }),
            (0, What::Waking { thread }),
            (
                thread,
                What::UringSubmit { request: 1, call: Some(Syscall::UringWrite), links: true },
            ),
            (
                thread,
                What::UringSubmit { request: 2, call: Some(Syscall::UringFsync), links: false },
            ),
            (thread, What::UringQueue { request: 2 }),
            (thread, What::UringComplete { request: 1, result: 0 }),
            (thread, What::UringComplete { request: 2, result: 0 }),
            (0, What::Lost { until: 500 }),
        ])
    });
    let what = prop_oneof![request, rest];
    (0_u64..1_000, what).prop_map(|(at, (thread, what))| Event { at, thread, what })
}

proptest! {
    #[test]
    fn every_nanosecond_of_a_call_is_in_exactly_one_stage(
        events in prop::collection::vec(any_event(), 0..120),
    ) {
        let mut summary = Summary::default();
        for commit in commits(events) {
            let parts = divide(&commit);
            prop_assert!(parts.windows(2).all(|two| two[0].to == two[1].from));
            if commit.ns() > 0 {
                prop_assert_eq!(parts.first().map(|part| part.from), Some(commit.enter));
                prop_assert_eq!(parts.last().map(|part| part.to), Some(commit.exit));
            }
            summary.add(&commit, None);
        }
        for anatomy in summary.finish(|_| None, |device| device.to_string()) {
            let stages: u64 = anatomy.stages.values().map(|stage| stage.total_ns).sum();
            let calls: u64 = anatomy.commits.buckets().map(|(ns, count)| ns * count).sum();
            prop_assert_eq!(stages, calls);
        }
    }
}
