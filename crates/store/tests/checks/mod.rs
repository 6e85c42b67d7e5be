//! The checks that every kind of store must pass.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::assigning_clones, reason = "the short way is the clear one here")]

use samples::document::{checked, modelled};
use std::time::Duration;

use measurement::{Histogram, RunDocument, TargetKind, TestResult, Use};
use store::{
    End, Filter, HostScope, Inserted, Location, Origin, Problem, RunId, State, Store, Tag, Which,
};

/// Locations of two stores of one kind that do not exist yet.
pub struct Place {
    pub here: Location,
    pub elsewhere: Location,
}

type Check = fn(&Place);

pub const CHECKS: [(&str, Check); 22] = [
    ("reading creates no store", reading_makes_no_store),
    ("the last run is one's own", the_last_run_is_ones_own),
    ("runs before one measured the same", runs_before_one_measured_the_same),
    ("a document comes back equal", a_document_comes_back_equal),
    ("a run grows test by test", a_run_grows_test_by_test),
    ("a shorter document ends no run", a_document_with_fewer_tests_than_the_store_has_ends_no_run),
    ("a run whose process is gone was interrupted", a_run_whose_process_is_gone_was_interrupted),
    ("a run without a test is removed", a_run_without_a_test_is_taken_away),
    ("the same document is kept once", the_same_document_is_kept_once),
    ("several documents are kept together", several_documents_are_kept_together),
    ("a document completes an interrupted run", a_document_completes_what_an_interrupted_run_left),
    ("a document inserted by many is stored once", a_document_that_is_kept_by_many_is_kept_once),
    ("filters narrow", filters_narrow),
    ("special characters of patterns are literal", signs_of_patterns_stand_for_themselves),
    ("tags and notes", tags_and_notes),
    ("lists have label, grade and headline", lists_have_label_grade_and_headline),
    ("deleting", deleting),
    ("missing runs", what_is_not_there),
    ("stores are copied by identity", stores_are_copied_by_identity),
    ("figures of many runs", figures_of_many_runs),
    ("groups of runs", runs_that_began_together),
    ("many open a new store at once", many_open_a_new_store_at_once),
];

/// Equal, also as text; the difference is not printed because histograms have tens of thousands of
/// cells.
fn same(here: &RunDocument, there: &RunDocument) {
    assert!(here == there, "documents differ");
    assert!(
        serde_json::to_string(here).unwrap() == serde_json::to_string(there).unwrap(),
        "texts differ"
    );
}

fn open(location: &Location) -> Store {
    Store::open(location).unwrap_or_else(|error| panic!("{error}"))
}

fn at(document: RunDocument, started_at: &str, suite: &str) -> RunDocument {
    RunDocument { started_at: started_at.to_owned(), suite: suite.to_owned(), ..document }
}

fn from(host: &str) -> Origin {
    Origin { host: Some(host.to_owned()) }
}

fn keep(store: &mut Store, document: &RunDocument, origin: &Origin) -> RunId {
    let Inserted::New(id) = store.insert(document, origin).unwrap() else { panic!("kept before") };
    id
}

fn found(store: &mut Store, filter: &Filter) -> Vec<RunId> {
    let listed: Vec<RunId> = store.list(filter).unwrap().iter().map(|summary| summary.id).collect();
    assert_eq!(store.ids(filter).unwrap(), listed);
    listed
}

fn a_document_comes_back_equal(place: &Place) {
    let mut store = open(&place.here);
    let mut strange = checked();
    let mut histogram = Histogram::new();
    (0..10_000_u64).for_each(|n| histogram.record(n * n * 7919 % 3_600_000_000));
    strange.results[0].histograms.sync = Some(histogram);
    strange.results[0].test = "a name with \0, 'quotes', \u{1f4be} and \u{fffd}".to_owned();
    strange.results[0].elapsed_s = 0.1 + 0.2;
    strange.results[0].iops = f64::MAX;
    strange.results[0].mib_per_s = 5e-324;
    strange.target.given = "/dev/\0null".to_owned();
    for document in [checked(), modelled(), strange] {
        let id = keep(&mut store, &document, &Origin::default());
        let kept = store.get(id).unwrap();
        same(&kept.document, &document);
        assert_eq!(kept.summary.tests as usize, document.results.len());
        assert_eq!(kept.summary.state, State::Complete);
    }
    assert_eq!(store.location(), &place.here);
    assert_eq!(format!("{store:?}"), format!("Store({:?})", place.here.to_string()));
    // Also over another connection.
    assert_eq!(open(&place.here).list(&Filter::default()).unwrap().len(), 3);
}

fn a_run_grows_test_by_test(place: &Place) {
    let (mut store, mut reader) = (open(&place.here), open(&place.here));
    let whole = checked();
    let begun = RunDocument { results: Vec::new(), findings: Vec::new(), ..whole.clone() };
    let id = store.begin(&begun, &from("db1")).unwrap();
    same(&reader.get(id).unwrap().document, &begun);
    for (count, result) in whole.results.iter().enumerate() {
        store.append(id, result).unwrap();
        let kept = reader.get(id).unwrap();
        assert_eq!(kept.summary.state, State::Running);
        assert!(kept.document.results == whole.results[..=count]);
    }
    store.finish(id, &whole, End::Complete).unwrap();
    let kept = reader.get(id).unwrap();
    same(&kept.document, &whole);
    assert_eq!(kept.summary.state, State::Complete);
    assert_eq!(kept.summary.host.as_deref(), Some("db1"));
    assert_eq!(kept.summary.at.to_string(), whole.started_at);

    // Tests that were never appended are stored at the end.
    let id = store.begin(&begun, &from("db1")).unwrap();
    store.append(id, &whole.results[0]).unwrap();
    store.finish(id, &whole, End::Interrupted).unwrap();
    let kept = reader.get(id).unwrap();
    same(&kept.document, &whole);
    assert_eq!(kept.summary.state, State::Interrupted);
}

fn a_document_with_fewer_tests_than_the_store_has_ends_no_run(place: &Place) {
    let mut store = open(&place.here);
    let whole = checked();
    let begun = RunDocument { results: Vec::new(), findings: Vec::new(), ..whole.clone() };
    let id = store.begin(&begun, &from("db1")).unwrap();
    for result in &whole.results[..2] {
        store.append(id, result).unwrap();
    }
    let shorter = RunDocument { results: whole.results[..1].to_vec(), ..whole.clone() };
    let error = store.finish(id, &shorter, End::Complete).unwrap_err();
    assert!(
        error.to_string().ends_with(
            "has 2 tests of run 1, but its document has 1; another program changed the store"
        ),
        "{error}"
    );
    assert_eq!(store.get(id).unwrap().summary.state, State::Running);
    store.finish(id, &whole, End::Complete).unwrap();
    same(&store.get(id).unwrap().document, &whole);
}

fn a_run_whose_process_is_gone_was_interrupted(place: &Place) {
    // Simulates a killed process with a thread whose store's connection is dropped. On SQLite the
    // process itself is looked up, so the run of this living process counts as running there.
    let id = {
        let mut store = open(&place.here);
        let id = store
            .begin(&RunDocument { results: Vec::new(), ..checked() }, &Origin::default())
            .unwrap();
        store.append(id, &checked().results[0]).unwrap();
        id
    };
    let mut store = open(&place.here);
    let expected = match place.here {
        Location::Sqlite(_) => State::Running,
        Location::Postgres(_) => State::Interrupted,
    };
    let state = |store: &mut Store| store.get(id).unwrap().summary.state;
    // The server notices the end of a connection a moment later.
    for _ in 0..100 {
        if state(&mut store) == expected {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(state(&mut store), expected);
    assert!(store.get(id).unwrap().document.results == checked().results[..1]);
}

fn a_run_without_a_test_is_taken_away(place: &Place) {
    let mut store = open(&place.here);
    let empty = RunDocument { results: Vec::new(), ..checked() };
    let gone = store.begin(&empty, &Origin::default()).unwrap();
    store.abandon(gone).unwrap();
    assert!(matches!(store.get(gone).unwrap_err().problem, Problem::NoRun(_)));
    let stays = store.begin(&empty, &Origin::default()).unwrap();
    store.append(stays, &checked().results[0]).unwrap();
    store.abandon(stays).unwrap();
    assert_eq!(store.get(stays).unwrap().summary.state, State::Interrupted);
}

fn the_same_document_is_kept_once(place: &Place) {
    let mut store = open(&place.here);
    let id = keep(&mut store, &checked(), &from("db1"));
    assert_eq!(store.insert(&checked(), &Origin::default()).unwrap(), Inserted::Already(id));
    // Also one that was measured here, from the file written by --output.
    let later = at(checked(), "2026-11-20T10:00:00Z", "check");
    let begun = store
        .begin(&RunDocument { results: Vec::new(), ..later.clone() }, &Origin::default())
        .unwrap();
    store.finish(begun, &later, End::Complete).unwrap();
    let text = serde_json::to_string_pretty(&later).unwrap();
    let read = RunDocument::from_json(&text).unwrap();
    assert_eq!(store.insert(&read, &Origin::default()).unwrap(), Inserted::Already(begun));
    // A document that differs in one digit is another one.
    let other = RunDocument { started_at: "2026-11-20T10:00:01Z".to_owned(), ..later };
    assert!(matches!(store.insert(&other, &Origin::default()).unwrap(), Inserted::New(_)));
}

fn several_documents_are_kept_together(place: &Place) {
    let mut store = open(&place.here);
    let (one, other) = (checked(), at(checked(), "2026-02-02T00:00:00Z", "wal"));
    let inserted = store.insert_all(&[&one, &other, &one], &from("db1")).unwrap();
    let [Inserted::New(first), Inserted::New(second), Inserted::Already(again)] = inserted[..]
    else {
        panic!("{inserted:?}")
    };
    assert_eq!(again, first);
    same(&store.get(second).unwrap().document, &other);
    assert_eq!(found(&mut store, &Filter::default()).len(), 2);
    assert_eq!(store.insert_all(&[], &from("db1")).unwrap(), []);
}

/// The part that a run leaves if its store becomes unreachable: the document as it was at the
/// start, and `tests` tests.
fn half(place: &Location, whole: &RunDocument, tests: usize) -> RunId {
    let begun = RunDocument {
        results: Vec::new(),
        skipped: Vec::new(),
        findings: Vec::new(),
        fitness: std::collections::BTreeMap::new(),
        fitness_under_each_setting: None,
        ..whole.clone()
    };
    let mut store = open(place);
    let id = store.begin(&begun, &from("db1")).unwrap();
    whole.results[..tests].iter().for_each(|result| store.append(id, result).unwrap());
    // As if its process were gone, which a test cannot simulate on SQLite.
    if matches!(place, Location::Sqlite(_)) && tests > 0 {
        store.abandon(id).unwrap();
    }
    id
}

fn a_document_completes_what_an_interrupted_run_left(place: &Place) {
    let whole = checked();
    assert!(!whole.findings.is_empty() && whole.results.len() > 3);
    let id = half(&place.here, &whole, 2);
    let mut store = open(&place.here);
    // The server notices the end of a connection a moment later.
    while store.get(id).unwrap().summary.state == State::Running {
        std::thread::sleep(Duration::from_millis(20));
    }
    store.tag(id, &["fleet".parse().unwrap()]).unwrap();
    // A different run of the same second and suite.
    let mut other = whole.clone();
    other.results[1].ops += 1;
    assert!(matches!(store.insert(&other, &Origin::default()).unwrap(), Inserted::New(_)));
    assert_eq!(store.insert(&whole, &Origin::default()).unwrap(), Inserted::Completed(id));
    let kept = store.get(id).unwrap();
    same(&kept.document, &whole);
    let summary = kept.summary;
    assert_eq!(
        (summary.state, summary.host.as_deref(), summary.tags.len()),
        (State::Complete, Some("db1"), 1)
    );
    assert_eq!(store.insert(&whole, &Origin::default()).unwrap(), Inserted::Already(id));

    // A run that a signal ended stays interrupted, with all that was measured.
    let mut stopped = at(whole.clone(), "2026-02-02T00:00:00Z", "wal");
    stopped.results.last_mut().unwrap().ended = measurement::Ended::Interrupted;
    assert!(matches!(store.insert(&stopped, &Origin::default()).unwrap(), Inserted::New(_)));
    let listed =
        store.list(&Filter { suite: Some("wal".to_owned()), ..Filter::default() }).unwrap();
    assert_eq!(listed[0].state, State::Interrupted);

    // A store that was copied when it had only the first part also gets the rest.
    let begun = at(whole, "2026-03-03T00:00:00Z", "slog");
    let there = half(&place.elsewhere, &begun, 1);
    let mut other = open(&place.elsewhere);
    while other.get(there).unwrap().summary.state == State::Running {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(store.copy_from(&mut other).unwrap().new.len(), 1);
    let again = store.copy_from(&mut other).unwrap();
    assert_eq!((again.new.len(), again.already), (0, 1));
    assert_eq!(other.insert(&begun, &Origin::default()).unwrap(), Inserted::Completed(there));
    let [completed] = store.copy_from(&mut other).unwrap().new[..] else {
        panic!("one is completed")
    };
    same(&store.get(completed).unwrap().document, &begun);
}

fn a_document_that_is_kept_by_many_is_kept_once(place: &Place) {
    open(&place.here);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| open(&place.here).insert(&checked(), &Origin::default()).unwrap());
        }
    });
    assert_eq!(found(&mut open(&place.here), &Filter::default()).len(), 1);
}

fn filters_narrow(place: &Place) {
    let mut store = open(&place.here);
    let mut fast = at(checked(), "2026-01-02T00:00:00Z", "slog");
    fast.results.truncate(1);
    fast.results[0].test = "Randwrite 4 KiB".to_owned();
    fast.source = Some(measurement::Source {
        tool: "fio".to_owned(),
        version: Some("3.33".to_owned()),
        drive: Some("Optane P4800X".to_owned()),
        disks: Vec::new(),
    });
    let a = keep(&mut store, &fast, &from("db1"));
    let mut slow = at(checked(), "2026-03-02T00:00:00Z", "wal");
    slow.target.kind = TargetKind::BlockDevice;
    slow.target.given = "/srv/pg".to_owned();
    slow.label = Some("After the move".to_owned());
    let b = keep(&mut store, &slow, &from("db2"));
    let c = keep(&mut store, &at(checked(), "2026-02-02T00:00:00Z", "wal"), &from("db1"));
    store.note(a, "with the new firmware").unwrap();
    store.tag(b, &["fleet".parse().unwrap()]).unwrap();

    let all = Filter::default();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(&mut store, &all), [b, c, a], "newest first");
    assert_eq!(found(&mut store, &Filter { limit: Some(1), ..all.clone() }), [b]);
    assert_eq!(found(&mut store, &Filter { limit: Some(1), skip: 2, ..all.clone() }), [a]);
    assert_eq!(found(&mut store, &Filter { host: text("DB1"), ..all.clone() }), [c, a]);
    assert_eq!(
        found(&mut store, &Filter { host: text("db"), ..all.clone() }),
        [],
        "hosts match by full name"
    );
    assert_eq!(found(&mut store, &Filter { suite: text("wal"), ..all.clone() }), [b, c]);
    assert_eq!(found(&mut store, &Filter { drive: text("optane"), ..all.clone() }), [a]);
    assert_eq!(found(&mut store, &Filter { test: text("randWRITE 4 k"), ..all.clone() }), [a]);
    assert_eq!(found(&mut store, &Filter { test: text("no such test"), ..all.clone() }), []);
    assert_eq!(found(&mut store, &Filter { note: text("firmware"), ..all.clone() }), [a]);
    assert_eq!(found(&mut store, &Filter { label: text("the MOVE"), ..all.clone() }), [b]);
    assert_eq!(found(&mut store, &Filter { target: text("SRV/pg"), ..all.clone() }), [b]);
    assert_eq!(found(&mut store, &Filter { tag: "fleet".parse().ok(), ..all.clone() }), [b]);
    let since = "2026-02-02T00:00:00Z".parse().ok();
    assert_eq!(found(&mut store, &Filter { since, ..all.clone() }), [b, c]);
    assert_eq!(found(&mut store, &Filter { until: since, ..all.clone() }), [a]);
    assert_eq!(
        found(&mut store, &Filter { host: text("db1"), suite: text("wal"), since, ..all.clone() }),
        [c]
    );

    let summary = store.list(&Filter { limit: Some(1), skip: 2, ..all }).unwrap().remove(0);
    assert_eq!(summary.tool, "fio 3.33");
    assert!(summary.drives.iter().any(|drive| drive.model.as_deref() == Some("Optane P4800X")));
    let latency = fast.results[0].headline_us().unwrap();
    let headline = summary.headline.unwrap();
    assert_eq!(
        (headline.test.as_str(), headline.p50_us, headline.p99_us),
        ("Randwrite 4 KiB", latency.p50, latency.p99)
    );
    assert_eq!(headline.is_commit, fast.results[0].commit_us.is_some());
    // Of several tests, the first one that commits.
    let committing = slow.results.iter().find(|result| result.commit_us.is_some()).unwrap();
    let headline = store.get(b).unwrap().summary.headline.unwrap();
    assert_eq!((headline.test.as_str(), headline.is_commit), (committing.test.as_str(), true));
}

fn signs_of_patterns_stand_for_themselves(place: &Place) {
    let mut store = open(&place.here);
    let a = keep(&mut store, &checked(), &Origin::default());
    store.note(a, r"100% of a_b \ '$1'").unwrap();
    let mut notes = |note: &str| {
        found(&mut store, &Filter { note: Some(note.to_owned()), ..Filter::default() })
    };
    for there in ["100%", "a_b", "\\", "'$1'", "%"] {
        assert_eq!(notes(there), [a], "{there}");
    }
    for absent in ["1%0", "a%b", "aXb", "\\\\", "x"] {
        assert_eq!(notes(absent), [], "{absent}");
    }
}

fn reading_makes_no_store(place: &Place) {
    for _ in 0..2 {
        assert!(matches!(Store::open_existing(&place.here).unwrap_err().problem, Problem::Absent));
    }
}

fn the_last_run_is_ones_own(place: &Place) {
    let mut store = open(&place.here);
    let own = |name: &str| HostScope::Own(name.to_owned());
    assert_eq!(store.newest(&HostScope::All, 0).unwrap(), None);
    let mut keep_on = |day: u32, host: Option<&str>| {
        let document = at(checked(), &format!("2026-01-0{day}T00:00:00Z"), "check");
        keep(&mut store, &document, &Origin { host: host.map(str::to_owned) })
    };
    let (a, b, nobodys, c) = (
        keep_on(1, Some("db1")),
        keep_on(2, Some("db2")),
        keep_on(3, None),
        keep_on(4, Some("db1")),
    );
    // A run that is being measured does not count, whatever its start time.
    let mut measuring = open(&place.here);
    for day in ["05", "06"] {
        let begun = at(checked(), &format!("2026-01-{day}T00:00:00Z"), "check");
        measuring.begin(&RunDocument { results: Vec::new(), ..begun }, &from("db1")).unwrap();
    }
    for (whose, runs) in [
        (HostScope::All, vec![c, nobodys, b, a]),
        (own("db1"), vec![c, nobodys, a]),
        (own("DB2"), vec![nobodys, b]),
        (own("db3"), vec![nobodys]),
        (HostScope::Host("db1".to_owned()), vec![c, a]),
        (HostScope::Host("db3".to_owned()), vec![]),
    ] {
        let mut found = (0..).map_while(|before| store.newest(&whose, before).unwrap());
        assert!(found.by_ref().eq(runs), "{whose:?}");
    }
    assert_eq!(store.newest(&HostScope::All, u32::MAX).unwrap(), None);
}

fn runs_before_one_measured_the_same(place: &Place) {
    let mut store = open(&place.here);
    let on = |day: u32, suite: &str| at(checked(), &format!("2026-01-0{day}T00:00:00Z"), suite);
    let a = keep(&mut store, &on(1, "check"), &from("db1"));
    let b = keep(&mut store, &on(2, "check"), &from("db1"));
    let elsewhere = keep(&mut store, &on(3, "check"), &from("db2"));
    keep(&mut store, &on(3, "slog"), &from("db1"));
    keep(&mut store, &on(3, "check-er"), &Origin::default());
    let mut other_target = on(3, "check");
    other_target.target = measurement::TargetRecord::new("/dev/sdz", TargetKind::BlockDevice);
    keep(&mut store, &other_target, &from("db1"));
    // One drive more, of which only a name is known.
    let mut other_drives = on(4, "check");
    other_drives.source = Some(measurement::Source {
        tool: "fio".to_owned(),
        version: None,
        drive: Some("Optane".to_owned()),
        disks: Vec::new(),
    });
    let unlike = keep(&mut store, &other_drives, &from("db1"));
    let unlike_too = keep(
        &mut store,
        &RunDocument { started_at: on(5, "").started_at, ..other_drives },
        &from("db1"),
    );
    let interrupted =
        store.begin(&RunDocument { results: Vec::new(), ..on(6, "check") }, &from("db1")).unwrap();
    store.finish(interrupted, &on(6, "check"), End::Interrupted).unwrap();
    let c = keep(&mut store, &on(7, "check"), &from("db1"));
    // Within the same second, the higher number is the later run.
    let d = keep(&mut store, &RunDocument { smoke: true, ..on(7, "check") }, &from("db1"));

    assert_eq!(store.earlier(d, 10).unwrap(), [c, b, a]);
    assert_eq!(store.earlier(c, 1).unwrap(), [b]);
    assert_eq!(store.earlier(interrupted, 10).unwrap(), [b, a]);
    assert_eq!(store.earlier(unlike_too, 10).unwrap(), [unlike]);
    for first in [a, elsewhere, unlike] {
        assert_eq!(store.earlier(first, 10).unwrap(), []);
    }
}

fn tags_and_notes(place: &Place) {
    let mut store = open(&place.here);
    let id = keep(&mut store, &checked(), &Origin::default());
    let [b, a] = ["before", "after"].map(|tag| tag.parse::<Tag>().unwrap());
    store.tag(id, &[b.clone(), a.clone()]).unwrap();
    store.tag(id, std::slice::from_ref(&a)).unwrap();
    assert_eq!(store.get(id).unwrap().summary.tags, [a.clone(), b.clone()]);
    store.untag(id, &[b.clone(), b]).unwrap();
    assert_eq!(store.get(id).unwrap().summary.tags, [a]);
    store.note(id, "one").unwrap();
    store.note(id, "two").unwrap();
    assert_eq!(store.get(id).unwrap().summary.note, "two");
    store.note(id, "").unwrap();
    assert_eq!(store.get(id).unwrap().summary.note, "");
}

fn lists_have_label_grade_and_headline(place: &Place) {
    let mut store = open(&place.here);
    let labelled = RunDocument { label: Some("new rack".to_owned()), ..checked() };
    // A run gets its grade at its end; until then its first test with commits stands for it.
    let begun = RunDocument {
        results: Vec::new(),
        fitness: std::collections::BTreeMap::new(),
        ..labelled.clone()
    };
    let run = store.begin(&begun, &Origin::default()).unwrap();
    for result in &labelled.results {
        store.append(run, result).unwrap();
    }
    let listed = |store: &mut Store| store.list(&Filter::default()).unwrap().remove(0);
    let before = listed(&mut store);
    assert_eq!((before.label.as_deref(), before.log_grade), (Some("new rack"), None));
    assert!(before.headline.unwrap().is_commit);
    store.finish(run, &labelled, End::Complete).unwrap();
    let after = listed(&mut store);
    assert_eq!(after.log_grade, Some(labelled.fitness[&Use::DatabaseLog].grade));
    assert_eq!(after.headline.unwrap().test, "write + fsync");
    assert_eq!(store.get(run).unwrap().document.label.as_deref(), Some("new rack"));
    // Of other blocks first, single 4 KiB commits stand for the run.
    let mut reordered = at(checked(), "2026-05-05T00:00:00Z", "check");
    reordered.results.reverse();
    keep(&mut store, &reordered, &Origin::default());
    let listed = store.list(&Filter::default()).unwrap();
    assert!(listed.iter().all(|run| {
        let result = checked();
        let name = &run.headline.as_ref().unwrap().test;
        let test = result.results.iter().find(|result| &result.test == name).unwrap();
        (test.workload.block_bytes, test.workload.jobs) == (4096, 1)
    }));
}

fn deleting(place: &Place) {
    let mut store = open(&place.here);
    let a = keep(&mut store, &checked(), &Origin::default());
    let b = keep(&mut store, &at(checked(), "2026-02-02T00:00:00Z", "wal"), &Origin::default());
    store.tag(a, &["x".parse().unwrap()]).unwrap();
    let absent: RunId = "4711".parse().unwrap();
    assert!(
        matches!(store.delete(&[a, absent]).unwrap_err().problem, Problem::NoRun(run) if run == absent)
    );
    assert_eq!(found(&mut store, &Filter::default()).len(), 2, "all or none");
    store.delete(&[a]).unwrap();
    assert!(matches!(store.get(a).unwrap_err().problem, Problem::NoRun(run) if run == a));
    assert_eq!(found(&mut store, &Filter::default()), [b]);
    // Nothing remains that could conflict with a new run, and the number is not reused.
    let again = keep(&mut store, &checked(), &Origin::default());
    assert!(again > b);
    assert_eq!(store.get(again).unwrap().summary.tags, []);
    // A run that is being measured cannot be deleted.
    let mut measuring = open(&place.here);
    let running = measuring
        .begin(&RunDocument { results: Vec::new(), ..checked() }, &Origin::default())
        .unwrap();
    assert!(
        matches!(store.delete(&[running]).unwrap_err().problem, Problem::Running(run) if run == running)
    );
}

fn what_is_not_there(place: &Place) {
    let mut store = open(&place.here);
    let id: RunId = "7".parse().unwrap();
    let said = store.get(id).unwrap_err().to_string();
    assert_eq!(
        said,
        format!("the store {} has no run 7; `flushmark results list` lists its runs", place.here)
    );
    let result: &TestResult = &checked().results[0];
    for problem in [
        store.append(id, result).unwrap_err().problem,
        store.finish(id, &checked(), End::Complete).unwrap_err().problem,
        store.tag(id, &["x".parse().unwrap()]).unwrap_err().problem,
        store.untag(id, &[]).unwrap_err().problem,
        store.note(id, "x").unwrap_err().problem,
        store.delete(&[id]).unwrap_err().problem,
    ] {
        assert!(matches!(problem, Problem::NoRun(run) if run == id), "{problem:?}");
    }
    assert_eq!(found(&mut store, &Filter::default()), []);
}

fn figures_of_many_runs(place: &Place) {
    let mut store = open(&place.here);
    let always = Filter::default();
    assert!(store.figures(Which::All, &always).unwrap().runs.is_empty());
    let old = keep(&mut store, &at(checked(), "2026-01-02T00:00:00Z", "check"), &from("db1"));
    let new = keep(&mut store, &at(checked(), "2026-02-02T00:00:00Z", "check"), &from("db1"));
    let other = keep(&mut store, &at(checked(), "2026-01-09T00:00:00Z", "wal"), &from("db1"));
    // Nobody knows whose drive this is.
    keep(&mut store, &at(checked(), "2026-03-02T00:00:00Z", "check"), &Origin::default());
    // One that is still being measured.
    store.begin(&at(checked(), "2026-03-03T00:00:00Z", "check"), &from("db1")).unwrap();
    let mut ids = |which, filter: &Filter| -> Vec<RunId> {
        store.figures(which, filter).unwrap().runs.iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(Which::All, &always), [old, other, new]);
    assert_eq!(ids(Which::Newest, &always), [other, new]);
    let january = Filter { until: "2026-02-01T00:00:00Z".parse().ok(), ..Filter::default() };
    assert_eq!(ids(Which::Newest, &january), [old, other]);
    let figures = store.figures(Which::Newest, &january).unwrap();
    let run = &figures.runs[0];
    assert_eq!((run.host.as_str(), run.suite.as_str()), ("db1", "check"));
    assert_eq!(run.drive, store::DriveName::of(&checked()).into_iter().next());
    for (result, &(name, p50_us)) in checked().results.iter().zip(&run.tests) {
        assert_eq!((&figures.names[name], p50_us), (&result.test, result.p50_us()));
    }
    assert_eq!(run.tests.len(), checked().results.len());
    let headers = store.headers(&[new, old]).unwrap();
    assert_eq!(headers.len(), 2);
    assert!(headers.iter().all(|(_, header)| header.results.is_empty()));
    assert!(headers.iter().all(|(_, header)| header.host == checked().host));
    let suite = Filter { suite: Some("wal".to_owned()), ..Filter::default() };
    let figures = store.figures(Which::Newest, &suite).unwrap();
    assert_eq!(figures.runs.iter().map(|run| run.id).collect::<Vec<_>>(), [other]);
    let never = Filter { test: Some("never measured".to_owned()), ..Filter::default() };
    assert_eq!(store.figures(Which::Newest, &never).unwrap().runs, []);
    // The distributions come in the order asked for, whatever the order of the runs' numbers.
    let mut passed_on: Vec<(RunId, String, Histogram)> = Vec::new();
    let mut each = |run, test: &str, histogram: &Histogram| {
        passed_on.push((run, test.to_owned(), histogram.clone()));
    };
    store.latencies(&[new, old], &mut each).unwrap();
    let document = checked();
    let expected: Vec<(RunId, String, Histogram)> = [new, old]
        .into_iter()
        .flat_map(|run| {
            let timed = document.results.iter().filter_map(move |result| {
                Some((run, result.test.clone(), result.headline_histogram()?.clone()))
            });
            timed.collect::<Vec<_>>()
        })
        .collect();
    assert!(!expected.is_empty());
    assert!(passed_on == expected, "other distributions than those of the documents");
}

fn runs_that_began_together(place: &Place) {
    let mut store = open(&place.here);
    let of = |group: Option<&str>, started_at: &str| RunDocument {
        group: group.map(|id| measurement::GroupRecord {
            id: id.to_owned(),
            name: Some("nfs".to_owned()),
            member: "db1".to_owned(),
            agreement: measurement::Agreement::Store,
            expected: Some(2),
            clock_error_us: None,
            starts: Vec::new(),
            notes: Vec::new(),
        }),
        ..at(checked(), started_at, "check")
    };
    assert!(store.groups(&Filter::default()).unwrap().is_empty());
    let mut keep =
        |group, started_at: &str| self::keep(&mut store, &of(group, started_at), &from("db1"));
    let late = keep(Some("one"), "2026-03-02T00:00:02Z");
    let early = keep(Some("one"), "2026-03-02T00:00:01Z");
    let before = keep(Some("another"), "2026-03-01T00:00:00Z");
    keep(None, "2026-03-03T00:00:00Z");
    // A run does not know its group when it begins.
    let begun = RunDocument { results: Vec::new(), ..of(None, "2026-03-02T00:00:03Z") };
    let met = store.begin(&begun, &from("db2")).unwrap();
    store.finish(met, &of(Some("one"), "2026-03-02T00:00:03Z"), End::Complete).unwrap();
    let all = [vec![before], vec![early, late, met]];
    assert_eq!(store.groups(&Filter::default()).unwrap(), all);
    let march = Filter { since: "2026-03-02T00:00:00Z".parse().ok(), ..Filter::default() };
    assert_eq!(store.groups(&march).unwrap(), all[1..]);
}

fn stores_are_copied_by_identity(place: &Place) {
    let (mut here, mut there) = (open(&place.here), open(&place.elsewhere));
    let a = keep(&mut there, &at(checked(), "2026-02-02T00:00:00Z", "wal"), &from("db1"));
    let b = keep(&mut there, &at(checked(), "2026-03-02T00:00:00Z", "wal"), &from("db2"));
    there.tag(a, &["fleet".parse().unwrap()]).unwrap();
    there.note(a, "noted there").unwrap();
    keep(&mut here, &at(checked(), "2026-01-01T00:00:00Z", "slog"), &from("db1"));
    let copied = here.copy_from(&mut there).unwrap();
    assert_eq!((copied.new.len(), copied.already, copied.running), (2, 0, 0));
    for (&new, old) in copied.new.iter().zip([a, b]) {
        let (new, old) = (here.get(new).unwrap(), there.get(old).unwrap());
        same(&new.document, &old.document);
        assert_eq!(store::Summary { id: old.summary.id, ..new.summary }, old.summary);
    }
    // Again: nothing new. In the other direction: only the one that was never there.
    let again = here.copy_from(&mut there).unwrap();
    assert_eq!((again.new.len(), again.already), (0, 2));
    let back = there.copy_from(&mut here).unwrap();
    assert_eq!((back.new.len(), back.already), (1, 2));
    // A run that both have imported is recognised by its content.
    let imported = at(checked(), "2026-04-04T00:00:00Z", "wal");
    keep(&mut here, &imported, &from("db1"));
    keep(&mut there, &imported, &from("db1"));
    let known = here.copy_from(&mut there).unwrap();
    assert_eq!((known.new.len(), known.already), (0, 4));
    // A run that is being measured is left out.
    let running =
        there.begin(&RunDocument { results: Vec::new(), ..checked() }, &Origin::default()).unwrap();
    assert_eq!(here.copy_from(&mut there).unwrap().running, 1);
    there.finish(running, &checked(), End::Complete).unwrap();
}

fn many_open_a_new_store_at_once(place: &Place) {
    let document = checked();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let document = &document;
                scope.spawn(move || {
                    let mut store = open(&place.here);
                    for run in 0..3 {
                        let document = at(
                            document.clone(),
                            &format!("2026-01-0{}T00:00:0{run}Z", writer + 1),
                            "check",
                        );
                        keep(&mut store, &document, &Origin::default());
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let mut store = open(&place.here);
    let runs = found(&mut store, &Filter::default());
    assert_eq!(runs.len(), 24);
    for run in runs {
        assert!(store.get(run).unwrap().document.results == document.results);
    }
}
