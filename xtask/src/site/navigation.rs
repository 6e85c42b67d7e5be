//! mdBook's list of chapters, made from the index of the documentation.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::ensure;

/// A heading with its pages.
pub struct Part {
    title: String,
    /// Titles, and paths below the source of the book.
    pages: Vec<(String, String)>,
}

impl Part {
    pub fn new(title: &str, pages: &[(&str, &str)]) -> Part {
        let pages = pages.iter().map(|&(title, path)| (title.to_owned(), path.to_owned()));
        Part { title: title.to_owned(), pages: pages.collect() }
    }

    /// Generated pages, named as their files.
    pub fn generated(title: &str, directory: &str, names: &[String]) -> Part {
        let pages = names.iter().map(|name| (name.clone(), format!("{directory}/{name}.md")));
        Part { title: title.to_owned(), pages: pages.collect() }
    }

    /// All pages below this directory, by their headings.
    pub fn pages(title: &str, source: &Path, directory: &str) -> anyhow::Result<Part> {
        let mut pages = Vec::new();
        for path in markdown_below(&source.join(directory))? {
            let text = fs::read_to_string(&path)?;
            let heading = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Page");
            let path = path.strip_prefix(source)?.to_string_lossy().into_owned();
            pages.push((heading.to_owned(), path));
        }
        Ok(Part { title: title.to_owned(), pages })
    }
}

/// The parts of the index: its headings of the second level, each with the links in the first
/// column of its table.
pub fn of_index(index: &str) -> Vec<Part> {
    let mut parts = vec![Part::new("flushmark", &[("Overview", "docs/README.md")])];
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            parts.push(Part::new(title, &[]));
        }
        let Some(first) = line.strip_prefix("| ").and_then(|row| row.split(" |").next()) else {
            continue;
        };
        if let Some(part) = parts.last_mut() {
            part.pages.extend(links(first).map(|(title, page)| (title, format!("docs/{page}"))));
        }
    }
    parts
}

fn links(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split('[').skip(1).filter_map(|link| {
        let (title, rest) = link.split_once("](")?;
        let (page, _) = rest.split_once(')')?;
        Some((title.to_owned(), page.to_owned()))
    })
}

/// Fails if the index leaves a page out.
pub fn ensure_complete(parts: &[Part], docs: &Path) -> anyhow::Result<()> {
    let listed: BTreeSet<&str> =
        parts.iter().flat_map(|part| &part.pages).map(|(_, path)| path.as_str()).collect();
    for page in markdown_below(docs)? {
        let name = format!("docs/{}", page.strip_prefix(docs)?.display());
        ensure!(listed.contains(name.as_str()), "docs/README.md does not list {name}");
    }
    Ok(())
}

fn markdown_below(directory: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(markdown_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

/// mdBook's `SUMMARY.md`.
pub fn summary(parts: &[Part]) -> String {
    let mut text = "# Summary\n".to_owned();
    for part in parts {
        let _ = writeln!(text, "\n# {}\n", part.title);
        for (title, path) in &part.pages {
            let _ = writeln!(text, "- [{title}]({path})");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::root;

    #[test]
    fn the_index_is_the_navigation() {
        let index = "# Docs\n\n## One\n\n| page | content |\n| --- | --- |\n\
                     | [A](a.md), [B](b/c.md) | see [D](d.md) |\n\n## Two\n";
        let text = summary(&of_index(index));
        insta::assert_snapshot!(text, @r"
        # Summary

        # flushmark

        - [Overview](docs/README.md)

        # One

        - [A](docs/a.md)
        - [B](docs/b/c.md)

        # Two
        ");
    }

    #[test]
    fn the_index_lists_every_page() {
        let docs = root().join("docs");
        let index = fs::read_to_string(docs.join("README.md")).unwrap();
        ensure_complete(&of_index(&index), &docs).unwrap();
        let incomplete = of_index(&index.replace("concepts.md", "other.md"));
        let error = ensure_complete(&incomplete, &docs).unwrap_err();
        assert_eq!(error.to_string(), "docs/README.md does not list docs/concepts.md");
    }
}
