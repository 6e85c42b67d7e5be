//! `flushmark emulate` from outside: NBD and FUSE clients that nobody here wrote, power cuts, bad clients, and what is left behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Nobody, Run, flushmark, needs_rigs, needs_root, run, system};
use serde_json::Value;

/// An emulated drive, served by the binary.
struct Served {
    child: Child,
    directory: tempfile::TempDir,
    facts: Value,
}

impl Served {
    /// With its sockets in a directory of its own. `DIR` in an argument is that directory.
    fn start(model: &str, args: &[&str]) -> Served {
        let directory = tempfile::tempdir().unwrap();
        Served::start_in(directory, model, args).unwrap_or_else(|said| panic!("{said}"))
    }

    fn start_in(directory: tempfile::TempDir, model: &str, args: &[&str]) -> Result<Served, String> {
        let place = directory.path().to_str().unwrap().to_owned();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR", &place)).collect();
        let mut child = flushmark()
            .args(["emulate", model, "--quiet", "--format", "json", "--control"])
            .arg(directory.path().join("ctl"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            text += &line;
            if line == "}" {
                break;
            }
        }
        if let Ok(facts) = serde_json::from_str(&text) {
            return Ok(Served { child, directory, facts });
        }
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        Err(format!("{:?}: {said}", child.wait().unwrap()))
    }

    /// Over NBD, on a socket of its own.
    fn nbd(model: &str, args: &[&str]) -> Served {
        Served::start(model, &[&["--nbd", "DIR/nbd"], args].concat())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn uri(&self) -> &str {
        self.facts["nbd"].as_str().unwrap()
    }

    fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap_or_else(|| panic!("{name}: {}", self.facts))
    }

    fn ctl(&self, order: &[&str]) -> Run {
        let socket = self.path("ctl");
        run(&[&["emulate", "ctl", socket.to_str().unwrap()], order, &["--format", "json"]].concat())
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.path("nbd")).unwrap()
    }

    /// A client in transmission, old way, simple replies.
    fn client(&self) -> UnixStream {
        let mut stream = self.connect();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(&[0, 0, 0, 3]).unwrap();
        stream.write_all(b"IHAVEOPT").unwrap();
        stream.write_all(&[0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        stream
    }

    fn stop(mut self) -> Run {
        system("kill", &["-TERM", &self.child.id().to_string()]).unwrap();
        let status = self.child.wait().unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!self.path("ctl").exists(), "the control socket is removed");
        Run { code: status.code(), stdout: String::new(), stderr }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = system("kill", &["-TERM", &self.child.id().to_string()]);
            let _ = self.child.wait();
        }
    }
}

/// A request's 28 bytes.
fn request(code: u16, flags: u16, offset: u64, bytes: u32) -> Vec<u8> {
    let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
    request.extend(flags.to_be_bytes());
    request.extend(code.to_be_bytes());
    request.extend(7u64.to_be_bytes());
    request.extend(offset.to_be_bytes());
    request.extend(bytes.to_be_bytes());
    request
}

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;

/// The error of the next answer, 0 if it is none.
fn answer(stream: &mut UnixStream) -> u32 {
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..4], 0x6744_6698u32.to_be_bytes());
    u32::from_be_bytes(*answer[4..].first_chunk().unwrap())
}

fn write(stream: &mut UnixStream, offset: u64, data: &[u8]) -> u32 {
    stream.write_all(&request(WRITE, 0, offset, data.len() as u32)).unwrap();
    stream.write_all(data).unwrap();
    answer(stream)
}

fn read(stream: &mut UnixStream, offset: u64, bytes: u32) -> Vec<u8> {
    stream.write_all(&request(READ, 0, offset, bytes)).unwrap();
    assert_eq!(answer(stream), 0);
    let mut data = vec![0; bytes as usize];
    stream.read_exact(&mut data).unwrap();
    data
}

fn flush(stream: &mut UnixStream) {
    stream.write_all(&request(FLUSH, 0, 0, 0)).unwrap();
    assert_eq!(answer(stream), 0);
}

#[test]
fn nbdinfo_sees_the_drive_as_it_is() {
    const TEST: &str = "nbdinfo_sees_the_drive_as_it_is";
    if !needs_rigs(TEST) {
        return;
    }
    let info = |model: &str| {
        let served = Served::nbd(model, &[]);
        let text = system("nbdinfo", &["--json", served.uri()]).unwrap();
        let info: Value = serde_json::from_str(&text).unwrap();
        let export = &info["exports"][0];
        let fact = |name: &str| export[name].clone();
        assert_eq!(info["structured"], true);
        assert_eq!(
            (fact("can_multi_conn"), fact("can_trim"), fact("can_zero")),
            (true.into(), true.into(), true.into())
        );
        (fact("export-size"), fact("can_flush"), fact("can_fua"), fact("is_rotational"))
    };
    let four_gib: Value = (4u64 << 30).into();
    let (yes, no): (Value, Value) = (true.into(), false.into());
    assert_eq!(info("consumer-nvme,capacity=4GiB"), (four_gib.clone(), yes.clone(), yes.clone(), no.clone()));
    assert_eq!(info("disk-7200rpm-cache-on,capacity=4GiB"), (four_gib.clone(), yes.clone(), no.clone(), yes.clone()));
    // Power-loss protection: nothing to flush.
    assert_eq!(info("enterprise-nvme,capacity=4GiB"), (four_gib.clone(), no.clone(), no.clone(), no.clone()));
    assert_eq!(info("ideal,capacity=4GiB"), (four_gib, no.clone(), no.clone(), no));
}

#[test]
fn qemu_and_libnbd_copy_what_they_get_back() {
    const TEST: &str = "qemu_and_libnbd_copy_what_they_get_back";
    if !needs_rigs(TEST) {
        return;
    }
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &[]);
    let path = |name: &str| served.path(name).to_str().unwrap().to_owned();
    // Something with holes in it.
    let file = fs::File::create(served.path("in")).unwrap();
    file.set_len(2 << 30).unwrap();
    for at in 0..40u64 {
        file.write_all_at(&vec![at as u8 + 1; 100_000], at * 50_000_000).unwrap();
    }
    system("nbdcopy", &["--flush", &path("in"), served.uri()]).unwrap();
    system("nbdcopy", &[served.uri(), &path("out")]).unwrap();
    system("cmp", &[&path("in"), &path("out")]).unwrap();
    system("qemu-img", &["compare", "-f", "raw", "-F", "raw", &path("in"), served.uri()]).unwrap();
    let io = |command: &str| system("qemu-io", &["-f", "raw", "-c", command, served.uri()]).unwrap();
    for command in [
        "write -f -P 17 1M 300k",
        "read -P 17 1M 300k",
        "write -z 1M 64k",
        "read -P 0 1M 64k",
        "read -P 17 1088k 200k",
        "discard 1M 300k",
        "read -P 0 1M 300k",
        "flush",
        "write -P 3 2147418112 64k",
        "aio_write -P 9 0 4M",
        "read -P 9 0 4M",
    ] {
        let said = io(command);
        assert!(!said.contains("verification failed") && !said.contains("failed"), "{command}: {said}");
    }
    // nbdkit in between, as another client.
    let proxied = path("proxied");
    let copy = format!("nbdcopy \"$uri\" {proxied}");
    system("nbdkit", &["-U", "-", "nbd", &format!("socket={}", path("nbd")), "--run", &copy]).unwrap();
    system("qemu-img", &["compare", "-f", "raw", "-F", "raw", &proxied, served.uri()]).unwrap();
}

#[test]
fn libnbds_shell_on_two_connections() {
    const TEST: &str = "libnbds_shell_on_two_connections";
    if !needs_rigs(TEST) {
        return;
    }
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--lie", "ignore-fua"]);
    let script = "
import nbd, sys
uri = sys.argv[-1]
one, two = nbd.NBD(), nbd.NBD()
for h in (one, two):
    h.connect_uri(uri)
assert one.get_structured_replies_negotiated() and one.can_multi_conn() and one.can_df()
one.pwrite(b'x' * 4096, 8192)
# What was acknowledged on one is covered by a flush on the other.
two.flush()
assert two.pread(4096, 8192) == b'x' * 4096
one.pwrite(b'y' * 512, 512, nbd.CMD_FLAG_FUA)
one.zero(4096, 8192, nbd.CMD_FLAG_NO_HOLE)
one.trim(4096, 16384)
assert two.pread(512, 512) == b'y' * 512 and two.pread(4096, 8192) == bytes(4096)
for wrong in (lambda: one.pread(512, 2**31), lambda: one.pwrite(b'z' * 512, 2**31)):
    one.set_strict_mode(0)
    try:
        wrong()
        sys.exit('beyond the end')
    except nbd.Error as error:
        print(error.errno)
# Many at once.

cookies = [one.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([i]) * 4096), i * 4096) for i in range(200)]
while one.aio_in_flight():
    one.poll(-1)
assert all(two.pread(4096, i * 4096) == bytes([i]) * 4096 for i in range(200))
one.shutdown(); two.shutdown()
";
    let script_path = served.path("script.py");
    fs::write(&script_path, script).unwrap();
    let said = system("/usr/bin/python3", &[script_path.to_str().unwrap(), served.uri()]).unwrap();
    assert_eq!(said, "EINVAL\nENOSPC");
}

#[test]
fn fio_verifies_what_it_wrote_at_depth() {
    const TEST: &str = "fio_verifies_what_it_wrote_at_depth";
    if !needs_rigs(TEST) {
        return;
    }
    for (model, more) in [("consumer-nvme,capacity=2GiB", &["--fsync=8"][..]), ("ideal,capacity=1GiB", &[])] {
        let served = Served::nbd(model, &[]);
        let uri = format!("--uri={}", served.uri());
        // Blocks of one size: with several, fio's own writes overlap at depth, and either may come last.
        for block in ["--bs=512", "--bs=4k", "--bs=96k"] {
            let args = ["--name=x", "--ioengine=nbd", &uri, "--rw=randwrite", block, "--iodepth=32", "--size=24m"];
            let rest = ["--verify=crc32c", "--verify_fatal=1"];
            system("fio", &[&args[..], &rest, more].concat()).unwrap();
        }
    }
}

#[test]
fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--seed", "3"]);
    let mut client = served.client();
    assert_eq!(write(&mut client, 0, &[1; 4096]), 0);
    flush(&mut client);
    assert_eq!(write(&mut client, 4096, &[2; 4096]), 0);
    // Both are read as long as the power is on.
    assert_eq!(read(&mut client, 0, 8192), [[1; 4096], [2; 4096]].concat());
    let cut = served.ctl(&["cut"]).document();
    assert_eq!((cut["power"].as_str(), cut["cuts"].as_u64()), (Some("off"), Some(1)));
    assert_eq!(cut["last_cut"]["lost_unflushed"], 1);
    assert_eq!(cut["last_cut"]["lost_promised"], 0);
    // The connection is gone without a word, and there is no new one.
    assert_eq!(client.read(&mut [0; 16]).unwrap_or(0), 0);
    let mut refused = served.connect();
    assert_eq!(refused.read(&mut [0; 16]).unwrap_or(0), 0);
    let again = served.ctl(&["cut"]);
    assert_eq!(again.code, Some(4));
    assert_eq!(again.stderr, "flushmark: the drive has no power\n");
    assert_eq!(served.ctl(&["power-on"]).document()["power"], "on");
    let mut client = served.client();
    assert_eq!(read(&mut client, 0, 8192), [[1; 4096], [0; 4096]].concat());
    let said = served.stop();
    assert_eq!(said.code, Some(0));
    insta::assert_snapshot!(said.stderr, @"
    power cut; writes lost: 1 acknowledged and not flushed
    power on
    ");
}

#[test]
fn a_drive_that_ignores_flushes_loses_what_it_called_safe() {
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--lie", "ignore-flush"]);
    let mut client = served.client();
    assert_eq!(write(&mut client, 0, &[1; 4096]), 0);
    flush(&mut client);
    let cut = served.ctl(&["cut"]).document();
    assert_eq!(cut["last_cut"]["lost_promised"], 1);
    served.ctl(&["power-on"]);
    assert_eq!(read(&mut served.client(), 0, 4096), [0; 4096]);
}

#[test]
fn the_plug_is_pulled_after_what_was_asked_for() {
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--cut-after", "writes=3", "--power-on-after", "50ms"]);
    for round in 1..=3u64 {
        let mut client = served.client();
        for at in 0..2 {
            assert_eq!(write(&mut client, at * 4096, &[1; 4096]), 0);
        }
        // The third is acknowledged or not: the cut comes with it.
        client.write_all(&request(WRITE, 0, 0, 512)).unwrap();
        client.write_all(&[1; 512]).unwrap();
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
        let begun = Instant::now();
        loop {
            let status = served.ctl(&["status"]).document();
            if status["power"] == "on" && status["cuts"] == round {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{status}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn clients_that_misbehave_harm_nobody_else() {
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &[]);
    let mut good = served.client();
    assert_eq!(write(&mut good, 0, &[7; 4096]), 0);
    flush(&mut good);
    // In the middle of a write: nothing of it is there.
    let mut broken = served.client();
    broken.write_all(&request(WRITE, 0, 0, 1 << 20)).unwrap();
    broken.write_all(&vec![9; 300_000]).unwrap();
    drop(broken);
    // In the middle of a request, of an option, before the first word.
    let mut broken = served.client();
    broken.write_all(&request(READ, 0, 0, 512)[..11]).unwrap();
    drop(broken);
    let mut broken = served.connect();
    broken.write_all(b"\0\0\0\x03IHAVEOPT\0\0").unwrap();
    drop(broken);
    drop(served.connect());
    // Nonsense.
    let mut broken = served.client();
    broken.write_all(&[0xaa; 100]).unwrap();
    assert_eq!(broken.read(&mut [0; 16]).unwrap_or(0), 0, "the server hangs up");
    // Asking and not listening.
    let mut deaf = served.client();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let reads = request(READ, 0, 0, 1 << 20).repeat(3000);
    let _ = deaf.write_all(&reads);
    // Beyond the end, unaligned, unknown.
    good.write_all(&request(READ, 0, 2 << 30, 512)).unwrap();
    assert_eq!(answer(&mut good), 22);
    assert_eq!(write(&mut good, 2 << 30, &[0; 512]), 28);
    assert_eq!(write(&mut good, u64::MAX - 100, &[0; 512]), 28);
    assert_eq!(write(&mut good, 5, &[0; 512]), 22);
    good.write_all(&request(99, 0, 0, 0)).unwrap();
    assert_eq!(answer(&mut good), 22);
    assert_eq!(read(&mut good, 0, 4096), [7; 4096]);
    drop(deaf);
    // A hundred, and a hundred more at once.
    for _ in 0..100 {
        drop(served.client());
    }
    let many: Vec<UnixStream> = (0..100).map(|_| served.client()).collect();
    for mut client in many {
        assert_eq!(read(&mut client, 0, 4096), [7; 4096]);
    }
    let memory = fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let peak = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 400 << 10, "{peak}");
    assert_eq!(served.stop().code, Some(0));
}

#[test]
fn nothing_listens_but_where_it_was_told_to() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let served = Served::start("ideal,capacity=1MiB", &["--nbd", &format!(":{port}")]);
    assert_eq!(served.uri(), format!("nbd://127.0.0.1:{port}"));
    let listening = fs::read_to_string(format!("/proc/{}/net/tcp", served.child.id())).unwrap();
    let ours: Vec<&str> = listening
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|address| address.ends_with(&format!(":{port:04X}")))
        .collect();
    assert!(ours.iter().all(|address| address.starts_with("0100007F")), "{ours:?}");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut greeting = [0; 8];
    stream.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"NBDMAGIC");
    // The port is taken.
    let taken = run(&["emulate", "ideal", "--nbd", &format!(":{port}"), "--control", "/nonexistent/ctl"]);
    assert_eq!(taken.code, Some(4));
    assert_eq!(
        taken.stderr,
        format!("flushmark: `127.0.0.1:{port}` is in use by another server; name another address\n")
    );
}

#[test]
fn what_cannot_be_emulated_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    fs::write(directory.path().join("file"), b"somebody's").unwrap();
    let refused = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR", place)).collect();
        let run = Run::of(flushmark().arg("emulate").args(&args).output().unwrap());
        format!("{} {}", run.code.unwrap(), run.said(place, "DIR"))
    };
    insta::assert_snapshot!(refused(&["no-such-drive"]), @"2 flushmark: there is no model called `no-such-drive`; `flushmark models` lists them all");
    insta::assert_snapshot!(refused(&["ideal,colour=red"]), @"2 flushmark: `colour=red`: the ideal drive takes capacity=SIZE and nothing else");
    insta::assert_snapshot!(refused(&["consumer-nvme", "--nbd", "DIR/file"]), @"4 flushmark: `DIR/file` exists and is no socket; name another");
    insta::assert_snapshot!(refused(&["consumer-nvme,capacity=2GiB", "--image", "DIR/file"]), @"3 flushmark: `DIR/file` exists and was not made by an emulated drive; name another file, or add --destroy-data");
    insta::assert_snapshot!(refused(&["consumer-nvme", "--fuse", "DIR/missing"]), @"4 flushmark: `DIR/missing` is no directory that something can be mounted on: No such file or directory (os error 2)");
    insta::assert_snapshot!(refused(&["ctl", "DIR/nobody", "status"]), @"4 flushmark: no emulated drive answers on DIR/nobody: No such file or directory (os error 2)");
    insta::assert_snapshot!(refused(&["ctl", "DIR/nobody", "explode"]), @"2 flushmark: `explode` is no order; orders are status, cut, power-on, wear N (overwrites of the whole drive, above 0, at most 20), fill P (percent, 0 to 100)");
    insta::assert_snapshot!(refused(&["ideal", "--lie", "forgets"]), @"
    2 error: invalid value 'forgets' for '--lie <LIE>': `forgets` is no lie; lies are ignore-flush, ignore-fua, ack-early=TIME, and with the chance of each write bit-corruption=CHANCE, shorn=CHANCE, flying=CHANCE, unserializable=CHANCE, metadata=CHANCE, of each cut dead=CHANCE, read-only=CHANCE

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused(&["ideal", "--cut-after", "soon"]), @"
    2 error: invalid value 'soon' for '--cut-after <MOMENT>': `soon` is no moment for a power cut; moments are writes=N, flushes=N, time=T, random=T (by chance, after T on average), where T is like 30s or 250ms

    For more information, try '--help'.
    ");
    assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"somebody's");
}

#[test]
fn the_image_outlives_a_killed_process() {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("drive.img");
    let image = image.to_str().unwrap();
    let mut served = Served::nbd("consumer-nvme,capacity=2GiB", &["--image", image]);
    let mut client = served.client();
    assert_eq!(write(&mut client, 4096, &[5; 8192]), 0);
    flush(&mut client);
    // The file is sparse.
    let taken = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(image).unwrap()) * 512;
    assert!(taken < 1 << 20, "{taken}");
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    // Its socket is still there, and is named.
    let socket = served.path("nbd");
    let again = run(&["emulate", "consumer-nvme,capacity=2GiB", "--nbd", socket.to_str().unwrap(), "--image", image]);
    assert_eq!(again.code, Some(4));
    insta::assert_snapshot!(again.said(&socket, "SOCKET"), @"flushmark: `SOCKET` is a socket on which nobody listens any more; remove it (`rm SOCKET`) or name another");
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--image", image]);
    assert_eq!(read(&mut served.client(), 4096, 8192), [5; 8192]);
    // Two at a time would ruin it.
    let second = run(&["emulate", "consumer-nvme,capacity=2GiB", "--image", image]);
    assert_eq!(second.code, Some(3));
    insta::assert_snapshot!(second.said(image, "IMAGE"), @"flushmark: `IMAGE` is in use by another emulated drive");
}

#[test]
fn a_full_disk_below_is_told_and_nothing_is_wrong_afterwards() {
    const TEST: &str = "a_full_disk_below_is_told_and_nothing_is_wrong_afterwards";
    if !needs_root(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap().to_owned();
    system("mount", &["-t", "tmpfs", "-o", "size=1m", "none", &place]).unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--image", &format!("{place}/drive.img")]);
        let mut client = served.client();
        let mut errors = Vec::new();
        for at in 0..40u64 {
            errors.push(write(&mut client, at * 65536, &vec![at as u8 + 1; 65536]));
        }
        let written = errors.iter().position(|&error| error != 0).unwrap();
        assert!(written >= 8 && errors[written..].iter().all(|&error| error == 28), "{errors:?}");
        flush(&mut client);
        let check = |client: &mut UnixStream| {
            for at in 0..written as u64 {
                assert_eq!(read(client, at * 65536, 65536), vec![at as u8 + 1; 65536]);
            }
        };
        check(&mut client);
        served.ctl(&["cut"]);
        served.ctl(&["power-on"]);
        check(&mut served.client());
    });
    system("umount", &[&place]).unwrap();
    outcome.unwrap();
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

/// Whether this machine can mount FUSE; says so when it cannot.
fn needs_fuse(test: &str) -> bool {
    let there = Path::new("/dev/fuse").exists();
    if !there {
        eprintln!("skipped: {test}: the kernel has no FUSE");
    }
    there
}

#[test]
fn the_file_is_the_drive() {
    const TEST: &str = "the_file_is_the_drive";
    if !needs_root(TEST) || !needs_fuse(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start("consumer-nvme,capacity=2GiB", &["--fuse", directory.path().to_str().unwrap()]);
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["drive"]);
    let path = directory.path().join("drive");
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 << 30);
    let file = fs::File::options().read(true).write(true).open(&path).unwrap();
    let data: Vec<u8> = (0..3 << 20).map(|at| (at / 512 % 251) as u8).collect();
    file.write_all_at(&data, 512).unwrap();
    file.sync_all().unwrap();
    let mut back = vec![0; data.len()];
    file.read_exact_at(&mut back, 512).unwrap();
    assert_eq!(back, data);
    // Odd places are read and written, too.
    let mut odd = [0; 100];
    file.read_exact_at(&mut odd, 1000).unwrap();
    assert_eq!(odd[..], data[488..588]);
    file.write_all_at(&[1; 100], 1000).unwrap();
    file.read_exact_at(&mut odd, 950).unwrap();
    assert_eq!(odd[..50], data[438..488]);
    assert_eq!(odd[50..], [1; 50]);
    file.write_all_at(&data[488..588], 1000).unwrap();
    assert!(file.set_len(5).is_err());
    assert!(file.write_all_at(&[1; 512], 2 << 30).is_err());
    assert_eq!(file.read_at(&mut odd, 2 << 30).unwrap(), 0);
    served.ctl(&["cut"]);
    assert!(file.read_exact_at(&mut odd, 0).is_err() && file.write_all_at(&[1; 512], 0).is_err());
    served.ctl(&["power-on"]);
    // What was opened before the cut belongs to a machine that had lost its power.
    assert!(file.read_exact_at(&mut odd, 0).is_err() && file.write_all_at(&[1; 512], 0).is_err());
    assert!(file.sync_all().is_err());
    let file = fs::File::open(&path).unwrap();
    file.read_exact_at(&mut back, 512).unwrap();
    assert_eq!(back, data);
    drop(file);
    assert_eq!(served.stop().code, Some(0));
    assert!(!mounts().contains(directory.path().to_str().unwrap()));
}

#[test]
fn an_ordinary_user_has_a_drive_too() {
    const TEST: &str = "an_ordinary_user_has_a_drive_too";
    if !needs_rigs(TEST) || !needs_fuse(TEST) {
        return;
    }
    let Some(nobody) = Nobody::new(TEST) else { return };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    system("chown", &["65534", place]).unwrap();
    let script = format!(
        "mkdir {place}/mnt; \"$0\" emulate consumer-nvme,capacity=2GiB --fuse {place}/mnt --control {place}/ctl --quiet > {place}/out 2>&1 & \
         for i in $(seq 100); do grep -q orders {place}/out && break; sleep 0.1; done; \
         printf durable | dd of={place}/mnt/drive bs=512 conv=sync,notrunc,fsync 2>{place}/dd && head -c 7 {place}/mnt/drive; \
         \"$0\" emulate ctl {place}/ctl cut; kill %1; wait %1; mount | grep -c {place}/mnt"
    );
    let said = nobody.shell(&script);
    assert_eq!(said.stdout, "durablepower cut; no write was lost\n0\n", "{}", said.stderr);
    let refused = nobody.run(&["emulate", "consumer-nvme", "--mount", place]);
    assert_eq!(
        (refused.code, refused.stderr.trim_end()),
        (Some(2), "flushmark: mounting a filesystem needs root; without it, --nbd and --fuse work")
    );
}

#[test]
fn a_filesystem_on_it_comes_back_after_a_cut() {
    const TEST: &str = "a_filesystem_on_it_comes_back_after_a_cut";
    if !needs_root(TEST) || !needs_fuse(TEST) {
        return;
    }
    for (filesystem, model) in [("ext4", "consumer-nvme,capacity=2GiB"), ("xfs", "enterprise-nvme,capacity=2GiB")] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let served = Served::start(model, &["--mount", place, "--fs", filesystem]);
        let (device, file) = (served.fact("device").to_owned(), served.fact("file").to_owned());
        let queue = |what: &str| {
            fs::read_to_string(format!("/sys/block/{}/queue/{what}", device.trim_start_matches("/dev/"))).unwrap()
        };
        let wants_flushes = model.starts_with("consumer");
        // Also where the loop device served a drive of the other kind before.
        assert_eq!(queue("write_cache").trim(), if wants_flushes { "write back" } else { "write through" });
        let dio = fs::read_to_string(format!("/sys/block/{}/loop/dio", device.trim_start_matches("/dev/"))).unwrap();
        assert_eq!(dio.trim(), "1", "no page cache in between");
        assert!(mounts().contains(&format!("{device} {place} {filesystem} ")));
        let synced = directory.path().join("synced");
        fs::write(&synced, "here").unwrap();
        fs::File::open(&synced).unwrap().sync_all().unwrap();
        fs::File::open(place).unwrap().sync_all().unwrap();
        fs::write(directory.path().join("not-synced"), vec![1; 1 << 20]).unwrap();
        served.ctl(&["cut"]);
        assert!(
            fs::write(directory.path().join("after"), "x").and_then(|()| fs::File::open(place)?.sync_all()).is_err()
        );
        let on = served.ctl(&["power-on"]);
        assert_eq!(on.document()["ready"], true, "{}", on.stderr);
        assert_eq!(fs::read_to_string(&synced).unwrap(), "here");
        assert!(!directory.path().join("after").exists());
        let stopped = served.stop();
        assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
        assert!(!mounts().contains(place));
        // Another test's drive may have its number by now.
        let behind = system("losetup", &["--noheadings", "--output", "BACK-FILE", &device]).unwrap_or_default();
        assert!(!behind.contains(&file), "{device} is still there");
    }
}

/// A power cut takes the whole machine: the kernel below would otherwise go on where it was, and write into the drive what nobody had synced.
#[test]
fn nothing_that_the_kernel_had_in_memory_survives_a_cut() {
    const TEST: &str = "nothing_that_the_kernel_had_in_memory_survives_a_cut";
    if !needs_root(TEST) || !needs_fuse(TEST) {
        return;
    }
    for filesystem in ["ext4", "xfs"] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let served = Served::start("consumer-nvme,capacity=2GiB", &["--mount", place, "--fs", filesystem]);
        let path = directory.path().join("overwritten");
        let old = vec![b'A'; 1 << 20];
        fs::write(&path, &old).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        fs::File::open(place).unwrap().sync_all().unwrap();
        // First nobody uses the filesystem when its drive comes back, then somebody does.
        for in_use in [false, true] {
            let file = fs::File::options().write(true).open(&path).unwrap();
            // In place: no metadata has to be written for it, so that nothing but the power keeps it from the drive.
            file.write_all_at(&vec![b'B'; old.len()], 0).unwrap();
            let held = in_use.then_some(file);
            served.ctl(&["cut"]);
            let on = served.ctl(&["power-on"]);
            assert_eq!(on.document()["ready"], true, "{filesystem}: {}", on.stderr);
            if let Some(held) = held {
                assert!(held.sync_all().is_err());
            }
            assert!(fs::read(&path).unwrap() == old, "{filesystem}, in use: {in_use}");
        }
        let stopped = served.stop();
        assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    }
}

#[test]
fn what_a_killed_process_leaves_is_found_and_taken_away() {
    const TEST: &str = "what_a_killed_process_leaves_is_found_and_taken_away";
    if !needs_root(TEST) || !needs_fuse(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let mut served = Served::start("consumer-nvme,capacity=2GiB", &["--mount", place]);
    let private = PathBuf::from(served.fact("file")).parent().unwrap().to_str().unwrap().to_owned();
    let device = served.fact("device").to_owned();
    // Somebody else looked, so that the kernel knows its attributes by heart.
    fs::metadata(&private).unwrap();
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    // Whoever starts the next one hears of it.
    let next = Served::nbd("ideal,capacity=1MiB", &[]);
    let said = next.stop().stderr;
    assert!(said.contains(&format!("{private} was left by an emulated drive whose process was killed")), "{said}");
    let cleaned = run(&["emulate", "clean-up", place]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
    assert_eq!(cleaned.stdout, format!("taken away: {private}, with {place}, {device}\n"));
    assert!(!mounts().contains(&private) && !mounts().contains(place));
    assert!(system("losetup", &[&device]).is_err());
    let _ = fs::remove_dir(private);

    // The directory itself.
    let mut served = Served::start("consumer-nvme,capacity=2GiB", &["--fuse", place]);
    fs::metadata(place).unwrap();
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    let refused = run(&["emulate", "ideal", "--fuse", place, "--nbd", "/nonexistent/x"]);
    let refused_again = run(&["emulate", "ideal", "--fuse", place]);
    assert_ne!(refused.code, Some(0));
    assert_eq!(refused_again.code, Some(3));
    insta::assert_snapshot!(refused_again.said(place, "DIR").lines().last().unwrap(), @"flushmark: `DIR` is still mounted by an emulated drive whose process was killed; `flushmark emulate clean-up DIR` takes it away");
    assert_eq!(run(&["emulate", "clean-up", place]).code, Some(0));
    assert!(!mounts().contains(place));
}

#[test]
fn a_directory_with_something_in_it_is_not_hidden() {
    const TEST: &str = "a_directory_with_something_in_it_is_not_hidden";
    if !needs_root(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine"), "x").unwrap();
    let refused = run(&["emulate", "consumer-nvme", "--mount", directory.path().to_str().unwrap()]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.said(directory.path(), "DIR"), @"flushmark: `DIR` is not empty, and what is in it would be hidden; name an empty directory");
}
