//! What all pages have: the way to the others.

use maud::{Markup, html};
use pages::{Content, Figures, Page, shell};

use crate::assets::Needs;

/// Where on the site a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// The list of runs.
    Runs,
    /// Tests that run now.
    Live,
    /// Neither of them.
    Elsewhere,
}

/// A page with charts.
pub fn with_charts(title: &str, here: Here, content: &Content, needs: Needs) -> String {
    shell::html(&Page {
        title: &format!("{title} · flushmark"),
        above: navigation(here),
        main: content.markup.clone(),
        figures: &content.figures,
        assets: needs.assets(),
    })
}

/// A page without charts.
pub fn plain(title: &str, here: Here, main: Markup, needs: Needs) -> String {
    with_charts(title, here, &Content { markup: main, figures: Figures::default() }, needs)
}

fn navigation(here: Here) -> Markup {
    let link = |place: Here, address: &str, name: &str| {
        html! { li { a href=(address) aria-current=[(here == place).then_some("page")] { (name) } } }
    };
    html! {
        header.site {
            nav aria-label="Site" {
                span.name { "flushmark" }
                ul {
                    (link(Here::Runs, "/", "Runs"))
                    (link(Here::Live, "/live", "Running now"))
                }
            }
        }
    }
}
