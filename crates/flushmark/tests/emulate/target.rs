//! An export as the target of `run` and `check`: on flushmark's own server, on others, and on one
//! that sends garbage.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::spawn;
use std::time::{Duration, Instant};

use nbd::wire::{
    MAGIC, OPTION_BYTES, OPTION_MAGIC, OptionReply, REQUEST_BYTES, RequestHeader, SimpleReply,
    answer, info, info_request, option, transmission,
};
use serde_json::Value;

use crate::common::served::Served;
use crate::common::{Run, flushmark, needs_program, plan, run};

fn run_plan(target: &str, text: &str, args: &[&str]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), text);
    run(&[&["run", &plan, "--target", target, "--quiet", "--format", "json"], args].concat())
}

fn measured(target: &str, text: &str) -> Value {
    let run = run_plan(target, text, &["--destroy-data"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stderr, run.stdout);
    run.document()
}

#[test]
fn the_server_gets_every_write_flush_and_fua_that_is_counted() {
    let served = Served::nbd("consumer-nvme,capacity=1GiB", &[]);
    let count = |name: &str| served.ctl(&["status"]).document()[name].as_u64().unwrap();
    let mut before = ["reads", "writes", "flushes", "fua_writes"].map(count);
    let mut sent = |test: &str| {
        let text = format!(
            "[[test]]\nname = \"t\"\nsize = \"4MiB\"\ncount = 200\nwarm_up = \"0s\"\n{test}\n"
        );
        let document = measured(served.uri(), &text);
        let result = &document["results"][0];
        assert_eq!(result["engine"], "nbd", "{}", document["skipped"]);
        let after = ["reads", "writes", "flushes", "fua_writes"].map(count);
        let sent: Vec<u64> =
            after.iter().zip(&before).map(|(after, before)| after - before).collect();
        before = after;
        let counted = ["reads", "writes", "syncs"].map(|name| result["proof"][name].as_u64());
        assert_eq!(counted.map(Option::unwrap), sent[..3], "{test}");
        sent
    };
    assert_eq!(sent("pattern = \"randread\"\ndepth = 8"), [200, 0, 0, 0]);
    assert_eq!(sent("pattern = \"randwrite\""), [0, 200, 0, 0]);
    assert_eq!(sent("pattern = \"randwrite\"\ndepth = 32"), [0, 200, 0, 0]);
    assert_eq!(sent("pattern = \"randwrite\"\nsync = \"fsync\""), [0, 200, 200, 0]);
    assert_eq!(
        sent("pattern = \"write\"\nsync = \"fdatasync\"\nsync_every = 4\ndepth = 4"),
        [0, 200, 50, 0]
    );
    assert_eq!(
        sent("pattern = \"randwrite\"\nsync = \"fsync\"\nqueue_sync = true\ndepth = 8"),
        [0, 200, 200, 0]
    );
}

#[test]
fn a_durable_write_carries_fua() {
    let served = Served::nbd("consumer-nvme,capacity=1GiB", &[]);
    let mut total = 0;
    for method in ["o_sync", "o_dsync", "rwf_dsync"] {
        for depth in [1, 4] {
            let text = format!(
                "[[test]]\npattern = \"randwrite\"\nsync = \"{method}\"\ndepth = {depth}\n\
                 count = 100\nwarm_up = \"0s\"\nsize = \"1MiB\"\n"
            );
            let document = measured(served.uri(), &text);
            total += 100;
            let status = served.ctl(&["status"]).document();
            assert_eq!((&status["fua_writes"], &status["flushes"]), (&total.into(), &0.into()));
            assert_eq!(document["results"][0]["proof"]["commits"], 100);
        }
    }
}

#[test]
fn operations_per_second_times_latency_is_the_depth() {
    let served = Served::nbd("ideal,capacity=1GiB", &[]);
    for (pattern, depth) in [("randread", 32.0), ("randwrite", 32.0), ("randrw", 4.0)] {
        let text = format!(
            "[[test]]\npattern = \"{pattern}\"\ndepth = {depth}\ntime = \"1s\"\nsize = \"64MiB\"\n"
        );
        let document = measured(served.uri(), &text);
        let in_flight = document["results"][0]["in_flight"].as_f64().unwrap();
        assert!((in_flight / depth - 1.0).abs() <= 0.02, "{pattern}: {in_flight}, not {depth}");
    }
}

#[test]
fn what_was_written_is_read_back() {
    let served = Served::nbd("ideal,capacity=64MiB", &[]);
    for (block, depth) in [("4k", 1), ("4k", 16), ("256k", 4)] {
        let (block, depth) = (format!("--bs={block}"), format!("--iodepth={depth}"));
        let uri = format!("--uri={}", served.uri());
        let checked = run(&[
            "run", "--destroy-data", "--quiet", "--format", "json", "--", "fio", "-name=t",
            "-ioengine=nbd", &uri, "-rw=randwrite", "-size=16m", "-verify=crc32c", &block, &depth,
        ]);
        assert_eq!(checked.code, Some(0), "{}", checked.stderr);
        let notes = checked.document()["results"][0]["notes"].to_string();
        assert!(notes.contains("read back and verified"), "{notes}");
    }
}

#[test]
fn an_export_is_written_only_with_permission_and_never_if_it_is_read_only() {
    let served = Served::nbd("ideal,capacity=64MiB", &[]);
    let write = "[[test]]\npattern = \"randwrite\"\ncount = 10\n";
    let refused = run_plan(served.uri(), write, &[]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("would be overwritten"), "{}", refused.stderr);
    let read = run_plan(served.uri(), "[[test]]\npattern = \"randread\"\ncount = 10\n", &[]);
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    assert_eq!(served.ctl(&["status"]).document()["writes"], 0);

    let (uri, _server) = Script { flags: transmission::READ_ONLY, ..Script::default() }.serve();
    let refused = run_plan(&uri, write, &["--destroy-data"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stderr.contains("is a read-only export"), "{}", refused.stderr);
}

#[test]
fn facts_of_the_server_are_in_the_document_and_nothing_of_this_machine_s_drives() {
    let served = Served::nbd("consumer-nvme,capacity=1GiB", &[]);
    let document = measured(served.uri(), "[[test]]\npattern = \"randwrite\"\ncount = 10\n");
    let target = &document["target"];
    assert_eq!((&target["kind"], &target["given"]), (&"nbd".into(), &served.uri().into()));
    let export = &target["export"];
    assert_eq!(export["size_bytes"], 1u64 << 30);
    for offered in ["flush", "fua", "trim", "several_connections"] {
        assert_eq!(export[offered], true, "{offered}");
    }
    assert_eq!((&export["request_bytes_min"], &document["drive"]), (&512.into(), &Value::Null));
    assert_eq!(document["results"][0]["workload"]["direct"], true);
}

#[test]
fn check_judges_the_export_and_not_this_machine() {
    let served = Served::nbd("consumer-nvme,capacity=1GiB", &[]);
    let checked = run(&["check", served.uri(), "--destroy-data", "--quiet", "--format", "json"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    let document = checked.document();
    assert_eq!(document["skipped"], Value::Null, "every test runs");
    let findings = document["findings"].as_array().unwrap();
    let ids: Vec<&str> = findings.iter().map(|found| found["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"no-block-device"), "{ids:?}");
    for of_a_machine in ["host-costs-latency", "virtual-flush-unproven", "target-in-memory"] {
        assert!(!ids.contains(&of_a_machine), "{ids:?}");
    }
}

#[test]
fn what_an_export_cannot_do_is_skipped_with_the_reason() {
    // With power-loss protection, an emulated drive offers neither flush nor FUA.
    let served = Served::nbd("enterprise-nvme,capacity=1GiB", &[]);
    let because = |test: &str| {
        let run =
            run_plan(served.uri(), &format!("[[test]]\n{test}\ncount = 10\n"), &["--destroy-data"]);
        run.document()["skipped"][0]["because"].as_str().unwrap_or(&run.stderr).to_owned()
    };
    insta::assert_snapshot!(because("pattern = \"randwrite\"\nsync = \"fsync\""), @"it requires a flush, which the server does not offer (NBD_FLAG_SEND_FLUSH)");
    insta::assert_snapshot!(because("pattern = \"randwrite\"\nsync = \"o_dsync\""), @"it requires durable writes (FUA), which the server does not offer (NBD_FLAG_SEND_FUA)");
    insta::assert_snapshot!(because("pattern = \"randwrite\"\nsync = \"linked_fsync\""), @"it links a sync to each write, which only io_uring can do");
    insta::assert_snapshot!(because("pattern = \"randread\"\nblock = \"64MiB\""), @"its blocks of 64 MiB exceed the server's largest request, 32 MiB");
    let zoned = |more: &str| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("job.fio");
        let job = format!(
            "[t]\nioengine=nbd\nuri={}\nrw=randwrite\ndirect=1\nzonemode=zbd\nsize=16m\n{more}",
            served.uri()
        );
        std::fs::write(&file, job).unwrap();
        let run = run(&["run", file.to_str().unwrap(), "--quiet", "--destroy-data"]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        run.stderr.lines().next().unwrap_or_default().to_owned()
    };
    for size in ["", "zonesize=1m\n"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(zoned(size), @"flushmark: t: it writes zones, but the protocol NBD has no commands for zones");
        }
    }
    let steps = run(&[
        "run",
        "commits",
        "--target",
        served.uri(),
        "--destroy-data",
        "--format",
        "json",
        "--quiet",
    ]);
    let skipped = steps.document()["skipped"].to_string();
    assert!(skipped.contains("an NBD export has none"), "{skipped}");
    let sort = run(&[
        "run",
        "sort-spill",
        "--target",
        served.uri(),
        "--destroy-data",
        "--format",
        "json",
        "--quiet",
    ]);
    let skipped = sort.document()["skipped"].to_string();
    assert!(skipped.contains("an NBD export is neither"), "{skipped}");
}

#[test]
fn blocks_that_do_not_fit_the_export_are_refused() {
    let because = |script: Script, test: &str| {
        let (uri, _server) = script.serve();
        let run =
            run_plan(&uri, &format!("[[test]]\npattern = \"randread\"\ncount = 10\n{test}"), &[]);
        let refused = run.stderr.lines().next().unwrap_or_default().replace(&uri, "URI");
        format!("{:?}: {refused}", run.code)
    };
    let small = || Script { bytes: 4096, ..Script::default() };
    insta::assert_snapshot!(because(small(), "block = \"8KiB\"\n"), @"Some(4): flushmark: URI has a size of 4.0 KiB, but this test needs at least 8 KiB");
    let coarse = || Script { request_bytes_min: Some(4096), ..Script::default() };
    insta::assert_snapshot!(because(coarse(), "block = \"512B\"\n"), @"Some(2): flushmark: randread 512 B, depth 1, jobs 1: 512 B is not a multiple of the smallest request that the server of URI accepts, 4 KiB");
    insta::assert_snapshot!(because(coarse(), "block = \"2MiB\"\n"), @"Some(2): flushmark: randread 2 MiB, depth 1, jobs 1: its blocks of 2 MiB exceed the server's largest request, 1 MiB");
}

#[test]
fn a_server_with_one_connection_gets_one_job() {
    let (uri, server) = Script::default().serve();
    let text = "[[test]]\npattern = \"randread\"\njobs = 2\ncount = 10\n[[test]]\nname = \"one\"\n\
                pattern = \"randread\"\ncount = 10\n[[test]]\nname = \"again\"\n\
                pattern = \"randread\"\ndepth = 4\ncount = 10\n";
    let run = run_plan(&uri, text, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    let because = document["skipped"][0]["because"].as_str().unwrap();
    assert!(because.starts_with("its 2 jobs need a connection each"), "{because}");
    // All tests use the same connection: this server accepts no other.
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    server.join().unwrap();
}

#[test]
fn an_address_that_leads_nowhere_is_an_error_of_one_sentence() {
    let of = |target: &str| {
        let run = run(&["run", "--rw", "randread", "--size", "1m", "--target", target]);
        (run.code, run.stderr)
    };
    let (code, said) = of("nbds://host/disk");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("TLS is not supported"), "{said}");
    let (code, said) = of("nbd+unix:///?socket=/nowhere/at/all");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("no connection to the server (no such file or directory)"), "{said}");
    let (code, said) = of("nbd:unix:/tmp/x");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nbd://HOST/EXPORT"), "{said}");
    let served = Served::nbd("ideal,capacity=64MiB", &[]);
    let (code, said) = of(&served.uri().replace("///", "///other"));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("the server has no export `other`"), "{said}");
    let engine = run(&["run", "--rw", "randread", "--target", served.uri(), "--engine", "psync"]);
    assert_eq!(engine.code, Some(2), "{}", engine.stderr);
    assert!(engine.stderr.contains("--engine has no effect on an NBD export"), "{}", engine.stderr);
}

/// A server that negotiates and then answers each request as a test wants.
struct Script {
    flags: u16,
    bytes: u64,
    /// The smallest request, if the server names one.
    request_bytes_min: Option<u32>,
    /// The answer to a request; `None` hangs up.
    answer: fn(RequestHeader) -> Option<Vec<u8>>,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            flags: 0,
            bytes: 64 << 20,
            request_bytes_min: None,
            answer: |asked| Some(honest(asked)),
        }
    }
}

fn honest(asked: RequestHeader) -> Vec<u8> {
    let mut said = SimpleReply { error: 0, cookie: asked.cookie }.to_bytes().to_vec();
    said.resize(said.len() + asked.bytes as usize, 0);
    said
}

impl Script {
    /// Serves one client.
    fn serve(self) -> (String, std::thread::JoinHandle<()>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nbd");
        let listener = UnixListener::bind(&path).unwrap();
        let server = spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            drop((listener, directory));
            let greeting = [&MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &[0, 3]];
            stream.write_all(&greeting.concat()).unwrap();
            let asked = 4 + OPTION_BYTES + info_request("", &[info::BLOCK_SIZE]).len();
            stream.read_exact(&mut vec![0; asked]).unwrap();
            let flags = self.flags | transmission::HAS_FLAGS;
            let export = [&[0, 0][..], &self.bytes.to_be_bytes(), &flags.to_be_bytes()].concat();
            let header = |answer, bytes| {
                OptionReply { option: option::GO, answer, bytes }.to_bytes().to_vec()
            };
            let mut words = [header(answer::INFO, export.len() as u32), export].concat();
            if let Some(least) = self.request_bytes_min {
                let sizes = [least, least.max(4096), 1 << 20].map(u32::to_be_bytes).concat();
                words.extend(header(answer::INFO, 14));
                words.extend([&info::BLOCK_SIZE.to_be_bytes()[..], &sizes].concat());
            }
            words.extend(header(answer::ACK, 0));
            stream.write_all(&words).unwrap();
            let mut header = [0; REQUEST_BYTES];
            while stream.read_exact(&mut header).is_ok() {
                let asked = RequestHeader::from_bytes(&header).unwrap();
                let Some(said) = (self.answer)(asked) else { return };
                if stream.write_all(&said).is_err() {
                    return;
                }
            }
        });
        (format!("nbd+unix:///?socket={}", path.display()), server)
    }
}

#[test]
fn a_server_that_sends_garbage_ends_the_test_with_a_sentence() {
    let read = "[[test]]\npattern = \"randread\"\ndepth = 4\ntime = \"1s\"\n";
    let ended = |script: Script| {
        let begun = Instant::now();
        let (uri, server) = script.serve();
        let run = run_plan(&uri, read, &[]);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        assert_ne!(run.code, Some(0));
        drop(server);
        match serde_json::from_str::<Value>(&run.stdout) {
            Ok(document) if !document["results"].as_array().unwrap().is_empty() => {
                document["results"][0]["ended"].to_string().replace(&uri, "URI")
            }
            _ => run.stderr.replace(&uri, "URI"),
        }
    };
    let answers = |answer: fn(RequestHeader) -> Option<Vec<u8>>| {
        ended(Script { answer, ..Script::default() })
    };
    let said = answers(|_| Some(vec![0xff; 64]));
    assert!(said.contains("does not begin with the magic number"), "{said}");
    let said = answers(|asked| Some(honest(RequestHeader { cookie: !asked.cookie, ..asked })));
    assert!(said.contains("no request with its cookie is in flight"), "{said}");
    let said = answers(|asked| {
        let mut said = honest(asked);
        said.truncate(1000);
        // The next reply follows too early.
        said.extend(honest(asked));
        Some(said)
    });
    assert!(said.contains("the server sent an invalid reply"), "{said}");
    let said = answers(|_| None);
    assert!(said.contains("closed the connection while requests were in flight"), "{said}");
    let said =
        answers(|asked| Some(SimpleReply { error: 5, cookie: asked.cookie }.to_bytes().to_vec()));
    assert!(said.contains("failed: the device reported an I/O error (EIO)"), "{said}");
    let said = ended(Script { bytes: 0, ..Script::default() });
    assert!(said.contains("offers an export of 0 bytes"), "{said}");
}

/// Another server, until the end of the test.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Other {
    fn start(program: &str, args: &[&str], socket: &Path) -> Other {
        let child = Command::new(program).args(args).stdin(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{program} does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Other(child)
    }
}

const WRITES_AND_FLUSHES: &str = "[[test]]\nname = \"fsync\"\npattern = \"randwrite\"\n\
    sync = \"fsync\"\ncount = 50\n[[test]]\nname = \"fua\"\npattern = \"randwrite\"\n\
    sync = \"o_dsync\"\ncount = 50\n[[test]]\nname = \"depth\"\npattern = \"randrw\"\ndepth = 32\n\
    count = 5000\n[[test]]\nname = \"trim\"\npattern = \"randtrim\"\ncount = 50\n";

#[test]
fn nbdkit_serves_the_tests() {
    if !needs_program("nbdkit_serves_the_tests", "nbdkit", "nbdkit") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("nbd");
    let path = socket.to_str().unwrap();
    let _server = Other::start("nbdkit", &["-f", "-U", path, "memory", "64M"], &socket);
    let document = measured(&format!("nbd+unix:///?socket={path}"), WRITES_AND_FLUSHES);
    assert_eq!(document["results"].as_array().unwrap().len(), 4, "{}", document["skipped"]);
}

/// As in fio's examples/nbd.fio: four jobs at a time, each on its part of an export whose address
/// comes from the environment.
#[test]
fn a_job_file_of_fio_s_nbd_engine_runs_on_nbdkit() {
    if !needs_program("a_job_file_of_fio_s_nbd_engine_runs_on_nbdkit", "nbdkit", "nbdkit") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (socket, file) = (directory.path().join("nbd"), directory.path().join("job.fio"));
    let path = socket.to_str().unwrap();
    let _server = Other::start("nbdkit", &["-f", "-U", path, "memory", "256M"], &socket);
    let jobs: String = (0..4).map(|job| format!("[job{job}]\noffset={}m\n", 64 * job)).collect();
    let text = format!(
        "[global]\nioengine=nbd\nuri=${{uri}}\nrw=randrw\ntime_based\nruntime=1\n\
         group_reporting\niodepth=64\n{jobs}"
    );
    std::fs::write(&file, text).unwrap();
    let uri = format!("nbd+unix:///?socket={path}");
    let args = ["run", file.to_str().unwrap(), "--destroy-data", "--quiet", "--format", "json"];
    let run = Run::of(flushmark().args(args).env("uri", &uri).output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.document();
    assert_eq!(document["target"]["given"], uri);
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert_eq!(result["workload"]["depth"], 64);
        assert!(result["in_flight"].as_f64().unwrap() > 60.0, "{}", result["in_flight"]);
    }
}

#[test]
fn qemu_nbd_serves_the_tests_to_one_client() {
    if !needs_program("qemu_nbd_serves_the_tests_to_one_client", "qemu-nbd", "qemu-utils") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (socket, image) = (directory.path().join("nbd"), directory.path().join("image"));
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let (path, image) = (socket.to_str().unwrap(), image.to_str().unwrap());
    // Without --persistent, it ends when its first client leaves.
    let _server =
        Other::start("qemu-nbd", &["-k", path, "-f", "raw", "-x", "disk", image], &socket);
    let document = measured(&format!("nbd+unix:///disk?socket={path}"), WRITES_AND_FLUSHES);
    assert_eq!(document["results"].as_array().unwrap().len(), 4, "{}", document["skipped"]);
}
