//! The frame of all pages, with the navigation.

use maud::{Markup, html};
use pages::{Content, Figures, Page, shell};

use crate::assets::Needs;

/// The entry of the navigation that is current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    Runs,
    Fleet,
    History,
    Live,
    Elsewhere,
}

pub fn with_charts(title: &str, here: Here, content: &Content, needs: Needs) -> String {
    shell::html(&Page {
        title: &format!("{title} · flushmark"),
        above: navigation(here),
        main: content.markup.clone(),
        figures: &content.figures,
        assets: needs.assets(),
    })
}

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
                    (link(Here::Fleet, "/fleet", "Fleet"))
                    (link(Here::History, "/history", "History"))
                    (link(Here::Live, "/live", "Running now"))
                }
            }
        }
    }
}
