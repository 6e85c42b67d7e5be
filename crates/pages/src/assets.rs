//! The assets of every page: style sheet, script, chart library.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

/// A file that every page needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    pub name: &'static str,
    /// Media type, such as `text/css`.
    pub media_type: &'static str,
    /// Content of the file.
    pub text: &'static str,
}

pub const STYLE: Asset = Asset {
    name: "flushmark.css",
    media_type: "text/css; charset=utf-8",
    text: include_str!("../assets/style.css"),
};
/// The script that draws the charts of a page from its data.
pub const SCRIPT: Asset = Asset {
    name: "flushmark.js",
    media_type: "text/javascript; charset=utf-8",
    text: concat!(
        "(() => {\n\"use strict\";\n",
        include_str!("../assets/numbers.js"),
        include_str!("../assets/theme.js"),
        include_str!("../assets/options.js"),
        include_str!("../assets/latency_charts.js"),
        include_str!("../assets/rate_charts.js"),
        include_str!("../assets/curves.js"),
        include_str!("../assets/osd_charts.js"),
        include_str!("../assets/trend.js"),
        include_str!("../assets/page.js"),
        "})();\n"
    ),
};
/// Apache ECharts 6.1.0, as released by the project (`vendor/README.md`).
pub const ECHARTS: Asset = Asset {
    name: "echarts-6.1.0.min.js",
    media_type: "text/javascript; charset=utf-8",
    text: include_str!("../vendor/echarts-6.1.0/echarts.min.js"),
};

impl Asset {
    /// The name under which a server offers it. It contains part of the digest, so browsers may
    /// cache it forever.
    pub fn served_name(&self) -> String {
        let digest: String =
            Sha256::digest(self.text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        match self.name.rsplit_once('.') {
            Some((stem, ending)) => format!("{stem}-{digest}.{ending}"),
            None => format!("{}-{digest}", self.name),
        }
    }

    /// Returns whether it is a style sheet; otherwise it is a script.
    pub fn is_style(&self) -> bool {
        self.media_type.starts_with("text/css")
    }

    /// The digest as used in a content security policy: `sha256-...`.
    pub fn digest(&self) -> String {
        format!("sha256-{}", BASE64.encode(Sha256::digest(self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendored_files_match_the_release() {
        let sums = include_str!("../vendor/SHA256SUMS");
        let files: [(&str, &[u8]); 5] = [
            ("echarts-6.1.0/echarts.min.js", ECHARTS.text.as_bytes()),
            ("echarts-6.1.0/LICENSE", include_bytes!("../vendor/echarts-6.1.0/LICENSE")),
            ("echarts-6.1.0/NOTICE", include_bytes!("../vendor/echarts-6.1.0/NOTICE")),
            ("echarts-6.1.0/LICENSE-d3", include_bytes!("../vendor/echarts-6.1.0/LICENSE-d3")),
            (
                "echarts-6.1.0/LICENSE-zrender",
                include_bytes!("../vendor/echarts-6.1.0/LICENSE-zrender"),
            ),
        ];
        assert_eq!(sums.lines().count(), files.len());
        for (name, bytes) in files {
            let digest: String =
                Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(sums.contains(&format!("{digest}  {name}\n")), "{name} is {digest}");
        }
    }

    #[test]
    fn the_served_name_depends_on_the_content() {
        let asset = Asset { name: "a.min.js", media_type: "text/javascript", text: "1" };
        insta::assert_snapshot!(asset.served_name(), @"a.min-6b86b273ff34fce1.js");
        assert_ne!(asset.served_name(), Asset { text: "2", ..asset }.served_name());
    }

    #[test]
    fn nothing_in_an_asset_ends_the_element_that_holds_it() {
        for asset in [STYLE, SCRIPT, ECHARTS] {
            let text = asset.text.to_ascii_lowercase();
            for end in ["</script", "</style", "<!--"] {
                assert!(!text.contains(end), "{} has {end}", asset.name);
            }
        }
    }
}
