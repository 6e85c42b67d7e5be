//! Error pages and other pages that consist of one message.

use maud::html;

use super::frame::{Here, plain};
use crate::assets::Needs;

/// `sentence` says what is wrong and what to do.
pub fn page(heading: &str, sentence: &str) -> String {
    let main = html! {
        header.page { h1 { (heading) } }
        p.notice role="alert" { (sentence) }
        p { a href="/" { "All runs" } }
    };
    plain(heading, Here::Elsewhere, main, Needs::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_name_says_is_text() {
        let page = page("No store", "the store /<script>alert(1)</script> is a directory");
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"));
    }
}
