//! Comparisons of runs whose true difference is known.

use measurement::RunDocument;

use super::*;
use crate::condition::{Condition, Failure};
use crate::metric::{Operation, Point};
use crate::pairing::UnpairedReason;
use samples::series::{imported, result, run};

const FSYNC: &str = "write + fsync";
const P50: Metric = Metric::Latency(Operation::Commit, Point::P50);
const P99: Metric = Metric::Latency(Operation::Commit, Point::P99);

fn group<'a>(label: &str, runs: &'a [RunDocument]) -> Group<'a> {
    Group { label: label.to_owned(), runs: runs.iter().collect() }
}

fn compared(baseline: &[RunDocument], candidate: &[RunDocument]) -> Comparison {
    Comparison::of(&group("before", baseline), &[group("after", candidate)], "")
}

fn against(baseline: &[RunDocument], candidate: &[RunDocument]) -> Against {
    compared(baseline, candidate).candidates.remove(0)
}

fn figure(against: &Against, metric: Metric) -> &MetricComparison {
    against.tests[0].metric(metric).unwrap()
}

fn because(figure: &MetricComparison) -> String {
    match figure.verdict {
        Verdict::Open { because } => because.to_string(),
        Verdict::Different { .. } => panic!("{figure:?}"),
    }
}

#[test]
fn twice_as_fast_is_seen_from_every_side() {
    let against = against(
        &[run(vec![result(FSYNC, 1000.0, 30, 1)])],
        &[run(vec![result(FSYNC, 500.0, 30, 2)])],
    );
    let better = Verdict::Different { direction: Direction::Better };
    for (metric, ratio) in [
        (Metric::CommitsPerS, 2.0),
        (Metric::Iops, 2.0),
        (Metric::MibPerS, 2.0),
        (P50, 0.5),
        (P99, 0.5),
    ] {
        let figure = figure(&against, metric);
        assert_eq!(figure.verdict, better, "{figure:?}");
        let interval = figure.interval.unwrap();
        assert!(
            interval.low < figure.ratio.unwrap() && figure.ratio.unwrap() < interval.high,
            "{figure:?}"
        );
        assert!(
            interval.low < ratio && ratio < interval.high && interval.high / interval.low < 1.1,
            "{figure:?}"
        );
    }
    let p999 = figure(&against, Metric::Latency(Operation::Commit, Point::P99_9));
    assert!((p999.ratio.unwrap() - 0.5).abs() < 0.05 && p999.interval.is_none());
    insta::assert_snapshot!(because(p999), @"the series does not have this figure, so its variation is unknown");
    assert_eq!(against.tests[0].leading().unwrap().metric, Metric::CommitsPerS);
}

#[test]
fn slower_is_worse_whichever_the_unit() {
    let against = against(
        &[run(vec![result(FSYNC, 500.0, 30, 1)])],
        &[run(vec![result(FSYNC, 1000.0, 30, 2)])],
    );
    for metric in [Metric::Iops, P50] {
        assert_eq!(
            figure(&against, metric).verdict,
            Verdict::Different { direction: Direction::Worse }
        );
    }
}

#[test]
fn no_verdict_without_enough_data() {
    let of = |us: f64, seconds, seed| [run(vec![result(FSYNC, us, seconds, seed)])];
    let said = |baseline: &[RunDocument], candidate: &[RunDocument]| {
        because(figure(&against(baseline, candidate), Metric::Iops))
    };
    insta::assert_snapshot!(said(&of(1000.0, 30, 1), &of(1001.0, 30, 2)), @"within noise: the interval includes 1");
    insta::assert_snapshot!(said(&of(1000.0, 30, 1), &of(500.0, 4, 2)), @"a single run of 4 s is too short; 5 s or several runs are needed");
    let fio = [imported("fio", vec![result(FSYNC, 500.0, 30, 2)])];
    insta::assert_snapshot!(said(&of(1000.0, 30, 1), &fio), @"a run has no figures per second (an import, or too short), so its variation is unknown");
    let mut stalled = result(FSYNC, 1000.0, 30, 2);
    stalled.series.iops = vec![0.0; 30];
    insta::assert_snapshot!(said(&of(1000.0, 30, 1), &[run(vec![stalled])]), @"a run stalled for so long that its rate is a matter of chance");
    let mut dead = result(FSYNC, 1000.0, 30, 2);
    dead.iops = 0.0;
    insta::assert_snapshot!(said(&[run(vec![dead])], &of(1000.0, 30, 1)), @"a value is 0");
    let mut one_bad_second = result(FSYNC, 1000.0, 30, 2);
    one_bad_second.commit_us.as_mut().unwrap().p99 *= 20.0;
    let against = against(&of(1000.0, 30, 1), &[run(vec![one_bad_second])]);
    insta::assert_snapshot!(because(figure(&against, P99)), @"a few seconds decide it; most seconds show something else");
}

/// A run of a model.
fn modelled(us: f64, seed: u64) -> [RunDocument; 1] {
    let mut result = result(FSYNC, us, 5, seed);
    result.engine = measurement::MODEL_ENGINE.to_owned();
    [run(vec![result])]
}

#[test]
fn two_runs_of_check_are_enough_for_a_large_difference() {
    let of = |us: f64, seed| [run(vec![result(FSYNC, us, 5, seed)])];
    let twice = against(&of(1000.0, 1), &of(500.0, 2));
    for metric in [Metric::CommitsPerS, P50, P99] {
        let figure = figure(&twice, metric);
        assert_eq!(figure.verdict, Verdict::Different { direction: Direction::Better });
        let interval = figure.interval.unwrap();
        assert_eq!(interval.from, Samples::Seconds);
        assert!(interval.high / interval.low > 1.1, "no more than five seconds show: {interval:?}");
    }
    let equal = against(&of(1000.0, 1), &of(1000.0, 2));
    let iops = figure(&equal, Metric::Iops);
    insta::assert_snapshot!(because(iops), @"within noise: the interval includes 1");
    // 3 % of noise from second to second, three times as much variance for the assumed memory.
    let needed = iops.interval.unwrap().needed_for_5_percent.unwrap();
    assert!((8..30).contains(&needed), "{needed} s");
}

#[test]
fn models_are_compared_exactly() {
    let different = against(&modelled(1000.0, 1), &modelled(990.0, 1));
    for metric in Metric::all() {
        let Some(figure) = different.tests[0].metric(metric) else { continue };
        assert_eq!((figure.exact, figure.interval), (true, None), "{figure:?}");
        let is_same = figure.candidate.total_cmp(&figure.baseline).is_eq();
        let is_different = matches!(figure.verdict, Verdict::Different { .. });
        assert_eq!(is_different, !is_same, "{figure:?}");
    }
    let same = against(&modelled(1000.0, 1), &modelled(1000.0, 1));
    insta::assert_snapshot!(because(figure(&same, Metric::Iops)), @"identical: models computed the same value");
    // Against a measured run, and with several seeds, there is noise again.
    let measured = against(&modelled(1000.0, 1), &[run(vec![result(FSYNC, 500.0, 5, 2)])]);
    assert!(!figure(&measured, Metric::Iops).exact);
    let seeds = [1, 2].map(|seed| modelled(1000.0, seed)).concat();
    let several = against(&seeds, &modelled(500.0, 3));
    assert_eq!(figure(&several, Metric::Iops).interval.unwrap().from, Samples::Runs);
}

#[test]
fn the_headline_is_a_commit_of_4_kib() {
    let headline = |results: Vec<TestResult>| {
        let side = [run(results)];
        let against = against(&side, &side);
        against.headline().map(|test| test.test.clone())
    };
    let of = |name: &str| result(name, 1000.0, 30, 1);
    let named = |name: &str| Some(name.to_owned());
    let check = ["write", "16 KiB write + fsync", "write + fdatasync, 4 jobs", FSYNC];
    assert_eq!(headline(check.map(of).to_vec()), named(FSYNC));
    assert_eq!(headline(check[..3].iter().map(|name| of(name)).collect()), named(check[1]));
    assert_eq!(headline(check[..1].iter().map(|name| of(name)).collect()), named("write"));
    assert_eq!(headline(Vec::new()), None);
    // One that can be judged speaks for one that cannot.
    let mut short = of(FSYNC);
    short.series.iops.truncate(3);
    assert_eq!(headline(vec![short, of("write + fdatasync")]), named("write + fdatasync"));
    // No OSD represents the others.
    assert_eq!(headline(samples::osds(1, 2)), None);
}

#[test]
fn sides_are_named_by_their_drives() {
    let of = |model: Option<&str>| {
        let mut run = run(vec![result(FSYNC, 1000.0, 5, 1)]);
        let drive::Backing::BlockDevice(device) = &mut run.drive.as_mut().unwrap().backing else {
            panic!()
        };
        device.model = model.map(str::to_owned);
        [run]
    };
    let names = |sides: [&[RunDocument]; 2]| compared(sides[0], sides[1]).names();
    let (one, other, unknown) = (of(Some("CD6")), of(Some("980")), of(None));
    assert_eq!(names([&one, &other]), ["CD6", "980"]);
    assert_eq!(names([&one, &one]), ["CD6 (before)", "CD6 (after)"]);
    assert_eq!(names([&one, &unknown]), ["CD6", "after"]);
    assert_eq!(names([&[one[0].clone(), other[0].clone()], &one]), ["before", "CD6"]);
    // A label that the user gave the run says more.
    let labelled = [RunDocument { label: Some("new".to_owned()), ..one[0].clone() }];
    assert_eq!(names([&one, &labelled]), ["CD6", "new"]);
}

#[test]
fn two_short_runs_per_side_are_enough() {
    let runs = |us: f64, seed| [0_u64, 1, 2].map(|nth| run(vec![result(FSYNC, us, 5, seed + nth)]));
    let against = against(&runs(1000.0, 1), &runs(500.0, 4));
    let figure = figure(&against, Metric::CommitsPerS);
    assert_eq!(figure.verdict, Verdict::Different { direction: Direction::Better }, "{figure:?}");
    assert_eq!(against.candidate.runs, 3);
}

#[test]
fn many_tests_do_not_make_verdicts_by_chance() {
    // The same drive against itself sixty times: 5 % of the intervals may exclude 1, but hardly any
    // comparison may report a difference.
    let (mut outside, mut called) = (0, 0);
    for seed in 0..20 {
        let tests =
            |from: u64| run((0..60).map(|nth| result(FSYNC, 1000.0, 30, from + nth)).collect());
        let against = against(&[tests(10_000 * seed)], &[tests(10_000 * seed + 5000)]);
        for test in &against.tests {
            let figure = test.metric(Metric::Iops).unwrap();
            let interval = figure.interval.unwrap();
            outside += usize::from(interval.low > 1.0 || interval.high < 1.0);
            called += usize::from(matches!(figure.verdict, Verdict::Different { .. }));
        }
    }
    let share = f64::from(u32::try_from(outside).unwrap()) / 1200.0;
    assert!((0.02..0.09).contains(&share), "{share}");
    assert!(called <= 4, "{called} of 1200");
    insta::assert_snapshot!(Undecided::Chance { tests: 60 }, @"the interval excludes 1, but among 60 tests some do by chance");
}

#[test]
fn osds_are_compared_with_themselves_only() {
    let (mut baseline, mut candidate) = (samples::osds(1, 4), samples::osds(1, 6));
    candidate.retain(|result| result.osd.as_ref().is_some_and(|osd| osd.id != 1));
    candidate.reverse();
    let is_slow = |result: &&mut TestResult| result.test == "osd.3: write";
    for result in baseline.iter_mut().filter(is_slow) {
        result.commits_per_s = result.commits_per_s.map(|per_s| per_s * 3.0);
    }
    let against = against(&[run(baseline)], &[run(candidate)]);
    let pairs: Vec<(&str, Option<&str>)> = against
        .tests
        .iter()
        .map(|test| (test.test.as_str(), test.candidate_test.as_deref()))
        .collect();
    assert_eq!(pairs.len(), 6, "{pairs:?}");
    assert!(pairs.iter().all(|(_, renamed)| renamed.is_none()), "{pairs:?}");
    let unpaired: Vec<&str> = against.unpaired.iter().map(|one| one.test.as_str()).collect();
    assert_eq!(unpaired.len(), 6, "{unpaired:?}");
    assert!(unpaired.contains(&"osd.1: write") && unpaired.contains(&"osd.5: write"));
}

/// A result of five passes of half a second, so no series shows how much it varies.
fn in_passes(us: f64, seed: u64) -> TestResult {
    let parts = [0, 1, 2, 3, 4].map(|pass| {
        let second = result(FSYNC, us, 1, 100 * seed + pass);
        TestResult { series: measurement::Series::new(), elapsed_s: 0.5, ..second }.as_pass()
    });
    TestResult::merged(&parts.each_ref()).unwrap()
}

#[test]
fn five_passes_are_enough_however_short_they_are() {
    let of = |us: f64, seed: u64| [run(vec![in_passes(us, seed)])];
    let slower = against(&of(500.0, 1), &of(1000.0, 2));
    for metric in [Metric::CommitsPerS, P50, P99] {
        let figure = figure(&slower, metric);
        assert_eq!(
            figure.verdict,
            Verdict::Different { direction: Direction::Worse },
            "{figure:?}"
        );
    }
    let equal = against(&of(1000.0, 1), &of(1000.0, 2));
    insta::assert_snapshot!(because(figure(&equal, Metric::Iops)), @"within noise: the interval includes 1");
}

#[test]
fn passes_count_only_if_every_run_has_enough_of_them() {
    let mut few = in_passes(500.0, 2);
    few.passes.truncate(4);
    let of_passes = [run(vec![in_passes(1000.0, 1)])];
    let against = against(&of_passes, &[run(vec![few])]);
    insta::assert_snapshot!(because(figure(&against, Metric::Iops)), @"a run has no figures per second (an import, or too short), so its variation is unknown");
}

#[test]
fn a_renamed_test_is_found_and_a_changed_one_is_not() {
    let mut renamed = result(FSYNC, 500.0, 30, 2);
    renamed.test = "commit".to_owned();
    let mut changed = result("write", 10.0, 30, 3);
    changed.workload.depth = 4;
    let baseline = vec![
        result(FSYNC, 1000.0, 30, 1),
        result("write", 10.0, 30, 3),
        result("read", 10.0, 30, 4),
    ];
    let candidate = vec![changed, renamed, result("write O_DSYNC", 10.0, 30, 5)];
    let against = against(&[run(baseline)], &[run(candidate)]);
    assert_eq!(against.tests.len(), 1);
    assert_eq!(against.tests[0].candidate_test.as_deref(), Some("commit"));
    let reason = |test: &str| {
        against.unpaired.iter().find(|unpaired| unpaired.test == test).unwrap().reason.clone()
    };
    assert_eq!(
        reason("write"),
        UnpairedReason::DifferentWorkload { fields: vec!["depth: 1 and 4".to_owned()] }
    );
    assert_eq!(reason("read"), UnpairedReason::OnlyInBaseline);
    assert_eq!(reason("write O_DSYNC"), UnpairedReason::OnlyInCandidate);
    assert_eq!(against.unpaired.len(), 3);
}

#[test]
fn caveats_are_noted() {
    let mut small = result(FSYNC, 500.0, 30, 2);
    small.workload.size_bytes /= 2;
    small.ended = measurement::Ended::Interrupted;
    for (second, rate) in small.series.iops.iter_mut().enumerate() {
        *rate *= 1.0 + second as f64;
    }
    small.steady_state = measurement::SteadyState::of(&small.series);
    let bare = imported("fio", vec![result(FSYNC, 500.0, 30, 2)]).results;
    let whole = result(FSYNC, 500.0, 30, 3);
    let baseline = [run(vec![whole.clone()]), run(vec![])];
    let candidate = [run(vec![small])];
    insta::assert_snapshot!(against(&baseline, &candidate).tests[0].notes.join("\n"), @"
    the baseline worked on 256 MiB and the candidate on 128 MiB
    1 of 2 runs of the baseline have it
    the candidate had not reached a steady state
    the candidate was interrupted after 30 s
    ");
    let against = against(&[run(vec![whole.clone()])], &[run(vec![whole]), run(bare)]);
    insta::assert_snapshot!(against.tests[0].notes.join("\n"), @"the runs of the candidate cannot be merged, so it has rates but no percentiles: `write + fsync` has write latency percentiles but no histogram, and percentiles cannot be added up");
    assert!(
        against.tests[0].metric(Metric::CommitsPerS).is_some()
            && against.tests[0].metric(P50).is_none()
    );
}

#[test]
fn what_else_differs_is_listed() {
    let one = run(vec![result(FSYNC, 500.0, 30, 2)]);
    let mut other = one.clone();
    other.host.kernel_release = Some("6.12.1".to_owned());
    other.smoke = true;
    other.flushmark = "0.2.0".to_owned();
    let differences = against(std::slice::from_ref(&one), &[other]).differences;
    let said: Vec<String> = differences
        .iter()
        .map(|it| format!("{}: {:?} {:?}", it.fact, it.baseline, it.candidate))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    version: ["0.1.0"] ["0.2.0"]
    smoke run: ["no"] ["yes"]
    kernel: [] ["6.12.1"]
    "#);
    let fio = imported("fio", one.results.clone());
    let differences = against(&[one], &[fio]).differences;
    let facts: Vec<&str> = differences.iter().map(|it| it.fact.as_str()).collect();
    assert_eq!(facts, ["measured by", "version", "drive"]);
}

#[test]
fn a_pattern_selects_tests_by_name() {
    let both = run(vec![result(FSYNC, 500.0, 30, 2), result("read", 10.0, 30, 3)]);
    let groups = [group("a", std::slice::from_ref(&both)), group("b", std::slice::from_ref(&both))];
    let of = |pattern| Comparison::of(&groups[0], &groups[1..], pattern);
    assert_eq!(of("FSYNC").candidates[0].tests.len(), 1);
    assert!(of("").has_tests() && !of("nothing of the kind").has_tests());
}

#[test]
fn limits_hold_changes_to_more_than_noise_and_values_to_themselves() {
    let of = |us: f64, seconds, seed| [run(vec![result(FSYNC, us, seconds, seed)])];
    let fails = |comparison: &Comparison, text: &str| {
        text.parse::<Condition>().unwrap().failures(comparison).unwrap().len()
    };
    let slower = compared(&of(1000.0, 30, 1), &of(1200.0, 30, 2));
    assert_eq!(fails(&slower, "commit_p99 > +10%"), 1);
    assert_eq!(fails(&slower, "commit_p99 > +50%"), 0);
    assert_eq!(fails(&slower, "commits_per_s < -5%"), 1);
    assert_eq!(fails(&slower, "commit_p50 > 1ms"), 1);
    assert_eq!(fails(&slower, "commit_p50 > 5ms"), 0);
    // 1 % apart with 5 % of noise: not a change, however low the limit. Values are compared as they
    // are.
    let noise = compared(&of(1000.0, 16, 1), &of(1001.0, 16, 3));
    assert!(noise.candidates[0].tests[0].metric(P50).unwrap().ratio.unwrap() > 1.0);
    assert_eq!(fails(&noise, "commit_p50 > +0%"), 0);
    assert_eq!(fails(&noise, "commit_p50 > 0ms"), 1);
    // Without an interval the ratio decides.
    let short = compared(&of(1000.0, 4, 1), &of(1200.0, 4, 2));
    assert_eq!(fails(&short, "commit_p50 > +10%"), 1);
    let condition: Condition = "commit_p50 > +10%".parse().unwrap();
    let failures = condition.failures(&short).unwrap();
    assert!(
        matches!(&failures[..], [Failure::Exceeded(it)] if condition.is_blind_to_noise(it.figure)),
        "{failures:?}"
    );
    // A model's ratio has no noise to be blind to.
    let exact = compared(&modelled(1000.0, 1), &modelled(1200.0, 1));
    let failures = condition.failures(&exact).unwrap();
    assert!(
        matches!(&failures[..], [Failure::Exceeded(it)] if !condition.is_blind_to_noise(it.figure)),
        "{failures:?}"
    );
}

#[test]
fn a_limit_that_checked_nothing_fails() {
    let one = [run(vec![result("read", 100.0, 30, 1)])];
    let comparison = compared(&one, &one);
    let condition: Condition = "commit_p99 > +10%".parse().unwrap();
    insta::assert_snapshot!(condition.failures(&comparison).unwrap_err(), @"`commit_p99 > +10%` checked nothing: no test on both sides has `commit_p99`; they have iops, mib_per_s, read_mean, read_p50, read_p90, read_p99, read_p99_9");
}

/// The tests for which `commit_p99 > +10%` was not kept, with the reason.
fn missing(baseline: &[RunDocument], candidate: &[RunDocument]) -> Vec<(String, String)> {
    let comparison = compared(baseline, candidate);
    let condition: Condition = "commit_p99 > +10%".parse().unwrap();
    let said = |failure: &Failure<'_>| match failure {
        Failure::Exceeded(exceeded) => (exceeded.test.to_owned(), "exceeded".to_owned()),
        Failure::Unchecked(unheld) => (unheld.test.to_owned(), format!("{:?}", unheld.because)),
    };
    condition.failures(&comparison).unwrap().iter().map(said).collect()
}

#[test]
fn a_missing_figure_fails_its_limit() {
    let other = "write + fdatasync";
    let both = [run(vec![result(FSYNC, 1000.0, 30, 1), result(other, 1000.0, 30, 2)])];
    assert_eq!(missing(&both, &both), []);
    let one = [run(vec![result(FSYNC, 1000.0, 30, 1)])];
    let said = |because: &str| vec![(other.to_owned(), because.to_owned())];
    assert_eq!(missing(&both, &one), said("Test"));
    // Figures that only the candidate has cannot be missing.
    assert_eq!(missing(&one, &both), []);
    let mut changed = both.clone();
    changed[0].results[1].workload.depth = 4;
    assert_eq!(missing(&both, &changed), said(r#"DifferentWorkload(["depth: 1 and 4"])"#));
    let mut untimed = both.clone();
    (untimed[0].results[1].commit_us, untimed[0].results[1].histograms.commit) = (None, None);
    assert_eq!(missing(&both, &untimed), said("Figure"));
    let mut dead = both.clone();
    dead[0].results[1].commit_us.as_mut().unwrap().p99 = 0.0;
    assert_eq!(missing(&dead, &both), said("Zero"));
    // If all tests are missing, the metric's name is not to blame.
    assert_eq!(missing(&both[..1], &[run(vec![])]).len(), 2);
    let against = against(&both, &untimed);
    assert!(
        against.tests[1].only_in_baseline.contains(&P99),
        "{:?}",
        against.tests[1].only_in_baseline
    );
    assert!(
        against.tests[1].notes[0].starts_with("the candidate does not have commit_mean"),
        "{:?}",
        against.tests[1].notes
    );
}

#[test]
fn one_run_listed_twice_counts_once() {
    let [one, other] = [1, 2].map(|seed| run(vec![result(FSYNC, 1000.0, 4, seed)]));
    let against = against(&[one.clone(), one.clone()], &[other]);
    let iops = figure(&against, Metric::Iops);
    insta::assert_snapshot!(because(iops), @"a single run of 4 s is too short; 5 s or several runs are needed");
    insta::assert_snapshot!(against.tests[0].notes.join("\n"), @"2 runs of the baseline count as 1 because they are identical: one run listed twice, or one model with one seed");
    assert!((iops.baseline - one.results[0].iops).abs() < 1e-9);
}

#[test]
fn a_run_that_ended_early_is_not_judged() {
    let of = |us: f64, seconds: usize, ended: Ended| {
        let mut result = result(FSYNC, us, seconds, seconds as u64);
        result.ended = ended;
        [run(vec![result])]
    };
    let whole = of(1000.0, 40, Ended::Limit);
    let failed = || Ended::Failed { error: "the drive is gone".to_owned() };
    for (candidate, breaks_off) in [
        (of(500.0, 1, Ended::Interrupted), true),
        (of(500.0, 19, Ended::Interrupted), true),
        (of(500.0, 21, Ended::Interrupted), false),
        (of(500.0, 39, failed()), true),
        (of(500.0, 20, Ended::Limit), false),
    ] {
        let against = against(&whole, &candidate);
        assert_eq!(against.tests[0].broken_off, breaks_off, "{:?}", candidate[0].results[0].ended);
        let is_open = matches!(figure(&against, Metric::Iops).verdict, Verdict::Open { .. });
        assert_eq!(is_open, breaks_off);
        // A latency half as long does not make up for it.
        assert_eq!(missing(&whole, &candidate).len(), usize::from(breaks_off));
    }
    let against = against(&whole, &of(500.0, 3, failed()));
    insta::assert_snapshot!(because(figure(&against, Metric::Iops)), @"a run ended early, after 3 s");
    assert_eq!(against.tests[0].notes, ["the candidate failed after 3 s: the drive is gone"]);
    // One of several runs is enough.
    let several = [whole[0].clone(), of(1000.0, 1, Ended::Interrupted)[0].clone()];
    assert_eq!(missing(&several, &whole), [(FSYNC.to_owned(), "BrokenOff".to_owned())]);
    // Two runs of a few seconds have nothing to be compared with.
    assert!(
        compared(&of(1000.0, 5, Ended::Interrupted), &of(500.0, 5, Ended::Limit)).candidates[0]
            .tests[0]
            .broken_off
    );
}

#[test]
fn the_document_holds_to_its_schema_s_name_and_reads_as_json() {
    let one = [run(vec![result("read", 100.0, 30, 1)])];
    let value = serde_json::to_value(compared(&one, &one)).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["candidates"][0]["tests"][0]["metrics"][0]["metric"], "iops");
    assert_eq!(value["candidates"][0]["tests"][0]["metrics"][0]["verdict"]["is"], "open");
}

/// A figure with this ratio; the ratio of its seconds is `seconds`, with an interval of 0.9 to 1.1
/// times that.
fn judged(baseline: f64, candidate: f64, seconds: f64) -> MetricComparison {
    let spread = Spread {
        ratio: seconds,
        low: 0.9,
        high: 1.1,
        error: 0.05,
        freedom: 10.0,
        noise: 0.04,
        pieces: 16.0,
    };
    let evidence = Evidence::Measured { spread, from: Samples::Seconds };
    MetricComparison::of(Metric::Iops, baseline, candidate, Ok(evidence))
}

#[test]
fn an_interval_speaks_for_a_figure_that_moved_as_its_seconds_did() {
    // The interval is 1.8 to 2.2, with a tolerance of one hundredth at each end.
    for (seconds, speaks) in [(1.77, false), (1.79, true), (2.0, true), (2.21, true), (2.23, false)]
    {
        let figure = judged(100.0, 200.0, seconds);
        assert_eq!(figure.interval.is_some(), speaks, "{seconds}");
        let expected = if speaks {
            Verdict::Different { direction: Direction::Better }
        } else {
            Verdict::Open { because: Undecided::FewSecondsDecide }
        };
        assert_eq!(figure.verdict, expected, "{seconds}");
    }
    let figure = judged(100.0, 200.0, 2.0);
    let Interval { low, high, .. } = figure.interval.unwrap();
    assert!((low - 1.8).abs() < 1e-12 && (high - 2.2).abs() < 1e-12);
    assert!((figure.change().unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn a_ratio_needs_two_figures_above_0() {
    let zero = Verdict::Open { because: Undecided::Zero };
    let nothing_before = judged(0.0, 100.0, 1.0);
    assert_eq!(
        (nothing_before.ratio, nothing_before.change(), nothing_before.verdict),
        (None, None, zero)
    );
    let nothing_left = judged(100.0, 0.0, 1.0);
    assert_eq!(
        (nothing_left.ratio, nothing_left.change(), nothing_left.verdict),
        (Some(0.0), Some(-1.0), zero)
    );
}

/// Tests whose rates are all called different with these probabilities; returns which of them
/// remain so.
fn guarded(chances: &[f64]) -> Vec<bool> {
    let baseline = [run(vec![result(FSYNC, 1000.0, 30, 1)])];
    let candidate = [run(vec![result(FSYNC, 500.0, 30, 2)])];
    let test = against(&baseline, &candidate).tests.remove(0);
    let of = |&chance: &f64| {
        let mut test = test.clone();
        for figure in &mut test.metrics {
            if let Some(interval) = &mut figure.interval {
                interval.chance = chance;
            }
        }
        test
    };
    let mut tests: Vec<TestComparison> = chances.iter().map(of).collect();
    guard_against_chance(&mut tests, Metric::Iops);
    let different = |test: &TestComparison, metric: Metric| {
        matches!(test.metric(metric).unwrap().verdict, Verdict::Different { .. })
    };
    assert!(tests.iter().all(|test| different(test, P50)), "another metric is another family");
    tests.iter().map(|test| different(test, Metric::Iops)).collect()
}

#[test]
fn as_many_are_called_different_as_keeps_false_ones_at_5_percent() {
    // Of four, the first may have a chance of 1.25 %, two of 2.5 %, three of 3.75 %, all of 5 %.
    assert_eq!(guarded(&[0.04, 0.001, 0.5, 0.02]), [false, true, false, true]);
    assert_eq!(guarded(&[0.04, 0.013, 0.045, 0.03]), [true; 4], "all of them below 5 %");
    assert_eq!(guarded(&[0.013, 0.06, 0.07, 0.08]), [false; 4]);
    // A single figure was not picked from many, so its interval is enough.
    assert_eq!(guarded(&[0.2]), [true]);
    assert_eq!(guarded(&[0.2, 0.2]), [false; 2]);
}

#[test]
fn noise_is_a_difference_that_was_measured_and_too_small() {
    assert!(Undecided::Noise.is_noise() && Undecided::Chance { tests: 2 }.is_noise());
    assert!(!Undecided::Zero.is_noise() && !Undecided::NoSeries.is_noise());
}

#[test]
fn half_of_the_longest_run_is_enough_of_an_interrupted_one() {
    let of = |seconds: usize, ended: Ended| {
        let mut result = result(FSYNC, 1000.0, seconds, seconds as u64);
        result.ended = ended;
        [run(vec![result])]
    };
    let broken_off = |longest: usize, seconds: usize| {
        against(&of(longest, Ended::Limit), &of(seconds, Ended::Interrupted)).tests[0].broken_off
    };
    assert!(!broken_off(40, 20) && broken_off(40, 19));
    // Of two short runs, the interrupted one needs as many seconds as an interval does.
    assert!(!broken_off(15, 15) && broken_off(15, 14));
}

#[test]
fn of_several_runs_those_that_had_not_settled_are_counted() {
    let settled = |reached: bool, seed: u64| {
        let mut result = result(FSYNC, 500.0, 30, seed);
        result.steady_state.as_mut().unwrap().reached = reached;
        run(vec![result])
    };
    let three = [settled(true, 1), settled(false, 2), settled(false, 3)];
    let notes = |candidate: &[RunDocument]| against(&three[..1], candidate).tests[0].notes.clone();
    assert_eq!(notes(&three), ["2 of 3 runs of the candidate had not reached a steady state"]);
    assert_eq!(notes(&three[1..2]), ["the candidate had not reached a steady state"]);
    assert_eq!(notes(&three[..1]), Vec::<String>::new());
}

#[test]
fn a_limit_on_values_works_with_a_baseline_of_0() {
    let mut dead = result(FSYNC, 1000.0, 30, 1);
    dead.commit_us.as_mut().unwrap().p99 = 0.0;
    let comparison = compared(&[run(vec![dead])], &[run(vec![result(FSYNC, 1000.0, 30, 2)])]);
    let failures = |text: &str| {
        let condition: Condition = text.parse().unwrap();
        condition.failures(&comparison).map(|failures| failures.len())
    };
    assert_eq!(
        (failures("commit_p99 > 1s"), failures("commit_p99 > 1ns"), failures("commit_p99 > 1%")),
        (Ok(0), Ok(1), Ok(1))
    );
}

#[test]
fn the_drives_own_data_is_among_the_facts() {
    let one = run(vec![result(FSYNC, 500.0, 30, 2)]);
    let mut other = one.clone();
    let drive::Backing::BlockDevice(device) = &mut other.drive.as_mut().unwrap().backing else {
        panic!()
    };
    device.model = Some("another".to_owned());
    device.queue.write_cache = Some(drive::WriteCache::WriteThrough);
    let differences = against(&[one], &[other]).differences;
    let said: Vec<String> = differences
        .iter()
        .map(|it| format!("{}: {:?} {:?}", it.fact, it.baseline, it.candidate))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    drive: ["Samsung 980 1 TB"] ["another"]
    kernel's view of the cache: ["write-back"] ["write-through"]
    "#);
}
