//! The page of traces that belong to no run: of other programs.

use maud::{Markup, html};
use measurement::TraceDocument;

use super::{findings, footer, traces};
use crate::Trace;
use crate::charts::figure::Figures;
use crate::heading::{Level, Look};
use crate::prose::prose;

/// The title for the page's heading.
pub fn title(traces: &[Trace<'_>]) -> String {
    match traces {
        [] => "No traces".to_owned(),
        [only] => format!("Commits of {}", only.document.subject),
        [first, second] => format!("{} and {}", first.label, second.label),
        [first, rest @ ..] => format!("{} and {} others", first.label, rest.len()),
    }
}

/// The head of the page, and each trace with its findings.
pub fn sections(traces: &[Trace<'_>], figures: &mut Figures) -> Markup {
    let of_several = traces.len() > 1;
    let each: Vec<Markup> = (1_usize..)
        .zip(traces)
        .map(|(number, trace)| section(&format!("trace-{number}"), of_several, trace, figures))
        .collect();
    html! {
        header.page {
            p.brand { "flushmark" }
            h1 { (title(traces)) }
            @if let [only] = traces { (meta(only.document)) }
        }
        @if of_several {
            nav.contents aria-label="Contents" {
                ul {
                    @for (number, trace) in (1_usize..).zip(traces) {
                        li { a href={ "#trace-" (number) } { (trace.label) } }
                    }
                }
            }
        }
        @for section in &each { (section) }
        (footer())
    }
}

/// When the trace was made is not known; how, is.
fn meta(document: &TraceDocument) -> Markup {
    html! {
        p.meta {
            (report::recorded(&document.trace))
            @if !document.kernel.is_empty() { " · Linux " (document.kernel) }
            " · flushmark " (document.flushmark)
        }
    }
}

fn section(anchor: &str, of_several: bool, trace: &Trace<'_>, figures: &mut Figures) -> Markup {
    let document = trace.document;
    let level = if of_several { Level::TOP.below() } else { Level::TOP };
    let part = |part: &str, name: &str| {
        level.heading(Look::Part, Some(&format!("{anchor}-{part}")), &html! { (name) })
    };
    let named = [("", &document.trace)];
    let commits = traces::commits(&format!("{anchor}-commits"), level.below(), &named, figures);
    let piece = |evidence: &measurement::Evidence| prose(&report::evidence_words(evidence));
    html! {
        section.run id=(anchor) aria-label=(trace.label) {
            @if of_several {
                (Level::TOP.heading(Look::Run, None, &html! {
                    (trace.label) span.subject { " " (document.subject) }
                }))
                (meta(document))
            }
            (findings::all(anchor, &part("findings", "Findings"), level.below(), &document.findings, &piece))
            section aria-labelledby={ (anchor) "-commits" } {
                (part("commits", "Commits, layer by layer"))
                @if document.trace.anatomies.is_empty() { p.notice { (report::NO_COMMIT) } }
                (commits)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use measurement::{DriveTraffic, OperationCounts, TraceDocument, TraceRecord};

    use crate::{Trace, trace_report};

    fn document(anatomies: Vec<measurement::Anatomy>) -> TraceDocument {
        TraceDocument {
            schema: measurement::trace_document::SCHEMA.to_owned(),
            flushmark: "1.0.0".to_owned(),
            subject: "./writer <b>".to_owned(),
            kernel: "6.18.0".to_owned(),
            findings: judge::trace(&anatomies.iter().collect::<Vec<_>>(), &[]),
            trace: TraceRecord { anatomies, events: 1000, ..TraceRecord::default() },
        }
    }

    #[test]
    fn a_trace_has_its_findings_and_its_commits() {
        let document = document(vec![samples::fsync_on_ext4(100)]);
        let page = trace_report(&[Trace { label: "writer".to_owned(), document: &document }]);
        for part in [
            "<title>Commits of ./writer &lt;b&gt; · flushmark</title>",
            "id=\"trace-1-findings\"",
            "id=\"trace-1-commits\"",
            "id=\"trace-1-commits-1-waterfall\"",
            "The median commit, 8.99 ms to scale",
            "Linux 6.18.0",
        ] {
            assert!(page.contains(part), "`{part}` is missing");
        }
        assert!(!page.contains("writer <b>"));
    }

    #[test]
    fn commands_that_drives_were_given_are_a_table() {
        let mut document = document(vec![samples::fsync_on_ext4(100)]);
        let counts = |writes, fua_writes, flushes| OperationCounts {
            writes,
            fua_writes,
            flushes,
            ..OperationCounts::default()
        };
        document.trace.traffic = vec![DriveTraffic {
            device: "sdf".to_owned(),
            asked: counts(433, 100, 101),
            sent: counts(401, 0, 201),
            given: OperationCounts { failed: 3, ..counts(401, 0, 201) },
        }];
        let page = trace_report(&[Trace { label: "writer".to_owned(), document: &document }]);
        for part in [
            "id=\"trace-1-commits-commands\"",
            "<th scope=\"row\">sdf</th><td class=\"text\">asked of the block layer</td><td>433</td><td>100</td>\
             <td>101</td><td>–</td></tr>",
            "<td class=\"text\">given to the drive</td><td>401</td><td>0</td><td>201</td><td>3</td></tr>",
        ] {
            assert!(page.contains(part), "`{part}` is missing");
        }
    }

    #[test]
    fn a_trace_without_commits_says_so() {
        let (none, some) = (document(Vec::new()), document(vec![samples::fsync_on_ext4(1)]));
        let page = trace_report(&[
            Trace { label: "a".to_owned(), document: &none },
            Trace { label: "b".to_owned(), document: &some },
        ]);
        assert!(page.contains("No commit was seen") && page.contains("href=\"#trace-2\""));
        assert!(page.contains("<h1>a and b</h1>"));
    }
}
