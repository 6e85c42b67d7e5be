//! Pages of comparisons.

use ::compare::{Group, Operation, Point};
use measurement::{Pass, RunDocument, Series, Source, TestResult};

use super::*;
use crate::look::Glyphs;

/// Adds a series of `seconds` values that vary slightly around the result's figures.
fn lasting(mut result: TestResult, seconds: u32, phase: f64) -> TestResult {
    let off = |second: u32| 1.0 + 0.03 * (f64::from(second) * 2.4 + phase).sin();
    let us = result.headline_us();
    result.series = Series {
        iops: (0..seconds).map(|second| result.iops / off(second)).collect(),
        commit_p50_us: (0..seconds).map(|second| us.map(|us| us.p50 * off(second))).collect(),
        commit_p99_us: (0..seconds).map(|second| us.map(|us| us.p99 * off(second))).collect(),
        ..Series::new()
    };
    result
}

/// A run of `check`'s first test and of its commit tests on a drive with this sync latency.
fn run(sync_us: f64, seconds: u32, phase: f64) -> RunDocument {
    let results = samples::suite("check", 15.0, sync_us);
    samples::document(
        results.into_iter().take(4).map(|result| lasting(result, seconds, phase)).collect(),
    )
}

fn compared(baseline: &[RunDocument], candidates: &[(&str, &[RunDocument])]) -> Comparison {
    let group = |label: &str, runs| Group { label: label.to_owned(), runs };
    let candidates: Vec<_> =
        candidates.iter().map(|(label, runs)| group(label, runs.iter().collect())).collect();
    Comparison::of(&group("before.json", baseline.iter().collect()), &candidates, "")
}

fn view(comparison: &Comparison) -> ComparisonView<'_> {
    ComparisonView {
        against: &comparison.candidates[0],
        names: ["A", "B"],
        figures: Figures::Leading,
    }
}

fn last_sentence(baseline: &[RunDocument], candidate: &[RunDocument]) -> String {
    sentence::sentence(&compared(baseline, &[("after.json", candidate)]).candidates[0], ["A", "B"])
}

#[test]
fn the_whole_page() {
    let mut after = run(800.0, 30, 1.0);
    after.host.kernel_release = Some("6.12.9".to_owned());
    after.results[3].workload.depth = 4;
    let page = compare_page(
        &compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[after])]),
        Figures::Leading,
        &Look::plain(),
    );
    insta::assert_snapshot!(page, @"
    Compared
      A  before.json  1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC  baseline
      B  after.json   1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

    B against A
                            A        B  ratio   95 % interval
      write
        operations/s   66,667   66,667   1.00   0.993 to 1.01  noise
        write p50       15 µs    15 µs   1.00   0.993 to 1.01  noise
        write p90     15.6 µs  15.6 µs   1.00               -
        write p99     15.6 µs  15.6 µs   1.00   0.993 to 1.01  noise
        write p99.9     24 µs    24 µs   1.00               -
      write + fsync
        commits/s         487    1,026   2.11    2.09 to 2.12  2.1 times as fast
        commit p50    2.06 ms   975 µs  0.475  0.471 to 0.478  2.1 times as short
        commit p90    2.14 ms  1.01 ms  0.474               -
        commit p99    2.14 ms  1.01 ms  0.474  0.471 to 0.478  2.1 times as short
        commit p99.9  3.29 ms  1.56 ms  0.474               -
      write + fdatasync
        commits/s         583    1,227   2.10    2.09 to 2.12  2.1 times as fast
        commit p50    1.72 ms   815 µs  0.475  0.472 to 0.478  2.1 times as short
        commit p90    1.78 ms   848 µs  0.475               -
        commit p99    1.78 ms   848 µs  0.475  0.472 to 0.479  2.1 times as short
        commit p99.9  2.74 ms   1.3 ms  0.475               -

      write p90, write p99.9, commit p90, commit p99.9: no verdict, the series does not have this
      figure, so its variation is unknown.

    Not compared
      write O_DSYNC: the workloads differ: depth: 1 and 4

    What else differs
              A  B
      kernel  -  6.12.9

    B commits 2.1 times as fast as A in 2 of 3 tests; 1 is within noise. 1 test has no counterpart and
    is not compared.
    ");
}

#[test]
fn two_candidates_and_every_figure_of_one_test() {
    let one = |sync_us, phase| {
        let mut run = run(sync_us, 5, phase);
        run.results.truncate(2);
        run.results.remove(0);
        run
    };
    let candidates: [(&str, &[RunDocument]); 2] =
        [("b.json", &[one(900.0, 1.0)]), ("c.json,d.json", &[one(1700.0, 2.0), one(1750.0, 3.0)])];
    let page =
        compare_page(&compared(&[one(1700.0, 0.0)], &candidates), Figures::All, &Look::plain());
    insta::assert_snapshot!(page, @"
    Compared
      A  before.json    1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC   baseline
      B  b.json         1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      C  c.json,d.json  2 runs of check on /var/lib/db, 2026-11-20 19:30:00 UTC

    B against A
                            A        B  ratio  95 % interval
      write + fsync
        commits/s         487      913   1.88              -
        operations/s      487      913   1.88              -
        MiB/s            1.90     3.57   1.88              -
        commit mean   2.06 ms   1.1 ms  0.533              -
        commit p50    2.06 ms   1.1 ms  0.533              -
        commit p90    2.14 ms  1.14 ms  0.533              -
        commit p99    2.14 ms  1.14 ms  0.533              -
        commit p99.9  3.29 ms  1.75 ms  0.533              -
        write mean      15 µs    15 µs   1.00              -
        write p50       15 µs    15 µs   1.00              -
        write p90     15.6 µs  15.6 µs   1.00              -
        write p99     15.6 µs  15.6 µs   1.00              -
        write p99.9     24 µs    24 µs   1.00              -
        sync mean     2.04 ms  1.08 ms  0.529              -
        sync p50      2.04 ms  1.08 ms  0.529              -
        sync p90      2.12 ms  1.12 ms  0.529              -
        sync p99      2.12 ms  1.12 ms  0.529              -
        sync p99.9    3.26 ms  1.73 ms  0.529              -

      commits/s, operations/s, MiB/s, commit p50, commit p99: no verdict, a single run of 5 s is too
      short; 15 s or several runs are needed.
      commit mean, commit p90, commit p99.9, write mean, write p50, write p90, write p99, write p99.9,
      sync mean, sync p50, sync p90, sync p99, sync p99.9: no verdict, the series does not have this
      figure, so its variation is unknown.

    C against A
                            A        C  ratio  95 % interval
      write + fsync
        commits/s         487      480  0.986  0.727 to 1.33  noise
        operations/s      487      480  0.986  0.727 to 1.33  noise
        MiB/s            1.90     1.87  0.986  0.727 to 1.33  noise
        commit mean   2.06 ms  2.09 ms   1.01              -
        commit p50    2.06 ms  2.06 ms   1.00  0.741 to 1.38  noise
        commit p90    2.14 ms   2.2 ms   1.03              -
        commit p99    2.14 ms   2.2 ms   1.03  0.761 to 1.42  noise
        commit p99.9  3.29 ms  3.39 ms   1.03              -
        write mean      15 µs    15 µs   1.00              -
        write p50       15 µs    15 µs   1.00              -
        write p90     15.6 µs  15.6 µs   1.00              -
        write p99     15.6 µs  15.6 µs   1.00              -
        write p99.9     24 µs    24 µs   1.00              -
        sync mean     2.04 ms  2.07 ms   1.01              -
        sync p50      2.04 ms  2.04 ms   1.00              -
        sync p90      2.12 ms  2.19 ms   1.03              -
        sync p99      2.12 ms  2.19 ms   1.03              -
        sync p99.9    3.26 ms  3.36 ms   1.03              -

      commit mean, commit p90, commit p99.9, write mean, write p50, write p90, write p99, write p99.9,
      sync mean, sync p50, sync p90, sync p99, sync p99.9: no verdict, the series does not have this
      figure, so its variation is unknown.

    Inconclusive in the only test: too few values to know how much they vary. B was measured 1.88 times
    as fast as A. Run longer tests, or pass several runs per side separated by commas.

    No difference between C and A that is more than noise, in the only test.
    ");
}

#[test]
fn an_ascii_page_is_ascii_throughout() {
    let ascii = Look { glyphs: Glyphs::Ascii, ..Look::plain() };
    let page = compare_page(
        &compared(&[run(1700.0, 30, 0.0)], &[("b", &[run(800.0, 5, 1.0)])]),
        Figures::All,
        &ascii,
    );
    assert!(page.is_ascii(), "{page}");
}

#[test]
fn few_tests_that_stand_out_are_named() {
    let osds = |slow: &[&str], phase: f64| {
        let result = |result: TestResult| {
            let factor = if slow.contains(&result.test.as_str()) { 3.0 } else { 1.0 };
            let per_s = |rate: f64| rate / factor;
            let commits_per_s = result.commits_per_s.map(per_s);
            let passes = result.passes.iter();
            let passes = passes.map(|pass| Pass { iops: per_s(pass.iops), ..*pass }).collect();
            let iops = per_s(result.iops);
            lasting(TestResult { iops, commits_per_s, passes, ..result }, 30, phase)
        };
        [samples::document(samples::osds(2, 2).into_iter().map(result).collect())]
    };
    let before = osds(&[], 0.0);
    insta::assert_snapshot!(last_sentence(&before, &osds(&["osd.3: write"], 1.0)), @"B commits 3.0 times as slow as A in 1 of 8 tests; 7 are within noise. Most different: osd.3: write (3.0 times as slow).");
    insta::assert_snapshot!(last_sentence(&osds(&["osd.0: write", "osd.3: write"], 1.0), &before), @"B commits 3.0 times as fast as A in 2 of 8 tests; 6 are within noise. Most different: osd.0: write (3.0 times as fast), osd.3: write (3.0 times as fast).");
    let many = ["osd.0: write", "osd.1: write", "osd.2: write", "osd.3: write"];
    insta::assert_snapshot!(last_sentence(&before, &osds(&many, 1.0)), @"B commits 3.0 times as slow as A in 4 of 8 tests; 4 are within noise.");
}

#[test]
fn closing_sentences() {
    let before = [run(1700.0, 30, 0.0)];
    insta::assert_snapshot!(last_sentence(&before, &[run(800.0, 30, 1.0)]), @"B commits 2.1 times as fast as A in 3 of 4 tests; 1 is within noise.");
    insta::assert_snapshot!(last_sentence(&[run(800.0, 30, 0.0)], &[run(1700.0, 30, 1.0)]), @"B commits 2.1 times as slow as A in 3 of 4 tests; 1 is within noise.");
    insta::assert_snapshot!(last_sentence(&before, &[run(1700.0, 30, 1.0)]), @"No difference between B and A that is more than noise, in all 4 tests.");
    insta::assert_snapshot!(last_sentence(&before, &[run(800.0, 5, 1.0)]), @"Inconclusive in all 4 tests: too few values to know how much they vary. B was measured 1.00 to 2.1 times as fast as A. Run longer tests, or pass several runs per side separated by commas.");
    let mut mixed = run(800.0, 30, 1.0);
    mixed.results[1] = lasting(samples::suite("check", 15.0, 2500.0).remove(1), 30, 1.0);
    mixed.results[2] = lasting(mixed.results[2].clone(), 5, 1.0);
    insta::assert_snapshot!(last_sentence(&before, &[mixed]), @"B commits 2.1 times as fast as A in 1 of 4 tests; 1.47 times as slow as A in 1; 1 is within noise; 1 is inconclusive.");
    let only = |run: &RunDocument, tests: std::ops::Range<usize>| RunDocument {
        results: run.results[tests].to_vec(),
        ..run.clone()
    };
    let fast = run(800.0, 30, 1.0);
    insta::assert_snapshot!(last_sentence(&[only(&before[0], 1..2)], &[only(&fast, 1..2)]), @"B commits 2.1 times as fast as A in the only test.");
    insta::assert_snapshot!(last_sentence(&[only(&before[0], 1..2)], &[only(&run(800.0, 5, 1.0), 1..2)]), @"Inconclusive in the only test: too few values to know how much they vary. B was measured 2.1 times as fast as A. Run longer tests, or pass several runs per side separated by commas.");
    insta::assert_snapshot!(last_sentence(&[only(&before[0], 1..2)], &[only(&fast, 2..3)]), @"B and A have no test in common.");
}

#[test]
fn ratios_are_put_in_words_and_never_below_one() {
    let rate = Metric::CommitsPerS;
    let wait = Metric::Latency(Operation::Commit, Point::P99);
    let said: Vec<String> = [
        (64.3, rate),
        (1.0 / 64.3, rate),
        (1.0 / 1.2, rate),
        (1.0, rate),
        (2.13, wait),
        (0.4, wait),
        (4_321.0, wait),
    ]
    .map(|(ratio, metric)| times(ratio, metric))
    .to_vec();
    insta::assert_snapshot!(said.join("\n"), @"
    64.3 times as fast
    64.3 times as slow
    1.20 times as slow
    1.00 times as fast
    2.1 times as long
    2.5 times as short
    4,321 times as long
    ");
    // Ratios on both sides of 1, without a verdict.
    let before = [run(1700.0, 5, 0.0)];
    let mut mixed = run(800.0, 5, 1.0);
    mixed.results[1] = lasting(samples::suite("check", 15.0, 2500.0).remove(1), 5, 1.0);
    insta::assert_snapshot!(last_sentence(&before, &[mixed]), @"Inconclusive in all 4 tests: too few values to know how much they vary. B was measured between 1.47 times as slow and 2.1 times as fast as A. Run longer tests, or pass several runs per side separated by commas.");
}

#[test]
fn a_ratio_has_three_digits_however_small() {
    let said = [0.0, 0.000_123_4, 0.008_31, 0.015_72, 0.0994, 0.0996, 0.9994, 1.0, 12.34, 126.4]
        .map(ratio);
    assert_eq!(
        said,
        [
            "0.000", "0.000123", "0.00831", "0.0157", "0.0994", "0.100", "0.999", "1.00", "12.3",
            "126"
        ]
    );
}

#[test]
fn a_run_that_ended_early_is_inconclusive_with_a_reason() {
    let mut broken = run(800.0, 30, 1.0);
    broken.results.truncate(2);
    (broken.results[1].ended, broken.results[1].elapsed_s) = (measurement::Ended::Interrupted, 2.0);
    let comparison = compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[broken.clone()])]);
    insta::assert_snapshot!(view(&comparison).sentence(), @"Inconclusive in 1 of 2 tests: its run ended early. The other one is within noise. 2 tests have no counterpart and are not compared.");
    let remarks = view(&comparison).remarks().join("\n");
    assert!(remarks.contains("no verdict, a run ended early, after 2 s."), "{remarks}");
    assert!(
        remarks.contains("write + fsync: the candidate was interrupted after 2 s."),
        "{remarks}"
    );
    broken.results.remove(0);
    insta::assert_snapshot!(last_sentence(&[run(1700.0, 30, 0.0)], &[broken]), @"Inconclusive in the only test: its run ended early. 3 tests have no counterpart and are not compared.");
}

#[test]
fn a_write_is_not_shown_as_the_wait_for_a_commit() {
    let mut counted = run(800.0, 30, 1.0);
    counted.results.truncate(2);
    counted.results.remove(0);
    counted.results[0].commit_us = None;
    let comparison = compared(&[run(1700.0, 30, 0.0)], &[("fio.json", &[counted])]);
    let (_, figures) = view(&comparison).tests().next().unwrap();
    let names: Vec<String> = figures.into_iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["commits/s", "sync p50", "sync p90", "sync p99", "sync p99.9"]);
}

#[test]
fn markdown_for_a_ticket() {
    let mut after = run(800.0, 30, 1.0);
    after.results.truncate(2);
    after.source = Some(Source {
        tool: "fio".to_owned(),
        version: None,
        drive: Some("<b>|drive_1|</b>".to_owned()),
        disks: Vec::new(),
    });
    let markdown = compare_markdown(
        &compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[after])]),
        Figures::Leading,
    );
    assert!(!markdown.contains("<b>"));
    insta::assert_snapshot!(markdown, @r"
    **B commits 2.1 times as fast as A in 1 of 2 tests; 1 is within noise. 2 tests have no counterpart and are not compared.**

    - A: `before.json`, 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
    - B: `after.json`, 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

    | B against A | A | B | ratio | 95 % interval | |
    | --- | ---: | ---: | ---: | ---: | --- |
    | write, operations/s | 66,667 | 66,667 | 1.00 | 0.993 to 1.01 | noise |
    | write, write p50 | 15 µs | 15 µs | 1.00 | 0.993 to 1.01 | noise |
    | write, write p90 | 15.6 µs | 15.6 µs | 1.00 | - |  |
    | write, write p99 | 15.6 µs | 15.6 µs | 1.00 | 0.993 to 1.01 | noise |
    | write, write p99.9 | 24 µs | 24 µs | 1.00 | - |  |
    | write + fsync, commits/s | 487 | 1,026 | 2.11 | 2.09 to 2.12 | 2.1 times as fast |
    | write + fsync, commit p50 | 2.06 ms | 975 µs | 0.475 | 0.471 to 0.478 | 2.1 times as short |
    | write + fsync, commit p90 | 2.14 ms | 1.01 ms | 0.474 | - |  |
    | write + fsync, commit p99 | 2.14 ms | 1.01 ms | 0.474 | 0.471 to 0.478 | 2.1 times as short |
    | write + fsync, commit p99.9 | 3.29 ms | 1.56 ms | 0.474 | - |  |

    - write p90, write p99.9, commit p90, commit p99.9: no verdict, the series does not have this figure, so its variation is unknown.
    - write + fdatasync: not compared, only in A
    - write O\_DSYNC: not compared, only in A

    | what else differs | A | B |
    | --- | --- | --- |
    | measured by | flushmark | fio |
    | version | 0.1.0 | - |
    | drive | - | &lt;b&gt;\|drive\_1\|&lt;/b&gt; |
    ");
}

#[test]
fn a_failed_condition() {
    let said = |seconds, text: &str| {
        let comparison =
            compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[run(2000.0, seconds, 1.0)])]);
        let condition: compare::Condition = text.parse().unwrap();
        condition.failures(&comparison).unwrap().iter().map(failure).next().unwrap_or_default()
    };
    insta::assert_snapshot!(said(30, "commit_p99 > +10%"), @"after.json, write + fsync: commit_p99 went from 2.14 ms to 2.51 ms (+17.5 %), and `commit_p99 > +10%` fails");
    insta::assert_snapshot!(said(5, "commit_p99 > +10%"), @"after.json, write + fsync: commit_p99 went from 2.14 ms to 2.51 ms (+17.5 %), and `commit_p99 > +10%` fails; judged only by the ratio because its variation is unknown");
    insta::assert_snapshot!(said(5, "commits_per_s < 1000"), @"after.json, write + fsync: commits_per_s went from 487/s to 414/s (-14.9 %), and `commits_per_s < 1000` fails");
}

#[test]
fn a_condition_that_could_not_be_checked() {
    let said = |change: &dyn Fn(&mut RunDocument, &mut RunDocument)| {
        let [mut before, mut after] = [0.0, 1.0].map(|phase| run(1700.0, 30, phase));
        change(&mut before, &mut after);
        let comparison = compared(&[before], &[("after.json", &[after])]);
        let condition: compare::Condition = "commit_p99 > +10%".parse().unwrap();
        let failures = condition.failures(&comparison).unwrap();
        failures.iter().map(failure).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(said(&|_, _| ()), "");
    insta::assert_snapshot!(said(&|_, after| after.results.truncate(3)), @"after.json, write O_DSYNC: the baseline has commit_p99 of this test, but the candidate does not have the test, so `commit_p99 > +10%` fails");
    insta::assert_snapshot!(said(&|_, after| after.results[1].workload.depth = 4), @"after.json, write + fsync: the workloads differ (depth: 1 and 4), so `commit_p99 > +10%` fails");
    insta::assert_snapshot!(said(&|_, after| after.results[1].commit_us = None), @"after.json, write + fsync: the baseline has commit_p99, but the candidate does not, so `commit_p99 > +10%` fails");
    insta::assert_snapshot!(said(&|before, _| before.results[1].commit_us.as_mut().unwrap().p99 = 0.0), @"after.json, write + fsync: the baseline's commit_p99 is 0 and allows no relative change, so `commit_p99 > +10%` fails");
    insta::assert_snapshot!(said(&|_, after| after.results[1].ended = measurement::Ended::Failed { error: "gone".to_owned() }), @"after.json, write + fsync: a run of it ended too early to be conclusive, so `commit_p99 > +10%` fails");
}
