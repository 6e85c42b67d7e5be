//! The page about all findings, from the source of the crate that makes them: for each finding its
//! name, the comment that explains it, and the sentences of its title and its advice, in which
//! three dots stand for what is measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// The parts of the crate, in the order of the page.
const PARTS: [(&str, &str); 9] = [
    ("findings", "About measured storage"),
    ("cache_setting.rs", "About the setting of a write cache"),
    ("probes", "About the inside of a drive"),
    ("drives.rs", "About drives and what the kernel believes"),
    ("audit", "About the settings of a host"),
    ("trace", "About traced commits"),
    ("database", "About database servers"),
    ("cluster", "About Ceph clusters"),
    ("imported.rs", "About results of other tools"),
];

/// The parts whose files hold several findings, which the comments of their functions explain.
const SEVERAL: [&str; 4] = ["cache_setting.rs", "drives.rs", "audit", "imported.rs"];

/// Fewer mean that the source is no longer read correctly.
const FINDINGS_MIN: usize = 90;

/// Functions that make a line of the audit, whose first argument is its name.
const AUDIT_LINES: [&str; 4] = ["good(", "costs(", "dangerous(", "line("];

/// One finding.
#[derive(Debug, Default, PartialEq, Eq)]
struct Described {
    meaning: String,
    titles: Vec<String>,
    advice: Vec<String>,
}

/// The page as Markdown.
pub fn page(root: &Path) -> anyhow::Result<String> {
    let source = root.join("crates/judge/src");
    let mut page = "# Findings\n\nEvery finding has a name, which the JSON documents contain as \
                    `id`. Its title is a sentence with figures, shown as … here; a finding that \
                    has several forms lists them. What is to be done follows.\n\n"
        .to_owned();
    let mut count = 0;
    for (part, title) in PARTS {
        let _ = writeln!(page, "## {title}\n");
        let mut found = BTreeMap::new();
        read(&source.join(part), SEVERAL.contains(&part), &mut found)?;
        for (id, described) in &found {
            describe(&mut page, id, described);
        }
        count += found.len();
    }
    ensure!(count >= FINDINGS_MIN, "only {count} findings were found in {}", source.display());
    Ok(page)
}

fn describe(page: &mut String, id: &str, described: &Described) {
    let _ = writeln!(page, "### `{id}`\n");
    if !described.meaning.is_empty() {
        let _ = writeln!(page, "{}\n", described.meaning);
    }
    for (label, sentences) in [("Says", &described.titles), ("To do", &described.advice)] {
        match sentences.as_slice() {
            [] => {}
            [one] => {
                let _ = writeln!(page, "**{label}:** {one}\n");
            }
            several => {
                let _ = writeln!(page, "**{label}:**\n");
                for sentence in several {
                    let _ = writeln!(page, "- {sentence}");
                }
                page.push('\n');
            }
        }
    }
}

fn read(
    path: &Path,
    is_several: bool,
    found: &mut BTreeMap<String, Described>,
) -> anyhow::Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !["mod.rs", "tests.rs", "line.rs", "words.rs"].contains(&name.as_str()) {
                read(&entry.path(), is_several, found)?;
            }
        }
        return Ok(());
    }
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    for (id, described) in in_source(&text, is_several) {
        let known = found.entry(id).or_default();
        if known.meaning.is_empty() {
            known.meaning = described.meaning;
        }
        known.titles.extend(described.titles);
        known.advice.extend(described.advice);
        for sentences in [&mut known.titles, &mut known.advice] {
            let mut seen = Vec::new();
            sentences.retain(|one| {
                !seen.contains(one) && {
                    seen.push(one.clone());
                    true
                }
            });
        }
    }
    Ok(())
}

/// The findings of one file.
fn in_source(text: &str, is_several: bool) -> Vec<(String, Described)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let header: Vec<&str> =
        code.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let header = header.join(" ");
    let mut found = Vec::new();
    for function in functions(code) {
        let ids = ids(function.body);
        if ids.is_empty() {
            continue;
        }
        let meaning = if is_several { &function.comment } else { &header };
        let mut advice = sentences_after(function.body, "advice");
        let mut titles = sentences_after(function.body, "title");
        if titles.is_empty() {
            // Passed to a function: the sentences differ in form.
            titles = sentences(function.body);
            titles.retain(|sentence| !advice.contains(sentence));
        }
        advice.retain(|sentence| !titles.contains(sentence));
        for id in ids {
            let described = Described {
                meaning: plain(meaning),
                titles: titles.clone(),
                advice: advice.clone(),
            };
            found.push((id, described));
        }
    }
    found
}

struct Function<'a> {
    /// Its doc comment.
    comment: String,
    body: &'a str,
}

/// The functions of a file, each up to the next one.
fn functions(code: &str) -> Vec<Function<'_>> {
    let mut starts = Vec::new();
    let mut comment = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(text) = trimmed.strip_prefix("///") {
            comment.push(text.trim().to_owned());
        } else if !trimmed.starts_with("#[") {
            let is_function = ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn "]
                .iter()
                .any(|start| line.trim_start().starts_with(start));
            if is_function {
                starts.push((at, comment.join(" ")));
            }
            comment.clear();
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([code.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|((start, comment), end)| Function {
            comment: comment.clone(),
            body: &code[*start..end],
        })
        .collect()
}

/// The names of findings: after `id:`, or as an argument of a function that makes them.
fn ids(body: &str) -> Vec<String> {
    let starts = ["id: ", "from_views(record, "].into_iter().chain(AUDIT_LINES);
    let mut ids = Vec::new();
    for start in starts {
        for rest in body.split(start).skip(1) {
            let Some(rest) = rest.trim_start().strip_prefix('"') else { continue };
            let id = rest.split('"').next().unwrap_or_default();
            let is_name = !id.is_empty()
                && id.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
            if is_name && !ids.contains(&id.to_owned()) {
                ids.push(id.to_owned());
            }
        }
    }
    ids
}

/// The sentences in the values of a field or a variable of this name.
fn sentences_after(body: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in [format!("{name}:"), format!("let {name} =")] {
        for (at, _) in body.match_indices(&start) {
            let is_word = !body[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if is_word {
                found.extend(sentences(value(&body[at + start.len()..])));
            }
        }
    }
    found
}

/// The expression up to the comma, semicolon or bracket that ends it.
fn value(rest: &str) -> &str {
    let mut depth = 0_i32;
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, c) in rest.char_indices() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        match c {
            '"' => in_string = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ',' | ';' if depth == 0 => return &rest[..at],
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    rest
}

/// The string literals that are sentences.
fn sentences(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find('"') {
        let mut literal = String::new();
        let mut chars = rest[at + 1..].char_indices();
        let mut end = rest.len();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    end = at + 1 + offset + 1;
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, '\n')) => literal.push('\n'),
                    Some((_, c)) => literal.push(c),
                    None => {}
                },
                c => literal.push(c),
            }
        }
        rest = &rest[end..];
        let sentence = template(&literal);
        if sentence.contains(' ') && sentence.ends_with(['.', '?']) {
            found.push(sentence);
        }
    }
    found
}

/// Without the indentation of continued lines, and with dots for placeholders.
fn template(literal: &str) -> String {
    let mut text = String::new();
    for (at, line) in literal.split('\n').enumerate() {
        text.push_str(if at == 0 { line } else { line.trim_start() });
    }
    let mut sentence = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('{') {
        sentence.push_str(&rest[..at]);
        sentence.push('…');
        rest = rest[at..].split_once('}').map_or("", |(_, after)| after);
    }
    sentence.push_str(rest);
    plain(&sentence)
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    text.replace('<', "&lt;").replace("[`", "`").replace("`]", "`").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::root;

    const SOURCE: &str = r#"//! Drives that
//! forget.

fn judge() -> Option<Finding> {
    let title = match x {
        1 => format!("The drive {name} forgets {} \
                      things.", n),
        _ => "It forgets.".to_owned(),
    };
    Some(Finding {
        id: "it-forgets".to_owned(),
        title,
        evidence: vec![Evidence::fact("a b.", 1)],
        advice: "Replace it, now. Run `x`.".to_owned(),
    })
}

/// Slow ones.
fn slow() -> AuditLine {
    costs("slow", subject, found, "It costs time.")
}
"#;

    #[test]
    fn names_sentences_and_meanings_are_read() {
        let found = in_source(SOURCE, false);
        assert_eq!(found.len(), 2, "{found:?}");
        let (id, forgets) = &found[0];
        assert_eq!(id, "it-forgets");
        assert_eq!(forgets.meaning, "Drives that forget.");
        assert_eq!(forgets.titles, ["The drive … forgets … things.", "It forgets."]);
        assert_eq!(forgets.advice, ["Replace it, now. Run `x`."]);
        let (id, slow) = &found[1];
        assert_eq!((id.as_str(), slow.meaning.as_str()), ("slow", "Drives that forget."));
        assert_eq!(slow.titles, ["It costs time."]);
        assert_eq!(in_source(SOURCE, true)[1].1.meaning, "Slow ones.");
    }

    #[test]
    fn every_finding_says_something() {
        let page = page(&root()).unwrap();
        let silent: Vec<&str> = page
            .split("\n### ")
            .skip(1)
            .filter(|finding| !finding.contains("**Says:**"))
            .map(|finding| finding.lines().next().unwrap_or_default())
            .collect();
        assert!(silent.is_empty(), "findings without a sentence: {silent:?}");
        for known in ["`no-power-loss-protection`", "`flush-vanished`", "`ceph-full`"] {
            assert!(page.contains(known), "{known}");
        }
    }
}
