//! NBD: third-party clients, power cuts, misbehaving clients, images.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ::emulate::Order;
use nbd::wire::command;
use serde_json::Value;

use crate::common::served::{Served, answer, flush, read, request, write};
use crate::common::{Run, flushmark, needs_rigs, needs_root, run, system};

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
    assert_eq!(
        info("consumer-nvme,capacity=4GiB"),
        (four_gib.clone(), yes.clone(), yes.clone(), no.clone())
    );
    assert_eq!(
        info("disk-7200rpm-cache-on,capacity=4GiB"),
        (four_gib.clone(), yes.clone(), no.clone(), yes.clone())
    );
    // With power-loss protection, there is nothing to flush.
    assert_eq!(
        info("enterprise-nvme,capacity=4GiB"),
        (four_gib.clone(), no.clone(), no.clone(), no.clone())
    );
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
    // Data with holes.
    let file = fs::File::create(served.path("in")).unwrap();
    file.set_len(2 << 30).unwrap();
    for at in 0..40u64 {
        file.write_all_at(&vec![at as u8 + 1; 100_000], at * 50_000_000).unwrap();
    }
    system("nbdcopy", &["--flush", &path("in"), served.uri()]).unwrap();
    system("nbdcopy", &[served.uri(), &path("out")]).unwrap();
    system("cmp", &[&path("in"), &path("out")]).unwrap();
    system("qemu-img", &["compare", "-f", "raw", "-F", "raw", &path("in"), served.uri()]).unwrap();
    let io =
        |command: &str| system("qemu-io", &["-f", "raw", "-c", command, served.uri()]).unwrap();
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
        assert!(
            !said.contains("verification failed") && !said.contains("failed"),
            "{command}: {said}"
        );
    }
    // nbdkit in between, as another client.
    let proxied = path("proxied");
    let copy = format!("nbdcopy \"$uri\" {proxied}");
    system("nbdkit", &["-U", "-", "nbd", &format!("socket={}", path("nbd")), "--run", &copy])
        .unwrap();
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
    for (model, more) in
        [("consumer-nvme,capacity=2GiB", &["--fsync=8"][..]), ("ideal,capacity=1GiB", &[])]
    {
        let served = Served::nbd(model, &[]);
        let uri = format!("--uri={}", served.uri());
        // Blocks of one size: with several, fio's own writes overlap at depth, in any order.
        for block in ["--bs=512", "--bs=4k", "--bs=96k"] {
            // By default fio leaves its verification state in the current directory.
            let args = [
                "--name=x", "--ioengine=nbd", &uri, "--rw=randwrite", block, "--iodepth=32",
                "--size=24m", "--verify_state_save=0",
            ];
            let rest = ["--verify=crc32c", "--verify_fatal=1"];
            system("fio", &[&args[..], &rest, more].concat()).unwrap();
        }
    }
}

/// A consumer drive that loses power soon after two pages were written, the first of them flushed.
/// The firmware writes out volatile data after 10 ms, in which a busy machine may not even start a
/// process: the order is sent from this one, and a try that was too slow is discarded.
fn cut_in_time(more: &[&str]) -> (Served, UnixStream, Value) {
    const LINGER: Duration = Duration::from_millis(10);
    for _ in 0..100 {
        let served = Served::nbd("consumer-nvme,capacity=2GiB", &[&["--seed", "3"], more].concat());
        let mut client = served.client();
        assert_eq!(write(&mut client, 0, &[1; 4096]), 0);
        flush(&mut client);
        let begun = Instant::now();
        assert_eq!(write(&mut client, 4096, &[2; 4096]), 0);
        // Both can be read while the power is on.
        assert_eq!(read(&mut client, 0, 8192), [[1; 4096], [2; 4096]].concat());
        let cut = Order::Cut.send(&served.path("ctl")).unwrap();
        if begun.elapsed() < LINGER || cut["last_cut"]["lost_unflushed"] == 1 {
            return (served, client, cut);
        }
    }
    panic!("no order in a hundred was done within {LINGER:?}");
}

#[test]
fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
    let (served, mut client, cut) = cut_in_time(&[]);
    assert_eq!((cut["power"].as_str(), cut["cuts"].as_u64()), (Some("off"), Some(1)));
    assert_eq!(cut["last_cut"]["lost_unflushed"], 1);
    assert_eq!(cut["last_cut"]["lost_promised"], 0);
    // The connection is closed without a message, and there is no new one.
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
    insta::assert_snapshot!(said.words(), @"
    power cut; writes lost: 1 acknowledged but not flushed
    power on
    ");
}

#[test]
fn a_drive_that_ignores_flushes_loses_what_it_called_safe() {
    let (served, _client, cut) = cut_in_time(&["--lie", "ignore-flush"]);
    assert_eq!(cut["last_cut"]["lost_promised"], 1);
    assert_eq!(cut["last_cut"]["lost_unflushed"], 1);
    served.ctl(&["power-on"]);
    assert_eq!(read(&mut served.client(), 0, 8192), [0; 8192]);
}

#[test]
fn the_plug_is_pulled_after_what_was_asked_for() {
    let served = Served::nbd(
        "consumer-nvme,capacity=2GiB",
        &["--cut-after", "writes=3", "--power-on-after", "50ms"],
    );
    for round in 1..=3u64 {
        let mut client = served.client();
        for at in 0..2 {
            assert_eq!(write(&mut client, at * 4096, &[1; 4096]), 0);
        }
        // The third may be acknowledged or not: the cut comes with it.
        client.write_all(&request(command::WRITE, 0, 0, 512)).unwrap();
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
    // In the middle of a write: none of it is stored.
    let mut broken = served.client();
    broken.write_all(&request(command::WRITE, 0, 0, 1 << 20)).unwrap();
    broken.write_all(&vec![9; 300_000]).unwrap();
    drop(broken);
    // In the middle of a request, of an option, before the first word.
    let mut broken = served.client();
    broken.write_all(&request(command::READ, 0, 0, 512)[..11]).unwrap();
    drop(broken);
    let mut broken = served.connect();
    broken.write_all(b"\0\0\0\x03IHAVEOPT\0\0").unwrap();
    drop(broken);
    drop(served.connect());
    // Garbage.
    let mut broken = served.client();
    broken.write_all(&[0xaa; 100]).unwrap();
    assert_eq!(broken.read(&mut [0; 16]).unwrap_or(0), 0, "the server hangs up");
    // A client that asks but does not read.
    let mut deaf = served.client();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let reads = request(command::READ, 0, 0, 1 << 20).repeat(3000);
    let _ = deaf.write_all(&reads);
    // Beyond the end, unaligned, unknown.
    good.write_all(&request(command::READ, 0, 2 << 30, 512)).unwrap();
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

/// Seconds of processor time of a process.
fn cpu_s(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // utime and stime, in hundredths of a second on every Linux.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

#[test]
fn clients_that_do_not_listen_are_waited_for_asleep() {
    let served = Served::nbd("ideal,capacity=1GiB", &[]);
    let mut deaf = served.client();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let _ = deaf.write_all(&request(command::READ, 0, 0, 1 << 20).repeat(3000));
    // Disconnects with answers outstanding, without closing the socket.
    let mut leaving = served.client();
    leaving
        .write_all(
            &[request(command::READ, 0, 0, 8 << 20), request(command::DISCONNECT, 0, 0, 0)]
                .concat(),
        )
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let before = cpu_s(served.child.id());
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_s(served.child.id()) - before;
    assert!(used < 0.2, "{used} s");
    // It is served again once it reads.
    let mut data = vec![1; 16 + (8 << 20)];
    leaving.read_exact(&mut data).unwrap();
    assert_eq!(leaving.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(answer(&mut deaf), 0);
}

/// More than the server takes at a time, in one write.
#[test]
fn thousands_of_requests_at_once_are_all_answered() {
    let served = Served::nbd("ideal,capacity=1MiB", &[]);
    let mut client = served.client();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..3 {
        let mut writer = client.try_clone().unwrap();
        let asking = std::thread::spawn(move || {
            writer.write_all(&request(command::READ, 0, 0, 512).repeat(9000)).unwrap();
        });
        for _ in 0..9000 {
            assert_eq!(answer(&mut client), 0);
            client.read_exact(&mut [0; 512]).unwrap();
        }
        asking.join().unwrap();
    }
}

/// More zeros than the drive remembers at once, over existing data.
#[test]
fn four_gigabytes_of_zeros_stall_nobody() {
    const WRITE_ZEROES: u16 = 6;
    let served = Served::nbd("enterprise-nvme,capacity=5GiB", &[]);
    let (mut client, mut other) = (served.client(), served.client());
    for at in 0..16 {
        assert_eq!(write(&mut client, at << 28, &vec![9; 1 << 20]), 0);
    }
    client.write_all(&request(WRITE_ZEROES, 0, 0, u32::MAX - 511)).unwrap();
    let begun = Instant::now();
    read(&mut other, 1 << 20, 4096);
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(answer(&mut client), 0);
    assert_eq!(read(&mut client, 3 << 28, 1 << 20), vec![0; 1 << 20]);
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
    // The port is in use.
    let taken =
        run(&["emulate", "ideal", "--nbd", &format!(":{port}"), "--control", "/nonexistent/ctl"]);
    assert_eq!(taken.code, Some(4));
    assert_eq!(
        taken.words(),
        format!(
            "flushmark: `127.0.0.1:{port}` is in use by another server: choose another address"
        )
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
    insta::assert_snapshot!(refused(&["no-such-drive"]), @"2 flushmark: unknown model `no-such-drive`; run `flushmark models` for a list");
    insta::assert_snapshot!(refused(&["ideal,colour=red"]), @"2 flushmark: invalid setting `colour=red`: the ideal drive only accepts capacity=SIZE");
    insta::assert_snapshot!(refused(&["consumer-nvme", "--nbd", "DIR/file"]), @"4 flushmark: `DIR/file` exists and is not a socket: choose another path");
    insta::assert_snapshot!(refused(&["consumer-nvme", "--nbd", "DIR/missing/nbd"]), @"4 flushmark: cannot listen on `DIR/missing/nbd`: No such file or directory (os error 2)");
    insta::assert_snapshot!(refused(&["consumer-nvme,capacity=2GiB", "--image", "DIR/file"]), @"3 flushmark: `DIR/file` exists and was not created by an emulated drive: choose another file, or add --destroy-data");
    insta::assert_snapshot!(refused(&["consumer-nvme", "--fuse", "DIR/missing"]), @"4 flushmark: cannot mount on `DIR/missing`: No such file or directory (os error 2)");
    insta::assert_snapshot!(refused(&["ctl", "DIR/nobody", "status"]), @"4 flushmark: no emulated drive responds on DIR/nobody: No such file or directory (os error 2)");
    insta::assert_snapshot!(refused(&["ctl", "DIR/nobody", "explode"]), @"2 flushmark: unknown order `explode`; expected status, cut, power-on, wear N (overwrites of the whole drive, above 0, at most 20), or fill P (percent, 0 to 100)");
    insta::assert_snapshot!(refused(&["ideal", "--lie", "forgets"]), @"
    2 error: invalid value 'forgets' for '--lie <LIE>': unknown lie `forgets`; expected ignore-flush, ignore-fua, ack-early=TIME, or a fault: with a probability per write bit-corruption=CHANCE, shorn=CHANCE, flying=CHANCE, unserializable=CHANCE, metadata=CHANCE, or per cut dead=CHANCE, read-only=CHANCE

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused(&["ideal", "--lie", "ignore-flush"]), @"2 flushmark: ignore-flush has no effect on ideal: it has no volatile cache, so hosts send no flushes; omit --lie ignore-flush, or choose another model");
    insta::assert_snapshot!(refused(&["consumer-sata,capacity=2GiB", "--lie", "ignore-fua"]), @"2 flushmark: ignore-fua has no effect on consumer-sata: it does not support FUA; omit --lie ignore-fua, or choose another model");
    insta::assert_snapshot!(refused(&["consumer-nvme,filesystem=ext4"]), @"2 flushmark: `consumer-nvme,filesystem=ext4`: filesystem= does not apply to an emulated drive; use --mount DIR --fs ext4|xfs for a real filesystem");
    insta::assert_snapshot!(refused(&["ctl", "DIR/nobody", "wear", "0"]), @"2 flushmark: unknown order `wear 0`; expected status, cut, power-on, wear N (overwrites of the whole drive, above 0, at most 20), or fill P (percent, 0 to 100)");
    insta::assert_snapshot!(refused(&["ideal", "--cut-after", "soon"]), @"
    2 error: invalid value 'soon' for '--cut-after <MOMENT>': invalid moment for a power cut `soon`; expected writes=N, flushes=N, time=T or random=T (random, with mean T), where T is a time such as 30s or 250ms

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
    let again = run(&[
        "emulate",
        "consumer-nvme,capacity=2GiB",
        "--nbd",
        socket.to_str().unwrap(),
        "--image",
        image,
    ]);
    assert_eq!(again.code, Some(4));
    insta::assert_snapshot!(again.said(&socket, "SOCKET"), @"flushmark: `SOCKET` is a stale socket that no server listens on: remove it (`rm SOCKET`) or choose another path");
    let served = Served::nbd("consumer-nvme,capacity=2GiB", &["--image", image]);
    assert_eq!(read(&mut served.client(), 4096, 8192), [5; 8192]);
    // Two at a time would corrupt it.
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
        let served =
            Served::nbd("consumer-nvme,capacity=2GiB", &["--image", &format!("{place}/drive.img")]);
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
        // Refused writes do not count as lost: an honest drive keeps its promises.
        let cut = served.ctl(&["cut"]).document();
        assert_eq!(
            (&cut["power"], &cut["last_cut"]["lost_promised"]),
            (&"off".into(), &0.into()),
            "{cut}"
        );
        served.ctl(&["power-on"]);
        check(&mut served.client());
    });
    system("umount", &[&place]).unwrap();
    outcome.unwrap();
}
