//! The machine and the storage under the target.

use maud::{Markup, html};
use report::Weight;

use super::RunSection;
use crate::prose::prose;

/// Target, filesystem, drive, cache and host.
pub(super) fn section(place: &RunSection<'_>) -> Markup {
    let document = place.document;
    html! {
        section.facts aria-labelledby=(place.within("facts")) {
            (place.part("facts", "Drive and host"))
            @match &document.source {
                Some(source) => {
                    p.notice {
                        "Imported from the output of " (source.tool) ", which does not describe \
                            the drive and host."
                    }
                    @let counted = report::disk_sentences(source);
                    @if !counted.is_empty() {
                        p { "Counted by the kernel (a flush is a write of no bytes):" }
                        ul { @for disk in &counted { li { (disk) } } }
                    }
                },
                None => dl {
                    @for fact in report::target_facts(document, document.tested_bytes()) {
                        @if !fact.label.is_empty() { dt { (fact.label) } }
                        dd.warning[fact.weight == Weight::Warning].bad[fact.weight == Weight::Bad] { (prose(&fact.words)) }
                    }
                },
            }
        }
    }
}
