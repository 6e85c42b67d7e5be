//! The names of runs: by drive, so a reader of a page knows what was measured.

use measurement::RunDocument;

use crate::Run;

/// A drive by the name that its user gave it at import or by its model, otherwise the target on its
/// host.
pub fn drive(run: &Run<'_>) -> String {
    run.document.drive_name().unwrap_or_else(|| match &run.host {
        Some(host) => format!("{host} {}", target(run.document)),
        None => target(run.document),
    })
}

/// One name for each run of a page: the label that its user gave it, otherwise its drive, or the
/// word that selected it if all are of one drive. Of drives with the same name, both.
pub fn of_runs(runs: &[Run<'_>]) -> Vec<String> {
    let drives: Vec<String> = runs.iter().map(drive).collect();
    let is_shared = |name: &String| drives.iter().filter(|other| *other == name).count() > 1;
    let is_one_drive = drives.len() > 1 && drives.iter().all(|name| *name == drives[0]);
    let named = runs.iter().zip(&drives).map(|(run, name)| {
        let label = label(run);
        match (is_one_drive || run.document.label.is_some(), is_shared(name) && label != *name) {
            (true, _) => label,
            (false, true) => format!("{name} ({label})"),
            (false, false) => name.clone(),
        }
    });
    named.collect()
}

/// The title of a page with these runs.
pub fn title(runs: &[Run<'_>]) -> String {
    let [first, rest @ ..] = runs else { return "No results".to_owned() };
    let drive = drive(first);
    let is_one_drive = rest.iter().all(|run| self::drive(run) == drive);
    let names = of_runs(runs);
    match (names.as_slice(), is_one_drive) {
        ([_], _) => match &first.document.label {
            Some(label) => format!("{drive}: {label}"),
            None => drive,
        },
        ([one, other], true) => format!("{drive}: {one} and {other}"),
        (_, true) => format!("{drive}: {}", report::counted(runs.len() as u64, "run")),
        ([one, other], false) => format!("{one} and {other}"),
        (_, false) => format!("{} and {} others", names[0], rest.len()),
    }
}

/// The title for a browser's tab and history, without the context of headings: what was measured,
/// and how.
pub fn tab_title(runs: &[Run<'_>]) -> String {
    match runs {
        [run] => format!("{}, {}", title(runs), run.document.suite),
        _ => title(runs),
    }
}

/// The label that the user gave the run when it was measured, otherwise the word that selected it;
/// in words if it is only the number of a stored run.
fn label(run: &Run<'_>) -> String {
    if let Some(label) = &run.document.label {
        return label.clone();
    }
    let is_number = !run.label.is_empty() && run.label.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("run {}", run.label) } else { run.label.clone() }
}

/// The full path is more useful than the relative one that the user may have typed.
fn target(document: &RunDocument) -> String {
    document
        .drive
        .as_ref()
        .map_or_else(|| document.target.given.clone(), |place| place.path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(runs: &[(&str, Option<&str>, Option<&str>)]) -> (String, Vec<String>) {
        let documents: Vec<RunDocument> = runs
            .iter()
            .map(|(_, drive, _)| {
                let mut document = samples::document(samples::check());
                document.source = drive.map(|drive| measurement::Source {
                    tool: "fio".to_owned(),
                    drive: Some(drive.to_owned()),
                    ..measurement::Source::default()
                });
                document
            })
            .collect();
        let runs: Vec<Run<'_>> = runs
            .iter()
            .zip(&documents)
            .map(|((label, _, host), document)| Run {
                label: (*label).to_owned(),
                host: host.map(str::to_owned),
                document,
            })
            .collect();
        (title(&runs), of_runs(&runs))
    }

    #[test]
    fn a_label_of_the_user_s_own_comes_first() {
        let mut one = samples::document(samples::check());
        one.label = Some("before the update".to_owned());
        let other = samples::document(samples::check());
        let runs = [Run::new("5", &one), Run::new("6", &other)];
        assert_eq!(of_runs(&runs), ["before the update", "run 6"]);
        assert_eq!(title(&runs[..1]), "/var/lib/db: before the update");
    }

    #[test]
    fn runs_are_named_by_drive_and_only_runs_of_one_drive_by_label() {
        let said = |runs: &[(&str, Option<&str>, Option<&str>)]| {
            let (title, names) = titled(runs);
            format!("{title} | {}", names.join(", "))
        };
        insta::assert_snapshot!(said(&[("5", Some("980"), None)]), @"980 | 980");
        insta::assert_snapshot!(said(&[("5", Some("980"), None), ("6", Some("5100"), None)]), @"980 and 5100 | 980, 5100");
        insta::assert_snapshot!(said(&[("5", Some("980"), None), ("6", Some("980"), None)]), @"980: run 5 and run 6 | run 5, run 6");
        insta::assert_snapshot!(said(&[("5", Some("980"), None), ("6", Some("980"), None), ("7", Some("980"), None)]), @"980: 3 runs | run 5, run 6, run 7");
        insta::assert_snapshot!(said(&[("5", Some("980"), None), ("6", Some("980"), None), ("7", Some("5100"), None)]), @"980 (run 5) and 2 others | 980 (run 5), 980 (run 6), 5100");
        insta::assert_snapshot!(said(&[("5", None, Some("db1"))]), @"db1 /var/lib/db | db1 /var/lib/db");
        insta::assert_snapshot!(said(&[("5", None, None)]), @"/var/lib/db | /var/lib/db");
        insta::assert_snapshot!(said(&[]), @"No results | ");
    }
}
