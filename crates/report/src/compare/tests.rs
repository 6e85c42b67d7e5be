//! Pages of comparisons.

use ::compare::{Group, Interval, Metric, Operation, Point, Samples};
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

/// The answer, what it leaves out, and the advice, each on a line.
fn said(baseline: &[RunDocument], candidate: &[RunDocument]) -> String {
    let comparison = compared(baseline, &[("after.json", candidate)]);
    let view = view(&comparison);
    let advice = view.advice(&comparison.baseline).unwrap_or_default();
    let lines = [view.answer(), view.addition(), advice];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_program_s_commits_stand_for_those_of_the_others() {
    let run = |sync_us: f64, phase: f64| {
        let commits = samples::suite("commits", 15.0, sync_us);
        [samples::document(commits.into_iter().map(|test| lasting(test, 30, phase)).collect())]
    };
    insta::assert_snapshot!(said(&run(1700.0, 0.0), &run(170.0, 1.0)), @"B is faster than A in all 18 tests, by 19 % to 9.61×.");
    let modelled = || {
        let [mut document] = run(1700.0, 0.0);
        document.results.iter_mut().for_each(|test| test.engine = "sim".to_owned());
        [document]
    };
    insta::assert_snapshot!(said(&modelled(), &modelled()), @"B is exactly as fast as A in all 18 tests (computed by models).");
}

/// Two runs of which the second is faster, on another kernel, with a changed test.
fn before_and_after() -> Comparison {
    let mut after = run(800.0, 30, 1.0);
    after.host.kernel_release = Some("6.12.9".to_owned());
    after.results[3].workload.depth = 4;
    compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[after])])
}

#[test]
fn the_page_begins_with_the_answer() {
    let look = Look { columns: 80, ..Look::plain() };
    insta::assert_snapshot!(compare_page(&before_and_after(), Figures::Rate, &look), @"
    B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).
    Judged by write + fsync. Of 3 tests: 2 faster (2.1×), 1 the same within 0.8 %. 1
    test has no counterpart and is not compared.

      A  before.json  1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      B  after.json   1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

      B against A               A         B  difference         significance
      write              66,667/s  66,667/s  same within 0.8 %  not significant
      write + fsync         487/s   1,026/s  2.1× faster        significant
      write + fdatasync     583/s   1,227/s  2.1× faster        significant

      Also different: kernel. Not compared: write O_DSYNC. Latencies, intervals and
      remarks: -v.
    ");
    let narrow = Look { columns: 60, ..Look::plain() };
    insta::assert_snapshot!(compare_page(&before_and_after(), Figures::Rate, &narrow), @"
    B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).
    Judged by write + fsync. Of 3 tests: 2 faster (2.1×), 1 the
    same within 0.8 %. 1 test has no counterpart and is not
    compared.

      A  before.json  1 run of check on /var/lib/db, 2026-11-20
                      19:30:00 UTC
      B  after.json   1 run of check on /var/lib/db, 2026-11-20
                      19:30:00 UTC

               A         B  difference         significance
      write
        66,667/s  66,667/s  same within 0.8 %  not significant
      write + fsync
           487/s   1,026/s  2.1× faster        significant
      write + fdatasync
           583/s   1,227/s  2.1× faster        significant

      Also different: kernel. Not compared: write O_DSYNC.
      Latencies, intervals and remarks: -v.
    ");
}

#[test]
fn details_follow_when_asked_for() {
    insta::assert_snapshot!(compare_page(&before_and_after(), Figures::Leading, &Look::plain()), @"
    B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).
    Judged by write + fsync. Of 3 tests: 2 faster (2.1×), 1 the same within 0.8 %. 1 test has no
    counterpart and is not compared.

      A  before.json  1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      B  after.json   1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

      B against A               A         B  difference         significance
      write              66,667/s  66,667/s  same within 0.8 %  not significant
      write + fsync         487/s   1,026/s  2.1× faster        significant
      write + fdatasync     583/s   1,227/s  2.1× faster        significant

    Figures
                            A        B  ratio   95 % interval
      write
        operations/s   66,667   66,667   1.00   0.993 to 1.01  noise
        write p50       15 µs    15 µs   1.00   0.993 to 1.01  noise
        write p90     15.6 µs  15.6 µs   1.00               -
        write p99     15.6 µs  15.6 µs   1.00   0.993 to 1.01  noise
        write p99.9     24 µs    24 µs   1.00               -
      write + fsync
        commits/s         487    1,026   2.11    2.09 to 2.12  2.1× faster
        commit p50    2.06 ms   975 µs  0.475  0.471 to 0.478  2.1× faster
        commit p90    2.14 ms  1.01 ms  0.474               -
        commit p99    2.14 ms  1.01 ms  0.474  0.471 to 0.478  2.1× faster
        commit p99.9  3.29 ms  1.56 ms  0.474               -
      write + fdatasync
        commits/s         583    1,227   2.10    2.09 to 2.12  2.1× faster
        commit p50    1.72 ms   815 µs  0.475  0.472 to 0.478  2.1× faster
        commit p90    1.78 ms   848 µs  0.475               -
        commit p99    1.78 ms   848 µs  0.475  0.472 to 0.479  2.1× faster
        commit p99.9  2.74 ms   1.3 ms  0.475               -

      write p90, write p99.9, commit p90, commit p99.9: no verdict, the series does not have this
      figure, so its variation is unknown.
      One run on each side: the intervals do not contain what differs from run to run. Several runs per
      side, joined by commas, show that.

    Not compared
      write O_DSYNC: the workloads differ: depth: 1 and 4

    What else differs
              A  B
      kernel  -  6.12.9
    ");
}

#[test]
fn no_line_is_wider_than_the_page() {
    for figures in [Figures::Rate, Figures::Leading, Figures::All] {
        for columns in [60, 80, 160] {
            let page =
                compare_page(&before_and_after(), figures, &Look { columns, ..Look::plain() });
            for line in page.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn two_candidates_and_every_figure_of_one_test() {
    let one = |sync_us, phase| {
        let mut run = run(sync_us, 4, phase);
        run.results.truncate(2);
        run.results.remove(0);
        run
    };
    let candidates: [(&str, &[RunDocument]); 2] =
        [("b.json", &[one(900.0, 1.0)]), ("c.json,d.json", &[one(1700.0, 2.0), one(1750.0, 3.0)])];
    let page =
        compare_page(&compared(&[one(1700.0, 0.0)], &candidates), Figures::All, &Look::plain());
    insta::assert_snapshot!(page, @"
    Undecided: B was measured 1.88× faster than A, but a single run of 4 s is too short; 5 s or several
    runs are needed.
    Undecided: C commits between 1.44× slower and 1.30× faster than A (95 % interval).
    C: To detect a difference of 5 %, compare 3 runs per side, joined by commas.

      A  before.json    1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      B  b.json         1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
      C  c.json,d.json  2 runs of check on /var/lib/db, 2026-11-20 19:30:00 UTC

      B against A        A      B  difference    significance
      write + fsync  487/s  913/s  1.88× faster  too short

    Figures
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

      commits/s, operations/s, MiB/s, commit p50, commit p99: no verdict, a single run of 4 s is too
      short; 5 s or several runs are needed.
      commit mean, commit p90, commit p99.9, write mean, write p50, write p90, write p99, write p99.9,
      sync mean, sync p50, sync p90, sync p99, sync p99.9: no verdict, the series does not have this
      figure, so its variation is unknown.

      C against A        A      C  difference  significance
      write + fsync  487/s  480/s  1 % slower  not significant

    Figures
                            A        C  ratio  95 % interval
      write + fsync
        commits/s         487      480  0.986  0.697 to 1.30  noise
        operations/s      487      480  0.986  0.697 to 1.30  noise
        MiB/s            1.90     1.87  0.986  0.697 to 1.30  noise
        commit mean   2.06 ms  2.09 ms   1.01              -
        commit p50    2.06 ms  2.06 ms   1.00  0.757 to 1.42  noise
        commit p90    2.14 ms   2.2 ms   1.03              -
        commit p99    2.14 ms   2.2 ms   1.03  0.779 to 1.46  noise
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
    ");
}

#[test]
fn an_ascii_page_is_ascii_throughout() {
    let ascii = Look { glyphs: Glyphs::Ascii, ..Look::plain() };
    let page = compare_page(
        &compared(&[run(1700.0, 30, 0.0)], &[("b", &[run(800.0, 4, 1.0)])]),
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
    insta::assert_snapshot!(said(&before, &osds(&["osd.3: write"], 1.0)), @"
    B against A, of 8 tests: 1 slower (3.0×), 7 the same within 5 %.
    Most different: osd.3: write (3.0× slower).
    ");
    insta::assert_snapshot!(said(&osds(&["osd.0: write", "osd.3: write"], 1.0), &before), @"
    B against A, of 8 tests: 2 faster (3.0×), 6 the same within 5 %.
    Most different: osd.0: write (3.0× faster), osd.3: write (3.0× faster).
    ");
    let many = ["osd.0: write", "osd.1: write", "osd.2: write", "osd.3: write"];
    insta::assert_snapshot!(said(&before, &osds(&many, 1.0)), @"B against A, of 8 tests: 4 slower (3.0×), 4 the same within 5 %.");
}

#[test]
fn answers() {
    let before = [run(1700.0, 30, 0.0)];
    insta::assert_snapshot!(said(&before, &[run(800.0, 30, 1.0)]), @"
    B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).
    Judged by write + fsync. Of 4 tests: 3 faster (2.1×), 1 the same within 0.8 %.
    ");
    insta::assert_snapshot!(said(&[run(800.0, 30, 0.0)], &[run(1700.0, 30, 1.0)]), @"
    B commits 2.1× slower than A (95 % interval 2.09 to 2.12×).
    Judged by write + fsync. Of 4 tests: 3 slower (2.1×), 1 the same within 0.8 %.
    ");
    insta::assert_snapshot!(said(&before, &[run(1700.0, 30, 1.0)]), @"
    No difference larger than 0.8 % between B and A (95 % confidence).
    Judged by write + fsync. Of 4 tests: 4 the same within 0.8 %.
    ");
    insta::assert_snapshot!(said(&before, &[run(800.0, 4, 1.0)]), @"
    Undecided: B was measured 2.1× faster than A, but a single run of 4 s is too short; 5 s or several runs are needed.
    Judged by write + fsync. Of 4 tests: 4 undecided.
    ");
    let mut mixed = run(800.0, 30, 1.0);
    mixed.results[1] = lasting(samples::suite("check", 15.0, 2500.0).remove(1), 30, 1.0);
    mixed.results[2] = lasting(mixed.results[2].clone(), 4, 1.0);
    insta::assert_snapshot!(said(&before, &[mixed]), @"
    B commits 1.47× slower than A (95 % interval 1.46 to 1.48×).
    Judged by write + fsync. Of 4 tests: 1 slower (1.47×), 1 faster (2.1×), 1 the same within 0.8 %, 1 undecided.
    ");
    let only = |run: &RunDocument, tests: std::ops::Range<usize>| RunDocument {
        results: run.results[tests].to_vec(),
        ..run.clone()
    };
    let fast = run(800.0, 30, 1.0);
    insta::assert_snapshot!(said(&[only(&before[0], 1..2)], &[only(&fast, 1..2)]), @"B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).");
    insta::assert_snapshot!(said(&[only(&before[0], 1..2)], &[only(&run(800.0, 4, 1.0), 1..2)]), @"Undecided: B was measured 2.1× faster than A, but a single run of 4 s is too short; 5 s or several runs are needed.");
    insta::assert_snapshot!(said(&[only(&before[0], 1..2)], &[only(&fast, 2..3)]), @"
    B and A have no test in common.
    2 tests have no counterpart and are not compared.
    ");
}

/// An interval of the seconds of two runs.
fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high, chance: 0.5, from: Samples::Seconds, needed_for_5_percent: None }
}

#[test]
fn differences_are_put_in_words() {
    let rate = Metric::CommitsPerS;
    let wait = Metric::Latency(Operation::Commit, Point::P99);
    let said: Vec<String> = [
        (13.94, rate),
        (1.0 / 13.94, rate),
        (1.0 / 1.3, rate),
        (1.0 / 1.19, rate),
        (1.19, wait),
        (1.083, rate),
        (1.004, rate),
        (1.0, rate),
        (2.13, wait),
        (0.4, wait),
        (4_321.0, wait),
    ]
    .map(|(ratio, metric)| change(ratio, metric))
    .to_vec();
    insta::assert_snapshot!(said.join("\n"), @"
    13.9× faster
    13.9× slower
    1.30× slower
    19 % slower
    19 % slower
    8 % faster
    0.4 % faster
    <0.1 % faster
    2.1× slower
    2.5× faster
    4,321× slower
    ");
    let ranges = [(12.1, 15.2), (1.0 / 15.2, 1.0 / 12.1), (1.06, 1.1), (1.0 / 1.3, 1.0 / 1.18)]
        .map(|(low, high)| words::range(interval(low, high), rate));
    insta::assert_snapshot!(ranges.join("\n"), @"
    12.1 to 15.2×
    12.1 to 15.2×
    6 to 10 %
    18 % to 1.30×
    ");
    let between =
        [(0.8, 1.07), (1.02, 1.4)].map(|(low, high)| words::either_way(interval(low, high), rate));
    insta::assert_snapshot!(between.join("\n"), @"
    between 1.25× slower and 7 % faster
    between 2 % faster and 1.40× faster
    ");
    // Bounds are never rounded down.
    let bounds = [1.0, 1.0001, 1.0032, 1.0094, 1.0301, 1.0999].map(words::percent_up);
    assert_eq!(bounds, ["0.1 %", "0.1 %", "0.4 %", "1.0 %", "4 %", "10 %"]);
}

/// A run whose seconds differ by up to two thirds.
fn unsteady(sync_us: f64, seconds: u32) -> RunDocument {
    let mut run = run(sync_us, seconds, 0.0);
    for result in &mut run.results {
        for (second, rate) in result.series.iops.iter_mut().enumerate() {
            *rate *= [0.75, 1.25, 1.0, 1.25, 0.75][second % 5];
        }
    }
    run
}

#[test]
fn an_open_question_says_what_would_decide_it() {
    insta::assert_snapshot!(said(&[unsteady(1700.0, 6)], &[unsteady(1690.0, 6)]), @"
    Undecided: B commits between 1.81× slower and 1.81× faster than A (95 % interval).
    Judged by write + fsync. Of 4 tests: 4 undecided.
    To detect a difference of 5 %, run each test for 1260 s on both sides: flushmark run check /var/lib/db --time 1260s
    ");
    let elsewhere = |mut run: RunDocument| {
        run.target.given = "/mnt/new".to_owned();
        run
    };
    insta::assert_snapshot!(said(&[unsteady(1700.0, 24)], &[elsewhere(unsteady(1690.0, 24))]), @"
    Undecided: B commits between 10 % slower and 11 % faster than A (95 % interval).
    Judged by write + fsync. Of 4 tests: 4 undecided.
    To detect a difference of 5 %, run each test for 210 s on both sides: such as flushmark run check /mnt/new --time 210s
    ");
    // A plan's file is unknown, and a name may need quotes.
    for change in
        [&|run: &mut RunDocument| run.suite = "mine".to_owned(), &|run: &mut RunDocument| {
            run.target.given = "/srv/my data".to_owned();
        }] as [&dyn Fn(&mut RunDocument); 2]
    {
        let mut sides = [unsteady(1700.0, 6), unsteady(1690.0, 6)];
        sides.iter_mut().for_each(change);
        let said = said(&sides[..1], &sides[1..]);
        assert!(said.contains("on both sides (--time ") && !said.contains("flushmark"), "{said}");
    }
    // Runs that differ from each other need more runs, not longer ones.
    let several = |levels: [f64; 2]| levels.map(|us| run(us, 5, 0.0));
    insta::assert_snapshot!(said(&several([1500.0, 1900.0]), &several([1600.0, 1800.0])), @"
    Undecided: B commits between 2.2× slower and 2.3× faster than A (95 % interval).
    Judged by write + fsync. Of 4 tests: 1 the same within 7 %, 3 undecided.
    To detect a difference of 5 %, compare 116 runs per side, joined by commas.
    ");
    // Hours are not advised.
    let mut wild = [unsteady(1700.0, 6), unsteady(1690.0, 6)];
    for result in wild.iter_mut().flat_map(|run| &mut run.results) {
        for (second, rate) in result.series.iops.iter_mut().enumerate() {
            *rate *= [0.1, 3.0][second % 2];
        }
        result.iops = result.series.iops.iter().sum::<f64>() / 6.0;
        result.commits_per_s = result.commits_per_s.map(|_| result.iops);
    }
    insta::assert_snapshot!(said(&wild[..1], &wild[1..]), @"
    Undecided: B commits between 31.9× slower and 33× faster than A (95 % interval).
    Judged by write + fsync. Of 4 tests: 4 undecided.
    These runs vary so much that a test must run for more than an hour to detect a difference of 5 %. Compare several runs per side, joined by commas.
    ");
}

#[test]
fn models_are_answered_exactly() {
    let of = |sync_us: f64| {
        let mut run = run(sync_us, 5, 0.0);
        run.results.iter_mut().for_each(|result| result.engine = "sim".to_owned());
        [run]
    };
    insta::assert_snapshot!(said(&of(1700.0), &of(800.0)), @"
    B commits 2.1× faster than A (computed by models, exact).
    Judged by write + fsync. Of 4 tests: 3 faster (2.1×), 1 identical.
    ");
    insta::assert_snapshot!(said(&of(1700.0), &of(1700.0)), @"
    B commits exactly as fast as A (computed by models).
    Judged by write + fsync. Of 4 tests: 4 identical.
    ");
    let page = compare_page(
        &compared(&of(1700.0), &[("b.json", &of(800.0))]),
        Figures::Leading,
        &Look::plain(),
    );
    assert!(page.contains("exact") && !page.contains("significant"), "{page}");
}

#[test]
fn a_tail_that_moves_otherwise_has_its_own_line() {
    let mut after = run(1700.0, 30, 1.0);
    let slower = |value: &mut f64| *value *= 3.0;
    let result = &mut after.results[1];
    result.series.commit_p99_us.iter_mut().flatten().for_each(slower);
    result.commit_us.as_mut().map(|us| &mut us.p99).into_iter().for_each(slower);
    let comparison = compared(&[run(1700.0, 30, 0.0)], &[("after.json", &[after])]);
    let lines: Vec<(String, String)> =
        view(&comparison).lines().into_iter().map(|line| (line.name, line.difference)).collect();
    insta::assert_debug_snapshot!(lines, @r#"
    [
        (
            "write",
            "same within 0.8 %",
        ),
        (
            "write + fsync",
            "same within 0.8 %",
        ),
        (
            "commit p99",
            "3.0× slower",
        ),
        (
            "write + fdatasync",
            "same within 0.8 %",
        ),
        (
            "write O_DSYNC",
            "same within 0.8 %",
        ),
    ]
    "#);
}

#[test]
fn a_ratio_has_three_digits_however_small() {
    let said = [0.0, 0.000_123_4, 0.008_31, 0.015_72, 0.0994, 0.0996, 0.9994, 1.0, 12.34, 126.4]
        .map(words::ratio);
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
    insta::assert_snapshot!(view(&comparison).sentence(), @"Undecided: a run ended early, after 2 s. Judged by write + fsync. Of 2 tests: 1 the same within 0.8 %, 1 undecided. 2 tests have no counterpart and are not compared.");
    let remarks = view(&comparison).remarks().join("\n");
    assert!(remarks.contains("no verdict, a run ended early, after 2 s."), "{remarks}");
    assert!(
        remarks.contains("write + fsync: the candidate was interrupted after 2 s."),
        "{remarks}"
    );
    broken.results.remove(0);
    insta::assert_snapshot!(said(&[run(1700.0, 30, 0.0)], &[broken]), @"
    Undecided: a run ended early, after 2 s.
    3 tests have no counterpart and are not compared.
    ");
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
    **B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).** Judged by write + fsync. Of 2 tests: 1 faster (2.1×), 1 the same within 0.8 %. 2 tests have no counterpart and are not compared.

    - A: before.json, 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
    - B: &lt;b&gt;\|drive\_1\|&lt;/b&gt;, after.json: 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

    | B against A | A | B | difference | significance |
    | --- | ---: | ---: | --- | --- |
    | write | 66,667/s | 66,667/s | same within 0.8 % | not significant |
    | write + fsync | 487/s | 1,026/s | 2.1× faster | significant |

    | figure | A | B | ratio | 95 % interval | |
    | --- | ---: | ---: | ---: | ---: | --- |
    | write, operations/s | 66,667 | 66,667 | 1.00 | 0.993 to 1.01 | noise |
    | write, write p50 | 15 µs | 15 µs | 1.00 | 0.993 to 1.01 | noise |
    | write, write p90 | 15.6 µs | 15.6 µs | 1.00 | - |  |
    | write, write p99 | 15.6 µs | 15.6 µs | 1.00 | 0.993 to 1.01 | noise |
    | write, write p99.9 | 24 µs | 24 µs | 1.00 | - |  |
    | write + fsync, commits/s | 487 | 1,026 | 2.11 | 2.09 to 2.12 | 2.1× faster |
    | write + fsync, commit p50 | 2.06 ms | 975 µs | 0.475 | 0.471 to 0.478 | 2.1× faster |
    | write + fsync, commit p90 | 2.14 ms | 1.01 ms | 0.474 | - |  |
    | write + fsync, commit p99 | 2.14 ms | 1.01 ms | 0.474 | 0.471 to 0.478 | 2.1× faster |
    | write + fsync, commit p99.9 | 3.29 ms | 1.56 ms | 0.474 | - |  |

    - write p90, write p99.9, commit p90, commit p99.9: no verdict, the series does not have this figure, so its variation is unknown.
    - One run on each side: the intervals do not contain what differs from run to run. Several runs per side, joined by commas, show that.
    - write + fdatasync: not compared, only in A
    - write O\_DSYNC: not compared, only in A

    | what else differs | A | B |
    | --- | --- | --- |
    | measured by | flushmark | fio |
    | version | 0.1.0 | - |
    | drive | - | &lt;b&gt;\|drive\_1\|&lt;/b&gt; |
    ");
    let brief = compare_markdown(&before_and_after(), Figures::Rate);
    insta::assert_snapshot!(brief, @r"
    **B commits 2.1× faster than A (95 % interval 2.09 to 2.12×).** Judged by write + fsync. Of 3 tests: 2 faster (2.1×), 1 the same within 0.8 %. 1 test has no counterpart and is not compared.

    - A: before.json, 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC
    - B: after.json, 1 run of check on /var/lib/db, 2026-11-20 19:30:00 UTC

    | B against A | A | B | difference | significance |
    | --- | ---: | ---: | --- | --- |
    | write | 66,667/s | 66,667/s | same within 0.8 % | not significant |
    | write + fsync | 487/s | 1,026/s | 2.1× faster | significant |
    | write + fdatasync | 583/s | 1,227/s | 2.1× faster | significant |

    - write O\_DSYNC: not compared, the workloads differ: depth: 1 and 4

    Also different: kernel.
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
    insta::assert_snapshot!(said(4, "commit_p99 > +10%"), @"after.json, write + fsync: commit_p99 went from 2.14 ms to 2.51 ms (+17.5 %), and `commit_p99 > +10%` fails; judged only by the ratio because its variation is unknown");
    insta::assert_snapshot!(said(4, "commits_per_s < 1000"), @"after.json, write + fsync: commits_per_s went from 487/s to 414/s (-14.9 %), and `commits_per_s < 1000` fails");
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
