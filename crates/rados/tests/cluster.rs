//! Commands, objects and images of a real cluster.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Rig, access, conf, monitor};
use rados::placement::Placement;
use rados::{
    Cluster, Completions, Done, Errno, Image, ImageError, ObjectName, OpenMode, PoolError,
};

fn object(name: &str) -> ObjectName {
    ObjectName::new(name).unwrap()
}

#[test]
fn commands_return_what_the_cluster_answers() {
    let test = "commands_return_what_the_cluster_answers";
    let Some(conf) = conf(test) else { return };
    let cluster = Cluster::connect(&access(&conf)).unwrap();
    assert!(rados::library_version().unwrap().major >= 3);
    let conf_text = std::fs::read_to_string(&conf).unwrap();
    assert!(conf_text.contains(&cluster.fsid().unwrap()));
    assert!(cluster.instance_id() > 0);
    let json: serde_json::Value =
        serde_json::from_slice(&monitor(&cluster, r#"{"prefix": "osd tree", "format": "json"}"#))
            .unwrap();
    assert!(json["nodes"].is_array());
    let perf = cluster.osd_command(0, r#"{"prefix": "perf dump"}"#).unwrap();
    let perf: serde_json::Value = serde_json::from_slice(&perf).unwrap();
    assert!(perf["bluestore"].is_object());
    assert!(!cluster.manager_command(r#"{"prefix": "pg stat"}"#).unwrap().is_empty());
    let error = cluster.monitor_command(r#"{"prefix": "osd trip"}"#).unwrap_err();
    assert_eq!(error.errno, Errno::INVAL);
    insta::assert_snapshot!(error, @r#"the monitor rejects the command `{"prefix": "osd trip"}` (invalid argument): command not known"#);
    let error = cluster.monitor_command(r#"{"prefix": "osd find", "id": 99}"#).unwrap_err();
    insta::assert_snapshot!(error, @r#"the monitor rejects the command `{"prefix": "osd find", "id": 99}` (no such file or directory): osd.99 does not exist"#);
    let error = cluster.osd_command(99, r#"{"prefix": "perf dump"}"#).unwrap_err();
    insta::assert_snapshot!(error, @r#"osd.99 rejects the command `{"prefix": "perf dump"}` (no such file or directory): osd dne"#);
    let error = cluster.pool("missing").unwrap_err();
    assert!(matches!(error, PoolError::Missing(_)));
    insta::assert_snapshot!(error, @"the cluster has no pool `missing`: `ceph osd pool ls` lists them");
}

#[test]
fn objects_are_written_read_listed_and_removed_in_their_namespace() {
    let test = "objects_are_written_read_listed_and_removed_in_their_namespace";
    let Some(mut rig) = Rig::new(test, 8) else { return };
    let outside = object("outside");
    rig.pool.write_full(&outside, b"outside").unwrap();
    rig.pool.set_namespace("probe").unwrap();
    let pool = &rig.pool;
    let (first, second) = (object("first"), object("second"));
    assert_eq!(pool.size(&first).unwrap(), None);
    pool.write(&first, &[1; 4096], 4096).unwrap();
    assert_eq!(pool.size(&first).unwrap(), Some(8192));
    let mut buffer = [9; 10_000];
    assert_eq!(pool.read(&first, &mut buffer, 0).unwrap(), 8192);
    assert_eq!((buffer[0], buffer[4096], buffer[8192]), (0, 1, 9));
    pool.truncate(&first, 100).unwrap();
    assert_eq!(pool.size(&first).unwrap(), Some(100));
    pool.write_full(&second, b"abc").unwrap();
    assert_eq!(pool.read(&second, &mut buffer, 1).unwrap(), 2);
    let error = pool.read(&outside, &mut buffer, 0).unwrap_err();
    assert_eq!(error.errno, Errno::NOENT);
    insta::assert_snapshot!(error, @"cannot read the object: it does not exist (or its pool was deleted)");

    let mut listed = pool.objects().unwrap();
    listed.sort();
    assert_eq!(listed, [first.clone(), second.clone()]);
    let again = pool.reopen().unwrap();
    assert_eq!(again.id(), pool.id());
    for name in listed {
        assert!(again.remove(&name).unwrap());
        assert!(!again.remove(&name).unwrap());
    }
    assert!(pool.objects().unwrap().is_empty());
    rig.pool.set_namespace("").unwrap();
    assert_eq!(rig.pool.objects().unwrap(), [outside]);
}

#[test]
fn names_too_long_for_an_osd_are_refused_by_it() {
    let test = "names_too_long_for_an_osd_are_refused_by_it";
    let Some(rig) = Rig::new(test, 1) else { return };
    let error = rig.pool.write(&object(&"x".repeat(3000)), b"x", 0).unwrap_err();
    assert_eq!(error.errno, Errno::NAMETOOLONG);
}

#[test]
fn many_operations_are_in_flight_at_once() {
    const DEPTH: u32 = 16;
    let test = "many_operations_are_in_flight_at_once";
    let Some(rig) = Rig::new(test, 8) else { return };
    let objects: Vec<_> = (0..DEPTH).map(|number| object(&format!("o{number}"))).collect();
    let mut completions = Completions::new(DEPTH);
    let bytes: Vec<Vec<u8>> = (0..DEPTH).map(|number| vec![number as u8; 4096]).collect();
    let mut done = Vec::new();
    let mut ended = 0;
    // Each object ten times: the token's remainder is its number.
    let mut next = 0..u64::from(DEPTH) * 10;
    loop {
        while completions.in_flight() < DEPTH as usize
            && let Some(token) = next.next()
        {
            let number = token as usize % objects.len();
            let (bytes, object) = (&bytes[number], &objects[number]);
            // SAFETY: The bytes are not written to, and outlive the queue.
            #[expect(unsafe_code, reason = "the buffer outlives the operation")]
            unsafe { completions.write(&rig.pool, object, bytes.as_ptr(), 4096, 0, token) }
                .unwrap();
        }
        if completions.in_flight() == 0 {
            break;
        }
        completions.wait(1, None, &mut done).unwrap();
        ended += done.len();
        assert!(done.drain(..).all(|done| done.result == Ok(0)));
    }
    assert_eq!(ended, 160);

    let mut buffers = vec![vec![0_u8; 8192]; DEPTH as usize];
    for (token, (object, buffer)) in objects.iter().zip(&mut buffers).enumerate() {
        let (place, room) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: The buffers are used again when all operations have ended.
        #[expect(unsafe_code, reason = "the buffer outlives the operation")]
        unsafe { completions.read(&rig.pool, object, place, room, 0, token as u64) }.unwrap();
    }
    // All slots are in use.
    let full = completions_full(&mut completions, &rig, &objects[0], &bytes[0]);
    assert_eq!(full, Errno::AGAIN);
    completions.wait(usize::MAX, None, &mut done).unwrap();
    done.sort_by_key(|done| done.token);
    let expected = (0..u64::from(DEPTH)).map(|token| Done { token, result: Ok(4096) });
    assert_eq!(done, expected.collect::<Vec<_>>());
    for (buffer, bytes) in buffers.iter().zip(&bytes) {
        assert_eq!(buffer[..4096], bytes[..]);
    }

    done.clear();
    let missing = object("missing");
    let place = buffers[0].as_mut_ptr();
    // SAFETY: The buffer is not used until the operation has ended.
    #[expect(unsafe_code, reason = "the buffer outlives the operation")]
    unsafe { completions.read(&rig.pool, &missing, place, 1, 0, 7) }.unwrap();
    completions.wait(1, None, &mut done).unwrap();
    assert_eq!(done, [Done { token: 7, result: Err(Errno::NOENT) }]);
}

#[expect(unsafe_code, reason = "the buffer outlives the operation")]
fn completions_full(
    completions: &mut Completions,
    rig: &Rig,
    object: &ObjectName,
    bytes: &[u8],
) -> Errno {
    // SAFETY: The caller drops the queue before the bytes.
    let result = unsafe { completions.write(&rig.pool, object, bytes.as_ptr(), 1, 0, 0) };
    result.unwrap_err().errno
}

#[test]
fn a_queue_that_is_dropped_waits_for_what_is_in_flight() {
    let test = "a_queue_that_is_dropped_waits_for_what_is_in_flight";
    let Some(rig) = Rig::new(test, 8) else { return };
    let mut buffer = vec![0_u8; 4 << 20];
    let (name, pool) = (object("large"), rig.pool.reopen().unwrap());
    pool.write_full(&name, &vec![7; 4 << 20]).unwrap();
    let mut completions = Completions::new(1);
    let (place, room) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: The buffer is used again when the queue has been dropped, which succeeds.
    #[expect(unsafe_code, reason = "the buffer outlives the operation")]
    unsafe { completions.read(&pool, &name, place, room, 0, 0) }.unwrap();
    // The queue keeps it open.
    drop(pool);
    drop(completions);
    assert!(buffer.iter().all(|&byte| byte == 7));
}

#[test]
fn threads_share_a_connection() {
    let test = "threads_share_a_connection";
    let Some(rig) = Rig::new(test, 8) else { return };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pool = rig.pool.reopen().unwrap();
            let shared = &rig.pool;
            scope.spawn(move || {
                for number in 0..20 {
                    let name = object(&format!("{thread}.{number}"));
                    pool.write(&name, &[thread], 0).unwrap();
                    assert_eq!(shared.size(&name).unwrap(), Some(1));
                }
            });
        }
    });
    assert_eq!(rig.pool.objects().unwrap().len(), 80);
}

#[test]
fn objects_are_placed_where_the_cluster_places_them() {
    let test = "objects_are_placed_where_the_cluster_places_them";
    let Some(mut rig) = Rig::new(test, 12) else { return };
    rig.pool.set_namespace("probe").unwrap();
    let name = rig.pool.name();
    let command =
        format!(r#"{{"prefix": "pg ls-by-pool", "poolstr": "{name}", "format": "json"}}"#);
    // The manager hears of a new pool's groups a moment later.
    let placement = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let list = rig.cluster.manager_command(&command).ok()?;
        let placement = Placement::from_pg_list(&list).ok()?;
        let complete = placement.pg_count() == 12 && !placement.primaries().contains(&None);
        complete.then_some(placement)
    });
    let placement = placement.unwrap();
    for number in 0..40 {
        let object = format!("object.{number}");
        let mapped = monitor(
            &rig.cluster,
            &format!(
                r#"{{"prefix": "osd map", "pool": "{name}", "object": "{object}",
                    "nspace": "probe", "format": "json"}}"#
            ),
        );
        let mapped: serde_json::Value = serde_json::from_slice(&mapped).unwrap();
        let pg = format!("{}.{:x}", rig.pool.id(), placement.pg_of(b"probe", object.as_bytes()));
        assert_eq!(mapped["pgid"], pg);
        let primary = placement.primary_of(b"probe", object.as_bytes()).unwrap();
        assert_eq!(mapped["acting_primary"], primary);
    }
}

#[test]
fn a_pool_deleted_meanwhile_is_an_error() {
    let test = "a_pool_deleted_meanwhile_is_an_error";
    let Some(rig) = Rig::new(test, 8) else { return };
    let other = Cluster::connect(&access(&rig.conf)).unwrap();
    let pool = other.pool(rig.pool.name()).unwrap();
    pool.write(&object("a"), b"a", 0).unwrap();
    rig.delete_pool();
    let begun = std::time::Instant::now();
    // A write that reaches the OSD before the news is accepted. One that the OSD drops ends at the
    // limit, unless the client hears of the new map first.
    let ended = [Errno::NOENT, Errno::TIMEDOUT];
    let error = loop {
        let written = std::time::Instant::now();
        if let Err(error) = pool.write(&object("a"), b"a", 0) {
            assert!(written.elapsed().as_secs() < 15, "{:?}", written.elapsed());
            break error;
        }
        assert!(begun.elapsed().as_secs() < 60, "a deleted pool is still written");
    };
    assert!(ended.contains(&error.errno), "{error}");
    let mut completions = Completions::new(1);
    // SAFETY: Bytes that are never freed.
    #[expect(unsafe_code, reason = "the buffer outlives the operation")]
    let submitted = unsafe { completions.write(&pool, &object("a"), b"a".as_ptr(), 1, 0, 0) };
    let mut done = Vec::new();
    completions.wait(1, None, &mut done).unwrap();
    let error = submitted.map_err(|error| error.errno).and_then(|()| done[0].result).unwrap_err();
    assert!(ended.contains(&error), "{error}");
    assert!(pool.objects().is_err() || pool.objects().unwrap().is_empty());
}

#[test]
fn an_image_is_written_read_flushed_and_discarded() {
    const OBJECT: u64 = 4 << 20;
    let test = "an_image_is_written_read_flushed_and_discarded";
    if !testbed::needs_program(test, "rbd", "ceph-common") {
        return;
    }
    let Some(rig) = Rig::new(test, 8) else { return };
    rig.create_image("image");
    let image = Image::open(&rig.pool, "image", OpenMode::ReadWrite).unwrap();
    assert_eq!((image.size(), image.object_size()), (64 << 20, OBJECT));
    assert_eq!(image.stripe_unit(), OBJECT);
    assert!(image.has_exclusive_lock_feature());
    assert!(!image.owns_exclusive_lock().unwrap());
    image.write(&[5; 8192], OBJECT - 4096).unwrap();
    assert!(image.owns_exclusive_lock().unwrap());
    image.flush().unwrap();
    let mut buffer = vec![0; 16384];
    assert_eq!(image.read(&mut buffer, OBJECT - 8192).unwrap(), 16384);
    assert_eq!((buffer[4095], buffer[4096], buffer[12287], buffer[12288]), (0, 5, 5, 0));
    image.discard(OBJECT, OBJECT).unwrap();
    assert_eq!(image.read(&mut buffer, OBJECT).unwrap(), 16384);
    assert!(buffer.iter().all(|&byte| byte == 0));
    let error = image.write(&[0; 4096], 64 << 20).unwrap_err();
    assert_eq!(error.errno, Errno::INVAL);

    let mut completions = Completions::new(8);
    let bytes = vec![8_u8; 4096];
    for number in 0..8 {
        // SAFETY: The bytes are not written to, and outlive the queue.
        #[expect(unsafe_code, reason = "the buffer outlives the operation")]
        unsafe { completions.write_image(&image, bytes.as_ptr(), 4096, number * 4096, number) }
            .unwrap();
    }
    let mut done = Vec::new();
    completions.wait(8, None, &mut done).unwrap();
    completions.flush_image(&image, 8).unwrap();
    completions.wait(1, None, &mut done).unwrap();
    completions.discard_image(&image, 32 << 20, OBJECT, 9).unwrap();
    completions.wait(1, None, &mut done).unwrap();
    let mut tokens: Vec<_> = done.drain(..).map(|done| (done.token, done.result)).collect();
    tokens.sort_by_key(|(token, _)| *token);
    assert_eq!(tokens, (0..10).map(|token| (token, Ok(0))).collect::<Vec<_>>());
    let place = buffer.as_mut_ptr();
    // SAFETY: The buffer is used again when the operation has ended.
    #[expect(unsafe_code, reason = "the buffer outlives the operation")]
    unsafe { completions.read_image(&image, place, 16384, 0, 10) }.unwrap();
    // The queue keeps it open.
    drop(image);
    completions.wait(1, None, &mut done).unwrap();
    assert_eq!(done, [Done { token: 10, result: Ok(16384) }]);
    assert!(buffer.iter().all(|&byte| byte == 8));
}

#[test]
fn an_image_that_another_client_has_open_is_in_use() {
    let test = "an_image_that_another_client_has_open_is_in_use";
    if !testbed::needs_program(test, "rbd", "ceph-common") {
        return;
    }
    let Some(rig) = Rig::new(test, 8) else { return };
    rig.create_image("image");
    let error = Image::open(&rig.pool, "other", OpenMode::ReadWrite).unwrap_err();
    assert!(matches!(error, ImageError::Missing(_)));
    insta::assert_snapshot!(error, @"the pool has no image `other`: `rbd ls POOL` lists them");

    let reader = Image::open(&rig.pool, "image", OpenMode::ReadOnly).unwrap();
    assert_eq!(reader.watchers().unwrap(), []);
    assert_eq!(reader.write(&[0; 512], 0).unwrap_err().errno, Errno::ROFS);
    let writer = Image::open(&rig.pool, "image", OpenMode::ReadWrite).unwrap();
    assert_eq!(writer.watchers().unwrap().len(), 1);
    assert_eq!(reader.other_watchers().unwrap(), []);
    assert_eq!(writer.other_watchers().unwrap(), []);

    let other = Cluster::connect(&access(&rig.conf)).unwrap();
    let other_pool = other.pool(rig.pool.name()).unwrap();
    // More than the list has room for at first.
    let others: Vec<_> =
        (0..20).map(|_| Image::open(&other_pool, "image", OpenMode::ReadWrite).unwrap()).collect();
    let watchers = reader.other_watchers().unwrap();
    assert_eq!(watchers.len(), 20);
    assert!(watchers.iter().all(|watcher| watcher.client == other.instance_id()));
    assert!(watchers[0].address.contains("127.0.0.1") || watchers[0].address.contains(':'));
    assert_eq!(reader.lock().unwrap().lockers, []);
    others[0].write(&[1; 512], 0).unwrap();
    let lock_now = || Image::open(&rig.pool, "image", OpenMode::ReadOnly).unwrap().lock().unwrap();
    let lock = lock_now();
    assert!(lock.exclusive);
    assert_eq!(lock.lockers.len(), 1);
    assert_eq!(lock.lockers[0].client, format!("client.{}", other.instance_id()));
    assert!(lock.lockers[0].cookie.starts_with("auto "), "{lock:?}");
    drop(others);
    assert_eq!(reader.other_watchers().unwrap(), []);
    assert_eq!(lock_now().lockers, []);
}
