//! The result of a crash test.

use crash::{Lost, State};
use serde::Serialize;
use workload::number::{number, span};

use crate::look::Look;

/// Lines of a check's output that are shown.
const OUTPUT_LINES: usize = 6;
/// Lost writes that are listed.
const LOST_SHOWN: usize = 12;

/// The result of a crash test, for [`crash_page`].
#[derive(Debug, Clone, Serialize)]
pub struct CrashReport {
    /// Directory of the recording and all results.
    pub session: String,
    /// Name of the filesystem on the recorded drive, if any.
    pub filesystem: Option<&'static str>,
    /// Number of writes recorded.
    pub writes: usize,
    /// Number of flushes received, including those without preceding writes.
    pub flushes: usize,
    /// Number of states tested.
    pub tried: usize,
    /// Number of states planned.
    pub planned: usize,
    /// Binary logarithm of the number of possible states.
    pub possible_log2: f64,
    /// Number of states that failed.
    pub failed: Vec<String>,
    /// The first failed state, minimised.
    pub first_failure: Option<Failure>,
    /// Duration of the test.
    pub elapsed_s: f64,
}

/// A failed state, minimised.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The state as found, before it was minimised.
    pub found_in: String,
    /// The smallest state that still fails.
    pub state: String,
    /// Output of the check in that state.
    pub said: String,
    /// Writes lost or torn in that state.
    pub lost: Vec<Lost>,
    /// Number of writes in its epoch.
    pub writes: usize,
}

/// The result page of `flushmark crash`.
pub fn crash_page(report: &CrashReport, look: &Look) -> String {
    let mut text = String::new();
    let count = |count: usize| number(count as f64);
    text += &look.paragraph(&format!(
        "Recorded {} writes and {} flushes. Tested {} of {} possible states after a power \
             cut{}; {} failed.",
        count(report.writes),
        count(report.flushes),
        count(report.tried),
        possible(report.possible_log2),
        if report.tried < report.planned {
            format!(" ({} planned)", count(report.planned))
        } else {
            String::new()
        },
        count(report.failed.len()),
    ));
    if let Some(failure) = &report.first_failure {
        text += &look.heading("The first failure");
        for (label, words) in failure_lines(report, failure) {
            text += &look.labelled(&format!("  {label}"), 13, &words);
        }
    }
    let time = span(std::time::Duration::from_secs_f64(report.elapsed_s.max(0.0)));
    text += &look.paragraph(&format!("{time}; recording and results: {}", report.session));
    look.finish(text)
}

/// The lines on a failure, each with its label.
fn failure_lines(report: &CrashReport, failure: &Failure) -> Vec<(&'static str, String)> {
    let also = if failure.found_in == failure.state {
        String::new()
    } else {
        format!(", found in {}", failure.found_in)
    };
    let mut lines = vec![("state", format!("{}{also}", failure.state))];
    lines.extend(failure.said.lines().take(OUTPUT_LINES).map(|line| ("check", line.to_owned())));
    lines.extend(lost_lines(report, failure));
    let again = format!("flushmark crash --resume {} --state '{}'", report.session, failure.state);
    lines.push(("again", again.clone()));
    lines.push(("look", again + " --shell"));
    lines
}

/// The lines on the writes that were lost or torn.
fn lost_lines(report: &CrashReport, failure: &Failure) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if failure.lost.is_empty() {
        let words = "no write: the check fails although every write is present";
        lines.push(("lost", words.to_owned()));
    }
    for (index, lost) in failure.lost.iter().take(LOST_SHOWN).enumerate() {
        let owners = match lost.owners.as_deref() {
            Some([]) => ", filesystem metadata or a removed file".to_owned(),
            Some(owners) => format!(", {}", owners.join(", ")),
            None => String::new(),
        };
        let how = if lost.torn { "torn" } else { "lost" };
        let words = format!(
            "write {} of {}: {} bytes at {}{owners}",
            lost.write, failure.writes, lost.bytes, lost.offset
        );
        lines.push((if index == 0 || lost.torn { how } else { "" }, words));
    }
    if failure.lost.len() > LOST_SHOWN {
        lines.push(("", format!("and {} more", failure.lost.len() - LOST_SHOWN)));
    }
    if failure.lost.iter().any(|lost| lost.owners.is_none()) {
        let words = match report.filesystem {
            None => {
                "no filesystem was found on the drive, so the affected files are unknown".to_owned()
            }
            Some(name) => {
                format!("the affected files could not be determined from the {name} on the drive")
            }
        };
        lines.push(("", words));
    }
    lines
}

/// Formats a number given by its binary logarithm.
fn possible(log2: f64) -> String {
    if log2 < 40.0 {
        number(log2.exp2().round())
    } else {
        format!("about 10^{:.0}", log2 * std::f64::consts::LOG10_2)
    }
}

/// Progress line while states are checked.
pub fn crash_line(progress: &crash::Progress, per_s: f64, look: &Look) -> String {
    let failed = if progress.failed > 0 {
        format!(", {} failed", number(progress.failed as f64))
    } else {
        String::new()
    };
    let left = std::time::Duration::from_secs_f64(
        ((progress.of - progress.done) as f64 / per_s.max(0.1)).min(1e7),
    );
    look.finish(format!(
        "{} of {} states{failed}, {} a second, {} left",
        number(progress.done as f64),
        number(progress.of as f64),
        number(per_s),
        span(left)
    ))
}

/// The result of checking a single state again.
pub fn crash_state(state: &State, verdict: &crash::CheckVerdict, look: &Look) -> String {
    look.finish(match verdict {
        crash::CheckVerdict::Passed => format!("{state} passes\n"),
        crash::CheckVerdict::Failed(said) => format!("{state} fails: {said}\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_completely() {
        let lost = |write, torn, owners: &[&str]| Lost {
            write,
            offset: 20480,
            bytes: 4096,
            torn,
            owners: Some(owners.iter().map(|&owner| owner.to_owned()).collect()),
        };
        let report = CrashReport {
            session: "/tmp/session".to_owned(),
            filesystem: Some("ext4"),
            writes: 1234,
            flushes: 56,
            tried: 400,
            planned: 420,
            possible_log2: 77.0,
            failed: vec!["3-1".to_owned(), "4".to_owned()],
            first_failure: Some(Failure {
                found_in: "3-1,2,9".to_owned(),
                state: "3-1~4.2".to_owned(),
                said: "row 7 was acknowledged and is gone\nsecond line".to_owned(),
                lost: vec![lost(1, false, &["db-wal"]), lost(4, true, &[])],
                writes: 12,
            }),
            elapsed_s: 75.0,
        };
        insta::assert_snapshot!(crash_page(&report, &Look::plain()), @"
        Recorded 1,234 writes and 56 flushes. Tested 400 of about 10^23 possible states after a power cut
        (420 planned); 2 failed.
        The first failure
          state      3-1~4.2, found in 3-1,2,9
          check      row 7 was acknowledged and is gone
          check      second line
          lost       write 1 of 12: 4096 bytes at 20480, db-wal
          torn       write 4 of 12: 4096 bytes at 20480, filesystem metadata or a removed file
          again      flushmark crash --resume /tmp/session --state '3-1~4.2'
          look       flushmark crash --resume /tmp/session --state '3-1~4.2' --shell
        1 min 15 s; recording and results: /tmp/session
        ");
        // The owners of the writes are unknown.
        for filesystem in [Some("ext4"), None] {
            let mut report = CrashReport { filesystem, ..report.clone() };
            for lost in &mut report.first_failure.as_mut().unwrap().lost {
                lost.owners = None;
            }
            let page = crash_page(&report, &Look::plain());
            assert!(!page.contains("filesystem metadata"), "{page}");
            let said: Vec<&str> = page.lines().skip(6).take(3).collect();
            if filesystem.is_some() {
                insta::assert_snapshot!(said.join("\n"), @"
                lost       write 1 of 12: 4096 bytes at 20480
                torn       write 4 of 12: 4096 bytes at 20480
                           the affected files could not be determined from the ext4 on the drive
                ");
            } else {
                insta::assert_snapshot!(said.join("\n"), @"
                lost       write 1 of 12: 4096 bytes at 20480
                torn       write 4 of 12: 4096 bytes at 20480
                           no filesystem was found on the drive, so the affected files are unknown
                ");
            }
        }
        let clean = CrashReport {
            failed: vec![],
            first_failure: None,
            tried: 420,
            possible_log2: 9.0,
            ..report
        };
        insta::assert_snapshot!(crash_page(&clean, &Look::plain()), @"
        Recorded 1,234 writes and 56 flushes. Tested 420 of 512 possible states after a power cut; 0 failed.
        1 min 15 s; recording and results: /tmp/session
        ");
        let progress = crash::Progress { done: 10, failed: 1, of: 400 };
        insta::assert_snapshot!(crash_line(&progress, 30.0, &Look::plain()), @"10 of 400 states, 1 failed, 30 a second, 13 s left");
    }
}
