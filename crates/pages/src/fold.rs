//! Parts of a page that are closed until a reader opens them. A link to something in one opens it,
//! and printing opens all (`page.js`).

use maud::{Markup, html};

/// A part that is closed at first, below a line that is always shown.
pub(crate) fn fold(line: &Markup, content: &Markup) -> Markup {
    html! { details.fold { summary { (line) } div.folded { (content) } } }
}
