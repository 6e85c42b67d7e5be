use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::blocks::Room;

fn only(text: &str) -> Workload {
    match Plan::from_fio("job.fio", text).unwrap().tests.remove(0).work {
        Work::Blocks(workload) => workload,
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    }
}

fn error(text: &str) -> String {
    Plan::from_fio("job.fio", text).unwrap_err().to_string()
}

#[test]
fn the_one_line_test_for_ceph() {
    let journal = only(
        "[t]\nioengine=libaio\nfsync=1\ndirect=1\nbs=4k\niodepth=1\nrw=randwrite\nruntime=15\nsize=1g\ntime_based\n",
    );
    assert_eq!(journal.pattern, Pattern::RandWrite);
    assert_eq!((journal.sync, journal.sync_every), (SyncMethod::Fsync, 1));
    assert_eq!(journal.engine, EngineChoice::Libaio);
    assert_eq!(journal.limit, Limit::Time(Duration::from_secs(15)));
    assert!(journal.direct && journal.warm_up.0.is_zero());
}

#[test]
fn the_folk_test_for_etcd() {
    let etcd = only("[t]\nrw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n");
    assert_eq!(etcd.block_bytes.get(), 2300);
    assert_eq!(etcd.limit, Limit::Count((22 << 20) / 2300));
    assert!(!etcd.direct);
}

#[test]
fn defaults_are_fio_s() {
    let job = only("[t]\nsize=1m\n");
    assert_eq!((job.pattern, job.block_bytes.get(), job.depth.get()), (Pattern::Read, 4096, 1));
    assert_eq!((job.engine, job.direct, job.invalidate), (EngineChoice::Psync, false, true));
}

#[test]
fn global_holds_for_later_sections_and_sections_go_before_it() {
    let text =
        "; a comment\n[global]\nbs=8k\nsize=64m\nstonewall\n[a]\nrw=write\n[b]\nrw=randread\nbs=16k\n# another\n";
    let plan = Plan::from_fio("dir/job.fio", text).unwrap();
    let sizes: Vec<u32> = plan
        .tests
        .iter()
        .map(|test| match &test.work {
            Work::Blocks(workload) => workload.block_bytes.get(),
            Work::Steps(_) | Work::Sort(_) => 0,
        })
        .collect();
    assert_eq!((plan.name.as_str(), sizes), ("job", vec![8192, 16384]));
}

#[test]
fn a_synchronous_engine_has_depth_1_and_size_is_each_job_s() {
    let job = only("[t]\nrw=randwrite\nioengine=psync\niodepth=32\nnumjobs=4\nsize=1g\n");
    assert_eq!((job.depth.get(), job.size), (1, crate::blocks::Area::Bytes(4 << 30)));
    assert_eq!(only("[t]\nrw=randwrite\nioengine=io_uring\niodepth=32\nsize=1g\n").depth.get(), 32);
}

#[test]
fn targets() {
    assert_eq!(Plan::from_fio("f", "[t]\nsize=1m\nfilename=/dev/sdx\n").unwrap().target.unwrap(), "/dev/sdx");
    assert_eq!(Plan::from_fio("f", "[t]\nsize=1m\ndirectory=/srv\n").unwrap().target.unwrap(), "/srv");
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    insta::assert_snapshot!(error("[t]\nsize=1m\nverify=crc32c\n"), @"job.fio:3: verify is not understood and not ignored either; understood are rw, bs, iodepth, numjobs, fsync, fdatasync, sync, direct, ioengine, runtime, time_based, size, filename, directory, rwmixread, rate_iops, ramp_time, stonewall, group_reporting, invalidate, zero_buffers, refill_buffers, name");
    insta::assert_snapshot!(error("[t]\nrw=trim\nsize=1m\n"), @r#"job.fio:2: rw: "trim" is not one of read, write, randread, randwrite, rw, randrw, readwrite"#);
    insta::assert_snapshot!(error("[t]\nbs=4k,8k\nsize=1m\n"), @r#"job.fio:2: bs: "4k,8k" is not one size from 512 to 64m, such as 4k"#);
    insta::assert_snapshot!(error("[t]\niodepth=0\nsize=1m\n"), @r#"job.fio:2: iodepth: "0" is not a whole number from 1 to 1024"#);
    insta::assert_snapshot!(error("[t]\nioengine=null\nsize=1m\n"), @r#"job.fio:2: ioengine: "null" is not an engine that flushmark has: sync, psync, pvsync, pvsync2, vsync, io_uring, libaio (for null, use --target null:)"#);
    insta::assert_snapshot!(error("[t]\nsync=yes\nsize=1m\n"), @r#"job.fio:2: sync: "yes" is not one of 0, none, 1, sync, dsync"#);
    insta::assert_snapshot!(error("[t]\ndirect=yes\nsize=1m\n"), @r#"job.fio:2: direct: "yes" is not 0 or 1"#);
    insta::assert_snapshot!(error("[t]\nrw=write\nfsync=1\nfdatasync=1\nsize=1m\n"), @"job.fio:4: fdatasync: a test has one sync method, and fsync asks for another");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[b]\nsize=1m\n"), @"job.fio:3: fio runs sections at the same time, flushmark one after the other; add `stonewall` to this section");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[a]\nsize=1m\nstonewall\n"), @"job.fio:3: there are two sections called a; rename one");
    insta::assert_snapshot!(error("[a]\nrw=write\n"), @"job.fio:1: a job needs a size or a runtime to know when it is done");
    insta::assert_snapshot!(error("[a]\ntime_based\nsize=1m\n"), @"job.fio:2: time_based needs a runtime");
    insta::assert_snapshot!(error("[a]\nruntime=soon\nsize=1m\n"), @r#"job.fio:2: runtime: "soon" is not a time in seconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("rw=write\n"), @"job.fio:1: rw stands before any section; put it under [global] or a job");
    insta::assert_snapshot!(error("[broken\n"), @"job.fio:1: [broken is no section; write [name]");
    insta::assert_snapshot!(error(""), @"job.fio:1: no job section; a job begins with its name in brackets, such as [journal]");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=y\nstonewall\n"), @"job.fio:6: one run has one target, and another section names x");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x:y\n"), @r#"job.fio:3: filename: "x:y" names several places; one run has one target"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\ndirectory=y\n"), @"job.fio:3: give filename or directory, not both: one run has one target");
    insta::assert_snapshot!(error("[a]\nbs=1000\ndirect=1\nsize=1m\n"), @"job.fio:2: bs: direct I/O moves whole sectors of 512 B, and 1000 B is no multiple (fio's k is 1024, its KiB 1000)");
    insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers\nrefill_buffers\n"), @"job.fio:4: zero_buffers and refill_buffers exclude each other");
}

#[test]
fn a_setting_that_would_be_dropped_in_silence_is_refused() {
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename\n"), @r#"job.fio:3: filename: "" is not the path of a file or device"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ndirectory=\n"), @r#"job.fio:3: directory: "" is not the path of a directory"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nname\n"), @r#"job.fio:3: name: "" is not a name"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nstonewall=yes\n"), @r#"job.fio:3: stonewall: "yes" is not 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ngroup_reporting=2\n"), @r#"job.fio:3: group_reporting: "2" is not 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nrefill_buffers=no\n"), @r#"job.fio:3: refill_buffers: "no" is not 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers=no\n"), @r#"job.fio:3: zero_buffers: "no" is not 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ninvalidate=no\n"), @r#"job.fio:3: invalidate: "no" is not 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nrwmixread=100\n"), @r#"job.fio:3: rwmixread: "100" is not a whole number from 1 to 99"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=${DEV}\n"), @r#"job.fio:3: filename: "${DEV}" names an environment variable, which is not read here; write its value"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nstonewall\n"), @"job.fio:4: one run has one target; another section names x, this one none");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[b]\nsize=1m\nfilename=x\nstonewall\n"), @"job.fio:5: one run has one target, and another section names none");
    insta::assert_snapshot!(error("[a]\nbs\u{1b}[31m=4k\n").split(';').next().unwrap_or_default(), @r"job.fio:2: bs\u{1b}[31m is not understood and not ignored either");
    insta::assert_snapshot!(error("include other.fio\n"), @"job.fio:1: include other.fio is not understood and not ignored either; understood are rw, bs, iodepth, numjobs, fsync, fdatasync, sync, direct, ioengine, runtime, time_based, size, filename, directory, rwmixread, rate_iops, ramp_time, stonewall, group_reporting, invalidate, zero_buffers, refill_buffers, name");
}

#[test]
fn values_outside_of_their_range_are_refused() {
    insta::assert_snapshot!(error("[a]\nnumjobs=257\nsize=1m\n"), @r#"job.fio:2: numjobs: "257" is not a whole number from 1 to 256"#);
    insta::assert_snapshot!(error("[a]\nrw=write\nfsync=1000001\nsize=1m\n"), @r#"job.fio:3: fsync: "1000001" is not a whole number from 0 to 1000000"#);
    insta::assert_snapshot!(error("[a]\nrate_iops=10m,1\nsize=1m\n"), @r#"job.fio:2: rate_iops: "10m,1" is not a whole number from 0 to 10000000"#);
    insta::assert_snapshot!(error("[a]\nrw=rw\nrate_iops=100\nsize=1m\n"), @"job.fio:3: rate_iops: fio holds reads and writes to this rate each, flushmark has one rate for both; take rw=read or rw=write, or a plan in TOML");
    insta::assert_snapshot!(error("[a]\nsize=50%\n"), @r#"job.fio:2: size: "50%" is not a size of at least one block, such as 1g"#);
    insta::assert_snapshot!(error("[a]\nsize=1k\n"), @r#"job.fio:2: size: "1k" is not a size of at least one block, such as 1g"#);
    insta::assert_snapshot!(error("[a]\nsize=4096p\nnumjobs=4\n"), @"job.fio:2: size: times numjobs it is more than can be addressed");
    insta::assert_snapshot!(error("[a]\nsize=1m\nramp_time=1.5\n"), @r#"job.fio:3: ramp_time: "1.5" is not a time in seconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nbs=4KiB\ndirect=1\n"), @"job.fio:3: bs: direct I/O moves whole sectors of 512 B, and 4000 B is no multiple (fio's k is 1024, its KiB 1000)");
    insta::assert_snapshot!(error("[a]\nsize=1m\nrw=write\nsync=1\nfsync=1\n"), @"job.fio:5: fsync: a test has one sync method, and sync asks for another");
    insta::assert_snapshot!(error("[]\nsize=1m\n"), @"job.fio:1: [] is no section; write [name]");
}

#[test]
fn a_line_ends_where_its_comment_begins() {
    let job = only("[t] ; a job\r\nrw = randwrite # random\r\nbs=8k;16k\r\nsize=1m\r\n");
    assert_eq!((job.pattern, job.block_bytes.get()), (Pattern::RandWrite, 8192));
}

#[test]
fn the_other_names_of_keys_and_the_last_of_two_settings() {
    let job = only("[t]\nreadwrite=readwrite\nblocksize=8k\nbs=16k\nrwmixread=70\nsize=1m\n");
    assert_eq!((job.pattern, job.block_bytes.get(), job.read_percent), (Pattern::Rw, 16384, 70));
}

#[test]
fn sync_methods() {
    let sync = |line: &str| {
        let job = only(&format!("[t]\nrw=write\nsize=1m\n{line}\n"));
        (job.sync, job.sync_every)
    };
    assert_eq!(sync("fsync=0"), (SyncMethod::None, 1));
    assert_eq!(sync("fsync=32"), (SyncMethod::Fsync, 32));
    assert_eq!(sync("fdatasync=8"), (SyncMethod::Fdatasync, 8));
    assert_eq!(sync("sync=none"), (SyncMethod::None, 1));
    assert_eq!(sync("sync=0"), (SyncMethod::None, 1));
    assert_eq!(sync("sync=1"), (SyncMethod::OSync, 1));
    assert_eq!(sync("sync=sync"), (SyncMethod::OSync, 1));
    assert_eq!(sync("sync=dsync"), (SyncMethod::ODsync, 1));
    assert_eq!(sync("rw=randread\nfsync=1"), (SyncMethod::None, 1));
}

#[test]
fn when_a_job_ends() {
    let limit = |lines: &str| only(&format!("[t]\n{lines}\n")).limit;
    let time = Duration::from_secs(15);
    assert_eq!(limit("size=1m"), Limit::Count(256));
    assert_eq!(limit("size=1m\nnumjobs=4"), Limit::Count(256));
    assert_eq!(limit("size=1m\nruntime=0"), Limit::Count(256));
    assert_eq!(limit("size=1m\nruntime=15\ntime_based"), Limit::Time(time));
    assert_eq!(limit("runtime=15"), Limit::Time(time));
    let first = Limit::TimeAndCount { time, count: 256, until: Until::First };
    assert_eq!(limit("size=1m\nruntime=15"), first);
    assert_eq!(limit("size=1m\nruntime=15\ntime_based=0"), first);
}

#[test]
fn buffers_rate_and_warm_up() {
    assert_eq!(only("[t]\nsize=1m\nzero_buffers\n").content, Content::Zero);
    assert_eq!(only("[t]\nsize=1m\nrefill_buffers\n").content, Content::Random);
    assert_eq!(only("[t]\nsize=1m\n").content, Content::Random);
    let job = only("[t]\nsize=1m\nrw=write\nrate_iops=1k\nramp_time=500ms\ninvalidate=0\n");
    assert_eq!(job.rate, Some(Rate { per_second: 1024.0, arrivals: Arrivals::Constant }));
    assert_eq!(job.warm_up, WarmUp(Duration::from_millis(500)));
    assert!(!job.invalidate);
    assert_eq!(only("[t]\nsize=1m\nrate_iops=0\n").rate, None);
}

#[test]
fn a_section_may_be_renamed_and_targets_agree() {
    let text = "[global]\nsize=1m\nfilename=/dev/sd\\:x\nstonewall\n[a]\nname=first\n[b]\n";
    let plan = Plan::from_fio("j.fio", text).unwrap();
    let names: Vec<&str> = plan.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!((names, plan.target.as_deref()), (vec!["first", "b"], Some("/dev/sd:x")));
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_an_error(text in "\\PC{0,200}") {
        let _ = Plan::from_fio("f", &text);
    }

    #[test]
    fn text_near_a_job_is_a_plan_that_holds_together(lines in prop::collection::vec(
        (0..KEYS.len(), prop::sample::select(vec!["", "0", "1", "32", "4k", "1g", "15", "randwrite", "rw", "libaio", "dsync", "x"])), 0..12)
    ) {
        let settings: String = lines.iter().map(|(key, value)| format!("{}={value}\n", KEYS[*key])).collect();
        if let Ok(plan) = Plan::from_fio("f", &format!("[job]\n{settings}")) {
            for test in &plan.tests {
                let Work::Blocks(workload) = &test.work else { panic!("fio has no steps") };
                prop_assert!(workload.pattern.writes() || !workload.sync.is_durable());
                prop_assert!(workload.size_per_job_bytes(Room::Unlimited) >= u64::from(workload.block_bytes.get()));
                prop_assert!(workload.engine != EngineChoice::Psync || workload.depth.get() == 1);
            }
        }
    }
}

#[test]
fn the_page_has_a_row_for_every_key_and_its_example_is_read() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fio.md"));
    for key in KEYS {
        assert!(page.contains(&format!("\n| `{key}`")), "docs/fio.md has no row for {key}");
    }
    let example = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(Plan::from_fio("example.fio", example).unwrap().tests.len(), 2);
}
