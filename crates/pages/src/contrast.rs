//! Checks the contrast of all colours, computed as the Web Content Accessibility Guidelines 2.2
//! define it (success criteria 1.4.3 and 1.4.11): at least 4.5 for text against its background, at
//! least 3 for what a chart draws. A colour of an unknown kind fails, so every new colour is
//! checked.

use std::collections::BTreeMap;

const TEXT_MIN: f64 = 4.5;
const MARK_MIN: f64 = 3.0;

/// Red, green and blue from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Colour([f64; 3]);

impl Colour {
    /// `#rrggbb`, or `rgba(r, g, b, a)` blended with a background.
    fn over(text: &str, ground: Option<Colour>) -> Colour {
        if let Some(hex) = text.strip_prefix('#') {
            assert_eq!(hex.len(), 6, "{text}");
            return Colour(
                [0, 2, 4]
                    .map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0),
            );
        }
        let parts = text
            .strip_prefix("rgba(")
            .and_then(|rest| rest.strip_suffix(')'))
            .unwrap_or_else(|| panic!("{text}"));
        let parts: Vec<f64> = parts.split(',').map(|part| part.trim().parse().unwrap()).collect();
        let [red, green, blue, alpha] = parts[..] else { panic!("{text}") };
        let ground = ground.unwrap().0;
        let mut laid = [red, green, blue].map(|part| part / 255.0);
        for (part, below) in laid.iter_mut().zip(ground) {
            *part = *part * alpha + below * (1.0 - alpha);
        }
        Colour(laid)
    }

    fn of(text: &str) -> Colour {
        Colour::over(text, None)
    }

    fn luminance(self) -> f64 {
        let linear = |part: f64| {
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(self, other: Colour) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }
}

/// The names between two lines of a text, each with the colours on its line.
fn named(text: &str, from: &str, until: &str) -> BTreeMap<String, Vec<String>> {
    let block =
        text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1.split_once(until).unwrap().0;
    let lines =
        block.lines().filter_map(|line| line.trim().trim_end_matches([',', ';']).split_once(": "));
    let of_line = |(name, value): (&str, &str)| {
        let colours: Vec<String> = if value.contains('"') {
            value.split('"').skip(1).step_by(2).map(str::to_owned).collect()
        } else {
            vec![value.to_owned()]
        };
        (name.to_owned(), colours)
    };
    lines
        .map(of_line)
        .filter(|(_, colours)| colours.iter().all(|colour| colour.starts_with(['#', 'r'])))
        .collect()
}

fn expect(what: &str, colour: Colour, ground: Colour, least: f64) {
    let contrast = colour.contrast(ground);
    assert!(contrast >= least, "{what}: {contrast:.2} to 1, expected at least {least}");
}

const STYLE: &str = include_str!("../assets/style.css");
const THEME: &str = include_str!("../assets/theme.js");

fn styles() -> [(&'static str, BTreeMap<String, Vec<String>>); 3] {
    let dark = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap().1;
    let print = STYLE.split_once("@media print").unwrap().1;
    [("light", STYLE), ("dark", dark), ("print", print)]
        .map(|(name, text)| (name, named(text, ":root {", "}")))
}

#[test]
fn the_formula_matches_the_guidelines() {
    // Black on white is the maximum, and #767676 is known as the lightest grey that passes on
    // white.
    assert!((Colour::of("#000000").contrast(Colour::of("#ffffff")) - 21.0).abs() < 1e-9);
    assert!((Colour::of("#767676").contrast(Colour::of("#ffffff")) - 4.54).abs() < 0.005);
    let grey = Colour::over("rgba(0, 0, 0, 0.5)", Some(Colour::of("#ffffff")));
    assert!(grey.0.iter().all(|part| (part - 0.5).abs() < 1e-9));
}

#[test]
fn text_has_contrast_on_every_background() {
    for (name, style) in styles() {
        let colour = |variable: &str| Colour::of(&style[variable][0]);
        for variable in style.keys() {
            match variable.as_str() {
                "--ground" | "--raised" => {
                    expect(name, colour("--accent"), colour(variable), TEXT_MIN);
                }
                "--text" | "--faint" | "--accent" | "--good" | "--middling" | "--bad"
                | "--worst" => {
                    for ground in ["--ground", "--raised"] {
                        expect(
                            &format!("{name}: {variable} on {ground}"),
                            colour(variable),
                            colour(ground),
                            TEXT_MIN,
                        );
                    }
                }
                // Lines and frames carry no information beyond the text and layout.
                "--line" => {}
                other => panic!("{name}: unknown kind of colour: {other}"),
            }
        }
        assert_eq!(style.len(), 10, "{name}: {style:?}");
    }
}

#[test]
fn chart_elements_have_contrast() {
    for ((name, style), from) in styles().into_iter().zip(["light: {", "dark: {"]) {
        let theme = named(THEME, from, "\n  },");
        let ground = Colour::of(&theme["ground"][0]);
        assert_eq!(theme["ground"], style["--ground"], "charts use the page's background");
        for (kind, colours) in &theme {
            for (index, text) in colours.iter().enumerate() {
                let colour = Colour::over(text, Some(ground));
                let what = format!("{name}: {kind} {index}, {text}");
                match kind.as_str() {
                    "text" | "faint" => expect(&what, colour, ground, TEXT_MIN),
                    "series" | "heat" | "span" | "published" | "stalled" => {
                        expect(&what, colour, ground, MARK_MIN);
                    }
                    // Background areas: a label or a mark identifies them, and text on them must be
                    // readable.
                    "steady" | "stall" => {
                        expect(&what, Colour::of(&theme["faint"][0]), colour, TEXT_MIN);
                    }
                    // The background itself, and axes and grid lines, which only guide the eye.
                    "ground" | "line" | "split" => {}
                    other => panic!("unknown kind of colour: {other}"),
                }
            }
        }
        assert_eq!(
            (theme["series"].len(), theme["heat"].len(), theme.len()),
            (7, 5, 12),
            "{theme:?}"
        );
        // Higher counts are darker on a light background and lighter on a dark one: each step is
        // farther from the background.
        let heat: Vec<f64> =
            theme["heat"].iter().map(|text| Colour::of(text).contrast(ground)).collect();
        assert!(heat.is_sorted(), "{heat:?}");
    }
}

#[test]
fn only_the_palette_contains_colours() {
    let rules: String = STYLE.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    assert!(
        !rules.contains('#')
            || !rules
                .split('#')
                .skip(1)
                .any(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit())),
        "{rules}"
    );
    for script in [
        include_str!("../assets/options.js"),
        include_str!("../assets/latency_charts.js"),
        include_str!("../assets/rate_charts.js"),
        include_str!("../assets/curves.js"),
        include_str!("../assets/osd_charts.js"),
        include_str!("../assets/trend.js"),
        include_str!("../assets/page.js"),
    ] {
        assert!(!script.contains("\"#"), "a colour outside of the palette");
    }
}
