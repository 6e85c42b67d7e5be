//! Files that are not stores, are read-only or locked: each is reported in one sentence and left
//! unchanged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use samples::document::checked;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use blame::Blame;
use measurement::{Histogram, RunDocument, Use};
use rusqlite::Connection;
use store::{Filter, Location, Origin, Store};

/// Waiting for a lock in vain costs a test this much.
const BRIEFLY: Duration = Duration::from_millis(200);

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("results.db")
    }

    fn location(&self) -> Location {
        Location::Sqlite(self.path())
    }

    fn with_a_run() -> Place {
        let place = Place::new();
        Store::open(&place.location()).unwrap().insert(&checked(), &Origin::default()).unwrap();
        place
    }

    fn shown(&self, text: &impl ToString) -> String {
        text.to_string().replace(&*self.path().to_string_lossy(), "RESULTS.DB")
    }

    fn refusal(&self) -> String {
        let error = Store::open_waiting(&self.location(), true, BRIEFLY).unwrap_err();
        self.shown(&error)
    }
}

#[test]
fn a_text_is_left_as_it_is() {
    let place = Place::new();
    let text = "host,iops\ndb1,7000\n".repeat(100);
    fs::write(place.path(), &text).unwrap();
    insta::assert_snapshot!(place.refusal(), @"the store RESULTS.DB is not an SQLite database; nothing was changed. Name another store (--store, FLUSHMARK_STORE)");
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
    assert_eq!(
        fs::read_dir(place.directory.path()).unwrap().count(),
        1,
        "no file was created next to it"
    );
}

#[test]
fn another_programs_database_is_left_as_it_is() {
    let place = Place::new();
    Connection::open(place.path())
        .unwrap()
        .execute_batch("CREATE TABLE runs (id INTEGER)")
        .unwrap();
    let before = fs::read(place.path()).unwrap();
    insta::assert_snapshot!(place.refusal(), @"the store RESULTS.DB is an SQLite database of another program; nothing was changed. Name another store (--store, FLUSHMARK_STORE)");
    // Also one with another application ID.
    let place2 = Place::new();
    Connection::open(place2.path())
        .unwrap()
        .execute_batch("PRAGMA application_id = 7; CREATE TABLE x (y)")
        .unwrap();
    assert_eq!(place2.refusal(), place.refusal());
    assert_eq!(fs::read(place.path()).unwrap(), before);
}

#[test]
fn a_directory() {
    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    insta::assert_snapshot!(place.refusal(), @"the store RESULTS.DB is a directory; name a file in it, such as results.db");
}

#[test]
fn nothing_there() {
    let place = Place::new();
    let error = Store::open_existing(&place.location()).unwrap_err();
    assert_eq!(error.blame(), Blame::Usage);
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB does not exist; `flushmark check` and `flushmark run` create it when they store a run");
    assert!(!place.path().exists(), "reading creates nothing");
}

#[test]
fn reading_makes_no_store_of_an_empty_file() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    assert!(matches!(
        Store::open_existing(&place.location()).unwrap_err().problem,
        store::Problem::Absent
    ));
    assert_eq!(fs::metadata(place.path()).unwrap().len(), 0);
}

/// SQLite takes some names for a database in memory, which would be gone with the program.
#[test]
fn names_with_a_meaning_to_sqlite_are_file_names() {
    const HERE: &str = "DIRECTORY_OF_NAMES";
    if std::env::var_os(HERE).is_some() {
        for name in [":memory:", "file:x.db?mode=memory"] {
            let location = Location::Sqlite(name.into());
            Store::open(&location).unwrap().insert(&checked(), &Origin::default()).unwrap();
            assert_eq!(
                Store::open_existing(&location).unwrap().list(&Filter::default()).unwrap().len(),
                1
            );
        }
        return;
    }
    // A relative name, in a separate process whose working directory nothing else depends on.
    let place = Place::new();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "names_with_a_meaning_to_sqlite_are_file_names"]).env(HERE, "");
    assert!(again.current_dir(place.directory.path()).status().unwrap().success());
    assert!(place.directory.path().join(":memory:").is_file());
}

/// No log is created in a read-only directory. Its name may contain characters that are special in
/// a URI, or none that are valid UTF-8.
#[test]
fn any_name_is_read_from_a_read_only_place() {
    use std::os::unix::ffi::OsStrExt as _;
    if !is_root() {
        eprintln!("skipped: any_name_is_read_from_a_read_only_place: needs root to mount");
        return;
    }
    let place = Place::new();
    let names = [b"100%.db".as_slice(), b"a?b#c.db", b"latin-\xe9.db"];
    let locations = names.map(|name| {
        Location::Sqlite(place.directory.path().join(std::ffi::OsStr::from_bytes(name)))
    });
    for location in &locations {
        Store::open(location).unwrap().insert(&checked(), &Origin::default()).unwrap();
    }
    let mount = Mount::new(
        place.directory.path(),
        &["--bind", "-o", "ro", &place.directory.path().to_string_lossy()],
    );
    for location in &locations {
        let listed =
            Store::open_existing(location).and_then(|mut store| store.list(&Filter::default()));
        assert_eq!(listed.unwrap().len(), 1, "{location}");
    }
    drop(mount);
}

#[test]
fn a_file_where_a_directory_should_be() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let below = Location::Sqlite(place.path().join("deeper/results.db"));
    let error = Store::open(&below).unwrap_err();
    assert_eq!(error.blame(), Blame::System);
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB/deeper/results.db cannot be opened: Not a directory (os error 20); name another store (--store, FLUSHMARK_STORE)");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let mut store = Store::open(&place.location()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap(), []);
}

#[test]
fn a_newer_schema() {
    let place = Place::with_a_run();
    Connection::open(place.path())
        .unwrap()
        .execute_batch("UPDATE schema_version SET version = 99")
        .unwrap();
    insta::assert_snapshot!(place.refusal(), @"the store RESULTS.DB has schema 99, from a newer flushmark; this version supports schemas up to 3. Use that version or another store");
}

/// A store as each version of the schema created it. A new version adds one and removes none.
#[test]
fn stores_of_every_version_are_read_and_written() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    let mut versions = 0;
    for file in fs::read_dir(&kept).unwrap() {
        let place = Place::new();
        fs::copy(file.unwrap().path(), place.path()).unwrap();
        let mut store = Store::open(&place.location()).unwrap();
        let listed = store.list(&Filter::default()).unwrap();
        assert_eq!(listed.len(), 1);
        assert!(listed[0].note.starts_with("kept by the "), "{}", listed[0].note);
        assert_eq!(listed[0].tags.len(), 1);
        assert_eq!(listed[0].drives, store::DriveName::of(&checked()));
        assert!(store.get(listed[0].id).unwrap().document == checked());
        // Columns that earlier versions did not have are filled.
        assert_eq!(
            listed[0].log_grade,
            checked().fitness.get(&Use::DatabaseLog).map(|it| it.grade)
        );
        assert_eq!(listed[0].headline.as_ref().unwrap().test, "write + fsync");
        // Tables that the first version did not have are filled.
        let mut latencies = 0;
        let mut each = |_, _: &str, _: &Histogram| latencies += 1;
        store.latencies(&[listed[0].id], &mut each).unwrap();
        let timed = checked().results.iter().filter(|it| it.headline_histogram().is_some()).count();
        assert_eq!((latencies, timed > 0), (timed, true));
        assert_eq!(store.insert(&checked(), &Origin::default()).unwrap().id(), listed[0].id);
        versions += 1;
    }
    assert_eq!(versions, 3);
}

#[test]
fn damage_in_the_pages() {
    let place = Place::with_a_run();
    // Closing the last connection checkpointed the log into the file.
    let mut bytes = fs::read(place.path()).unwrap();
    let page = bytes.len() / 2 / 4096 * 4096;
    // All but the first page, which identifies the file.
    bytes[4096..page].fill(0xa5);
    fs::write(place.path(), &bytes).unwrap();
    let refused = Store::open(&place.location()).and_then(|mut store| {
        let runs = store.ids(&Filter::default())?;
        runs.into_iter().try_for_each(|run| store.get(run).map(drop))?;
        store.insert(&RunDocument { suite: "other".to_owned(), ..checked() }, &Origin::default())
    });
    insta::assert_snapshot!(place.shown(&refused.unwrap_err()), @"the store RESULTS.DB is damaged (database disk image is malformed). Start a new store or restore this one from a backup; for an SQLite file, `sqlite3 FILE .recover` saves what can still be read");
}

#[test]
fn a_file_cut_short() {
    let place = Place::with_a_run();
    let bytes = fs::read(place.path()).unwrap();
    for length in [100, 4096, bytes.len() / 2] {
        fs::write(place.path(), &bytes[..length]).unwrap();
        let read = Store::open(&place.location()).and_then(|mut store| {
            let runs = store.ids(&Filter::default())?;
            runs.into_iter().map(|run| store.get(run)).collect::<Result<Vec<_>, _>>()
        });
        let said = place.shown(&read.map(|runs| runs.len()).unwrap_err());
        assert!(
            said.starts_with("the store RESULTS.DB is damaged (")
                || said.contains("not an SQLite database"),
            "{said}"
        );
    }
}

#[test]
fn a_damaged_document_names_its_run() {
    let place = Place::with_a_run();
    let damage = "UPDATE results SET document = x'00112233' WHERE position = 1";
    Connection::open(place.path()).unwrap().execute_batch(damage).unwrap();
    let mut store = Store::open(&place.location()).unwrap();
    let [run] = store.ids(&Filter::default()).unwrap()[..] else { panic!("one run") };
    insta::assert_snapshot!(place.shown(&store.get(run).unwrap_err()), @"the store RESULTS.DB is damaged (run 1: cannot decompress a document: corrupt deflate stream). Start a new store or restore this one from a backup; for an SQLite file, `sqlite3 FILE .recover` saves what can still be read");
    let lost = "DELETE FROM results WHERE position = 1";
    Connection::open(place.path()).unwrap().execute_batch(lost).unwrap();
    insta::assert_snapshot!(place.shown(&store.get(run).unwrap_err()), @"the store RESULTS.DB is damaged (run 1: only 7 of 8 tests are stored). Start a new store or restore this one from a backup; for an SQLite file, `sqlite3 FILE .recover` saves what can still be read");
}

#[test]
fn a_lock_is_waited_for_only_so_long() {
    let place = Place::with_a_run();
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut store = Store::open_waiting(&place.location(), true, BRIEFLY).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1, "readers do not wait");
    let error = store
        .insert(&RunDocument { suite: "other".to_owned(), ..checked() }, &Origin::default())
        .unwrap_err();
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB has been locked by another process for 0.2 s; try again when that process is done");
    other.execute_batch("COMMIT").unwrap();
    store
        .insert(&RunDocument { suite: "other".to_owned(), ..checked() }, &Origin::default())
        .unwrap();
    // A lock that is released in time causes no error.
    let held = std::thread::scope(|scope| {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let writer = scope.spawn(|| {
            let mut store = Store::open(&place.location()).unwrap();
            store
                .insert(&RunDocument { suite: "third".to_owned(), ..checked() }, &Origin::default())
                .map(drop)
        });
        std::thread::sleep(BRIEFLY);
        other.execute_batch("COMMIT").unwrap();
        writer.join().unwrap()
    });
    held.unwrap();
}

#[test]
fn a_read_only_place_is_read_and_refuses_what_is_new() {
    if !is_root() {
        eprintln!(
            "skipped: a_read_only_place_is_read_and_refuses_what_is_new: needs root to mount"
        );
        return;
    }
    let place = Place::with_a_run();
    let mount = Mount::new(
        place.directory.path(),
        &["--bind", "-o", "ro", &place.directory.path().to_string_lossy()],
    );
    let mut store = Store::open_existing(&place.location()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    let error = store
        .insert(&RunDocument { suite: "other".to_owned(), ..checked() }, &Origin::default())
        .unwrap_err();
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB cannot be written to: the filesystem is read-only (EROFS); name another store (--store, FLUSHMARK_STORE)");
    drop(store);
    drop(mount);
}

#[test]
fn a_full_disk_loses_nothing_that_was_kept() {
    if !is_root() {
        eprintln!("skipped: a_full_disk_loses_nothing_that_was_kept: needs root to mount");
        return;
    }
    let place = Place::new();
    let mount = Mount::new(place.directory.path(), &["-t", "tmpfs", "-o", "size=512k", "tmpfs"]);
    let mut store = Store::open(&place.location()).unwrap();
    let mut kept = 0;
    let error = loop {
        let document = RunDocument { suite: format!("suite {kept}"), ..checked() };
        match store.insert(&document, &Origin::default()) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 1000, "more than 512 KiB can hold");
    };
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB cannot be written to: the disk is full (ENOSPC); free some space or name another store (--store, FLUSHMARK_STORE)");
    let runs = store.ids(&Filter::default()).unwrap();
    assert_eq!(runs.len(), kept);
    assert!(kept > 1);
    for run in runs {
        assert!(store.get(run).unwrap().document.results == checked().results);
    }
    drop(store);
    drop(mount);
}

#[test]
fn a_store_on_a_full_disk_is_not_called_read_only() {
    if !is_root() {
        eprintln!("skipped: a_store_on_a_full_disk_is_not_called_read_only: needs root to mount");
        return;
    }
    let place = Place::new();
    let mount = Mount::new(place.directory.path(), &["-t", "tmpfs", "-o", "size=512k", "tmpfs"]);
    Store::open(&place.location()).unwrap().insert(&checked(), &Origin::default()).unwrap();
    fill(place.directory.path(), 512 << 10);
    let mut store = Store::open_existing(&place.location()).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1, "it can be read");
    let error = store
        .insert(&RunDocument { suite: "other".to_owned(), ..checked() }, &Origin::default())
        .unwrap_err();
    insta::assert_snapshot!(place.shown(&error), @"the store RESULTS.DB cannot be written to: the disk is full (ENOSPC); free some space or name another store (--store, FLUSHMARK_STORE)");
    drop(store);
    drop(mount);
}

/// Fills a filesystem of `size` bytes until what can be seen in it uses all of it. Being refused a
/// write is not enough: a process that another test is just starting may hold a deleted file, whose
/// space is free again a moment later.
fn fill(directory: &Path, size: u64) {
    let used = || -> u64 {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512).sum()
    };
    let fill = directory.join("fill");
    let mut fill = fs::File::options().create(true).append(true).open(fill).unwrap();
    let begun = Instant::now();
    while used() < size {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} of {size} bytes used", used());
        let _ = fill.write_all(&[1; 4096]);
    }
    fill.write_all(&[1]).unwrap_err();
}

/// A mount that is unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(on: &Path, options: &[&str]) -> Mount {
        let mounted = Command::new("mount").args(options).arg(on).status().unwrap();
        assert!(mounted.success());
        Mount(on.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
