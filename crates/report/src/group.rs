//! Runs whose tests began at the same moment: how well they did, and what they did together.

use measurement::{Agreement, GroupRecord, GroupTotal, RunDocument, TestResult};
use workload::number::{latency, number, throughput};

use crate::columns::{Column, Columns};
use crate::look::Look;

/// The table of all runs together.
pub fn group_totals(documents: &[RunDocument], look: &Look) -> String {
    let results: Vec<&[TestResult]> =
        documents.iter().map(|document| document.results.as_slice()).collect();
    let name = |at: usize| {
        documents.get(at).map(|document| unseen::escaped(&document.target.given).to_string())
    };
    let table = Columns::<GroupTotal>::new()
        .with(Column::prose("test"), |total| total.test.clone())
        .with(Column::right("targets"), |total| total.runs.to_string())
        .with(Column::right("per second"), |total| {
            number(total.commits_per_s.unwrap_or(total.iops))
        })
        .with(Column::right("MiB/s").may_drop(2), |total| throughput(total.mib_per_s))
        .with(Column::right("p50"), |total| total.latency_us.map(|of| latency(of.p50)))
        .with(Column::right("p99"), |total| total.latency_us.map(|of| latency(of.p99)))
        .with(Column::right("max").may_drop(1), |total| total.latency_us.map(|of| latency(of.max)))
        .with(Column::left("slowest").optional(), |total| {
            let (at, p99) = total.slowest?;
            Some(format!("{} ({})", name(at)?, latency(p99)))
        })
        .of(&GroupTotal::of(&results), look);
    format!("\n== all {} targets\n{table}", documents.len())
}

/// Lines on how far apart the runs of a group began; empty for a run that was made alone.
pub(crate) fn group_lines(document: &RunDocument, look: &Look) -> String {
    let mut text = String::new();
    for sentence in group_sentences(document) {
        text += &look.hanging_in(anstyle::Style::new(), "", &sentence);
    }
    look.finish(text)
}

/// The same as sentences; none for a run that was made alone.
pub fn group_sentences(document: &RunDocument) -> Vec<String> {
    document.group.as_ref().map(sentences).unwrap_or_default()
}

fn sentences(group: &GroupRecord) -> Vec<String> {
    let skew_us = group.starts.iter().filter_map(|start| start.skew_us).max_by(f64::total_cmp);
    let late_us = group.starts.iter().map(|start| start.late_us).max_by(f64::total_cmp);
    let mut sentences = Vec::new();
    match (group.agreement, skew_us, late_us) {
        (Agreement::Process, Some(skew_us), _) => sentences.push(format!(
            "One of {} targets that were measured at once; each test began within {} of the others.",
            group.expected.unwrap_or_default(),
            latency(skew_us)
        )),
        (Agreement::Store, skew_us, _) => {
            let name = group.name.as_deref().unwrap_or_default();
            let present = group.starts.iter().map(|start| start.present).min().unwrap_or(0);
            let expected = group.expected.unwrap_or(present);
            let within = skew_us.map_or(String::new(), |skew_us| {
                format!(", and began each test within {} of each other", latency(skew_us))
            });
            sentences.push(format!(
                "Group `{}`: {present} of {expected} hosts took part in all tests{within}.",
                unseen::escaped(name)
            ));
        }
        (Agreement::Clock, _, Some(late_us)) => {
            let right = group.clock_error_us.map_or(String::new(), |error_us| {
                format!(", by a clock that is right within {}", latency(error_us))
            });
            sentences.push(format!(
                "Each test began at the planned time, at most {} later{right}.",
                latency(late_us)
            ));
        }
        (Agreement::Process | Agreement::Clock, ..) => {}
    }
    for start in group.starts.iter().filter(|start| !start.absent.is_empty()) {
        let absent: Vec<String> =
            start.absent.iter().map(|name| unseen::escaped(name).to_string()).collect();
        sentences.push(format!("{}: began without {}.", start.test, absent.join(", ")));
    }
    sentences.extend(group.notes.iter().map(|note| format!("{note}.")));
    sentences
}

#[cfg(test)]
mod tests {
    use measurement::GroupStart;
    use samples::machine::{read, write};
    use workload::SyncMethod::Fsync;

    use super::*;

    fn start(test: &str, present: u32, skew_us: Option<f64>, absent: &[&str]) -> GroupStart {
        GroupStart {
            test: test.to_owned(),
            at: "2026-12-01T03:00:00.000105Z".to_owned(),
            late_us: 105.0,
            present,
            skew_us,
            absent: absent.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn group(agreement: Agreement, starts: Vec<GroupStart>) -> GroupRecord {
        GroupRecord {
            id: "7".to_owned(),
            name: (agreement == Agreement::Store).then(|| "nfs".to_owned()),
            member: "db1".to_owned(),
            agreement,
            expected: (agreement != Agreement::Clock).then_some(3),
            clock_error_us: None,
            starts,
            notes: Vec::new(),
        }
    }

    fn lines(group: GroupRecord) -> String {
        let document = RunDocument { group: Some(group), ..samples::document(Vec::new()) };
        group_lines(&document, &Look::plain())
    }

    #[test]
    fn how_well_they_began_together() {
        let both = || vec![start("write", 3, Some(412.0), &[]), start("read", 3, Some(95.0), &[])];
        insta::assert_snapshot!(lines(group(Agreement::Process, both())), @"One of 3 targets that were measured at once; each test began within 412 µs of the others.");
        insta::assert_snapshot!(lines(group(Agreement::Store, both())), @"Group `nfs`: 3 of 3 hosts took part in all tests, and began each test within 412 µs of each other.");
        insta::assert_snapshot!(lines(group(Agreement::Clock, both())), @"Each test began at the planned time, at most 105 µs later.");
        let kept = GroupRecord { clock_error_us: Some(1_500.0), ..group(Agreement::Clock, both()) };
        insta::assert_snapshot!(lines(kept), @"Each test began at the planned time, at most 105 µs later, by a clock that is right within 1.5 ms.");
        let mut alone = group(
            Agreement::Store,
            vec![start("write", 2, Some(412.0), &["db3"]), start("read", 1, None, &["db2", "db3"])],
        );
        alone.notes.push(
            "The store in which the hosts meet was lost (gone), and this host went on alone"
                .to_owned(),
        );
        insta::assert_snapshot!(lines(alone), @"
        Group `nfs`: 1 of 3 hosts took part in all tests, and began each test within 412 µs of each other.
        write: began without db3.
        read: began without db2, db3.
        The store in which the hosts meet was lost (gone), and this host went on alone.
        ");
        assert_eq!(group_lines(&samples::document(Vec::new()), &Look::plain()), "");
    }

    #[test]
    fn all_targets_together() {
        let on = |target: &str, sync_us: f64| {
            let tests = vec![write(Fsync, 20.0, sync_us).result(), read(80.0).result()];
            let mut document = samples::document(tests);
            document.target.given = target.to_owned();
            document
        };
        let mut documents = vec![on("/dev/sdb", 900.0), on("/dev/sdc", 2700.0)];
        // A test that one of them could not run.
        documents[0].results.pop();
        insta::assert_snapshot!(group_totals(&documents, &Look::plain()), @"
        == all 2 targets
          test                     targets  per second  MiB/s      p50      p99      max  slowest
          randwrite 4 KiB,               2       1,455   5.68   966 µs  2.85 ms  2.86 ms  /dev/sdc (2.85 ms)
          fsync=1, depth 1, jobs
          1
          randread 4 KiB, depth          1      12,500   48.8  80.1 µs    84 µs    84 µs  /dev/sdc (84 µs)
          1, jobs 1
        ");
    }
}
