//! Judgement of whole machines. The golden tests contain the text that users see.

use std::fmt::Write as _;

use crate::case::Case;
use crate::findings::findings;
use crate::fitness::fitness;
use crate::nearest::nearest;
use samples::machine::Machine;

mod any_case;
mod lookups;
mod marks;
mod neighbours;
mod probes;
mod rules;
mod whole_machines;

trait AsCase {
    fn case(&self) -> Case<'_>;
}

impl AsCase for Machine {
    fn case(&self) -> Case<'_> {
        Case::new(&self.results, self.place.as_ref(), &self.host)
    }
}

fn describe_findings(machine: &Machine) -> String {
    describe_findings_of(&machine.case())
}

fn describe_findings_of(case: &Case<'_>) -> String {
    let mut text = String::new();
    for finding in findings(case) {
        let confidence = format!("{:?}", finding.confidence).to_lowercase();
        writeln!(text, "{} ({confidence})\n  {}", finding.id, finding.title).unwrap();
        for evidence in finding.evidence {
            let value = evidence.value.to_string().replace('"', "");
            writeln!(text, "  - {}: {value} {}", evidence.what, evidence.unit).unwrap();
        }
        if let Some(doubt) = finding.doubt {
            writeln!(text, "  ? {doubt}").unwrap();
        }
        writeln!(text, "  > {}", finding.advice).unwrap();
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The complete judgement of a machine as text.
fn describe(machine: &Machine) -> String {
    describe_case(&machine.case())
}

/// The complete judgement of a case as text.
fn describe_case(case: &Case<'_>) -> String {
    let mut text = describe_findings_of(case) + "\n";
    for (used, fitness) in fitness(case) {
        writeln!(text, "{}: {}. {}", used.label(), fitness.grade.name(), fitness.because).unwrap();
    }
    for near in nearest(case, 3) {
        writeln!(
            text,
            "like {} (cache {}), {:.2} times apart",
            near.drive.name,
            near.write_cache.name(),
            near.factor
        )
        .unwrap();
        for test in near.compared {
            writeln!(
                text,
                "  - {}: {:.1} here, {:.1} published, {}",
                test.what, test.ours, test.published, test.unit
            )
            .unwrap();
        }
        if let Some(note) = near.note {
            writeln!(text, "  ? {note}").unwrap();
        }
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn ids(machine: &Machine) -> Vec<String> {
    findings(&machine.case()).into_iter().map(|finding| finding.id).collect()
}
