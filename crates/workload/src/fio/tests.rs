use std::time::Duration;

use proptest::prelude::*;

use super::options::OPTIONS;
use super::*;
use crate::{
    Area, Arrivals, BlockOrder, CheckTime, CoarseAlignment, Commits, Compute, ComputeTask, Content,
    Dedupe, DedupeSource, Donor, DonorSpace, EngineChoice, FileOrder, FillPattern, Flow,
    IoPriority, JobFiles, LatencyTarget, Limit, MemoryPolicy, Nodes, Numbers, Pattern,
    PriorityClass, PriorityShare, Processors, Rate, RateMin, Room, RunOn, Seal, SizeShare,
    SteadyChange, SteadyFill, SteadyQuantity, SyncMethod, SyncTiming, SyncedFile, ThinkTime, Until,
    UntilSteady, WarmUp, ZoneCollection, Zoning,
};

fn only(text: &str) -> Workload {
    match Plan::from_fio("job.fio", text, &|_| None).unwrap().tests.remove(0).work {
        Work::Blocks(workload) => workload,
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    }
}

fn error(text: &str) -> String {
    let refused = |plan: Plan| plan.targets_differ.map_or(Ok(()), Err);
    Plan::from_fio("job.fio", text, &|_| None).and_then(refused).unwrap_err().to_string()
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
    assert!(!job.existing_only && only("[t]\nsize=1m\nallow_file_create=0\n").existing_only);
}

#[test]
fn global_holds_for_later_sections_and_sections_go_before_it() {
    let text = "; a comment\n[global]\nbs=8k\nsize=64m\nstonewall\n[a]\nrw=write\n[b]\nrw=randread\nbs=16k\n# another\n";
    let plan = Plan::from_fio("dir/job.fio", text, &|_| None).unwrap();
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
    assert_eq!((job.depth.get(), job.size), (1, Area::Bytes(1 << 30)));
    assert_eq!(only("[t]\nrw=randwrite\nioengine=io_uring\niodepth=32\nsize=1g\n").depth.get(), 32);
}

#[test]
fn targets() {
    assert_eq!(
        Plan::from_fio("f", "[t]\nsize=1m\nfilename=/dev/sdx\n", &|_| None)
            .unwrap()
            .target
            .unwrap(),
        "/dev/sdx"
    );
    assert_eq!(
        Plan::from_fio("f", "[t]\nsize=1m\ndirectory=/srv\n", &|_| None).unwrap().target.unwrap(),
        "/srv"
    );
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    insta::assert_snapshot!(error("[t]\nsize=1m\ntrim_backlog=4\n"), @"job.fio:3: unsupported option `trim_backlog` (did you mean `verify_backlog`?); remove it, or see docs/fio.md for the supported options");
    insta::assert_snapshot!(error("[t]\nrw=trimwrite\nsize=1m\n"), @r#"job.fio:2: rw: "trimwrite" is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, readwrite"#);
    insta::assert_snapshot!(error("[t]\nrw=trim\nioengine=io_uring\niodepth=4\nsize=1m\n"), @"job.fio:4: iodepth: flushmark issues one discard at a time; use iodepth=1, or libaio, where fio does the same");
    insta::assert_snapshot!(error("[t]\nrw=trim\nverify=crc32c\nsize=1m\n"), @"job.fio:3: verify: trim writes no data to read back; use another rw");
    insta::assert_snapshot!(error("[t]\nbs=1k-4k\nsize=1m\n"), @r#"job.fio:2: bs: "1k-4k" is invalid: expected a size from 512 to 64m, such as 4k, or one for reads and one for writes"#);
    insta::assert_snapshot!(error("[t]\nrw=randrw\nbs=4k,6k\nsize=1m\n"), @"job.fio:3: bs: fio aligns reads to 4096 B and writes to 6144 B; set blockalign to use one alignment for both");
    insta::assert_snapshot!(error("[t]\nbssplit=4k/50:8k/40\nsize=1m\n"), @r#"job.fio:2: bssplit: "4k/50:8k/40" is invalid: expected sizes with percentages that add up to 100, such as 4k/60:64k/40"#);
    insta::assert_snapshot!(error("[t]\nbsrange=512-64m\nsize=1g\n"), @r#"job.fio:2: bsrange: "512-64m" is invalid: expected a range of sizes from 512 to 64m with at most 1024 multiples of the first, such as 4k-16k"#);
    insta::assert_snapshot!(error("[t]\nrw=randread:8\nsize=1m\n"), @"job.fio:2: rw: a number after randread repeats each random position for several blocks; flushmark draws every block");
    insta::assert_snapshot!(error("[t]\nrw=read:-2k\nsize=1m\n"), @"job.fio:2: rw: a block of 4096 B is larger than the 2048 B to go back");
    insta::assert_snapshot!(error("[t]\nrw=read:x\nsize=1m\n"), @r#"job.fio:2: rw: "read:x" is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, readwrite"#);
    insta::assert_snapshot!(error("[t]\nverify=md4\nrw=write\nsize=1m\n"), @r#"job.fio:2: verify: "md4" is invalid: expected md5, crc64, crc32c, crc32c-intel, crc32, crc16, crc7, xxhash, sha512, sha256, sha1, sha3-224, sha3-256, sha3-384, sha3-512, meta, pattern, pattern_hdr or 0; to check after a power cut, run flushmark verify"#);
    insta::assert_snapshot!(error("[t]\nverify=crc32c\nsize=1m\n"), @"job.fio:2: verify: reads are checked against what an earlier section wrote to the same file; set filename in both");
    insta::assert_snapshot!(error("[t]\nverify=crc32c\nrw=write\nbsrange=4k-8k\nsize=1m\n"), @"job.fio:2: verify: blocks of different sizes overlap; use a single bs");
    insta::assert_snapshot!(error("[t]\nverify=crc32c\nrw=write\nzero_buffers\nsize=1m\n"), @"job.fio:2: verify: a block of zeros cannot hold a checksum; remove zero_buffers");
    insta::assert_snapshot!(error("[t]\nrate=1m\nrate_iops=5\nsize=1m\n"), @"job.fio:2: rate and rate_iops exclude each other");
    insta::assert_snapshot!(error("[t]\nrate=,1m\nrw=rw\nsize=1m\n"), @"job.fio:2: rate: a rate for one direction of a mix needs one for the other; give both, as in rate=1000,1000");
    insta::assert_snapshot!(error("[t]\nrate=1p\nsize=1m\n"), @"job.fio:2: rate: 274877906944 operations per second exceed the limit of 10000000");
    insta::assert_snapshot!(error("[t]\nrate=1m\nbsrange=4k-8k\nsize=1m\n"), @"job.fio:2: rate: invalid with several block sizes; use rate_iops");
    insta::assert_snapshot!(error("[t]\nrw=randread\ndirect=1\nbssplit=4k/50:1000/50\nsize=1m\n"), @"job.fio:4: bssplit: not all of these sizes are multiples of 512 B, as direct I/O requires (in fio, k is 1024 and KiB is 1000)");
    insta::assert_snapshot!(error("[t]\niodepth=0\nsize=1m\n"), @r#"job.fio:2: iodepth: "0" is invalid: expected a whole number from 1 to 1024"#);
    insta::assert_snapshot!(error("[t]\nioengine=rdma\nsize=1m\n"), @r#"job.fio:2: ioengine: "rdma" is invalid: expected one of sync, psync, pvsync, pvsync2, vsync, libzbc, io_uring, libaio, libblkio, nbd, rbd, null, falloc, ftruncate, filecreate, filestat, filedelete, dircreate, dirstat, dirdelete, e4defrag, cpuio"#);
    insta::assert_snapshot!(error("[t]\nsync=yes\nsize=1m\n"), @r#"job.fio:2: sync: "yes" is invalid: expected one of 0, none, 1, sync, dsync"#);
    insta::assert_snapshot!(error("[t]\ndirect=yes\nsize=1m\n"), @r#"job.fio:2: direct: "yes" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[t]\nrw=write\nfsync=1\nfdatasync=1\nsize=1m\n"), @"job.fio:4: fdatasync: a test has one sync method, but fsync sets another");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[a]\nsize=1m\nstonewall\n"), @"job.fio:3: duplicate section name a; rename one of them");
    insta::assert_snapshot!(error("[a]\nruntime=soon\nsize=1m\n"), @r#"job.fio:2: runtime: "soon" is invalid: expected a time in seconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("rw=write\n"), @"job.fio:1: rw must be in a section; put it under [global] or a job");
    insta::assert_snapshot!(error("[broken\n"), @"job.fio:1: invalid section [broken; expected [name]");
    insta::assert_snapshot!(error(""), @"job.fio:1: no job section; a job begins with its name in brackets, such as [journal]");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=y\nstonewall\n"), @"job.fio:6: target y differs from x of the previous section; give --target to run all sections on one target");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=y\n"), @"job.fio:6: target y differs from x of the previous section; give --target DIRECTORY, where each of them has its own file");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x:y\n"), @r#"job.fio:3: filename: "x:y" is a list of targets; expected a single one"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=/x\ndirectory=y\n"), @"job.fio:3: filename: expected a file name in y instead of /x");
    insta::assert_snapshot!(error("[a]\nbs=1000\ndirect=1\nsize=1m\n"), @"job.fio:2: bs: 1000 B is not a multiple of 512 B, as direct I/O requires (in fio, k is 1024 and KiB is 1000)");
    insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers\nrefill_buffers\n"), @"job.fio:4: zero_buffers and refill_buffers exclude each other");
}

#[test]
fn a_setting_that_would_be_dropped_in_silence_is_refused() {
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename\n"), @r#"job.fio:3: filename: "" is invalid: expected the path of a file or device"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ndirectory=\n"), @r#"job.fio:3: directory: "" is invalid: expected the path of a directory"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nname\n"), @r#"job.fio:3: name: "" is invalid: expected a name"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nstonewall=yes\n"), @r#"job.fio:3: stonewall: "yes" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ngroup_reporting=2\n"), @r#"job.fio:3: group_reporting: "2" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nrefill_buffers=no\n"), @r#"job.fio:3: refill_buffers: "no" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers=no\n"), @r#"job.fio:3: zero_buffers: "no" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ninvalidate=no\n"), @r#"job.fio:3: invalidate: "no" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nrwmixread=100\n"), @r#"job.fio:3: rwmixread: "100" is invalid: expected a whole number from 1 to 99"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=${DEV}\n"), @"job.fio:3: filename: the environment variable DEV is not set");
    insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nstonewall\n"), @"job.fio:4: target none differs from x of the previous section; give --target to run all sections on one target");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[b]\nsize=1m\nfilename=x\nstonewall\n"), @"job.fio:5: target x differs from none of the previous section; give --target to run all sections on one target");
    insta::assert_snapshot!(error("[a]\nbs\u{1b}[31m=4k\n").split(';').next().unwrap_or_default(), @r"job.fio:2: unsupported option `bs\u{1b}[31m`");
    insta::assert_snapshot!(error("include other.fio\n"), @"job.fio:1: unsupported option `include other.fio`; remove it, or see docs/fio.md for the supported options");
}

#[test]
fn values_outside_of_their_range_are_refused() {
    insta::assert_snapshot!(error("[a]\nnumjobs=257\nsize=1m\n"), @r#"job.fio:2: numjobs: "257" is invalid: expected a whole number from 1 to 256"#);
    insta::assert_snapshot!(error("[a]\nrw=write\nfsync=1000001\nsize=1m\n"), @r#"job.fio:3: fsync: "1000001" is invalid: expected a whole number from 0 to 1000000"#);
    insta::assert_snapshot!(error("[a]\nrate_iops=10m,1\nsize=1m\n"), @r#"job.fio:2: rate_iops: "10m,1" is invalid: expected a whole number from 0 to 10000000, or one for reads and one for writes"#);
    insta::assert_snapshot!(error("[a]\nrw=rw\nrate_iops=100,0\nsize=1m\n"), @"job.fio:3: rate_iops: a rate for one direction of a mix needs one for the other; give both, as in rate_iops=1000,1000");
    insta::assert_snapshot!(error("[a]\nrw=rw\nrate_iops=9000000\nsize=1m\n"), @"job.fio:3: rate_iops: 18000000 operations per second exceed the limit of 10000000");
    insta::assert_snapshot!(error("[a]\nsize=1k\n"), @r#"job.fio:2: size: "1k" is invalid: expected a size of at least one block, such as 1g, or zones such as 8z with zonesize, or 1% to 100%"#);
    insta::assert_snapshot!(error("[a]\nsize=4096p\nnumjobs=4\n"), @"job.fio:2: size: the sum of size, offset and offset_increment of all jobs is too large to address");
    insta::assert_snapshot!(error("[a]\nsize=1m\nramp_time=1.5\n"), @r#"job.fio:3: ramp_time: "1.5" is invalid: expected a time in seconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\nbs=4KiB\ndirect=1\n"), @"job.fio:3: bs: 4000 B is not a multiple of 512 B, as direct I/O requires (in fio, k is 1024 and KiB is 1000)");
    insta::assert_snapshot!(error("[a]\nsize=1m\nrw=write\nsync=1\nfsync=1\n"), @"job.fio:5: fsync: a test has one sync method, but sync sets another");
    insta::assert_snapshot!(error("[]\nsize=1m\n"), @"job.fio:1: invalid section []; expected [name]");
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
fn a_section_that_computes() {
    let text = "[global]\nioengine=cpuio\ntime_based\nruntime=15\n[a]\ncpuload=50\nnumjobs=2\n\
                cpumode=noop\n[b]\nstonewall\ncpuload=300\ncpumode=qsort\ncpuchunks=1000\n\
                [io]\nioengine=psync\nsize=1m\nfilename=/x\n";
    let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
    assert!(plan.targets_differ.is_none());
    assert_eq!(plan.target.as_deref(), Some("/x"));
    let of = |test: &Test| match &test.work {
        Work::Blocks(workload) => workload.clone(),
        Work::Steps(_) | Work::Sort(_) => unreachable!(),
    };
    let spin = of(&plan.tests[0]);
    assert_eq!((spin.pattern, spin.jobs.get()), (Pattern::Compute, 2));
    assert_eq!(spin.compute, Compute { load_percent: 50, ..Compute::DEFAULT });
    assert_eq!(spin.commits(), Commits::None);
    assert_eq!(spin.limit, Limit::Time(Duration::from_secs(15)));
    let sort = of(&plan.tests[1]).compute;
    let full = Compute { chunk_us: 1000, task: ComputeTask::Sort, ..Compute::DEFAULT };
    assert_eq!(sort, full);
    let alone = "[a]\nioengine=cpuio\ncpuload=50\nnumber_ios=9\nsize=1m\n";
    let plan = Plan::from_fio("job.fio", alone, &|_| None).unwrap();
    assert_eq!(plan.target.as_deref(), Some("null:"));
    assert_eq!(of(&plan.tests[0]).limit, Limit::Count(9));
    let refused = |lines: &str| error(&format!("[t]\nsize=4m\n{lines}\n"));
    insta::assert_snapshot!(refused("ioengine=cpuio\nruntime=1"), @"job.fio:3: cpuload: missing; set the percentage of a processor that each job uses");
    insta::assert_snapshot!(refused("ioengine=cpuio\ncpuload=0\nruntime=1"), @r#"job.fio:4: cpuload: "0" is invalid: expected a percentage above 0"#);
    insta::assert_snapshot!(refused("ioengine=cpuio\ncpuload=5"), @"job.fio:3: runtime: missing; computations would never end");
    insta::assert_snapshot!(refused("ioengine=cpuio\ncpuload=5\nruntime=1\ncpumode=idle"), @r#"job.fio:6: cpumode: "idle" is invalid: expected one of noop, qsort"#);
    insta::assert_snapshot!(refused("ioengine=cpuio\ncpuload=5\nruntime=1\nrate_iops=5"), @"job.fio:6: rate_iops: with ioengine=cpuio, cpuload determines the rate; remove it");
    insta::assert_snapshot!(refused("cpuload=5"), @"job.fio:3: cpuload: requires ioengine=cpuio");
}

#[test]
fn time_based_has_no_effect_without_a_runtime() {
    let plan = Plan::from_fio("j", "[a]\ntime_based\nsize=1m\n", &|_| None).unwrap();
    assert_eq!(plan.notes, ["time_based: no effect without runtime, as in fio"]);
    let Work::Blocks(workload) = &plan.tests[0].work else { unreachable!() };
    assert_eq!(workload.limit, Limit::Count(256));
    let plan = Plan::from_fio("j", "[a]\ntime_based\nruntime=1\nsize=1m\n", &|_| None).unwrap();
    assert!(plan.notes.is_empty());
}

#[test]
fn jobs_that_write_the_same_blocks_check_what_they_can_know() {
    let of = |text: &str| -> Vec<(bool, bool, u32)> {
        let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
        let verify = |test: &Test| match &test.work {
            Work::Blocks(workload) => {
                workload.verify.map(|verify| (verify.shared, verify.latest, verify.piece_bytes))
            }
            Work::Steps(_) | Work::Sort(_) => None,
        };
        plan.tests.iter().filter_map(verify).collect()
    };
    let (shared, alone) = ((true, false, 512), (false, true, 4096));
    let head = "[global]\nverify=md5\nrw=randrw\nfilename=f\nsize=1m\n";
    assert_eq!(of(&format!("{head}[a]\nnumjobs=4\n")), [shared]);
    assert_eq!(of(&format!("{head}[a]\nnumjobs=4\noffset_increment=1m\n")), [alone]);
    assert_eq!(of(&format!("{head}[a]\nnumjobs=4\noffset_increment=1020k\n")), [shared]);
    assert_eq!(of(&format!("{head}[a]\n[b]\nbs=32k\n")), [shared, shared]);
    assert_eq!(of(&format!("{head}[a]\n[b]\nstonewall\n")), [alone, alone]);
    assert_eq!(of(&format!("{head}[a]\n[b]\noffset=1m\n")), [alone, alone]);
    assert_eq!(of(&format!("{head}[a]\n[b]\nrw=read\nverify=0\n")), [alone]);
    // A later section understands the smaller pieces.
    let later = format!("{head}[a]\nnumjobs=2\ndo_verify=0\n[b]\nstonewall\nrw=read\n");
    assert_eq!(of(&later), [shared, (false, false, 512)]);
    let refused = |lines: &str| error(&format!("{head}{lines}\n"));
    insta::assert_snapshot!(refused("[a]\nnumjobs=4\nverify_write_sequence=1"), @"job.fio:8: verify_write_sequence: several jobs overwrite each other's blocks, and none of them knows which write is the last; remove it, or use numjobs=1, a size of at most offset_increment, or stonewall");
    insta::assert_snapshot!(refused("[a]\nnumjobs=4\nverify_backlog=8"), @"job.fio:8: verify_backlog: several jobs overwrite each other's blocks, and a block would be read back while another job writes it; remove it, or use numjobs=1, a size of at most offset_increment, or stonewall");
    insta::assert_snapshot!(refused("[a]\nnumjobs=4\nexitall"), @"job.fio:2: verify: several jobs overwrite each other's blocks, and they are read back once all of these jobs have ended; remove exitall, or use numjobs=1, a size of at most offset_increment, or stonewall");
    insta::assert_snapshot!(refused("[a]\nnumjobs=4\nbs=1000"), @"job.fio:2: verify: several jobs overwrite each other's blocks, and a block may hold parts of several writes; make bs a multiple of 512, or use numjobs=1, a size of at most offset_increment, or stonewall");
    insta::assert_snapshot!(refused("[a]\n[b]\nverify=0"), @"job.fio:2: verify: section b changes the same blocks at the same time, and its blocks do not have the same verify; add stonewall");
    insta::assert_snapshot!(refused("[a]\n[b]\nverify=0\nrw=randtrim"), @"job.fio:2: verify: section b changes the same blocks at the same time, and its blocks do not have the same verify; add stonewall");
}

#[test]
fn a_section_that_exchanges_blocks() {
    let text = "[global]\nioengine=e4defrag\ndirectory=/x\nsize=1m\ndonorname=d\n\
                [a]\nrw=write\nnumjobs=4\n[b]\nstonewall\ninplace=1\nrw=randwrite\nfilename=f\n\
                [c]\nioengine=psync\nrw=write\nfilename=f\n[d]\nstonewall\nrw=write\ndonorname=e\n";
    let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
    let of = |test: &Test| match &test.work {
        Work::Blocks(workload) => (workload.pattern, workload.donor),
        Work::Steps(_) | Work::Sort(_) => unreachable!(),
    };
    let donor = |number, space| Some(Donor { number, space });
    let found: Vec<_> = plan.tests.iter().map(of).collect();
    assert_eq!(
        found,
        [
            (Pattern::Defragment, donor(0, DonorSpace::Reserved)),
            (Pattern::RandDefragment, donor(0, DonorSpace::InPlace)),
            (Pattern::Write, None),
            (Pattern::Defragment, donor(3, DonorSpace::Reserved)),
        ]
    );
    let refused = |lines: &str| error(&format!("[t]\nsize=4m\nrw=write\n{lines}\n"));
    insta::assert_snapshot!(refused("ioengine=e4defrag"), @"job.fio:4: donorname: missing; name the file whose blocks are used");
    insta::assert_snapshot!(refused("donorname=d"), @"job.fio:4: donorname: requires ioengine=e4defrag");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\nrw=randrw"), @"job.fio:6: rw: ioengine=e4defrag does not support randrw; use write or randwrite");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\nfsync=1"), @"job.fio:6: fsync: defragment writes no data to sync; remove it");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\nverify=md5"), @"job.fio:6: verify: defragment writes no data to read back; use another rw");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\ninplace=1\nnumjobs=2"), @"job.fio:6: inplace: several jobs would truncate the file that they share; use numjobs=1");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\nfilename=d"), @"job.fio:5: donorname: this is the file of a section, which would lose its blocks; name another file");
    insta::assert_snapshot!(refused("ioengine=e4defrag\ndonorname=d\n[u]\nsize=4m\nrw=write\nioengine=e4defrag\ndonorname=d\ninplace=1"), @"job.fio:11: inplace: section t uses the same donor at the same time, and one of them truncates it; give each its own donorname, or add stonewall");
}

#[test]
fn computations_that_end_with_the_io_of_other_sections() {
    let io = "[io]\nsize=1m\n";
    let computing =
        |line: &str| format!("[c]\nioengine=cpuio\ncpuload=5\nexit_on_io_done=1\n{line}\n");
    let of = |text: &str, index: usize| match &Plan::from_fio("job.fio", text, &|_| None)
        .unwrap()
        .tests[index]
        .work
    {
        Work::Blocks(workload) => (workload.compute.while_io, workload.limit.time()),
        Work::Steps(_) | Work::Sort(_) => unreachable!(),
    };
    assert_eq!(of(&format!("{}{io}", computing("")), 0), (true, None));
    let limited = (true, Some(Duration::from_secs(9)));
    assert_eq!(of(&format!("{io}{}", computing("runtime=9")), 1), limited);
    // fio waits for the I/O of later sections as well, and without any I/O for nothing.
    let later = format!("{}{io}stonewall\n", computing("runtime=9"));
    assert_eq!(of(&later, 0), (false, Some(Duration::from_secs(9))));
    assert_eq!(of(&computing("runtime=9"), 0), (false, Some(Duration::from_secs(9))));
    let refused = |text: String| error(&text);
    insta::assert_snapshot!(refused(computing("")), @"job.fio:4: exit_on_io_done: no section that runs at the same time is the last one with I/O, so the computations would never end; set runtime");
    insta::assert_snapshot!(refused(format!("{}{io}stonewall\n", computing(""))), @"job.fio:4: exit_on_io_done: no section that runs at the same time is the last one with I/O, so the computations would never end; set runtime");
    insta::assert_snapshot!(refused(format!("{io}{}", computing("runtime=9\nstonewall"))), @"job.fio:6: exit_on_io_done: all sections with I/O have ended before this one starts, so nothing would be computed; remove it");
    insta::assert_snapshot!(refused("[t]\nsize=4m\nexit_on_io_done=1\n".to_owned()), @"job.fio:3: exit_on_io_done: requires ioengine=cpuio");
}

#[test]
fn a_driver_of_libblkio() {
    let text = "[global]\nioengine=libblkio\nlibblkio_driver=io_uring\n\
                libblkio_path=/dev/nvme0n1  ; the path\nrw=randread\n[a]\n\
                [b]\nnumjobs=2  ; two copies\n";
    let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
    assert_eq!(plan.target.as_deref(), Some("/dev/nvme0n1"));
    for test in &plan.tests {
        let Work::Blocks(workload) = &test.work else { unreachable!() };
        assert_eq!((workload.engine, workload.sharing), (EngineChoice::IoUring, Sharing::All));
    }
    let refused = |lines: &str| error(&format!("[t]\nsize=4m\n{lines}\n"));
    insta::assert_snapshot!(refused("ioengine=libblkio"), @"job.fio:3: libblkio_driver: missing; set libblkio_driver=io_uring");
    insta::assert_snapshot!(refused("ioengine=libblkio\nlibblkio_driver=nvme-io_uring"), @r#"job.fio:4: libblkio_driver: "nvme-io_uring" is invalid: expected io_uring, the only driver that flushmark supports"#);
    insta::assert_snapshot!(refused("ioengine=libblkio\nlibblkio_driver=io_uring\nfilename=x"), @"job.fio:5: filename: with ioengine=libblkio, use libblkio_path");
    insta::assert_snapshot!(refused("libblkio_path=/dev/sdx"), @"job.fio:3: libblkio_path: requires ioengine=libblkio");
}

#[test]
fn processors_and_memory_nodes() {
    let placed = |lines: &str| only(&format!("[t]\nsize=4m\n{lines}\n")).processors;
    let numbers = |text| Numbers::parse(text).unwrap();
    assert!(placed("cpus_allowed_policy=split").is_default());
    assert_eq!(placed("cpus_allowed=0,2-3").run_on, RunOn::Shared(numbers("0,2,3")));
    let split = placed("cpus_allowed=1\ncpus_allowed_policy=split");
    assert_eq!(split.run_on, RunOn::Split(numbers("1")));
    let numa = placed("numa_cpu_nodes=0-1\nnuma_mem_policy=interleave:0-1");
    let nodes = Nodes::Listed(numbers("0-1"));
    let memory = MemoryPolicy::Interleave(nodes.clone());
    assert_eq!(numa, Processors { run_on: RunOn::Nodes(nodes), memory });
    let entries = only("[t]\nioengine=filecreate\nfilesize=4k\nnuma_cpu_nodes=all\n");
    assert_eq!(entries.processors.run_on, RunOn::Nodes(Nodes::All));
    let refused = |lines: &str| error(&format!("[t]\nsize=4m\n{lines}\n"));
    insta::assert_snapshot!(refused("cpus_allowed=3-1"), @r#"job.fio:3: cpus_allowed: "3-1" is invalid: expected numbers and ranges, such as 0,5,8-15"#);
    insta::assert_snapshot!(refused("cpus_allowed=0\ncpus_allowed_policy=spread"), @r#"job.fio:4: cpus_allowed_policy: "spread" is invalid: expected one of shared, split"#);
    insta::assert_snapshot!(refused("cpus_allowed=0\nnuma_cpu_nodes=0"), @"job.fio:3: cpus_allowed and numa_cpu_nodes exclude each other");
    insta::assert_snapshot!(refused("numa_cpu_nodes=every"), @r#"job.fio:3: numa_cpu_nodes: "every" is invalid: expected all, or numbers and ranges, such as 0-1"#);
    insta::assert_snapshot!(refused("numa_mem_policy=prefer:0-1"), @r#"job.fio:3: numa_mem_policy: "prefer:0-1" is invalid: expected default, local, prefer:NODE, bind:NODES or interleave:NODES, where NODES are all, or numbers and ranges, such as 0-1"#);
}

#[test]
fn a_pass_that_leads_to_the_steady_state() {
    let pass = |lines: &str| only(&format!("[t]\nrw=randwrite\nsize=4m\nsprandom=1\n{lines}\n"));
    let (plain, given) = (pass(""), pass("spr_op=0.5\nspr_num_regions=4\nnorandommap=1\nloops=2"));
    assert_eq!(plain.order, BlockOrder::SteadyFill(SteadyFill::DEFAULT));
    let fill = SteadyFill { over_provisioning: 0.5, regions: 4 };
    assert_eq!(given.order, BlockOrder::SteadyFill(fill));
    // 1024 blocks and the surplus, twice.
    let Limit::Count(count) = given.limit_on(4 << 20) else { unreachable!() };
    assert_eq!(count, 2 * fill.writes(1024));
    assert!((2 * 1400..2 * 1600).contains(&count), "{count}");
    assert_eq!(only("[t]\nrw=randwrite\nsize=4m\nspr_op=0.5\n").order, BlockOrder::Plain);
    let refused = |lines: &str| error(&format!("[t]\nsize=4m\nsprandom=1\n{lines}\n"));
    insta::assert_snapshot!(refused("rw=write"), @"job.fio:3: sprandom: requires rw=randwrite");
    insta::assert_snapshot!(refused("rw=randwrite\nspr_op=1"), @r#"job.fio:5: spr_op: "1" is invalid: expected a number above 0 and below 1, such as 0.15"#);
    insta::assert_snapshot!(refused("rw=randwrite\nspr_num_regions=0"), @r#"job.fio:5: spr_num_regions: "0" is invalid: expected a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(refused("rw=randwrite\nnumjobs=2"), @"job.fio:5: numjobs: with sprandom, one job writes all of the pass; use numjobs=1");
    insta::assert_snapshot!(refused("rw=randwrite\nnrfiles=2"), @"job.fio:5: nrfiles: with sprandom, one file is written in a pass; use nrfiles=1");
    insta::assert_snapshot!(refused("rw=randwrite\nbssplit=4k/50:8k/50"), @"job.fio:5: bssplit: with sprandom, all blocks have the same size and alignment; use one bs");
    insta::assert_snapshot!(refused("rw=randwrite\nramp_time=1"), @"job.fio:5: ramp_time: with sprandom, writes of a warm-up are not part of the pass; remove it");
    insta::assert_snapshot!(refused("rw=randwrite\nio_size=8m"), @"job.fio:5: io_size: with sprandom, the pass determines the number of writes; remove it");
    insta::assert_snapshot!(refused("rw=randwrite\nrandom_generator=tausworthe"), @r#"job.fio:5: random_generator: "tausworthe" is invalid: expected lfsr with sprandom"#);
    insta::assert_snapshot!(refused("rw=randwrite\nnorandommap=0"), @"job.fio:5: norandommap: sprandom writes some blocks again; remove it");
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
    assert_eq!(
        job.rate,
        Some(Rate { per_second: 1024.0, reads_per_second: None, arrivals: Arrivals::Constant })
    );
    assert_eq!(job.warm_up, WarmUp(Duration::from_millis(500)));
    assert!(!job.invalidate);
    assert_eq!(only("[t]\nsize=1m\nrate_iops=0\n").rate, None);
}

#[test]
fn a_section_may_be_renamed_and_targets_agree() {
    let text = "[global]\nsize=1m\nfilename=/dev/sd\\:x\nstonewall\n[a]\nname=first\n[b]\n";
    let plan = Plan::from_fio("j.fio", text, &|_| None).unwrap();
    let names: Vec<&str> = plan.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!((names, plan.target.as_deref()), (vec!["first", "b"], Some("/dev/sd:x")));
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_an_error(text in "\\PC{0,200}") {
        let _ = Plan::from_fio("f", &text, &|_| None);
    }

    #[test]
    fn text_near_a_job_is_a_plan_that_holds_together(lines in prop::collection::vec(
        (0..OPTIONS.len(), prop::sample::select(vec!["", "0", "1", "32", "4k", "1g", "15", "randwrite", "rw", "libaio", "dsync", "x"])), 0..12)
    ) {
        let settings: String = lines.iter().map(|(key, value)| format!("{}={value}\n", OPTIONS[*key].name)).collect();
        if let Ok(plan) = Plan::from_fio("f", &format!("[job]\n{settings}"), &|_| None) {
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
fn all_options_that_are_not_understood_are_named_at_once() {
    insta::assert_snapshot!(
        error("[t]\nsize=1m\nverfy=crc32c\noutput=x\n[u]\nzonemode=zbd\n"),
        @"job.fio:3: 2 unsupported options: `verfy` (did you mean `verify`?), `output` (put --output FILE before the fio command line to write the result document) in line 4; remove them, or see docs/fio.md for the supported options"
    );
    // An option used in several sections is reported once.
    insta::assert_snapshot!(
        error("[t]\nhipri=1\nsize=1m\ntrim_percentage=1\n[u]\nhipri=2\n[v]\nhipri=3\n"),
        @"job.fio:2: 2 unsupported options: `hipri` in lines 2, 6 and 8, `trim_percentage` (did you mean `cmdprio_percentage`?) in line 4; remove them, or see docs/fio.md for the supported options"
    );
    insta::assert_snapshot!(
        error("[t]\nhipri=1\n[u]\nhipri=2\n"),
        @"job.fio:2: unsupported option `hipri` in lines 2 and 4; remove it, or see docs/fio.md for the supported options"
    );
}

#[test]
fn environment_variables_are_put_in() {
    let environment = |name: &str| match name {
        "DIR" => Some("/srv".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let plan = |line: &str| Plan::from_fio("j", &format!("[t]\nsize=1m\n{line}\n"), &environment);
    assert_eq!(plan("filename=${DIR}/a${DIR}").unwrap().target.as_deref(), Some("/srv/a/srv"));
    for (line, wanted) in [
        ("bs=${BS}", "j:3: bs: the environment variable BS is not set"),
        ("bs=${EMPTY}", "j:3: bs: the environment variable EMPTY is not set"),
        ("bs=${DIR", "j:3: bs: \"${DIR\" contains ${ without }"),
    ] {
        assert_eq!(plan(line).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn new_files_are_laid_out_as_fio_does() {
    let layout = |lines: &str| only(&format!("[t]\nsize=1m\n{lines}\n")).layout;
    assert_eq!(layout("rw=write"), Layout::PreallocatedOnce);
    assert_eq!(layout("rw=randwrite\noverwrite=1"), Layout::Overwrite);
    assert_eq!(layout("rw=randwrite\nfallocate=none"), Layout::Empty);
    assert_eq!(layout("rw=randrw"), Layout::Overwrite);
    assert_eq!(layout("rw=read\nfallocate=none"), Layout::Overwrite);
    insta::assert_snapshot!(error("[t]\nsize=1m\nrw=write\nfallocate=keep\n"), @r#"job.fio:4: fallocate: "keep" is invalid: expected one of native, posix, 1, none, 0; keep and truncate are not supported"#);
}

#[test]
fn a_file_that_an_earlier_section_made_is_overwritten() {
    let layouts = |second: &str| -> Vec<Layout> {
        let text =
            format!("[global]\nfilename=x\nrw=write\nsize=2m\n[a]\n[b]\nstonewall\n{second}\n");
        let tests = Plan::from_fio("j", &text, &|_| None).unwrap().tests;
        tests
            .into_iter()
            .map(|test| match test.work {
                Work::Blocks(workload) => workload.layout,
                Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
            })
            .collect()
    };
    assert_eq!(layouts("size=1m"), [Layout::PreallocatedOnce, Layout::Overwrite]);
    assert_eq!(layouts("offset=1m"), [Layout::PreallocatedOnce, Layout::PreallocatedOnce]);
}

#[test]
fn asynchronous_engines_take_a_sync_beside_the_writes() {
    let job = |engine: &str| {
        only(&format!("[t]\nsize=1m\nrw=write\nfsync=1\niodepth=8\nioengine={engine}\n"))
    };
    for engine in ["libaio", "io_uring"] {
        let job = job(engine);
        assert_eq!(
            (job.sync_timing, job.depth_effective(), job.commits()),
            (SyncTiming::Queued, 8, Commits::None)
        );
    }
    let job = job("psync");
    assert_eq!(
        (job.sync_timing, job.depth_effective(), job.commits()),
        (SyncTiming::Drained, 1, Commits::EachSync)
    );
}

#[test]
fn jobs_share_what_filename_names() {
    let text = "[t]\nsize=1m\nnumjobs=4\nbs=8k\n";
    assert_eq!(only(text).sharing, Sharing::Device);
    let shared = only(&format!("{text}filename=x\noffset=16k\noffset_increment=64k\n"));
    assert_eq!(
        (shared.sharing, shared.size_per_job_bytes(Room::Unlimited)),
        (Sharing::All, 1 << 20)
    );
    assert_eq!([0, 3].map(|job| shared.part_offset_bytes(job)), [16 << 10, (16 + 3 * 64) << 10]);
    insta::assert_snapshot!(error(&format!("{text}offset=4100\n")), @r#"job.fio:5: offset: "4100" is invalid: expected a size that is a multiple of 512, or of bs, 8 KiB, or zones such as 8z with zonesize"#);
}

#[test]
fn how_much_is_done() {
    let limit = |lines: &str| only(&format!("[t]\nsize=1m\n{lines}\n")).limit;
    assert_eq!(limit("loops=3"), Limit::Count(768));
    assert_eq!(limit("io_size=2m"), Limit::Count(512));
    assert_eq!(limit("io_limit=512k\nloops=2"), Limit::Count(256));
    assert_eq!(limit("number_ios=100"), Limit::Count(100));
    let smaller = only("[t]\nfilesize=4m\nsize=1m\n");
    assert_eq!((smaller.size, smaller.limit), (Area::Bytes(4 << 20), Limit::Count(256)));
    assert_eq!(only("[t]\nfilesize=4m\n").limit, Limit::Count(1024));
    let device = only("[t]\nruntime=1\nfilename=/dev/sdx\nnumjobs=2\n");
    assert_eq!(
        (device.size, device.size_per_job_bytes(Room::Whole(1 << 40))),
        (Area::Whole { file_bytes: 1 << 29 }, 1 << 40)
    );
    // Jobs that share a device do not add to its size.
    let tested = |room| {
        Plan::from_fio("j", "[t]\nfilename=f\nnumjobs=2\n", &|_| None).unwrap().tested_bytes(room)
    };
    assert_eq!(tested(Room::Whole(1 << 30)), Some(1 << 30..=1 << 30));
    let share = only("[t]\nsize=50%\nruntime=1\nfilename=/dev/sdx\n");
    assert_eq!(
        (share.size, share.size_per_job_bytes(Room::Whole(1 << 30))),
        (Area::Percent(50), 1 << 29)
    );
    insta::assert_snapshot!(error("[t]\nsize=50%\nfilesize=1m\n"), @"job.fio:3: filesize: conflicts with a size in percent; use one of the two");
}

#[test]
fn of_two_options_for_one_thing_the_last_holds() {
    assert!(only("[t]\nsize=1m\ndirect=0\nbuffered=0\n").direct);
    assert!(!only("[t]\nsize=1m\ndirect=1\nbuffered\n").direct);
    assert!(only("[t]\nsize=1m\nbuffered=1\ndirect=1\n").direct);
    assert_eq!(only("[t]\nsize=1m\nbs=8k\nbsrange=16k-16k\n").block_bytes.get(), 16384);
    let percent = |lines: &str| only(&format!("[t]\nsize=1m\nrw=rw\n{lines}\n")).read_percent;
    assert_eq!(percent("rwmixread=60\nrwmixwrite=30"), 70);
    assert_eq!(percent("rwmixwrite=30\nrwmixread=60"), 60);
}

#[test]
fn blocks_have_the_sizes_that_fio_draws() {
    let shares = |shares: &[(u32, u32)]| -> Vec<SizeShare> {
        shares.iter().map(|&(bytes, weight)| SizeShare { bytes, weight }).collect()
    };
    let sizes = |text: &str| {
        let job = only(&format!("[t]\nsize=1m\nrw=randrw\n{text}\n"));
        job.sizes.map(|sizes| (sizes.align_bytes, sizes.reads, sizes.writes))
    };
    assert_eq!(sizes("bs=8k"), None);
    assert_eq!(sizes("bsrange=4k-4k"), None);
    let one = |bytes| shares(&[(bytes, 1)]);
    assert_eq!(sizes("bs=4k,8k\nblockalign=4k"), Some((4096, one(4096), one(8192))));
    assert_eq!(sizes("bs=,16k\nba=512"), Some((512, one(4096), one(16384))));
    let range = shares(&[(1024, 1), (2048, 1), (3072, 1)]);
    assert_eq!(sizes("bsrange=1k-3k\nbs=8k"), Some((1024, range.clone(), range)));
    let split = shares(&[(4096, 60), (65536, 40)]);
    assert_eq!(sizes("bsrange=1k-3k\nbssplit=4k/60:64k/40"), Some((4096, split.clone(), split)));
    // Sizes without a share divide the remainder; a size with share 0 is never drawn.
    let (reads, writes) = (shares(&[(4096, 100), (8192, 50), (16384, 50)]), shares(&[(4096, 100)]));
    assert_eq!(sizes("bssplit=4k/50:8k/:16k,4k/100:1m/0"), Some((4096, reads, writes)));
    // With a single direction, only its sizes count.
    assert_eq!(only("[t]\nsize=1m\nrw=randwrite\nbs=4k,8k\n").block_bytes.get(), 8192);
    // Sequential blocks follow each other regardless of alignment.
    assert_eq!(only("[t]\nsize=1m\nrw=write\nbs=4k\nblockalign=8k\n").sizes, None);
    // A size in bytes becomes a number of operations of the mean size.
    let job = only("[t]\nsize=40k\nrw=randread\nbssplit=2k/50:6k/50\n");
    assert_eq!(job.limit, Limit::Count(10));
}

#[test]
fn blocks_come_in_the_order_that_fio_has() {
    let order = |text: &str| only(&format!("[t]\nsize=1m\n{text}\n")).order;
    assert_eq!(order("rw=read:-8k"), BlockOrder::SkipBytes(-8192));
    assert_eq!(order("rw=write:112k"), BlockOrder::SkipBytes(114_688));
    assert_eq!(order("rw=randread\nrandom_distribution=zipf:1.2"), BlockOrder::Zipf(1.2));
    let sequence = |advances| BlockOrder::Sequence { blocks: vec![2, 0], advances };
    assert_eq!(order("rw=randread\nrandom_distribution=sequence:2,0"), sequence(false));
    assert_eq!(
        order("rw=randread\nrandom_distribution=sequence:2,0\nrandom_sequence_stride=1"),
        sequence(true)
    );
    let strided = BlockOrder::Strided { zone_bytes: 65536, skip_bytes: 4096 };
    assert_eq!(order("rw=read\nzonemode=strided\nzonesize=64k\nzoneskip=4k"), strided);
    insta::assert_snapshot!(error("[t]\nsize=1m\nzonemode=random\n"), @r#"job.fio:3: zonemode: "random" is invalid: expected one of none, strided, zbd"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nzonemode=strided\n"), @"job.fio:3: zonemode: strided requires zonesize");
    insta::assert_snapshot!(error("[t]\nsize=1m\nzonemode=strided\nzonesize=1k\n"), @r#"job.fio:4: zonesize: "1k" is invalid: expected a size of at least one block, 4096 B"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nzonemode=strided\nzonesize=64k\nrw=randread\n"), @"job.fio:3: zonemode: flushmark only supports sequential access within zones; use rw=read or rw=write");
    insta::assert_snapshot!(error("[t]\nsize=1m\nzonemode=strided\nzonesize=64k\nzonerange=1m\n"), @"job.fio:5: zonerange: flushmark makes one pass over each zone; set zonerange to zonesize");
    // Sequential blocks draw nothing.
    assert_eq!(order("rw=read\nrandom_distribution=zipf:1.2"), BlockOrder::Plain);
}

#[test]
fn a_device_without_a_size_is_gone_over_once() {
    let device = |more: &str| only(&format!("[t]\nfilename=/dev/sdx\n{more}\n"));
    let once = device("rw=write");
    assert_eq!(
        (once.size, once.limit, once.passes),
        (Area::DEFAULT, Limit::Count(u64::MAX), Some(1))
    );
    assert_eq!(once.limit_on(1 << 20), Limit::Count(256));
    assert_eq!(device("loops=3\nsize=50%").passes, Some(3));
    let second = Duration::from_secs(1);
    assert_eq!(
        (device("runtime=1").limit, device("runtime=1").passes),
        (Limit::Time(second), Some(1))
    );
    assert_eq!(device("runtime=1\ntime_based").passes, None);
    assert_eq!(
        (device("io_size=1m").limit, device("io_size=1m").passes),
        (Limit::Count(256), None)
    );
    assert_eq!(device("number_ios=7").limit_on(1 << 20), Limit::Count(7));
}

#[test]
fn discards_are_made_one_at_a_time() {
    let trim =
        only("[t]\nrw=randtrim\nioengine=libaio\niodepth=16\nfsync=1\nend_fsync=1\nsize=1m\n");
    assert_eq!(
        (trim.engine, trim.depth.get(), trim.sync),
        (EngineChoice::Psync, 1, SyncMethod::None)
    );
    assert!(trim.pattern == Pattern::RandTrim && !trim.end_fsync);
}

#[test]
fn some_writes_are_duplicates() {
    let text = "[global]\nrw=write\nsize=1m\ndedupe_percentage=40\ndedupe_mode=working_set\n\
                dedupe_global=1\nbuffer_compress_percentage=50\n\
                [a]\nnumjobs=3\n[b]\ndedupe_working_set_percentage=50\n[c]\ndedupe_global=0\n\
                dedupe_mode=repeat\n[d]\ndedupe_percentage=0\nbuffer_compress_percentage=100\n";
    let plan = Plan::from_fio("f", text, &|_| None).unwrap();
    let found = plan.tests.iter().map(|test| match &test.work {
        Work::Blocks(workload) => (workload.dedupe, workload.content),
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    });
    let shared = |set, first_job| Dedupe {
        percent: 40,
        source: DedupeSource::WorkingSet(set),
        first_job,
        shared_jobs: 4,
    };
    let source = DedupeSource::Previous;
    let separate = Dedupe { source, shared_jobs: 0, ..shared(0, 4) };
    let half = Content::Compressible(50);
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (Some(shared(5, 0)), half),
            (Some(shared(50, 3)), half),
            (Some(separate), half),
            (None, Content::Zero)
        ]
    );
    insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers\ndedupe_percentage=1\n"), @"job.fio:4: zero_buffers and dedupe_percentage exclude each other");
    insta::assert_snapshot!(error("[a]\nsize=1m\ndedupe_percentage=101\n"), @r#"job.fio:3: dedupe_percentage: "101" is invalid: expected a whole number from 0 to 100"#);
    insta::assert_snapshot!(error("[a]\nsize=1m\ndedupe_percentage=60\ndedupe_mode=working_set\ndedupe_working_set_percentage=50\n"), @"job.fio:5: dedupe_working_set_percentage: 50 % of the job's size cannot be unique if 60 % of the writes are duplicates; use at most 40");
    insta::assert_snapshot!(error("[a]\nsize=1m\ndedupe_mode=all\n"), @r#"job.fio:3: dedupe_mode: "all" is invalid: expected one of repeat, working_set"#);
    insta::assert_snapshot!(error("[a]\nrw=write\nsize=1m\nverify=crc32c\ndedupe_percentage=9\n"), @"job.fio:4: verify: duplicates cannot hold a checksum; remove dedupe_percentage");
}

#[test]
fn a_latency_target_determines_the_depth() {
    let text = "[t]\nioengine=libaio\niodepth=8\nsize=1m\nlatency_target=500\nlatency_window=5s\n";
    let job = only(&format!("{text}latency_percentile=99.9\nruntime=60\n"));
    let target = LatencyTarget { latency_ns: 500_000, percent: 99.9, window_us: 5_000_000 };
    assert_eq!(job.latency_target, Some(target));
    // The search takes no longer than the runtime, the measurement one window.
    assert_eq!(job.preliminary_time(), Duration::from_mins(1));
    assert_eq!(job.measured_limit(1 << 20).time(), Some(Duration::from_secs(5)));
    let endless = only(text);
    assert_eq!(endless.preliminary_time(), Duration::from_secs(5 * 64));
    assert_eq!(endless.measured_limit(1 << 20).count(), Some(256));
    insta::assert_snapshot!(error("[t]\nsize=1m\nlatency_target=5\nlatency_window=5\n"), @"job.fio:3: latency_target: requires an iodepth above 1, and libaio or io_uring");
    insta::assert_snapshot!(error("[t]\nsize=1m\nioengine=libaio\niodepth=2\nlatency_target=5\n"), @"job.fio:5: latency_target: requires latency_window");
    insta::assert_snapshot!(error(&format!("{text}ramp_time=1\n")), @"job.fio:5: latency_target: flushmark searches in place of a warm-up; remove ramp_time");
    insta::assert_snapshot!(error(&format!("{text}latency_percentile=0\n")), @r#"job.fio:7: latency_percentile: "0" is invalid: expected a number from 1 to 100"#);
}

#[test]
fn a_steady_state_ends_a_section() {
    let steady = |text: &str| only(&format!("[t]\nsize=1m\nbs=8k\n{text}")).until_steady;
    let expected = UntilSteady {
        quantity: SteadyQuantity::Iops,
        change: SteadyChange::Deviation,
        limit: 10.0,
        percent: true,
        window_s: 30,
        ramp_s: 10,
        interval_s: 1,
    };
    assert_eq!(steady("ss=iops:10%\nss_dur=30s\nss_ramp=10s\n"), Some(expected));
    let slope = steady("ss=bw_slope:80k\nss_dur=1m\nss_interval=2\n").unwrap();
    assert_eq!((slope.change, slope.limit, slope.percent), (SteadyChange::Slope, 10.0, false));
    assert_eq!((slope.quantity, slope.window_s, slope.interval_s), (SteadyQuantity::Iops, 60, 2));
    // fio's default criterion; without a duration nothing is checked.
    assert_eq!(steady("ss_dur=5\n").map(|steady| steady.limit), Some(0.01));
    assert_eq!(steady("ss=lat:5%\n"), None);
    insta::assert_snapshot!(error("[t]\nsize=1m\nss=lat:5\nss_dur=5\n"), @r#"job.fio:3: steadystate: "lat:5" is invalid: expected iops, iops_slope, bw, bw_slope, lat or lat_slope with a limit, such as iops:10%; lat takes a percentage"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nss_dur=5\nss_interval=2\n"), @"job.fio:3: steadystate_duration: 5 s is invalid: expected a multiple of steadystate_check_interval, 2 s, and more than that");
    insta::assert_snapshot!(error("[t]\nsize=1m\nss_dur=5ms\n"), @r#"job.fio:3: steadystate_duration: "5ms" is invalid: expected a time of at least 0 s, in whole seconds"#);
}

#[test]
fn a_rate_in_bytes_is_one_in_operations() {
    let rate = only("[t]\nsize=1m\nbs=8k\nrate=1m\n").rate.unwrap();
    assert_eq!((rate.per_second, rate.arrivals), (128.0, Arrivals::Constant));
}

#[test]
fn a_smoke_run_makes_no_large_file_for_an_offset() {
    let plan = Plan::from_fio("j", "[t]\nsize=1m\nbs=12k\noffset=12g\nrw=read\n", &|_| None)
        .unwrap()
        .smoke();
    let Work::Blocks(workload) = &plan.tests[0].work else {
        unreachable!("fio has neither steps nor sorts")
    };
    assert_eq!(workload.offset_bytes, (16 << 20) / 12288 * 12288);
}

#[test]
fn zones_have_their_rules_and_are_units_of_sizes() {
    let workload = |text: &str| only(&format!("[t]\nzonemode=zbd\nzonesize=1m\n{text}\n"));
    let plain = workload("size=8z\noffset=2z\noffset_increment=3Z\nio_size=4z\nrw=write");
    assert_eq!((plain.size, plain.offset_bytes), (Area::Bytes(8 << 20), 2 << 20));
    assert_eq!((plain.offset_increment_bytes, plain.limit), (3 << 20, Limit::Count(1024)));
    assert_eq!(plain.zoning, Some(Zoning { zone_bytes: Some(1 << 20), ..Zoning::default() }));
    let all = "size=8m\nmax_open_zones=4\njob_max_open_zones=2\nignore_zone_limits=1\n\
               read_beyond_wp=1\nzone_reset_threshold=.5\nzone_reset_frequency=0.25\nrw=randwrite";
    let zoning = Zoning {
        zone_bytes: Some(1 << 20),
        max_open: Some(4),
        job_max_open: Some(2),
        ignore_drive_limit: true,
        read_beyond_write_pointer: true,
        collection: Some(ZoneCollection { threshold: 0.5, frequency: 0.25 }),
    };
    assert_eq!(workload(all).zoning, Some(zoning));
    assert_eq!(only("[t]\nsize=1m\nmax_open_zones=2\n").zoning, None);
    // A trim resets a zone, which can be larger than any block that is transferred.
    assert_eq!(
        workload("rw=randtrim\nbs=256m\nzonesize=256m\nsize=1g").block_bytes.get(),
        256 << 20
    );
    let zoned = |more: &str| error(&format!("[t]\nsize=4m\nzonemode=zbd\nzonesize=1m\n{more}\n"));
    insta::assert_snapshot!(zoned("zoneskip=1m"), @"job.fio:5: zoneskip: must be 0 with zonemode=zbd, which uses every zone");
    insta::assert_snapshot!(zoned("zonerange=2m"), @"job.fio:5: zonerange: must be the same as zonesize with zonemode=zbd");
    insta::assert_snapshot!(zoned("rw=write:64k"), @"job.fio:5: rw: zonemode=zbd accesses the blocks of a zone without gaps");
    insta::assert_snapshot!(zoned("nrfiles=2\ndirectory=/d"), @"job.fio:3: zonemode: zbd uses the zones of a single file; use nrfiles=1");
    insta::assert_snapshot!(zoned("bs=2m"), @"job.fio:4: zonesize: must not be smaller than a block, 2 MiB");
    insta::assert_snapshot!(zoned("rw=trim\nbsrange=512k-1m"), @"job.fio:6: bsrange: a trim with zonemode=zbd resets a zone; use one bs, the zonesize");
    insta::assert_snapshot!(zoned("ioengine=falloc\nrw=write"), @"job.fio:3: zonemode: zbd requires reads, writes or trims of blocks");
    insta::assert_snapshot!(zoned("rw=write\nverify=md5\nzone_reset_frequency=0.1"), @"job.fio:6: verify: resets discard blocks that would be checked; remove zone_reset_frequency");
    insta::assert_snapshot!(zoned("zone_reset_frequency=2"), @r#"job.fio:5: zone_reset_frequency: "2" is invalid: expected a number from 0 to 1"#);
    insta::assert_snapshot!(zoned("zonesize=1000"), @r#"job.fio:5: zonesize: "1000" is invalid: expected a multiple of 512 B, from 512"#);
    insta::assert_snapshot!(zoned("max_open_zones=5000"), @r#"job.fio:5: max_open_zones: "5000" is invalid: expected a whole number from 0 to 4096"#);
    insta::assert_snapshot!(error("[t]\nsize=8z\n"), @r#"job.fio:2: size: "8z" is invalid: expected a size of at least one block, such as 1g, or zones such as 8z with zonesize, or 1% to 100%"#);
}

#[test]
fn a_section_that_waits_for_one_that_has_ended_by_then_runs_beside_the_previous_one() {
    let text = "[a]\nsize=1m\n[b]\nsize=1m\nwait_for=a\n[c]\nsize=1m\nwait_for=a\n";
    let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
    let beside: Vec<bool> = plan.tests.iter().map(|test| test.with_previous).collect();
    assert_eq!(beside, [false, false, true]);
}

#[test]
fn sections_that_wait_for_the_one_before_need_no_stonewall() {
    let text = |name: &str| format!("[a]\nsize=1m\n[b]\nsize=1m\nwait_for={name}\n");
    assert_eq!(Plan::from_fio("j", &text("a"), &|_| None).unwrap().tests.len(), 2);
    insta::assert_snapshot!(error(&text("c")), @"job.fio:5: wait_for: a section waits for all previous sections, not only for c; use stonewall");
    let beside = "[a]\nsize=1m\n[b]\nsize=1m\n[c]\nsize=1m\nwait_for=b\n";
    insta::assert_snapshot!(error(beside), @"job.fio:7: wait_for: a section waits for all previous sections, not only for b; use stonewall");
}

#[test]
fn sections_without_stonewall_run_at_the_same_time() {
    let text =
        "[global]\nsize=1m\nruntime=3\ntime_based\n[a]\n[b]\n[c]\nstonewall\n[d]\nruntime=5\n";
    let plan = Plan::from_fio("j", text, &|_| None).unwrap();
    let groups: Vec<Vec<&str>> =
        plan.groups().map(|group| group.iter().map(|test| test.name.as_str()).collect()).collect();
    assert_eq!(groups, [["a", "b"], ["c", "d"]]);
    assert_eq!(plan.requested_time(), Duration::from_secs(3 + 5));
}

#[test]
fn a_file_of_another_name_is_laid_out_anew() {
    let layout = |name: &str| {
        let section =
            |name: &str| format!("[{name}]\nrw=write\nsize=1m\nfilename={name}\nstonewall\n");
        let text = format!("{}{}", section("a"), section("b").replace("=b", &format!("={name}")));
        match &Plan::from_fio("f", &text, &|_| None).unwrap().tests[1].work {
            Work::Blocks(workload) => workload.layout,
            Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
        }
    };
    assert_eq!((layout("a"), layout("b")), (Layout::Overwrite, Layout::PreallocatedOnce));
}

#[test]
fn a_file_that_sections_share_is_laid_out_for_all_of_them_or_for_none() {
    let layouts = |second: &str| -> Vec<Layout> {
        let text = format!("[global]\nfilename=x\nsize=2m\n[a]\nrw=write\n[b]\n{second}\n");
        let plan = Plan::from_fio("j", &text, &|_| None).unwrap();
        plan.tests
            .iter()
            .map(|test| {
                if let Work::Blocks(workload) = &test.work {
                    workload.layout
                } else {
                    Layout::Append
                }
            })
            .collect()
    };
    assert_eq!(layouts("rw=write"), [Layout::PreallocatedOnce; 2]);
    assert_eq!(layouts("rw=read"), [Layout::Overwrite; 2]);
    assert_eq!(layouts("rw=write\nstonewall"), [Layout::PreallocatedOnce, Layout::Overwrite]);
}

#[test]
fn what_is_accepted_is_checked_and_noted() {
    let plan =
        Plan::from_fio("j", "[t]\nsize=1m\nthread\ngtod_reduce=1\nwrite_bw_log=x\n", &|_| None)
            .unwrap();
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    insta::assert_snapshot!(error("[t]\nsize=1m\nthread=yes\n"), @r#"job.fio:3: thread: "yes" is invalid: expected 0 or 1"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nrandom_generator=x\n"), @r#"job.fio:3: random_generator: "x" is invalid: expected one of tausworthe, lfsr, tausworthe64"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nrandom_distribution=normal:5\n"), @r#"job.fio:3: random_distribution: "normal:5" is invalid: expected random, zipf:THETA, pareto:SHARE, sequence:BLOCK,…, or zoned:DRAWS/BLOCKS:… with percentages that add up to 100"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nio_submit_mode=offload\n"), @"job.fio:3: io_submit_mode: flushmark has no submission threads and needs none with rate_iops; without rate_iops, use inline");
    let rate =
        only("[t]\nsize=1m\nrate_iops=50\nrate_process=poisson\nio_submit_mode=offload\n").rate;
    assert_eq!(
        rate,
        Some(Rate { per_second: 50.0, reads_per_second: None, arrivals: Arrivals::Poisson })
    );
}

#[test]
fn the_files_of_a_job_divide_its_size() {
    let three = only("[t]\nrw=write\nsize=64k\nnrfiles=3\n");
    let files = JobFiles { per_job: 3, ..JobFiles::ONE };
    // As fio 3.42: three files of 21845 bytes, 15 writes.
    assert_eq!((three.files, three.limit), (files, Limit::Count(15)));
    let parts = three.parts(true, Room::Unlimited);
    assert_eq!((parts.files, parts.jobs[0].files), (vec![5 * 4096; 3], 3));
    assert_eq!(three.title(), "write 4 KiB, 3 files, preallocated-once, buffered, depth 1, jobs 1");
    let sized = only("[t]\nrw=write\nfilesize=1m\nnrfiles=4\nnumjobs=2\n");
    assert_eq!(sized.parts(true, Room::Unlimited).files, [1 << 20; 8]);
    assert_eq!(sized.limit, Limit::Count(4 << 20 >> 12));
    let less = only("[t]\nrw=write\nfilesize=1m\nsize=2m\nnrfiles=4\n");
    assert_eq!(less.limit, Limit::Count(2 << 20 >> 12));
    let offset =
        only("[t]\nrw=write\nsize=1m\nnrfiles=2\noffset=8k\n").parts(true, Room::Unlimited);
    assert_eq!((offset.files, offset.jobs[0].start), (vec![(512 << 10) + 8192; 2], 8192));
    // A named file takes the place of numbered ones, and a device is one file.
    assert_eq!(only("[t]\nsize=1m\nnrfiles=4\nfilename=x\n").files, JobFiles::ONE);
    assert_eq!(three.parts(false, Room::Unlimited).files, [64 << 10]);
}

#[test]
fn files_are_served_in_the_order_asked() {
    let files = |more: &str| only(&format!("[t]\nsize=1m\nnrfiles=4\n{more}\n")).files;
    let four = JobFiles { per_job: 4, ..JobFiles::ONE };
    assert_eq!(files("openfiles=4"), four);
    assert_eq!(files("openfiles=9\nfile_service_type=roundrobin"), four);
    assert_eq!(
        files("file_service_type=random:8"),
        JobFiles { order: FileOrder::Random, turn: 8, ..four }
    );
    assert_eq!(
        files("file_service_type=sequential"),
        JobFiles { order: FileOrder::Sequential, ..four }
    );
    // In fio a sync takes a separate turn; without syncs there is nothing to remark.
    let synced = "[t]\nrw=write\nsize=1m\nnrfiles=4\nfsync=1\n";
    assert_eq!(only(synced).files, JobFiles { synced: SyncedFile::Next, ..four });
    assert_eq!(only(synced).commits(), Commits::None);
    let notes = |text| Plan::from_fio("j", text, &|_| None).unwrap().notes;
    insta::assert_snapshot!(notes(synced).join("; "), @"nrfiles: as in fio, each sync in a directory covers the file whose turn comes after the write, so it is not a commit");
    assert_eq!(notes("[t]\nrw=write\nsize=1m\nnrfiles=4\n"), [""; 0]);
    let error = |more: &str| error(&format!("[t]\nsize=1m\n{more}\n"));
    insta::assert_snapshot!(error("nrfiles=0"), @r#"job.fio:3: nrfiles: "0" is invalid: expected a whole number from 1 to 16384"#);
    insta::assert_snapshot!(error("nrfiles=16385"), @r#"job.fio:3: nrfiles: "16385" is invalid: expected a whole number from 1 to 16384"#);
    insta::assert_snapshot!(error("nrfiles=4\nopenfiles=3"), @r#"job.fio:4: openfiles: "3" is invalid: expected at least the 4 of nrfiles, because all files of a job stay open"#);
    insta::assert_snapshot!(error("nrfiles=4\nfile_service_type=zipf:1.2"), @r#"job.fio:4: file_service_type: "zipf:1.2" is invalid: expected roundrobin, random or sequential, or one of these with the operations of a turn, such as random:8"#);
    insta::assert_snapshot!(error("nrfiles=4\nfile_service_type=random:0"), @r#"job.fio:4: file_service_type: "random:0" is invalid: expected roundrobin, random or sequential, or one of these with the operations of a turn, such as random:8"#);
    insta::assert_snapshot!(error("nrfiles=257"), @"job.fio:2: size: 1 MiB is less than one block for each of 257 files");
    insta::assert_snapshot!(error("nrfiles=2\nzonemode=strided\nzonesize=64k"), @"job.fio:4: zonemode: fio accesses zones only in a single file; use nrfiles=1");
}

#[test]
fn sections_start_late_pause_and_end_each_other() {
    let late = only("[t]\nsize=1m\nstartdelay=4\n");
    assert_eq!(late.start_delay, Duration::from_secs(4));
    let think =
        |time: &str| only(&format!("[t]\nsize=1m\nthinktime={time}\nthinktime_blocks=8\n")).think;
    assert_eq!(think("2000"), Some(ThinkTime { time_us: 2000, every: 8 }));
    assert_eq!((think("3s"), think("0")), (Some(ThinkTime { time_us: 3_000_000, every: 8 }), None));
    let rate_min = |text: &str| only(&format!("[t]\nrw=rw\nsize=1m\n{text}\n")).rate_min;
    assert_eq!(
        rate_min("rate_min=1k"),
        Some(RateMin { read_bytes: 1024, write_bytes: 1024, cycle_ms: 1000 })
    );
    assert_eq!(
        rate_min("ratemin=,2k\nratecycle=50"),
        Some(RateMin { read_bytes: 0, write_bytes: 2048, cycle_ms: 50 })
    );
    assert_eq!(rate_min("rate_min=0"), None);
    let ends = |text: &str| {
        let plan = Plan::from_fio("j", text, &|_| None).unwrap();
        plan.tests.iter().map(|test| test.work.ends()).collect::<Vec<_>>()
    };
    // One section sets it for all, as in fio.
    assert_eq!(
        ends("[a]\nexitall\n[b]\nexit_what=stonewall\n[c]\nstonewall\nexit_what=all\n"),
        [(Ends::Group, 0), (Ends::Concurrent, 0), (Ends::Run, 1)]
    );
    assert_eq!(ends("[a]\n[b]\nexit_what=all\n"), [(Ends::Nothing, 0); 2]);
    // `new_group` begins a group, and so does `stonewall`; the first section begins none.
    let groups: Vec<u32> = ends("[a]\nnew_group\n[b]\n[c]\nnew_group\n[d]\nstonewall\n[e]\n")
        .into_iter()
        .map(|(_, group)| group)
        .collect();
    assert_eq!(groups, [0, 0, 1, 2, 2]);
    let flow = |text: &str| only(&format!("[t]\nsize=1m\n{text}\n")).flow;
    assert_eq!(flow("flow=8\nflow_sleep=1000"), Some(Flow { id: 0, weight: 8, sleep_us: 1000 }));
    assert_eq!((flow("flow=2\nflow_id=3").map(|flow| flow.id), flow("flow=0")), (Some(3), None));
    insta::assert_snapshot!(error("[t]\nsize=1m\nflow=-1\n"), @r#"job.fio:3: flow: "-1" is invalid: expected a whole number from 0 to 1000000"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nstartdelay=1-4\n"), @r#"job.fio:3: startdelay: "1-4" is invalid: expected a time in seconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nstartdelay=4\nramp_time=1\n"), @"job.fio:3: startdelay: flushmark warms up before the common start of all sections; remove ramp_time");
    insta::assert_snapshot!(error("[a]\nsize=1m\n[b]\nstonewall\nsize=1m\nstartdelay=4\n"), @"job.fio:6: startdelay: fio counts the delay from the start of the run, so only sections of the first group of concurrent sections can have one; remove it, or stonewall");
    insta::assert_snapshot!(error("[t]\nsize=1m\nthinktime=1x\n"), @r#"job.fio:3: thinktime: "1x" is invalid: expected a time in microseconds, or with us, ms, s, m, h, d"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nthinktime=1\nioengine=libaio\n"), @"job.fio:3: thinktime: flushmark pauses only between operations of which one is in flight at a time; use ioengine=psync");
    insta::assert_snapshot!(error("[t]\nsize=1m\nthinktime=1\nthinktime_blocks=0\n"), @r#"job.fio:4: thinktime_blocks: "0" is invalid: expected a whole number from 1 to 1000000"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nrate_min=fast\n"), @r#"job.fio:3: rate_min: "fast" is invalid: expected bytes per second, such as 10m, or one number for reads and one for writes"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nrate=1k\nrate_min=2k\n"), @"job.fio:4: rate_min: 2048 B/s exceeds the offered rate of 1024 B/s");
    insta::assert_snapshot!(error("[t]\nsize=1m\nrate_min=2k\nrate_cycle=0\n"), @r#"job.fio:4: rate_cycle: "0" is invalid: expected a number of milliseconds from 1 to 3600000"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\nexitall\nexit_what=some\n"), @r#"job.fio:4: exit_what: "some" is invalid: expected one of group, stonewall, all"#);
}

fn command(words: &str) -> Result<Plan, String> {
    let words: Vec<&str> = words.split(' ').collect();
    Plan::from_fio_command(&words, &|_| None).map_err(|error| error.to_string())
}

#[test]
fn each_direction_has_its_alignment() {
    let coarse = |text: &str| only(&format!("[t]\nsize=1m\n{text}\n")).sizes.unwrap().coarse;
    let of = |reads, bytes| Some(CoarseAlignment { reads, bytes });
    assert_eq!(coarse("rw=randrw\nbs=4k,8k"), of(false, 8192));
    assert_eq!(coarse("rw=randrw\nbssplit=64k/40:128k/60,8k/100"), of(true, 65536));
    assert_eq!(coarse("rw=randrw\nbs=4k,8k\nblockalign=4k"), None);
    assert_eq!(coarse("rw=rw\nbs=4k,8k"), None);
    insta::assert_snapshot!(error("[t]\nrw=randrw\nbs=4k,8k\nnrfiles=2\nsize=1m\n"), @"job.fio:3: bs: fio aligns reads to 4096 B and writes to 8192 B; set blockalign to use one alignment for both");
}

#[test]
fn each_direction_has_its_rate() {
    let rate = |text: &str| {
        let job = only(&format!("[t]\nsize=1m\n{text}\n"));
        (job.rate.map(|rate| (rate.per_second, rate.reads_per_second)), job.read_percent)
    };
    assert_eq!(rate("rw=randrw\nrate=4k,12k,1k"), (Some((4.0, Some(1.0))), 25));
    assert_eq!(rate("rw=randrw\nrate_iops=100\nrwmixread=70"), (Some((200.0, Some(100.0))), 50));
    assert_eq!(rate("rw=read\nrate_iops=100,200,300"), (Some((100.0, None)), 50));
    assert_eq!(rate("rw=write\nrate_iops=100,200,300"), (Some((200.0, None)), 50));
    assert_eq!(rate("rw=trim\nrate_iops=100,200,300"), (Some((300.0, None)), 50));
    assert_eq!((rate("rw=write\nrate_iops=100,"), rate("rw=rw\nrate=0")), ((None, 50), (None, 50)));
    // The floor is compared with the rate of its direction.
    insta::assert_snapshot!(error("[t]\nrw=rw\nsize=1m\nrate=8k,4k\nrate_min=6k\n"), @"job.fio:5: rate_min: 6144 B/s exceeds the offered rate of 4096 B/s");
}

#[test]
fn priorities_are_those_of_threads_and_of_single_operations() {
    use PriorityClass::{BestEffort, Idle, Realtime};

    let priorities =
        |text: &str| only(&format!("[t]\nsize=4m\nioengine=libaio\n{text}\n")).priorities;
    let of = |class, level, hint| IoPriority { class, level, hint };
    let share = |bytes, percent, priority| PriorityShare { bytes, percent, priority };
    assert_eq!(priorities("prioclass=3").thread, Some(of(Idle, 0, 0)));
    assert_eq!(priorities("prio=7\npriohint=2").thread, Some(of(BestEffort, 7, 2)));
    assert!(priorities("cmdprio_class=1\ncmdprio=3\ncmdprio_percentage=0").is_default());
    let both = priorities("rw=rw\ncmdprio_percentage=20,30\ncmdprio_class=3,2\ncmdprio=1,4");
    assert_eq!(both.reads, [share(None, 20, of(Idle, 1, 0))]);
    assert_eq!(both.writes, [share(None, 30, of(BestEffort, 4, 0))]);
    // Operations that a pattern never issues have no priority.
    let reads = priorities("cmdprio_percentage=20");
    assert_eq!((reads.reads, reads.writes), (vec![share(None, 20, of(Realtime, 0, 0))], vec![]));
    let text = "rw=rw\ncmdprio=3\ncmdprio_bssplit=64k/25/1/1:64k/75/3/2/9:1m/0:2m,1m/10:4k/";
    let split = priorities(text);
    assert_eq!(
        split.reads,
        [share(Some(65536), 25, of(Realtime, 1, 0)), share(Some(65536), 75, of(Idle, 2, 9))]
    );
    assert_eq!(split.writes, [share(Some(1 << 20), 10, of(Realtime, 3, 0))]);
    let error = |text: &str| error(&format!("[t]\nsize=4m\nioengine=libaio\n{text}\n"));
    for wrong in [
        "64k/101", "64k/60:64k/41", "64k/5/1", "64k/5/1/", "64k/5/4/0", "64k/5/1/8",
        "64k/5/1/0/1024", "64k/5/1/0/0/0", "x/5",
    ] {
        let message = error(&format!("cmdprio_bssplit={wrong}"));
        assert!(message.starts_with("job.fio:4: cmdprio_bssplit: "), "{message}");
    }
    insta::assert_snapshot!(error("cmdprio_bssplit=64k/101"), @r#"job.fio:4: cmdprio_bssplit: "64k/101" is invalid: expected sizes with percentages of at most 100 for each size, such as 64k/25:1m/0, each of them also with class 0 to 3 and level 0 to 7, such as 64k/25/1/0, or with a hint up to 1023, such as 64k/25/2/0/1"#);
    insta::assert_snapshot!(error("cmdprio_bssplit=64k/1\ncmdprio_percentage=2"), @"job.fio:4: cmdprio_bssplit and cmdprio_percentage exclude each other");
    insta::assert_snapshot!(error("ioengine=psync\ncmdprio_percentage=2"), @"job.fio:5: cmdprio_percentage: requires ioengine=libaio or ioengine=io_uring");
    insta::assert_snapshot!(error("cmdprio_class=0"), @r#"job.fio:4: cmdprio_class: "0" is invalid: expected a whole number from 1 to 3, or one for reads and one for writes"#);
    insta::assert_snapshot!(error("prioclass=4"), @r#"job.fio:4: prioclass: "4" is invalid: expected a whole number from 0 to 3"#);
}

#[test]
fn a_command_line_is_read_as_fio_reads_it() {
    let whole = "fio -ioengine=libaio --direct 1 -sync=1 -bs=4k -rw=write -name=x \
                 -filename=/dev/sdx -size=1m";
    let plan = command(whole).unwrap();
    assert_eq!((plan.tests[0].name.as_str(), plan.target.as_deref()), ("x", Some("/dev/sdx")));
    // A switch takes no value from the next word, but fio's other kind of flag does.
    assert!(command("-group_reporting -thread --time_based -runtime 5 -rw randwrite").is_ok());
    // Options before the first name apply to all jobs.
    let two = command("-size=1m -name=a -bs=8k -name=b -stonewall").unwrap();
    let blocks = |index: usize| match &two.tests[index].work {
        Work::Blocks(workload) => workload.block_bytes.get(),
        Work::Steps(_) | Work::Sort(_) => 0,
    };
    assert_eq!((two.tests[1].name.as_str(), blocks(0), blocks(1)), ("b", 8192, 4096));
    let error = |words| command(words).unwrap_err();
    insta::assert_snapshot!(error("-size=1m job.fio"), @r#"fio command line: expected an option such as --rw=randwrite instead of "job.fio"; to run a job file: flushmark run JOB.fio"#);
    insta::assert_snapshot!(error("-size=1m -direct"), @"fio command line: -direct needs a value");
    insta::assert_snapshot!(error("-size=1m -zonemode zbd -verify=crc64 --output-format=json"), @"fio command line: unsupported option `output-format` (put --format json, fio or fio+ before the fio command line); remove it, or see docs/fio.md for the supported options");
    insta::assert_snapshot!(error("-size=1m -name="), @"fio command line: name: expected a name");
}

#[test]
fn values_at_the_end_of_their_range_are_taken() {
    for lines in [
        "nrfiles=256",
        "filesize=4k\nnrfiles=16384",
        "numjobs=256",
        "ioengine=libaio\niodepth=1024",
        "rw=write\nfsync=1000000",
        "rw=read:-4k",
        "bsrange=1k-1m",
        "rate_iops=10000000",
        "bs=512\nrate=5120000000",
        "zonemode=strided\nzonesize=4k\nzonerange=4k",
        "rw=trim\nioengine=io_uring\niodepth=1",
        "bssplit=4k/100",
        "bs=4k,8k,16k",
        "loops=1000000000",
        // Jobs on the same file but different bytes, or on separate files.
        "rw=write\nverify=crc32c\nnumjobs=2\nfilename=x\noffset_increment=1m",
        "rw=write\nverify=crc32c\nnumjobs=2",
        "rw=write\nverify=crc32c\nfilename=x",
    ] {
        only(&format!("[t]\nsize=1m\n{lines}\n"));
    }
    for lines in [
        "bsrange=1k-1025k",
        "bsrange=8k-4k",
        "rate_iops=10000001",
        "bs=512\nrate=5120001024",
        "rw=read:-4095",
        "bssplit=4k/101",
        "bs=4k,8k,16k,32k",
        "bs=,",
        "loops=0",
    ] {
        error(&format!("[t]\nsize=1m\n{lines}\n"));
    }
    // A file ends at the largest offset: size, offset and all increments together.
    let addressed = |size: u64, more: &str| {
        Plan::from_fio("j", &format!("[t]\nbs=512\nfilename=x\nsize={size}\n{more}\n"), &|_| None)
            .is_ok()
    };
    let all = i64::MAX as u64;
    assert!(addressed(all, "") && !addressed(all + 1, ""));
    assert!(addressed(all - 1024, "offset=1024") && !addressed(all - 1023, "offset=1024"));
    let jobs = "numjobs=2\noffset=512\noffset_increment=2048";
    assert!(addressed(all - 512 - 2 * 2048, jobs) && !addressed(all - 512 - 2 * 2048 + 1, jobs));
}

#[test]
fn an_engine_can_change_the_space_of_a_file_instead_of_its_data() {
    let falloc = |rw: &str| only(&format!("[t]\nsize=1m\nioengine=falloc\n{rw}\n"));
    for (rw, pattern) in [
        ("rw=read", Pattern::Reserve),
        ("rw=randread", Pattern::RandReserve),
        ("rw=write", Pattern::Allocate),
        ("rw=randwrite", Pattern::RandAllocate),
        ("rw=trim", Pattern::Trim),
        ("rw=randtrim\niodepth=16", Pattern::RandTrim),
    ] {
        let job = falloc(rw);
        assert_eq!((job.pattern, job.depth.get()), (pattern, 1), "{rw}");
        assert_eq!((job.engine, job.direct), (EngineChoice::Psync, false), "{rw}");
    }
    // A read finds a file that was written; a trim, other than that of other engines, does not.
    let layouts = ["rw=read", "rw=write", "rw=trim"].map(|rw| falloc(rw).layout);
    let reserved = Layout::PreallocatedOnce;
    assert_eq!(layouts, [Layout::Overwrite, reserved, reserved]);
    assert!(!falloc("rw=write\ndirect=1").direct);
    assert!(falloc("rw=write\nend_fsync=1").end_fsync);
    assert_eq!(falloc("rw=write\ndedupe_percentage=50").dedupe, None);
    // fio ignores a sync if nothing is written.
    assert_eq!(falloc("rw=read\nfsync=1").sync, SyncMethod::None);
    let truncate = only("[t]\nsize=1m\nioengine=ftruncate\nrw=randwrite\n");
    assert_eq!((truncate.pattern, truncate.depth.get()), (Pattern::RandTruncate, 1));
    let error = |lines: &str| error(&format!("[t]\nsize=1m\n{lines}\n"));
    insta::assert_snapshot!(error("ioengine=falloc\nrw=randrw"), @"job.fio:4: rw: ioengine=falloc does not support randrw; use read, randread, write, randwrite, trim or randtrim");
    insta::assert_snapshot!(error("ioengine=ftruncate"), @"job.fio:1: rw: ioengine=ftruncate does not support read; use write or randwrite");
    insta::assert_snapshot!(error("ioengine=ftruncate\nrw=write\nfdatasync=2"), @"job.fio:5: fdatasync: truncate writes no data to sync; remove it");
    insta::assert_snapshot!(error("ioengine=falloc\nrw=write\nverify=crc32c"), @"job.fio:5: verify: allocate writes no data to read back; use another rw");
    insta::assert_snapshot!(error("rw=allocate"), @r#"job.fio:3: rw: "allocate" is invalid: expected one of read, write, randread, randwrite, rw, randrw, trim, randtrim, readwrite"#);
    only("[t]\nsize=1m\ncreate_on_open=0\n");
}

/// fio's examples/falloc.fio and examples/ftruncate.fio, without their comments.
#[test]
fn sections_with_different_engines_share_a_file() {
    let text = "[global]\nioengine=falloc\niodepth=1\ndirect=0\nbuffered=0\ndirectory=/scratch\n\
                nrfiles=1\nsize=100M\nfilesize=100M\ngroup_reporting\nfilename=fragmented_file\n\
                [falloc-fuzzer]\nstonewall\nruntime=10\ntime_based\n\
                bssplit=4k/10:64k/50:32k/40\nrw=randwrite\nnumjobs=1\n\
                [punch hole-fuzzer]\nbs=4k\nruntime=10\ntime_based\nrw=randtrim\nnumjobs=2\n\
                [sequential aio-dio write]\nstonewall\nioengine=libaio\nnumjobs=1\niodepth=128\n\
                buffered=0\ndirect=1\nrw=write\nbs=64k\n\
                [sequential buffered read]\nstonewall\nioengine=sync\nbuffered=1\ndirect=0\n\
                rw=read\nbs=64k\n";
    let plan = Plan::from_fio("falloc.fio", text, &|_| None).unwrap();
    assert_eq!(plan.target.as_deref(), Some("/scratch/fragmented_file"));
    let jobs: Vec<_> = (plan.tests.iter())
        .map(|test| match &test.work {
            Work::Blocks(job) => (test.with_previous, job.pattern, job.layout, job.kept_file),
            Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
        })
        .collect();
    let reserved = Layout::PreallocatedOnce;
    assert_eq!(
        jobs,
        [
            (false, Pattern::RandAllocate, reserved, Some(0)),
            (true, Pattern::RandTrim, reserved, Some(0)),
            (false, Pattern::Write, Layout::Overwrite, Some(0)),
            (false, Pattern::Read, Layout::Overwrite, Some(0)),
        ]
    );
    let text = "[global]\nioengine=ftruncate\ndirectory=/scratch\nsize=102404k ; 100Mb+4k\n\
                stonewall\nfilename=truncate\nruntime=10s\ntime_based\ndirect=1\nbs=4k\n\
                [grow-truncate]\nrw=write\n[rand-truncate]\nrw=randwrite\nnorandommap\n";
    let plan = Plan::from_fio("ftruncate.fio", text, &|_| None).unwrap();
    for test in &plan.tests {
        let Work::Blocks(job) = &test.work else { unreachable!("fio has neither steps nor sorts") };
        // Its length is unknown once it has been truncated.
        assert_eq!((job.layout, job.kept_file), (reserved, Some(0)), "{}", test.name);
    }
    // Sections with other file names have other files, and each job without one its own.
    let text = "[global]\nsize=1m\nrw=write\nstonewall\n[a]\nfilename=a\n[b]\nfilename=b\n\
                [c]\nfilename=a\n[d]\n";
    let plan = Plan::from_fio("j", text, &|_| None).unwrap();
    let kept = plan.tests.iter().map(|test| match &test.work {
        Work::Blocks(job) => job.kept_file,
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    });
    assert_eq!(kept.collect::<Vec<_>>(), [Some(0), Some(1), Some(0), None]);
}

/// fio's examples/filecreate-ioengine.fio and those for its other engines of this kind.
#[test]
fn an_engine_can_create_look_up_or_remove_files() {
    let create = "[global]\ncreate_on_open=1\nnrfiles=31250\nioengine=filecreate\n\
                  fallocate=none\nfilesize=4k\nopenfiles=1\n[t0]\n[t1]\n";
    let plan = Plan::from_fio("f", create, &|_| None).unwrap();
    assert!(plan.tests.len() == 2 && plan.tests[1].with_previous && plan.target.is_none());
    let job = only(create);
    assert_eq!((job.pattern, job.entries_per_job()), (Pattern::Create, 31250));
    assert_eq!((job.passes, job.limit), (Some(1), Limit::Count(u64::MAX)));
    assert_eq!((job.warm_up, job.direct), (WarmUp::default(), false));
    assert_eq!(job.limit_on(job.size_per_job_bytes(Room::Unlimited)), Limit::Count(31250));
    assert_eq!(job.title(), "create 31250 entries, jobs 1");
    for (engine, pattern) in [
        ("filestat", Pattern::Stat),
        ("filedelete", Pattern::Remove),
        ("dircreate", Pattern::MkDir),
        ("dirstat", Pattern::StatDir),
        ("dirdelete", Pattern::RmDir),
    ] {
        let lines = "numjobs=10\nfilesize=4k\nnrfiles=200\nunlink=0\nthread\nbs=4k\niodepth=4\n";
        let job = only(&format!("[t]\nioengine={engine}\n{lines}"));
        assert_eq!((job.pattern, job.jobs.get(), job.depth.get()), (pattern, 10, 1), "{engine}");
        assert_eq!(job.entries_per_job(), 200, "{engine}");
    }
    let stat = |lines: &str| only(&format!("[t]\nioengine=filestat\nfilesize=4k\n{lines}\n"));
    let second = Duration::from_secs(1);
    let both = |count| Limit::TimeAndCount { time: second, count, until: Until::First };
    assert_eq!(stat("runtime=1").limit, both(u64::MAX));
    assert_eq!(stat("runtime=1\nnumber_ios=7").limit, both(7));
    let timed = stat("runtime=1\ntime_based");
    assert_eq!((timed.limit, timed.passes), (Limit::Time(second), None));
    assert_eq!(stat("nrfiles=4\nloops=3").limit_on(4 * 4096), Limit::Count(12));
    assert_eq!(stat("rate_iops=10").rate.map(|rate| rate.per_second), Some(10.0));
}

#[test]
fn an_engine_without_data_refuses_what_would_change_it() {
    let error = |lines: &str| {
        error(&format!("[t]\nioengine=filecreate\n{lines}\n")).replace("job.fio:", "")
    };
    insta::assert_snapshot!(error(""), @"2: filesize: missing; set the size of each file, such as filesize=4k. fio requires it, too");
    insta::assert_snapshot!(error("filesize=100"), @r#"3: filesize: "100" is invalid: expected one size from 512 to 64m, such as 4k"#);
    insta::assert_snapshot!(error("filesize=4k\nsize=1m"), @"4: size: set the size of each file with filesize, and their number with nrfiles");
    insta::assert_snapshot!(error("filename=x"), @"3: filename: each job has files with separate names; use directory, or --target");
    insta::assert_snapshot!(error("filesize=4k\nloops=2"), @"4: loops: a file can be created or removed only once; set nrfiles");
    insta::assert_snapshot!(error("filesize=4k\nruntime=1\ntime_based"), @"5: time_based: a file can be created or removed only once; set nrfiles");
    insta::assert_snapshot!(error("filesize=4k\nrw=write\nfsync=1"), @"5: fsync: flushmark does not sync entries of directories here; use steps");
    insta::assert_snapshot!(error("filesize=4k\nrw=write\nend_fsync=1"), @"5: end_fsync: flushmark does not sync entries of directories here; use steps");
    insta::assert_snapshot!(error("filesize=4k\nnrfiles=16777217"), @r#"4: nrfiles: "16777217" is invalid: expected a whole number from 1 to 16777216"#);
    insta::assert_snapshot!(error("filesize=4k\nfallocate=maybe"), @r#"4: fallocate: "maybe" is invalid: expected one of native, posix, 1, none, 0; keep and truncate are not supported"#);
    for key in ["io_size", "offset", "offset_increment", "rate", "rate_min", "latency_target"] {
        let refused = error(&format!("filesize=4k\n{key}=4k"));
        assert!(refused.starts_with(&format!("4: {key}: ")), "{refused}");
    }
    for line in ["ramp_time=1", "verify=crc32c"] {
        let refused = error(&format!("filesize=4k\n{line}"));
        assert!(refused.starts_with("4: "), "{refused}");
    }
}

/// A writing section and one that checks what it reads.
fn checked(write: &str, read: &str) -> Result<Plan, PlanError> {
    let text = format!(
        "[global]\nfilename=f\nverify=meta\nbs=64k\nsize=1m\n[w]\nrw=write\ndo_verify=0\n{write}\n\
         [r]\nrw=read\nstonewall\n{read}\n"
    );
    Plan::from_fio("job.fio", &text, &|_| None)
}

#[test]
fn reads_are_checked_against_what_an_earlier_section_wrote() {
    let plan = checked(
        "verify_pattern=0xaa55\nverify_interval=512",
        "verify_pattern=0xaa55\nverify_interval=512",
    )
    .unwrap();
    let verify = |test: &Test| match &test.work {
        Work::Blocks(workload) => workload.verify.unwrap(),
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    };
    let [writer, reader] = [0, 1].map(|index| verify(&plan.tests[index]));
    let seal = Seal::Header { fill: FillPattern::new(&[0xaa, 0x55]) };
    assert_eq!((writer.seal, writer.piece_bytes, writer.time), (seal, 512, CheckTime::InLaterTest));
    assert_eq!((reader.time, reader.latest), (CheckTime::OnRead, true));
    assert!(!verify(&checked("verify_write_sequence=0", "").unwrap().tests[1]).latest);
    let error = |write, read| checked(write, read).unwrap_err().to_string();
    insta::assert_snapshot!(error("verify_interval=512", ""), @"job.fio:3: verify: section w writes the file last; it must have do_verify=0 and the same verify, verify_pattern, verify_interval and bs as this one");
    insta::assert_snapshot!(error("do_verify=1", ""), @"job.fio:3: verify: section w writes the file last; it must have do_verify=0 and the same verify, verify_pattern, verify_interval and bs as this one");
    insta::assert_snapshot!(error("filename=g", ""), @"job.fio:3: verify: no earlier section writes this file, so there is nothing to check it against");
    insta::assert_snapshot!(error("", "stonewall=0"), @"job.fio:3: verify: section w writes the file at the same time as this one checks it; add stonewall");
}

#[test]
fn verification_has_a_pattern_and_a_time() {
    let verify = |text: &str| only(&format!("[t]\nrw=write\nsize=1m\n{text}\n")).verify;
    assert_eq!(verify("verify=sha512\nverify_backlog=8").unwrap().time, CheckTime::EveryWrites(8));
    assert_eq!(verify("verify=crc64").unwrap().seal, Seal::Checksum { fill: None });
    let fill = FillPattern::new(&[0x34, 0x12]).unwrap();
    assert_eq!(verify("verify_pattern=4660").unwrap().seal, Seal::Pattern(fill));
    assert_eq!(
        verify("verify=pattern_hdr\nverify_pattern=0x3412").unwrap().seal,
        Seal::Header { fill: Some(fill) }
    );
    assert_eq!((verify("verify=0"), verify("do_verify=1")), (None, None));
    let error = |text: &str| error(&format!("[t]\nrw=write\nsize=1m\n{text}\n"));
    insta::assert_snapshot!(error("verify=pattern"), @"job.fio:4: verify: a pattern requires verify_pattern");
    insta::assert_snapshot!(error("verify=meta\nverify_pattern=0xabc"), @r#"job.fio:5: verify_pattern: "0xabc" is invalid: expected up to 64 bytes as a hexadecimal number with an even number of digits, such as 0xdeadbeef, or a decimal number"#);
    insta::assert_snapshot!(error("verify=meta\nverify_interval=1000"), @r#"job.fio:5: verify_interval: "1000" is invalid: expected a size that divides bs, 4 KiB, and is at least 64"#);
    insta::assert_snapshot!(error("verify=meta\nverify_backlog=1\ndo_verify=0"), @"job.fio:5: verify_backlog: nothing is checked with do_verify=0; remove one of them");
}

#[test]
fn ignored_errors_are_fio_s() {
    let tolerance = |text: &str| only(&format!("[t]\nrw=write\nsize=1m\n{text}\n")).tolerance;
    let listed = tolerance("continue_on_error=write\nignore_error=,ENOSPC:122");
    assert_eq!((listed.reads, listed.writes, listed.mismatches), (vec![], vec![28, 122], false));
    let all = tolerance("continue_on_error=all");
    assert_eq!((all.reads, all.writes, all.mismatches), (vec![5, 84], vec![5, 84], true));
    assert!(tolerance("continue_on_error=none").is_empty());
    let error = |text: &str| error(&format!("[t]\nrw=write\nsize=1m\n{text}\n"));
    insta::assert_snapshot!(error("ignore_error=,ENOSUCH"), @r#"job.fio:4: ignore_error: ",ENOSUCH" is invalid: expected lists of errors of reads, writes and verification, such as EAGAIN,ENOSPC:122"#);
    insta::assert_snapshot!(error("continue_on_error=some"), @r#"job.fio:4: continue_on_error: "some" is invalid: expected one of none, read, write, io, verify, all, 0, 1"#);
}

#[test]
fn atomic_writes_are_direct_and_aligned() {
    let job = |text: &str| format!("[t]\nrw=write\nsize=1m\natomic=1\n{text}\n");
    assert!(only(&job("direct=1")).atomic);
    assert!(!only("[t]\nrw=read\nsize=1m\natomic=1\n").atomic);
    insta::assert_snapshot!(error(&job("")), @"job.fio:4: atomic: atomic writes require direct I/O; set direct=1");
    insta::assert_snapshot!(error(&job("direct=1\nbs=12k")), @"job.fio:4: atomic: the kernel requires one bs that is a power of two");
    insta::assert_snapshot!(error(&job("direct=1\noffset=512")), @"job.fio:4: atomic: the kernel requires blocks aligned to bs; use an offset and gaps that are multiples of it");
}

#[test]
fn files_that_are_not_prepared_are_empty() {
    let layout = |text: &str| only(&format!("[t]\nsize=1m\n{text}\n")).layout;
    assert_eq!(layout("rw=randrw\ncreate_on_open=1"), Layout::Empty);
    assert_eq!(layout("rw=write\nfill_device=1"), Layout::Empty);
    assert_eq!(layout("rw=trim\nfallocate=none"), Layout::Empty);
    assert_eq!(layout("rw=trim"), Layout::Overwrite);
    let fills = only("[t]\nrw=write\nfill_device=1\n");
    assert_eq!((fills.fills, fills.size), (true, Area::Percent(100)));
    insta::assert_snapshot!(error("[t]\nrw=read\nsize=1m\ncreate_on_open=1\n"), @"job.fio:4: create_on_open: the new file is empty, so read finds no data in it; remove it");
}

#[test]
fn different_files_of_one_directory_run_at_the_same_time() {
    let text = "[global]\ndirectory=/srv\nsize=1m\nrw=write\n[a]\nfilename=x\n[b]\nfilename=y\n[c]\nfilename=x\n";
    let plan = Plan::from_fio("job.fio", text, &|_| None).unwrap();
    let file = |test: &Test| match &test.work {
        Work::Blocks(workload) => workload.kept_file,
        Work::Steps(_) | Work::Sort(_) => unreachable!("fio has neither steps nor sorts"),
    };
    assert_eq!(plan.tests.iter().map(file).collect::<Vec<_>>(), [Some(0), Some(1), Some(0)]);
    assert_eq!((plan.target.as_deref(), plan.targets_differ), (Some("/srv"), None));
}

/// fio's examples/nbd.fio, whose address comes from the environment.
#[test]
fn an_export_is_the_target_of_fio_s_nbd_engine() {
    let text = "[global]\nioengine=nbd\nuri=${uri}\nrw=randrw\ntime_based\nruntime=60\niodepth=64\n[a]\noffset=0\n[b]\noffset=64m\n";
    let uri = "nbd+unix:///?socket=/run/nbd.sock";
    let plan = Plan::from_fio("nbd.fio", text, &|name| (name == "uri").then(|| uri.to_owned()));
    let plan = plan.unwrap();
    assert_eq!(plan.target.as_deref(), Some(uri));
    assert!(plan.targets_differ.is_none());
    let Work::Blocks(second) = &plan.tests[1].work else { panic!("fio has no steps") };
    assert_eq!((second.engine, second.depth.get()), (EngineChoice::Auto, 64));
    assert_eq!((second.sharing, second.offset_bytes), (Sharing::All, 64 << 20));
    assert_eq!(second.sync_timing, SyncTiming::Queued);
}

#[test]
fn an_export_without_an_address_and_an_address_without_an_export_are_refused() {
    insta::assert_snapshot!(error("[t]\nioengine=nbd\n"), @"job.fio:2: ioengine=nbd requires uri, an NBD address such as nbd://HOST/EXPORT or nbd+unix:///EXPORT?socket=PATH");
    insta::assert_snapshot!(error("[t]\nuri=nbd://h\nsize=1m\n"), @"job.fio:2: uri requires ioengine=nbd");
    insta::assert_snapshot!(error("[t]\nioengine=nbd\nuri=/dev/nbd0\n"), @r#"job.fio:3: uri: "/dev/nbd0" is invalid: expected an NBD address such as nbd://HOST/EXPORT or nbd+unix:///EXPORT?socket=PATH"#);
    insta::assert_snapshot!(error("[t]\nioengine=nbd\nuri=nbd://h\nfilename=/dev/nbd0\n"), @"job.fio:4: filename: ioengine=nbd has no files; remove it, uri is the target");
}

#[test]
fn an_image_is_the_target_of_fio_s_rbd_engine() {
    let read = |more: &str| {
        let text = format!("[t]\nioengine=rbd\npool=rbd\nrbdname=disk\n{more}");
        Plan::from_fio("rbd.fio", &text, &|_| None).unwrap()
    };
    let target = |more: &str| read(more).target;
    assert_eq!(target("").as_deref(), Some("rbd:rbd/disk"));
    assert_eq!(target("clientname=bench\n").as_deref(), Some("rbd:rbd/disk:id=bench"));
    let all = "clientname=client.bench\nclustername=site\nbusy_poll=0\n";
    assert_eq!(target(all).as_deref(), Some("rbd:rbd/disk:id=bench:cluster=site"));
    let plan = read("rw=randwrite\niodepth=32\nfsync=1\n");
    let Work::Blocks(workload) = &plan.tests[0].work else { panic!("fio has no steps") };
    assert_eq!((workload.engine, workload.depth.get()), (EngineChoice::Auto, 32));
    assert_eq!((workload.sharing, workload.sync_timing), (Sharing::All, SyncTiming::Queued));
    insta::assert_snapshot!(plan.notes.join("\n"), @"ioengine=rbd: librbd's cache is off, unless --target rbd:POOL/IMAGE:cache=on is given; fio leaves it as Ceph's configuration has it, which is on by default");
}

#[test]
fn what_fio_s_ceph_engines_lack_or_flushmark_cannot_do_is_refused() {
    insta::assert_snapshot!(error("[t]\nioengine=rbd\nrbdname=disk\n"), @"job.fio:2: ioengine=rbd requires pool");
    insta::assert_snapshot!(error("[t]\nioengine=rbd\npool=rbd\n"), @"job.fio:2: ioengine=rbd requires rbdname");
    insta::assert_snapshot!(error("[t]\nioengine=rbd\npool=rbd\nrbdname=a/b\n"), @r#"job.fio:4: rbdname: "a/b" is invalid: expected a name without : and /"#);
    insta::assert_snapshot!(error("[t]\nioengine=rbd\npool=rbd\nrbdname=a\nclientname=a:b\n"), @r#"job.fio:5: clientname: "a:b" is invalid: expected a name without : and /"#);
    insta::assert_snapshot!(error("[t]\nioengine=rbd\npool=rbd\nrbdname=a\nfilename=x\n"), @"job.fio:5: filename: ioengine=rbd has no files; remove it, rbdname is the target");
    insta::assert_snapshot!(error("[t]\nioengine=rbd\npool=rbd\nrbdname=a\nbusy_poll=1\n"), @r#"job.fio:5: busy_poll: "1" is invalid: expected 0"#);
    insta::assert_snapshot!(error("[t]\nsize=1m\npool=rbd\n"), @"job.fio:3: pool requires ioengine=rbd");
    insta::assert_snapshot!(error("[t]\nioengine=rados\npool=rbd\n"), @"job.fio:2: ioengine=rados is not supported: it creates an object for each file, of any size, and does not fill it before it is measured; use --target rados:POOL with another ioengine");
    insta::assert_snapshot!(error("[t]\nioengine=rados\npool=rbd\ntouch_objects=0\n"), @"job.fio:4: unsupported option `touch_objects` (objects are always created and filled; use --target rados:POOL); remove it, or see docs/fio.md for the supported options");
}
