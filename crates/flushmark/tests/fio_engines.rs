//! Options of fio's job files about processors, and engines other than plain reads and writes, end
//! to end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Mount, Run, flushmark, needs_mkfs, needs_root, system};
use workload::SteadyFill;

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Runs a job file.
fn job_file(directory: &Path, text: &str, words: &[&str]) -> Run {
    let path = directory.join("job.fio");
    std::fs::write(&path, text).unwrap();
    let fixed = ["run", path.to_str().unwrap(), "--quiet", "--format", "json"];
    Run::of(flushmark().args(fixed).args(words).output().unwrap())
}

#[test]
fn a_pass_of_sprandom_writes_every_block_and_some_twice() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("drive");
    let blocks = 2048;
    std::fs::write(&file, vec![1u8; blocks * 4096]).unwrap();
    let text = "[global]\nioengine=libaio\nrw=randwrite\nbs=${FIO_BS}\nblockalign=${FIO_BS}\n\
                direct=1\nnorandommap=1\niodepth=64\n[preconditioning]\nsprandom=1\nspr_op=0.15\n\
                spr_num_regions=10\n";
    let text = text.replace("${FIO_BS}", "4096");
    let target = ["--target", file.to_str().unwrap(), "--destroy-data"];
    let run = job_file(directory.path(), &text, &target);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = run.document()["results"][0].clone();
    let order = SteadyFill { over_provisioning: 0.15, regions: 10 };
    let writes = order.writes(blocks as u64);
    assert_eq!(result["proof"]["writes"], writes);
    assert!((2300..2400).contains(&writes), "{writes}");
    let recorded = serde_json::json!({"steady_fill": {"over_provisioning": 0.15, "regions": 10}});
    assert_eq!(result["workload"]["order"], recorded);
    let content = std::fs::read(&file).unwrap();
    assert_eq!(content.len(), blocks * 4096);
    assert!(content.chunks(4096).all(|block| block.iter().any(|byte| *byte != 1)));
    // A model does the same.
    let modelled = text.replace("[preconditioning]\n", "[preconditioning]\nsize=8m\n");
    let modelled = job_file(directory.path(), &modelled, &["--target", "sim:consumer-nvme"]);
    assert_eq!(modelled.document()["results"][0]["proof"]["writes"], writes);
}

#[test]
fn a_job_runs_on_its_processors() {
    let directory = tempfile::tempdir().unwrap();
    let list = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = list.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = list.trim().split([',', '-']).next().unwrap().to_owned();
    let text = format!(
        "[global]\nsize=1m\nrw=randread\ntime_based\nruntime=60\ncpus_allowed={first}\n[a]\n\
         numjobs=2\n[b]\ncpus_allowed_policy=split\nnuma_mem_policy=local\n"
    );
    let path = directory.path().join("job.fio");
    std::fs::write(&path, text).unwrap();
    let words = ["run", path.to_str().unwrap(), "--quiet", "--target"];
    let target = directory.path().to_str().unwrap();
    let child = flushmark().args(words).arg(target).spawn().unwrap();
    let of_jobs = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
        let status = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("status"))
                .ok()
                .filter(|text| text.starts_with("Name:\tjob "))
        };
        let all: Vec<String> = tasks.flatten().filter_map(status).collect();
        let line = format!("Cpus_allowed_list:\t{first}\n");
        (all.len() == 3 && all.iter().all(|text| text.contains(&line))).then_some(())
    };
    let begun = Instant::now();
    let mut placed = None;
    while placed.is_none() && begun.elapsed() < Duration::from_secs(40) {
        std::thread::sleep(Duration::from_millis(50));
        placed = of_jobs();
    }
    common::interrupt(child, "-INT", Duration::from_secs(30));
    assert!(placed.is_some());
}

#[test]
fn a_section_on_a_missing_node_or_processor_is_skipped_and_the_others_run() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[global]\nsize=1m\nrw=randread\nnumber_ios=20\n[a]\n[b]\nnuma_cpu_nodes=0-4095\n\
                numa_mem_policy=interleave:0-4095\n[c]\ncpus_allowed=60000\nstonewall\n";
    let target = directory.path().to_str().unwrap();
    let run = job_file(directory.path(), text, &["--target", target]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    assert_eq!(document["results"].as_array().unwrap().len(), 1);
    assert_eq!(document["results"][0]["test"], "a");
    let because = |index: usize| document["skipped"][index]["because"].as_str().unwrap();
    assert!(because(0).contains(", which this machine does not have"), "{}", because(0));
    if Path::new("/sys/devices/system/cpu/online").exists() {
        let expected = "it runs on processor 60000, which does not exist or is offline (online: ";
        assert!(because(1).starts_with(expected), "{}", because(1));
    }
    let modelled = job_file(
        directory.path(),
        "[a]\nsize=1m\ncpus_allowed=0\n",
        &["--target", "sim:consumer-nvme"],
    );
    let skipped = modelled.document()["skipped"].to_string();
    assert!(skipped.contains("models have neither processors nor NUMA nodes"), "{skipped}");
}

#[test]
fn libblkio_reads_the_file_at_its_path_with_io_uring() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("drive");
    std::fs::write(&file, vec![1u8; 1 << 20]).unwrap();
    let text = format!(
        "[global]\nioengine=libblkio\nlibblkio_driver=io_uring\nlibblkio_path={} ; the path\n\
         rw=randread\nblocksize=4k\nnumber_ios=50\n[job-A]\n[job-B]\nnumjobs=2  ; two copies\n\
         thread=1\n",
        file.display()
    );
    let run = job_file(directory.path(), &text, &[]);
    if run.stderr.contains("io_uring") {
        eprintln!("skipped: libblkio_reads_the_file_at_its_path_with_io_uring: {}", run.stderr);
        return;
    }
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    for (index, reads) in [(0, 50), (1, 100)] {
        let result = &document["results"][index];
        assert_eq!(
            (&result["engine"], &result["proof"]["reads"]),
            (&"io_uring".into(), &reads.into())
        );
    }
    assert_eq!(document["target"]["given"], file.to_str().unwrap());
}

#[test]
fn blocks_are_exchanged_while_others_write_and_verify() {
    const TEST: &str = "blocks_are_exchanged_while_others_write_and_verify";
    if !needs_root(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image").to_str().unwrap().to_owned();
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    system("mkfs.ext4", &["-q", &image]).unwrap();
    let Some(ext4) = Mount::new(TEST, &["-o", "loop", &image]) else { return };
    let text = "[global]\nsize=4m\nbs=32k\ndonorname=donor\nioengine=e4defrag\n\
                [own]\nrw=write\nnumjobs=2\n[filled]\nstonewall\nrw=write\noverwrite=1\n\
                [moving]\nstonewall\nrw=randwrite\nbs=4k\ninplace=1\nfilename=f\n\
                ignore_error=,EBUSY\nruntime=1\ntime_based\n\
                [writing]\nioengine=libaio\nrw=randrw\niodepth=16\ndirect=1\nfilename=f\n\
                numjobs=4\nverify=md5\nruntime=1\ntime_based\n";
    let target = ext4.path.to_str().unwrap();
    let run = job_file(directory.path(), text, &["--target", target]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    let result = |index: usize| document["results"][index].clone();
    for index in 0..4 {
        assert!(result(index)["ended"]["failed"].is_null(), "{}", result(index));
        assert_eq!(result(index)["ended"], result(0)["ended"], "{}", result(index));
    }
    assert_eq!([0, 1].map(|index| result(index)["proof"]["writes"].clone()), [256, 128]);
    assert_eq!(result(2)["workload"]["donor"], "in_place");
    let notes = result(3)["notes"].to_string();
    assert!(notes.contains("so a lost write would not be noticed"), "{notes}");
    assert!(common::entries(&ext4.path).iter().all(|name| name == "lost+found"));
    // Other filesystems cannot do it.
    let text = "[t]\nsize=4m\nrw=write\nioengine=e4defrag\ndonorname=d\n";
    let run = job_file(directory.path(), text, &["--target", "sim:consumer-nvme"]);
    let skipped = run.document()["skipped"].to_string();
    assert!(skipped.contains("models do not support exchanges of blocks"), "{skipped}");
    let run = job_file(directory.path(), text, &["--target", "/dev/shm"]);
    let skipped = run.document()["skipped"].to_string();
    assert!(skipped.contains("which requires a directory on ext4"), "{skipped}");
}

#[test]
fn a_section_computes_beside_commits() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[busy]\nioengine=cpuio\ncpuload=60\ncpuchunks=5000\nruntime=1\nnumjobs=2\n[log]\n\
                rw=write\nbs=4k\nsize=1m\nfdatasync=1\nruntime=1\ntime_based\n[sort]\nstonewall\n\
                ioengine=cpuio\ncpuload=50\ncpumode=qsort\nnumber_ios=3\n";
    let target = directory.path().to_str().unwrap();
    let run = job_file(directory.path(), text, &["--target", target]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    let [busy, log, sort] = [0, 1, 2].map(|index| document["results"][index].clone());
    let used_s = number(&busy["computed_s"]);
    // Two jobs, 60 % each; less if the machine is busy.
    assert!(used_s > 0.0 && used_s < 1.5, "{used_s}");
    assert!(
        busy["notes"].to_string().contains("of 2 processors; this is not a measurement of storage"),
        "{busy}"
    );
    assert_eq!((&busy["mib_per_s"], &busy["proof"]["commits"]), (&0.0.into(), &0.into()));
    assert!(busy["commit_us"].is_null() && number(&log["commits_per_s"]) > 0.0);
    assert!(log["computed_s"].is_null());
    assert_eq!((&sort["proof"]["reads"], &sort["engine"]), (&3.into(), &"cpu".into()));
    assert_eq!(sort["workload"]["compute"]["task"], "sort");
    assert!(common::entries(directory.path()).iter().all(|name| name == "job.fio"));
    // Computations without a limit end with the I/O beside them.
    let text = "[busy]\nioengine=cpuio\ncpuload=50\ncpuchunks=1000\nexit_on_io_done=1\n[log]\n\
                rw=write\nbs=4k\nsize=1m\nruntime=1\ntime_based\n";
    let run = job_file(directory.path(), text, &["--target", target]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let busy = run.document()["results"][0].clone();
    assert!((0.9..5.0).contains(&number(&busy["elapsed_s"])), "{busy}");
    // No target is needed, and a model has no processors.
    let alone = "[a]\nioengine=cpuio\ncpuload=100\ncpuchunks=1000\nnumber_ios=5\n";
    let run = job_file(directory.path(), alone, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.document()["results"][0]["proof"]["reads"], 5);
    assert_eq!(run.document()["findings"], serde_json::json!([]));
    let modelled = job_file(directory.path(), alone, &["--target", "sim:consumer-nvme"]);
    let skipped = modelled.document()["skipped"].to_string();
    assert!(skipped.contains("models do not support computations on a processor"), "{skipped}");
}
