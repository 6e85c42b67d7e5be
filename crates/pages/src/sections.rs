//! The text of a report as HTML, and where its figures go. One file for each part.

mod answer;
mod facts;
mod findings;
pub(crate) mod head;
mod insert_benchmark;
mod osds;
mod overlay;
mod overview;
pub(crate) mod repetitions;
mod tests;
pub(crate) mod trace_page;
mod traces;
pub(crate) mod verdict;

use maud::{Markup, html};
use measurement::RunDocument;

use crate::charts::Chart;
use crate::charts::figure::Figures;
use crate::fold::fold;
use crate::heading::{Level, Look};
use crate::{Run, naming};

/// All runs: the head of the page, the comparison if there are several, and each run.
pub fn runs(runs: &[Run<'_>], lead: &Markup, figures: &mut Figures) -> Markup {
    let places: Vec<RunSection<'_>> = runs
        .iter()
        .zip(naming::of_runs(runs))
        .enumerate()
        .map(|(index, (run, name))| RunSection::new(index, run, name, runs.len() > 1))
        .collect();
    // In the order of the page.
    let overlay = overlay::section(&places, figures);
    let sections: Vec<Markup> = places.iter().map(|place| run(place, figures)).collect();
    html! {
        header.page {
            p.brand { "flushmark" }
            h1 { (naming::title(runs)) }
            @if let [only] = places.as_slice() { (head::lines(only)) }
        }
        @if runs.is_empty() {
            p { "Nothing to show: no results were given." }
        }
        @if let [only] = places.as_slice() { (contents_of(only)) } @else { (contents(&places)) }
        (lead)
        (overlay)
        @for section in &sections { (section) }
        (footer())
    }
}

fn footer() -> Markup {
    html! {
        footer {
            p { "Made by flushmark " (env!("CARGO_PKG_VERSION")) ". Charts: Apache ECharts 6.1.0." }
        }
    }
}

/// A run with the anchor of its section.
pub(crate) struct RunSection<'a> {
    anchor: String,
    /// The run's name on this page.
    name: String,
    run: &'a Run<'a>,
    document: &'a RunDocument,
    /// True if the run has its own heading.
    of_several: bool,
}

impl<'a> RunSection<'a> {
    fn new(index: usize, run: &'a Run<'_>, name: String, of_several: bool) -> RunSection<'a> {
        let anchor = format!("run-{}", index + 1);
        RunSection { anchor, name, run, document: run.document, of_several }
    }

    /// Level of the headings of its parts.
    fn level(&self) -> Level {
        if self.of_several { Level::TOP.below() } else { Level::TOP }
    }

    /// The heading of a part, which labels the section around it.
    fn part(&self, part: &str, name: &str) -> Markup {
        self.level().heading(Look::Part, Some(&self.within(part)), &html! { (name) })
    }

    fn within(&self, part: &str) -> String {
        format!("{}-{part}", self.anchor)
    }

    /// The anchor of a test's section, by its index in the document.
    fn test(&self, index: usize) -> String {
        self.within(&format!("test-{}", index + 1))
    }
}

/// Links to the sections of one run.
fn contents_of(place: &RunSection<'_>) -> Markup {
    let traces = traces::are_there(&place.document.results);
    let parts = [
        Some(("verdict", "Verdict")),
        Some(("overview", "Numbers")),
        Some(("tests", "Tests")),
        traces.then_some(("commits", "Commits")),
        Some(("findings", "Findings")),
        Some(("facts", "Drive and host")),
    ];
    html! {
        nav.contents aria-label="Contents" {
            ul { @for (part, name) in parts.into_iter().flatten() { li { a href={ "#" (place.within(part)) } { (name) } } } }
        }
    }
}

fn contents(places: &[RunSection<'_>]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#overlay" { "Side by side" } }
                @for place in places { li { a href={ "#" (place.anchor) } { (place.name) } } }
            }
        }
    }
}

/// One run: verdict, picture, numbers, and what opens on demand. Among several, all of it does.
fn run(place: &RunSection<'_>, figures: &mut Figures) -> Markup {
    let results = &place.document.results;
    let mut all = if osds::are_measured(results) { Vec::new() } else { answer::figures(place) };
    let picture = (!all.is_empty()).then(|| all.remove(0));
    let rates = picture.as_ref().filter(|figure| matches!(figure.chart, Chart::CommitRates(_)));
    let verdict = verdict::section(place, rates.map(|figure| figure.summary.as_str()));
    let answer = answer::section(place, picture, figures);
    let overview = overview::section(place, figures);
    let others = answer::others(place, all, figures);
    let tests = tests::section(place, figures);
    let traces = traces::section(place, figures);
    let parts = html! {
        (verdict)
        (answer)
        (overview)
        (others)
        (tests)
        (traces)
        (findings::section(place))
        (facts::section(place))
    };
    html! {
        section.run id=(place.anchor) aria-label=(place.name) {
            @if place.of_several {
                @let drive = naming::drive(place.run);
                (Level::TOP.heading(Look::Run, None, &html! { (place.name) @if drive != place.name { span.subject { " " (drive) } } }))
                (head::lines(place))
                (fold(&html! { "Verdict, numbers, charts and findings of “" (place.name) "”" }, &parts))
            } @else {
                (parts)
            }
        }
    }
}

// The module `tests` contains the section of tests.
#[cfg(test)]
mod golden {
    use measurement::{Skipped, Source};

    use super::*;
    use crate::content;

    /// A run of these results with their conclusions.
    fn judged(results: Vec<measurement::TestResult>) -> RunDocument {
        let document = samples::document(results);
        let case = judge::Case::new(&document.results, None, &document.host);
        let judge::Judgement { findings, fitness, .. } = judge::judge(&case);
        RunDocument { findings, fitness, ..document }
    }

    /// The text of one run without its charts, one text per line.
    fn text(document: &RunDocument) -> String {
        let run = Run::new("check", document);
        let html = content(&[run]).markup.into_string();
        let pieces = html.split('<').filter_map(|piece| Some(piece.split_once('>')?.1.trim()));
        pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn missing_data_of_another_tool_is_explained() {
        let mut document = judged(samples::check());
        document.source = Some(Source {
            tool: "fio".to_owned(),
            version: Some("3.33".to_owned()),
            drive: Some("Intel S3700".to_owned()),
            disks: Vec::new(),
        });
        document.fitness.clear();
        document.merged_runs = Some(3);
        document.group = Some(measurement::GroupRecord {
            id: "one".to_owned(),
            name: Some("nfs".to_owned()),
            member: "db1".to_owned(),
            agreement: measurement::Agreement::Store,
            expected: Some(3),
            clock_error_us: None,
            starts: Vec::new(),
            notes: vec!["the server was lost".to_owned()],
        });
        let text = text(&document);
        for sentence in [
            "Intel S3700",
            "No latency over time: the output of fio has no data for each second.",
            " measured, and its output does not contain enough to judge by.",
            ", which does not describe the drive and host.",
            " runs merged",
            "Group `nfs`: ",
            "the server was lost.",
        ] {
            assert!(
                text.lines().any(|line| line.contains(sentence.trim())),
                "`{sentence}` is missing in {text}"
            );
        }
    }

    #[test]
    fn missing_charts_over_time_are_explained() {
        let mut document = judged(samples::check());
        assert!(
            text(&document).contains("No charts over time: every test was shorter than 3 seconds.")
        );
        document.results[0].series.iops = vec![1.0; 5];
        assert!(text(&document).contains(
            "this result is from a version that did not record the distribution for each second."
        ));
        document.results[0].series.commit_bins = vec![vec![(60, 1)]; 5];
        let whole = text(&document);
        assert!(
            !whole.contains("No latency over time") && !whole.contains("No charts over time"),
            "{whole}"
        );
    }

    #[test]
    fn skipped_tests_are_listed() {
        let mut document = judged(Vec::new());
        document.smoke = true;
        document.skipped = vec![Skipped {
            test: "512 B".to_owned(),
            because: "smaller than a logical block".to_owned(),
        }];
        let text = text(&document);
        for sentence in [
            "No test was measured.",
            ": skipped, smaller than a logical block",
            "A smoke run:",
            "None in the numbers and facts",
        ] {
            assert!(text.contains(sentence), "`{sentence}` is missing in {text}");
        }
    }

    #[test]
    fn sorts_have_their_table_and_their_chart() {
        let mut results = samples::suite("sort-spill", 15.0, 0.0);
        results[0].sort = Some(measurement::SortFigures {
            sorts: 1,
            runs: 22,
            sorting_s: 2.0,
            writing_s: 3.0,
            ..Default::default()
        });
        let document = judged(results);
        let html = content(&[Run::new("check", &document)]).markup.into_string();
        for part in [
            "id=\"run-1-sorts\"",
            "Where the time of each sort went",
            "processor waits</th>",
            "Time: of 5.00 s",
        ] {
            assert!(html.contains(part), "`{part}` is missing in {html}");
        }
        assert!(!text(&judged(samples::check())).contains("processor waits"));
    }

    #[test]
    fn repetitions_of_a_test_are_one_row_and_numbered_charts() {
        let twice =
            samples::check().into_iter().flat_map(|result| [result.clone(), result]).collect();
        let text = text(&judged(twice));
        for name in ["write + fsync (2 times)", "write + fsync (1 of 2)", "write + fsync (2 of 2)"]
        {
            assert!(text.lines().any(|line| line == name), "no `{name}` in {text}");
        }
        assert!(text.contains("A test that ran several times is one row"));
    }

    /// The levels of a page's headings, in order.
    fn levels(html: &str) -> Vec<u32> {
        let after = |piece: &str| piece.chars().next()?.to_digit(10).filter(|level| *level <= 6);
        html.split("<h").skip(1).filter_map(after).collect()
    }

    #[test]
    fn headings_skip_no_level() {
        let mut documents: Vec<RunDocument> = ["check", "fsync-study", "write-cache", "slog"]
            .map(|suite| judged(samples::suite(suite, 15.0, 1700.0)))
            .into();
        for result in documents.iter_mut().flat_map(|document| &mut document.results) {
            result.series.iops = vec![1.0; 5];
            result.series.commit_bins = vec![vec![(60, 1)]; 5];
        }
        let runs: Vec<Run<'_>> = documents
            .iter()
            .map(|document| Run::new(document.started_at.clone(), document))
            .collect();
        for count in 0..=runs.len() {
            let levels = levels(&crate::report(&runs[..count]));
            assert_eq!(
                levels.iter().filter(|level| **level == 1).count(),
                1,
                "the page has one main heading"
            );
            assert_eq!(levels[0], 1);
            assert!(
                levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
                "{count} runs: {levels:?}"
            );
            assert!(count == 0 || levels.contains(&4), "{levels:?}");
        }
        let same = &runs[..1];
        assert_eq!(levels(&crate::report(same))[..3], [1, 2, 3]);
    }

    #[test]
    fn long_tests_do_not_make_the_page_too_large() {
        let mut document = judged(samples::suite("fsync-study", 15.0, 1700.0));
        document.results.truncate(36);
        assert_eq!(document.results.len(), 36);
        for result in &mut document.results {
            result.series.iops =
                (0..9_600).map(|second| 20_000.0 + f64::from(second % 977) / 3.0).collect();
            result.series.commit_p50_us = vec![Some(85.125); 9_600];
            result.series.commit_p99_us = vec![Some(130.123_456); 9_600];
            result.series.commit_bins = (0..9_600)
                .map(|second| (45..53 + second % 3).map(|bin| (bin, 1234)).collect())
                .collect();
        }
        let page = crate::report(&[Run::new("hours", &document)]);
        assert!(page.len() < 3 << 20, "{} bytes", page.len());
    }

    #[test]
    fn the_tab_title_names_the_drive_or_the_comparison() {
        let (one, other) = (judged(samples::check()), judged(samples::check()));
        let run = |label: &str, document| Run::new(label, document);
        insta::assert_snapshot!(naming::tab_title(&[run("check", &one)]), @"/var/lib/db, check");
        insta::assert_snapshot!(naming::tab_title(&[run("before", &one), run("after", &other)]), @"/var/lib/db: before and after");
        insta::assert_snapshot!(naming::tab_title(&[run("1", &one), run("#2", &other)]), @"/var/lib/db: run 1 and #2");
        let page = crate::report(&[run("check", &one)]);
        assert!(
            page.contains("<title>/var/lib/db, check · flushmark</title>"),
            "{}",
            &page[..2000]
        );
    }

    #[test]
    fn a_comparison_states_its_result_before_its_charts() {
        let (one, other) = (
            judged(samples::suite("check", 15.0, 1700.0)),
            judged(samples::suite("check", 15.0, 850.0)),
        );
        let runs = [("before <b>", &one), ("after", &other)]
            .map(|(label, document)| Run::new(label, document));
        let html = content(&runs).markup.into_string();
        let deciding =
            html.split("<p class=\"deciding\">").nth(1).unwrap().split("</p>").next().unwrap();
        insta::assert_snapshot!(deciding, @"Undecided: “after” was measured 1.99× faster than “before &lt;b&gt;”, but a run has no figures per second (an import, or too short), so its variation is unknown. Judged by write + fsync. Of 8 tests: 8 undecided.");
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
        let order = [
            at("Side by side</h2>"),
            at(deciding),
            at("id=\"overlay-2\""),
            at("after against before &lt;b&gt;</h3>"),
            at("id=\"overlay-1\""),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert!(
            html.contains("<td class=\"better\">") || html.contains(": no verdict, "),
            "{html}"
        );
    }

    #[test]
    fn runs_without_a_test_in_common_say_so() {
        let (one, mut other) =
            (judged(samples::check()), judged(samples::suite("slog", 15.0, 1700.0)));
        other.suite = "slog".to_owned();
        let both = [("a", &one), ("b", &other)].map(|(label, document)| Run::new(label, document));
        let html = content(&both).markup.into_string();
        assert!(html.contains("These runs have no test in common"));
    }
}
