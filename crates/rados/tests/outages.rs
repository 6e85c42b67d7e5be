//! Daemons that stop: every call ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::{Rig, access, conf};
use rados::placement::Placement;
use rados::{Access, Cluster, Completions, ConnectError, Done, Errno, Image, ObjectName, OpenMode};

/// One outage at a time.
static CLUSTER: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CLUSTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A daemon that does not run until this is dropped: as on a host that hangs, connections stay open
/// and nothing answers.
struct Stopped(String);

impl Stopped {
    fn daemon(conf: &Path, name: &str) -> Stopped {
        let pid = std::fs::read_to_string(pid_file(conf, name)).unwrap().trim().to_owned();
        testbed::kill(&["-STOP", &pid]).unwrap();
        let stopped = Stopped(pid);
        // The signal takes effect when the kernel next looks at each thread.
        while !stopped.is_effective() {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopped
    }

    /// Returns whether all threads are stopped.
    fn is_effective(&self) -> bool {
        let threads = std::fs::read_dir(Path::new("/proc").join(&self.0).join("task")).unwrap();
        threads.flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
        })
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        testbed::kill(&["-CONT", &self.0]).unwrap();
    }
}

fn pid_file(conf: &Path, name: &str) -> PathBuf {
    conf.with_file_name(format!("{name}.pid"))
}

/// A daemon that was killed, and is started again when this is dropped.
struct Killed {
    program: &'static str,
    arguments: [String; 4],
}

impl Killed {
    fn daemon(conf: &Path, program: &'static str, id: &str) -> Killed {
        let name = format!("{}.{id}", program.trim_start_matches("ceph-"));
        let pid = std::fs::read_to_string(pid_file(conf, &name)).unwrap().trim().to_owned();
        testbed::kill(&["-KILL", &pid]).unwrap();
        while Path::new("/proc").join(&pid).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let conf = conf.to_str().unwrap();
        Killed { program, arguments: ["-c", conf, "-i", id].map(str::to_owned) }
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        testbed::system(self.program, &arguments).unwrap();
    }
}

/// Calls, and checks that it took no less than a second and less than a limit.
fn timed<T>(limit_s: u64, call: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = call();
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(900) && took.as_secs() < limit_s, "{took:?}");
    result
}

fn short(conf: &Path) -> Access {
    Access {
        connect_timeout: Duration::from_secs(2),
        monitor_timeout: Duration::from_secs(2),
        osd_timeout: Duration::from_secs(2),
        ..access(conf)
    }
}

fn object(name: &str) -> ObjectName {
    ObjectName::new(name).unwrap()
}

/// Writes until an OSD that was stopped serves its objects. A new connection begins with the
/// cluster's latest map; an old one asks for it only when an operation has waited for longer than
/// the limit of these tests.
fn recovered(rig: &Rig, object: &ObjectName) {
    let recovered = (0..60).any(|_| {
        std::thread::sleep(Duration::from_millis(500));
        let cluster = Cluster::connect(&short(&rig.conf)).unwrap();
        cluster.pool(rig.pool.name()).unwrap().write(object, b"again", 0).is_ok()
    });
    assert!(recovered);
}

/// A pool all of whose placement groups serve, and which OSDs do. After a monitor's absence OSDs
/// look for it for seconds, and until then they create no placement groups.
fn serving(conf: &Path, pg_count: u32) -> (Rig, Placement) {
    let rig = Rig::connected(conf, &short(conf), pg_count);
    let command = format!(
        r#"{{"prefix": "pg ls-by-pool", "poolstr": "{}", "format": "json"}}"#,
        rig.pool.name()
    );
    let placement = (0..300).find_map(|_| {
        std::thread::sleep(Duration::from_millis(200));
        let placement =
            Placement::from_pg_list(&rig.cluster.manager_command(&command).ok()?).ok()?;
        placement.primaries().iter().all(Option::is_some).then_some(placement)
    });
    (rig, placement.unwrap())
}

/// Returns objects that OSD 0 serves.
fn objects_on_osd_0(placement: &Placement) -> Vec<ObjectName> {
    let names = (0..1000).map(|number| format!("o{number}"));
    let here = names.filter(|name| placement.primary_of(b"", name.as_bytes()) == Some(0));
    here.take(4).map(|name| object(&name)).collect()
}

#[test]
fn a_monitor_that_hangs_ends_commands_and_not_writes() {
    let test = "a_monitor_that_hangs_ends_commands_and_not_writes";
    let Some(conf) = conf(test) else { return };
    let _alone = alone();
    let (rig, _) = serving(&conf, 8);
    let written = object("a");
    rig.pool.write(&written, b"a", 0).unwrap();
    let leaving = Cluster::connect(&short(&conf)).unwrap();
    let stopped = Stopped::daemon(&conf, "mon.a");
    let command = r#"{"prefix": "osd tree"}"#;
    let error = timed(6, || rig.cluster.monitor_command(command).unwrap_err());
    assert_eq!(error.errno, Errno::TIMEDOUT);
    insta::assert_snapshot!(error, @r#"the monitor has not answered the command `{"prefix": "osd tree"}` within the time limit"#);
    rig.pool.write(&written, b"b", 0).unwrap();
    let error = timed(8, || Cluster::connect(&short(&conf)).unwrap_err());
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let begun = Instant::now();
    let pool = rig.cluster.pool("missing");
    assert!(pool.is_err() && begun.elapsed().as_secs() < 6, "{pool:?} {:?}", begun.elapsed());
    let begun = Instant::now();
    drop(leaving);
    assert!(begun.elapsed().as_secs() < 6, "{:?}", begun.elapsed());
    drop(stopped);
    rig.cluster.monitor_command(command).unwrap();
}

#[test]
fn a_monitor_killed_while_operations_are_in_flight_hangs_nothing() {
    let test = "a_monitor_killed_while_operations_are_in_flight_hangs_nothing";
    let Some(conf) = conf(test) else { return };
    let _alone = alone();
    if !testbed::needs_program(test, "ceph-mon", "ceph-mon") {
        return;
    }
    let (rig, _) = serving(&conf, 8);
    let names: Vec<_> = (0..8).map(|number| object(&format!("o{number}"))).collect();
    let bytes = vec![1_u8; 65536];
    let mut completions = Completions::new(8);
    let mut done = Vec::new();
    let mut killed = None;
    for round in 0..20_u64 {
        if round == 5 {
            killed = Some(Killed::daemon(&conf, "ceph-mon", "a"));
        }
        for (number, name) in names.iter().enumerate() {
            // SAFETY: The bytes outlive the queue, and are not written to.
            #[expect(unsafe_code, reason = "the buffer outlives the operation")]
            unsafe {
                completions.write(&rig.pool, name, bytes.as_ptr(), bytes.len(), 0, number as u64)
            }
            .unwrap();
        }
        completions.wait(8, None, &mut done).unwrap();
    }
    let failed: Vec<_> = done.iter().enumerate().filter(|(_, done)| done.result != Ok(0)).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let second = Cluster::connect(&short(&conf)).unwrap_err();
    assert!(matches!(second, ConnectError::Unreachable { .. }), "{second}");
    drop(killed);
    let back = (0..30).any(|_| rig.cluster.monitor_command(r#"{"prefix": "osd tree"}"#).is_ok());
    assert!(back);
}

#[test]
fn an_osd_that_hangs_ends_operations_at_the_limit() {
    let test = "an_osd_that_hangs_ends_operations_at_the_limit";
    let Some(conf) = conf(test) else { return };
    let _alone = alone();
    let (rig, placement) = serving(&conf, 32);
    let objects = objects_on_osd_0(&placement);
    let mut buffer = vec![1_u8; 4096];
    for object in &objects {
        rig.pool.write(object, &buffer, 0).unwrap();
    }
    let stopped = Stopped::daemon(&conf, "osd.0");
    let error = timed(5, || rig.pool.write(&objects[0], &buffer, 0).unwrap_err());
    assert_eq!(error.errno, Errno::TIMEDOUT);
    insta::assert_snapshot!(error, @"cannot write to the object: no OSD has answered within the time limit; `ceph -s` shows whether OSDs are down or the cluster is full");
    let error = timed(5, || rig.cluster.osd_command(0, r#"{"prefix": "perf dump"}"#).unwrap_err());
    assert_eq!(error.errno, Errno::TIMEDOUT);
    let mut completions = Completions::new(4);
    for (token, object) in (0..).zip(&objects) {
        let place = buffer.as_mut_ptr();
        // SAFETY: The buffer is not used until the operations have ended. They write the same.
        #[expect(unsafe_code, reason = "the buffer outlives the operation")]
        let submitted = unsafe {
            match token {
                0 | 1 => completions.write(&rig.pool, object, place, 4096, 0, token),
                _ => completions.read(&rig.pool, object, place, 4096, 0, token),
            }
        };
        submitted.unwrap();
    }
    let mut done = Vec::new();
    timed(5, || completions.wait(4, None, &mut done).unwrap());
    done.sort_by_key(|done| done.token);
    let expected = (0..4).map(|token| Done { token, result: Err(Errno::TIMEDOUT) });
    assert_eq!(done, expected.collect::<Vec<_>>());
    // Leaving does not wait for the OSD.
    let begun = Instant::now();
    let other = Cluster::connect(&short(&conf)).unwrap();
    let pool = other.pool(rig.pool.name()).unwrap();
    let mut completions = Completions::new(1);
    // SAFETY: The bytes are not used until the queue has been dropped.
    #[expect(unsafe_code, reason = "the buffer outlives the operation")]
    unsafe { completions.write(&pool, &objects[0], buffer.as_ptr(), 4096, 0, 0) }.unwrap();
    drop((pool, other, completions));
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    drop(stopped);
    recovered(&rig, &objects[0]);
}

#[test]
fn a_killed_osd_ends_operations_at_the_limit() {
    let test = "a_killed_osd_ends_operations_at_the_limit";
    let Some(conf) = conf(test) else { return };
    let _alone = alone();
    if !testbed::needs_program(test, "ceph-osd", "ceph-osd") {
        return;
    }
    let (rig, placement) = serving(&conf, 32);
    let objects = objects_on_osd_0(&placement);
    rig.pool.write(&objects[0], b"a", 0).unwrap();
    let killed = Killed::daemon(&conf, "ceph-osd", "0");
    // One replica, so nobody else serves the object.
    let error = timed(5, || rig.pool.write(&objects[0], b"b", 0).unwrap_err());
    assert_eq!(error.errno, Errno::TIMEDOUT);
    drop(killed);
    recovered(&rig, &objects[0]);
}

#[test]
fn an_image_on_an_osd_that_hangs_ends_within_a_multiple_of_the_limit() {
    let test = "an_image_on_an_osd_that_hangs_ends_within_a_multiple_of_the_limit";
    let Some(conf) = conf(test) else { return };
    let _alone = alone();
    if !testbed::needs_program(test, "rbd", "ceph-common") {
        return;
    }
    let (rig, _) = serving(&conf, 16);
    rig.create_image("image");
    let image = Image::open(&rig.pool, "image", OpenMode::ReadWrite).unwrap();
    let bytes = vec![1_u8; 4096];
    for number in 0..16 {
        image.write(&bytes, number << 22).unwrap();
    }
    // All OSDs, so that it does not matter which of them have the image's parts.
    let osds = (0..16).map(|osd| format!("osd.{osd}"));
    let osds = osds.filter(|name| pid_file(&conf, name).exists());
    let stopped: Vec<_> = osds.map(|name| Stopped::daemon(&conf, &name)).collect();
    let error = timed(10, || image.write(&bytes, 0).unwrap_err());
    assert_eq!(error.errno, Errno::TIMEDOUT);
    let mut completions = Completions::new(4);
    for number in 0..4 {
        // SAFETY: The bytes outlive the queue, and are not written to.
        #[expect(unsafe_code, reason = "the buffer outlives the operation")]
        unsafe { completions.write_image(&image, bytes.as_ptr(), 4096, number << 22, number) }
            .unwrap();
    }
    let mut done = Vec::new();
    timed(10, || completions.wait(4, None, &mut done).unwrap());
    assert!(done.iter().all(|done| done.result == Err(Errno::TIMEDOUT)), "{done:?}");
    let error = timed(10, || Image::open(&rig.pool, "image", OpenMode::ReadOnly).unwrap_err());
    insta::assert_snapshot!(error, @"cannot open the image `image` (connection timed out)");
    let begun = Instant::now();
    drop(image);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    drop(stopped);
    recovered(&rig, &object("o0"));
}
