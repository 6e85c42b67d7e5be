//! The frame of a page: head, content security policy, assets.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unseen::{is_unseen, mask, masked};

use crate::MARKER;
use crate::assets::{Asset, ECHARTS, SCRIPT, STYLE};
use crate::charts::figure::Figures;

/// The location of a page's style and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assets<'a> {
    /// Embedded in the page, which is then self-contained.
    Inline,
    /// On the server of the page.
    Linked {
        /// The path prefix of the assets on the server, such as `/assets/`.
        below: &'a str,
        /// Additional styles and scripts of this page.
        more: &'a [Asset],
    },
}

impl<'a> Assets<'a> {
    fn more(self) -> &'a [Asset] {
        match self {
            Assets::Inline => &[],
            Assets::Linked { more, .. } => more,
        }
    }
}

#[derive(Debug)]
pub struct Page<'a> {
    /// Title for the browser's tab.
    pub title: &'a str,
    /// Markup above the content: a server's navigation.
    pub above: Markup,
    pub main: Markup,
    /// The data of the charts in the content.
    pub figures: &'a Figures,
    /// Location of the style and the scripts.
    pub assets: Assets<'a>,
}

pub fn html(page: &Page<'_>) -> String {
    let has_charts = !page.figures.is_empty();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                (PreEscaped(MARKER))
                meta http-equiv="Content-Security-Policy" content=(policy(page.assets));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content=(referrer(page.assets));
                // An empty icon keeps browsers from requesting one from the server.
                link rel="icon" href="data:,";
                title { (masked(page.title)) }
                (style(STYLE, page.assets))
                @for own in page.assets.more().iter().filter(|own| own.is_style()) { (style(*own, page.assets)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                (shown(&page.above))
                main #main tabindex="-1" { (shown(&page.main)) }
                @if has_charts {
                    script #chart-data type="application/json" { (PreEscaped(embedded_json(page.figures))) }
                    (script(ECHARTS, page.assets))
                    (script(SCRIPT, page.assets))
                }
                @for own in page.assets.more().iter().filter(|own| !own.is_style()) { (script(*own, page.assets)) }
            }
        }
    }
    .into_string()
}

/// Markup with invisible characters made visible. Values of forms stay unchanged, because a tag or
/// a note is found and stored by its exact text.
fn shown(markup: &Markup) -> Markup {
    let html = &markup.0;
    if !html.chars().any(|c| c != '\n' && is_unseen(c)) {
        return PreEscaped(html.clone());
    }
    let mut shown = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while !rest.is_empty() {
        // Texts and attributes contain no raw brackets.
        let (part, is_exact) = match rest.strip_prefix('<') {
            None => (rest.find('<').unwrap_or(rest.len()), false),
            Some(_) if rest.starts_with("<textarea") => {
                (rest.find("</textarea").unwrap_or(rest.len()), true)
            }
            Some(tag) => {
                let is_exact =
                    ["input", "option", "button"].iter().any(|name| tag.starts_with(name));
                (rest.find('>').map_or(rest.len(), |end| end + 1), is_exact)
            }
        };
        let (part, after) = rest.split_at(part);
        if is_exact {
            shown += part;
        } else {
            shown.extend(part.chars().map(|c| if c == '\n' { c } else { mask(c) }));
        }
        rest = after;
    }
    PreEscaped(shown)
}

/// The content security policy: no other origin, and only flushmark's own scripts and style sheets.
/// Style attributes are allowed because the chart library sets them.
pub fn policy(assets: Assets<'_>) -> String {
    let (scripts, styles) = match assets {
        Assets::Inline => (
            format!("'{}' '{}'", ECHARTS.digest(), SCRIPT.digest()),
            format!("'{}'", STYLE.digest()),
        ),
        Assets::Linked { .. } => ("'self'".to_owned(), "'self'".to_owned()),
    };
    let connect = if assets == Assets::Inline { "'none'" } else { "'self'" };
    format!(
        "default-src 'none'; script-src {scripts}; style-src-elem {styles}; style-src-attr \
         'unsafe-inline'; img-src data:; \
         connect-src {connect}; form-action 'self'; base-uri 'none'"
    )
}

/// Browsers that must not send a referrer also send forms without an origin, by which a server
/// recognises its own pages.
fn referrer(assets: Assets<'_>) -> &'static str {
    match assets {
        Assets::Inline => "no-referrer",
        Assets::Linked { .. } => "same-origin",
    }
}

fn style(asset: Asset, assets: Assets<'_>) -> Markup {
    match assets {
        Assets::Inline => html! { style { (PreEscaped(asset.text)) } },
        Assets::Linked { below, .. } => {
            html! { link rel="stylesheet" href={ (below) (asset.served_name()) }; }
        }
    }
}

fn script(asset: Asset, assets: Assets<'_>) -> Markup {
    match assets {
        Assets::Inline => html! { script { (PreEscaped(asset.text)) } },
        Assets::Linked { below, .. } => html! { script src={ (below) (asset.served_name()) } {} },
    }
}

/// JSON that is safe within a `script` element whatever its texts contain: no `<` that could end
/// the element or begin a comment, and neither of the two line separators that older scripts do not
/// accept within a string. Invisible characters in texts of charts are made visible.
pub fn embedded_json(value: &impl serde::Serialize) -> String {
    // Every type passed here can be serialised: numbers, texts, lists, maps with text keys.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
        .chars()
        .map(mask)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element_that_holds_it() {
        let hostile = "</script><!-- <b> & \u{2028}\u{2029}";
        let json = embedded_json(&[hostile]);
        insta::assert_snapshot!(json, @r#"["\u003c/script\u003e\u003c!-- \u003cb\u003e \u0026 \u2028\u2029"]"#);
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [hostile]);
    }

    #[test]
    fn nothing_hides_in_a_page() {
        let name = "a\u{202e}b\u{200b}c";
        let markup = html! { p title=(name) { (name) "\n" (name) } input value=(name); textarea { (name) } p { (name) } };
        assert_eq!(
            shown(&markup).into_string(),
            "<p title=\"a\u{fffd}b\u{fffd}c\">a\u{fffd}b\u{fffd}c\na\u{fffd}b\u{fffd}c</p><input \
             value=\"a\u{202e}b\u{200b}c\">\
             <textarea>a\u{202e}b\u{200b}c</textarea><p>a\u{fffd}b\u{fffd}c</p>"
        );
        assert_eq!(embedded_json(&[name]), "[\"a\u{fffd}b\u{fffd}c\"]");
        let figures = Figures::default();
        let assets = Assets::Linked { below: "/", more: &[] };
        let page = html(&Page {
            title: name,
            above: html! { (name) },
            main: html! { (name) },
            figures: &figures,
            assets,
        });
        assert!(!page.chars().any(|c| c != '\n' && is_unseen(c)), "{page}");
    }

    #[test]
    fn a_server_s_page_links_what_a_file_holds() {
        let figures = Figures::default();
        let page = |assets| {
            html(&Page {
                title: "<&>",
                above: html! {},
                main: html! { p { "text" } },
                figures: &figures,
                assets,
            })
        };
        let linked = page(Assets::Linked { below: "/assets/", more: &[] })
            .replace(&STYLE.served_name(), "STYLE");
        insta::assert_snapshot!(linked, @r##"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="flushmark report"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src-elem 'self'; style-src-attr 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="same-origin"><link rel="icon" href="data:,"><title>&lt;&amp;&gt;</title><link rel="stylesheet" href="/assets/STYLE"></head><body><a class="skip" href="#main">Skip to the results</a><main id="main" tabindex="-1"><p>text</p></main></body></html>"##);
        assert!(page(Assets::Inline).contains(STYLE.text));
    }
}
