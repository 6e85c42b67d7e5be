//! Styles and scripts, named by their digests: a browser asks once, and again only when they have changed.

use pages::Assets;
use pages::assets::{Asset, ECHARTS, SCRIPT, STYLE};

/// What only these pages have.
const OWN_STYLE: Asset =
    Asset { name: "web.css", media_type: "text/css; charset=utf-8", text: include_str!("../assets/web.css") };
/// Counts what is selected in the list.
const SELECTION: Asset = Asset {
    name: "selection.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/selection.js"),
};
/// Keeps the page of running tests up to date.
const LIVE: Asset =
    Asset { name: "live.js", media_type: "text/javascript; charset=utf-8", text: include_str!("../assets/live.js") };

const ALL: [Asset; 6] = [STYLE, SCRIPT, ECHARTS, OWN_STYLE, SELECTION, LIVE];

/// What a page needs beside charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing more.
    Plain,
    /// The list's script.
    Selection,
    /// The script that looks again.
    Live,
}

/// The path below which they are offered.
pub const BELOW: &str = "/assets/";

impl Needs {
    /// As the frame of a page takes them.
    pub fn assets(self) -> Assets<'static> {
        let more: &[Asset] = match self {
            Needs::Plain => &[OWN_STYLE],
            Needs::Selection => &[OWN_STYLE, SELECTION],
            Needs::Live => &[OWN_STYLE, LIVE],
        };
        Assets::Linked { below: BELOW, more }
    }
}

/// All assets under the names by which pages link them.
pub fn served() -> Vec<(String, Asset)> {
    ALL.iter().map(|asset| (asset.served_name(), *asset)).collect()
}
