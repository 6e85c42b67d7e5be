//! The first lines of a run: what it was made on, when and with what.

use maud::{Markup, html};
use measurement::{RunDocument, TargetKind};

use super::RunSection;

/// The run in a few lines: what it was made on, when and with what.
pub(super) fn lines(place: &RunSection<'_>) -> Markup {
    let document = place.document;
    html! {
        p.place { (place_line(document, place.run.host.as_deref())) }
        p.meta {
            "Suite " b { (document.suite) }
            @if let Some(began) = document.began() {
                " · measured " time datetime=(began) { (began.strftime("%F %T UTC")) }
            }
            @if document.target.kind == TargetKind::Model { " · on a model, in virtual time" }
            @match &document.source {
                Some(source) => {
                    " · measured by " (source.tool)
                    @if let Some(version) = &source.version { " " (version) }
                    @if let Some(drive) = &source.drive { ", drive " (drive) }
                }
                None => { " · flushmark " (document.flushmark) }
            }
            @if let Some(count) = document.merged_runs { " · " (count) " runs merged" }
        }
        @for sentence in report::group_sentences(document) { p.meta { (sentence) } }
        @if document.smoke {
            p.notice { strong { "A smoke run:" } " it only shows that everything works; its \
                                                  numbers are meaningless." }
        }
    }
}

/// Target, filesystem and host in one line: `/srv/db, ext4 · db1, Linux 6.12.5, AMD EPYC 7543P`.
pub(crate) fn place_line(document: &RunDocument, host: Option<&str>) -> String {
    let place = document.drive.as_ref();
    let target = place
        .map_or_else(|| document.target.given.clone(), |place| place.path.display().to_string());
    let filesystem =
        place.and_then(|place| place.mount.as_ref()).map(|mount| mount.fs_type.clone());
    let facts = &document.host;
    let kernel = facts.kernel_release.as_ref().map(|release| format!("Linux {release}"));
    // The host of a model is part of the model.
    let is_real = document.target.kind != TargetKind::Model;
    let machine: Vec<String> = [host.map(str::to_owned), kernel, facts.cpu_model.clone()]
        .into_iter()
        .flatten()
        .filter(|_| is_real)
        .collect();
    let storage: Vec<String> = std::iter::once(target).chain(filesystem).collect();
    [storage.join(", "), machine.join(", ")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_and_host_are_one_line() {
        let mut document = samples::document::checked();
        document.host.cpu_model = Some("AMD EPYC 7543P".to_owned());
        document.host.kernel_release = Some("6.12.5".to_owned());
        insta::assert_snapshot!(place_line(&document, Some("db1")), @"/srv/database, ext4 · db1, Linux 6.12.5, AMD EPYC 7543P");
        let bare = samples::document(Vec::new());
        insta::assert_snapshot!(place_line(&bare, None), @"/var/lib/db");
    }
}
