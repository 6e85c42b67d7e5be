//! The runs of a store: as a list, and one run as printed when it was measured.

use measurement::{RunDocument, Source, TestResult};
use store::{DriveName, ListDocument, State, StoredRun, Summary};
use workload::number::latency;
use workload::{Table, TargetName, suites};

use crate::check::check_page;
use crate::columns::{Cell, Column, Columns};
use crate::database::database_commits_page;
use crate::database_watch::database_watch_page;
use crate::findings::{fitness, style_of};
use crate::imported;
use crate::insert_benchmark::insert_benchmark_page;
use crate::look::{Look, paint};
use crate::tables::results_page;
use crate::target::target_header;

/// The suite of `flushmark check`.
const CHECK_SUITE: &str = "check";
const HEADLINES: &str =
    "p50 and p99 are those of single 4 KiB commits, or of the test most like them.";
/// Characters of a note shown in a list; `results show` shows the whole note.
const NOTE_CHARACTERS: usize = 30;

/// The runs, one per row, in the order given. `more` means that further runs match the filter.
pub fn run_list(runs: &[Summary], more: bool, look: &Look) -> String {
    let mut text = Columns::<Summary>::new()
        .with(Column::right("id"), |run| run.id.to_string())
        .with(Column::left("when (UTC)"), when)
        .with(Column::left("host").may_drop(3).optional(), |run| run.host.as_deref().map(harmless))
        .with(Column::prose("drive or target"), where_it_ran)
        .with(Column::prose("label").optional(), |run| run.label.as_deref().map(harmless))
        .with(Column::left("suite"), |run| harmless(&run.suite))
        .with(Column::right("p50"), |run| run.headline.as_ref().map(|of| latency(of.p50_us)))
        .with(Column::right("p99"), |run| run.headline.as_ref().map(|of| latency(of.p99_us)))
        .with(Column::left("as a log").may_drop(2).optional(), |run| {
            run.log_grade.map(|grade| Cell::styled(grade.name(), style_of(grade, look)))
        })
        .with(Column::left("tags").may_drop(4).optional(), tags)
        .with(Column::left("note").may_drop(5).optional(), |run| {
            (!run.note.is_empty()).then(|| short(&run.note))
        })
        .with(Column::left("state").may_drop(1).optional(), |run| {
            (run.state != State::Complete).then(|| run.state.name())
        })
        .of(runs, look);
    text += "\n";
    text += &look.hanging("  ", HEADLINES);
    if more {
        text += &format!("  The newest {}; use --limit to show more.\n", runs.len());
    }
    look.finish(text)
}

/// The list as JSON, with all that is known about each run.
pub fn run_list_json(runs: &[Summary]) -> String {
    serde_json::to_string_pretty(&ListDocument::of(runs))
        .map(|text| text + "\n")
        .unwrap_or_default()
}

/// The store's record of a run, then the run as `check` or `run` printed it.
pub fn kept_page(kept: &StoredRun, look: &Look) -> String {
    let (run, document) = (&kept.summary, &kept.document);
    let mut text = paint(look.palette.strong, &format!("Run {}", run.id));
    text += &format!(": {}, {} UTC", harmless(&run.suite), when(run));
    text += &run.host.as_deref().map(|host| format!(", on {}", harmless(host))).unwrap_or_default();
    text += &match run.state {
        State::Complete => String::new(),
        State::Running => ", still being measured".to_owned(),
        State::Interrupted => ", interrupted".to_owned(),
    };
    text +=
        &document.merged_runs.map(|runs| format!(", merged from {runs} runs")).unwrap_or_default();
    text += "\n";
    if let Some(label) = &run.label {
        text += &format!("Label: {}\n", harmless(label));
    }
    if let Some(tags) = tags(run) {
        text += &format!("Tags: {tags}\n");
    }
    if !run.note.is_empty() {
        text += &format!("Note: {}\n", harmless(&run.note));
    }
    if document.source.is_some() {
        text += &format!("Measured by {}\n", harmless(&run.tool));
    }
    let header = target_header(document, document.tested_bytes(), look);
    look.finish(text + "\n") + &header + &page(document, look)
}

/// A run of another tool: its table, every latency, the counters, findings and grades.
fn imported_page(source: &Source, document: &RunDocument, look: &Look) -> String {
    let plan = suites::named(&document.suite);
    let table = results_page(plan.map_or(Table::Tests, |plan| plan.table), document, look);
    let latencies = imported::latencies(&document.results, look);
    let disks = imported::disks(source, look);
    let grades = fitness(&document.fitness, look);
    let sections = [latencies, disks, grades].into_iter().filter(|section| !section.is_empty());
    table + &sections.map(|section| format!("\n{section}")).collect::<String>()
}

fn page(document: &RunDocument, look: &Look) -> String {
    if document.results.is_empty() {
        return "\nNo test was measured.\n".to_owned();
    }
    if document.suite == CHECK_SUITE && document.source.is_none() {
        return check_page(document, look);
    }
    if document.results.iter().any(TestResult::is_watched) {
        return database_watch_page(document, look);
    }
    if document.results.iter().any(|result| result.insert_benchmark.is_some()) {
        return insert_benchmark_page(document, look);
    }
    if document.target.database.is_some() {
        return database_commits_page(document, look);
    }
    if let Some(source) = &document.source {
        return imported_page(source, document, look);
    }
    // The document does not contain the user's own plan; its tests are shown one per row.
    let table = suites::named(&document.suite).map_or(Table::Tests, |plan| plan.table);
    results_page(table, document, look)
}

fn tags(run: &Summary) -> Option<String> {
    let tags: Vec<String> = run.tags.iter().map(ToString::to_string).collect();
    (!tags.is_empty()).then(|| tags.join(" "))
}

fn when(run: &Summary) -> String {
    run.at.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The drives' models, or the target as given if they are unknown.
/// The drive's model, or the target; of a modelled drive the target, so that nobody takes it for a
/// measured one.
fn where_it_ran(run: &Summary) -> String {
    if let TargetName::Model(_) = TargetName::parse(&run.target) {
        return harmless(&run.target);
    }
    let models: Vec<String> = run
        .drives
        .iter()
        .filter_map(|DriveName { model, .. }| model.as_deref())
        .map(harmless)
        .collect();
    if models.is_empty() { harmless(&run.target) } else { models.join(" + ") }
}

fn short(note: &str) -> String {
    let note = harmless(note);
    if note.chars().count() <= NOTE_CHARACTERS {
        return note;
    }
    note.chars().take(NOTE_CHARACTERS - 1).chain(['…']).collect()
}

/// Removes control characters that would move a terminal's cursor.
fn harmless(text: &str) -> String {
    unseen::masked(text).into_owned()
}

#[cfg(test)]
mod tests {
    use measurement::Grade;
    use store::Headline;

    use super::*;

    fn run(id: &str) -> Summary {
        Summary {
            id: id.parse().unwrap(),
            uuid: uuid::Uuid::nil(),
            at: "2026-11-20T19:30:12Z".parse().unwrap(),
            host: Some("db1".to_owned()),
            drives: vec![DriveName {
                model: Some("Samsung SSD 980 PRO 1TB".to_owned()),
                serial: Some("S5GX".to_owned()),
                firmware: None,
            }],
            suite: "check".to_owned(),
            label: None,
            target: "/srv/pg".to_owned(),
            tool: "flushmark 0.1.0".to_owned(),
            tests: 8,
            headline: Some(Headline {
                test: "4 KiB write + fdatasync".to_owned(),
                is_commit: true,
                p50_us: 164.0,
                p99_us: 1282.0,
            }),
            log_grade: Some(Grade::Good),
            tags: vec!["after".parse().unwrap(), "fleet".parse().unwrap()],
            note: String::new(),
            state: State::Complete,
        }
    }

    fn runs() -> Vec<Summary> {
        let bare = Summary {
            host: None,
            drives: Vec::new(),
            headline: None,
            log_grade: None,
            tags: Vec::new(),
            tests: 0,
            ..run("7")
        };
        vec![
            run("112"),
            Summary {
                state: State::Interrupted,
                note: "with the firmware of last spring, \u{1b}[31min the old rack".to_owned(),
                ..run("111")
            },
            Summary {
                target: "sim:micron-5100-eco-960gb".to_owned(),
                state: State::Running,
                ..bare
            },
        ]
    }

    #[test]
    fn a_list() {
        insta::assert_snapshot!(run_list(&runs(), true, &Look { columns: 120, ..Look::plain() }), @"
         id  when (UTC)        host  drive or target            suite     p50      p99  as a log  tags         state
        112  2026-11-20 19:30  db1   Samsung SSD 980 PRO 1TB    check  164 µs  1.28 ms  good      after fleet  -
        111  2026-11-20 19:30  db1   Samsung SSD 980 PRO 1TB    check  164 µs  1.28 ms  good      after fleet  interrupted
          7  2026-11-20 19:30  -     sim:micron-5100-eco-960gb  check       -        -  -         -            running

        p50 and p99 are those of single 4 KiB commits, or of the test most like them.
        The newest 3; use --limit to show more.
        ");
        insta::assert_snapshot!(run_list(&runs(), false, &Look { columns: 150, ..Look::plain() }), @"
         id  when (UTC)        host  drive or target            suite     p50      p99  as a log  tags         note                            state
        112  2026-11-20 19:30  db1   Samsung SSD 980 PRO 1TB    check  164 µs  1.28 ms  good      after fleet  -                               -
        111  2026-11-20 19:30  db1   Samsung SSD 980 PRO 1TB    check  164 µs  1.28 ms  good      after fleet  with the firmware of last spr…  interrupted
          7  2026-11-20 19:30  -     sim:micron-5100-eco-960gb  check       -        -  -         -            -                               running

        p50 and p99 are those of single 4 KiB commits, or of the test most like them.
        ");
        insta::assert_snapshot!(run_list(&runs(), false, &Look { columns: 72, ..Look::plain() }), @"
         id  when (UTC)        drive or target          suite     p50      p99
        112  2026-11-20 19:30  Samsung SSD 980 PRO 1TB  check  164 µs  1.28 ms
        111  2026-11-20 19:30  Samsung SSD 980 PRO 1TB  check  164 µs  1.28 ms
          7  2026-11-20 19:30  sim:micron-5100-eco-     check       -        -
                               960gb

        p50 and p99 are those of single 4 KiB commits, or of the test most
        like them.
        ");
    }

    #[test]
    fn a_list_of_complete_runs_has_no_column_for_states() {
        insta::assert_snapshot!(run_list(&[run("1")], false, &Look::plain()), @"
        id  when (UTC)        host  drive or target          suite     p50      p99  as a log  tags
         1  2026-11-20 19:30  db1   Samsung SSD 980 PRO 1TB  check  164 µs  1.28 ms  good      after fleet

        p50 and p99 are those of single 4 KiB commits, or of the test most like them.
        ");
    }

    #[test]
    fn a_list_for_programs() {
        insta::assert_snapshot!(run_list_json(&runs()[..1]), @r#"
        {
          "schema": "flushmark/results/1",
          "runs": [
            {
              "id": 112,
              "uuid": "00000000-0000-0000-0000-000000000000",
              "at": "2026-11-20T19:30:12Z",
              "host": "db1",
              "drives": [
                {
                  "model": "Samsung SSD 980 PRO 1TB",
                  "serial": "S5GX",
                  "firmware": null
                }
              ],
              "suite": "check",
              "label": null,
              "target": "/srv/pg",
              "tool": "flushmark 0.1.0",
              "tests": 8,
              "headline": {
                "test": "4 KiB write + fdatasync",
                "is_commit": true,
                "p50_us": 164.0,
                "p99_us": 1282.0
              },
              "log_grade": "good",
              "tags": [
                "after",
                "fleet"
              ],
              "note": "",
              "state": "complete"
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_kept_run() {
        let mut document = samples::document(samples::suite("journal", 30.0, 120.0));
        document.suite = "mine".to_owned();
        document.results.truncate(2);
        let summary =
            Summary { note: "old rack".to_owned(), suite: "mine".to_owned(), ..run("112") };
        insta::assert_snapshot!(kept_page(&StoredRun { summary: summary.clone(), document: document.clone() }, &Look::plain()), @"
        Run 112: mine, 2026-11-20 19:30 UTC, on db1
        Tags: after fleet
        Note: old rack

        target       /var/lib/db, directory
        host         kernel unknown

          test                      engine  per second  MiB/s     p50     p99   p99.9     max  flushes each
          randwrite 4 KiB, fsync=1  psync        5,747   22.4  174 µs  181 µs  279 µs  870 µs          1.00
          randwrite, O_SYNC async   psync        5,376   21.0  186 µs  194 µs  298 µs  930 µs          0.00
        ");
        document.results.clear();
        let summary =
            Summary { state: State::Interrupted, tags: Vec::new(), note: String::new(), ..summary };
        insta::assert_snapshot!(kept_page(&StoredRun { summary, document }, &Look::plain()), @"
        Run 112: mine, 2026-11-20 19:30 UTC, on db1, interrupted

        target       /var/lib/db, directory
        host         kernel unknown

        No test was measured.
        ");
    }

    #[test]
    fn a_kept_check_has_the_page_of_check() {
        let document = samples::document(samples::check());
        let page =
            kept_page(&StoredRun { summary: run("3"), document: document.clone() }, &Look::plain());
        assert!(page.ends_with(&check_page(&document, &Look::plain())));
    }
}
