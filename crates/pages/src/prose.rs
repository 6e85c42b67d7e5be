//! Sentences as HTML.

use maud::{Markup, html};

/// Renders text between backticks as code. A single backtick is literal.
pub(crate) fn prose(sentence: &str) -> Markup {
    let parts: Vec<&str> = sentence.split('`').collect();
    // An even number of backticks makes an odd number of parts.
    if parts.len().is_multiple_of(2) {
        return html! { (sentence) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_up_and_everything_is_escaped() {
        let html = |sentence| prose(sentence).into_string();
        insta::assert_snapshot!(html("type `flushmark host <DEV>` & wait"), @"type <code>flushmark host &lt;DEV&gt;</code> &amp; wait");
        insta::assert_snapshot!(html("a lone ` stays"), @"a lone ` stays");
    }
}
