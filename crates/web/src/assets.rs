//! Styles and scripts, served under their digests, so a browser caches them until they change.

use pages::Assets;
use pages::assets::{Asset, ECHARTS, SCRIPT, STYLE};

const OWN_STYLE: Asset = Asset {
    name: "web.css",
    media_type: "text/css; charset=utf-8",
    text: include_str!("../assets/web.css"),
};
/// Updates the count of selected runs in the list.
const SELECTION: Asset = Asset {
    name: "selection.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/selection.js"),
};
const LIVE: Asset = Asset {
    name: "live.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/live.js"),
};

const ALL: [Asset; 6] = [STYLE, SCRIPT, ECHARTS, OWN_STYLE, SELECTION, LIVE];

/// The script of a page, in addition to those of the charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Plain,
    /// The script of the list.
    Selection,
    /// The script of the page of running tests.
    Live,
}

pub const BELOW: &str = "/assets/";

impl Needs {
    pub fn assets(self) -> Assets<'static> {
        let more: &[Asset] = match self {
            Needs::Plain => &[OWN_STYLE],
            Needs::Selection => &[OWN_STYLE, SELECTION],
            Needs::Live => &[OWN_STYLE, LIVE],
        };
        Assets::Linked { below: BELOW, more }
    }
}

/// All assets by the names that pages link to.
pub fn served() -> Vec<(String, Asset)> {
    ALL.iter().map(|asset| (asset.served_name(), *asset)).collect()
}
