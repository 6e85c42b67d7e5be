//! Heading levels: a page of one run has no headings for runs, so its parts are one level higher
//! than on a page of several runs.

use maud::{Markup, html};

/// The appearance of a heading, independent of its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A run among several.
    Run,
    Part,
    /// A figure, a test or a finding.
    Title,
}

/// The level of a heading; the page's own heading has level 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// Directly below the page's heading.
    pub const TOP: Level = Level(2);
    /// HTML has no deeper level.
    const DEEPEST: u8 = 6;

    /// One level deeper.
    #[must_use]
    pub const fn below(self) -> Level {
        Level(if self.0 < Level::DEEPEST { self.0 + 1 } else { self.0 })
    }

    pub fn heading(self, look: Look, id: Option<&str>, words: &Markup) -> Markup {
        let class = match look {
            Look::Run => "run-name",
            Look::Part => "part",
            Look::Title => "title",
        };
        match self.0 {
            2 => html! { h2 class=(class) id=[id] { (words) } },
            3 => html! { h3 class=(class) id=[id] { (words) } },
            4 => html! { h4 class=(class) id=[id] { (words) } },
            5 => html! { h5 class=(class) id=[id] { (words) } },
            _ => html! { h6 class=(class) id=[id] { (words) } },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_their_level_up_to_the_deepest_of_html() {
        let words = html! { "a & b" };
        let made = |level: Level| level.heading(Look::Title, Some("x"), &words).into_string();
        insta::assert_snapshot!(made(Level::TOP), @r#"<h2 class="title" id="x">a &amp; b</h2>"#);
        let mut level = Level::TOP;
        for expected in [3, 4, 5, 6, 6] {
            level = level.below();
            assert!(made(level).starts_with(&format!("<h{expected} ")), "{}", made(level));
        }
    }
}
