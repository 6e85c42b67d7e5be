//! A check of the links and anchors of the site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::bail;

/// The numbers of pages and links that were checked.
#[derive(Debug)]
pub struct Checked {
    pub pages: usize,
    pub links: usize,
}

/// Fails if a link leads to no file of the site, or to no element of its page. Links to other
/// servers are not followed.
pub fn check(site: &Path) -> anyhow::Result<Checked> {
    let mut pages = BTreeMap::new();
    read_pages(site, &mut pages)?;
    let anchors: BTreeMap<&PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|(path, html)| (path, attributes(html, " id=\"").map(str::to_owned).collect()))
        .collect();
    let (mut links, mut broken) = (0, Vec::new());
    for (page, html) in &pages {
        // For servers, which answer with it in any directory.
        if page.ends_with("404.html") {
            continue;
        }
        for link in attributes(html, " href=\"").chain(attributes(html, " src=\"")) {
            if link.contains("://")
                || ["mailto:", "data:", "javascript:"].iter().any(|scheme| link.starts_with(scheme))
            {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                normal(&page.parent().unwrap_or(site).join(path))
            };
            let place = page.strip_prefix(site).unwrap_or(page).display();
            if !target.exists() {
                broken.push(format!("{place}: {link}: there is no such file"));
            } else if !anchor.is_empty()
                && anchors.get(&target).is_some_and(|known| !known.contains(anchor))
            {
                broken.push(format!("{place}: {link}: the page has no such anchor"));
            }
        }
    }
    if !broken.is_empty() {
        bail!("{} broken links:\n  {}", broken.len(), broken.join("\n  "));
    }
    Ok(Checked { pages: pages.len(), links })
}

fn read_pages(directory: &Path, pages: &mut BTreeMap<PathBuf, String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let html = fs::read_to_string(&path)?;
            pages.insert(path, html);
        }
    }
    Ok(())
}

/// The values of an attribute; `start` is its name with what is around it.
fn attributes<'a>(html: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(start).skip(1).filter_map(|rest| rest.split('"').next())
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_and_anchors_are_named() {
        let site = tempfile::tempdir().unwrap();
        fs::create_dir(site.path().join("a")).unwrap();
        fs::write(site.path().join("index.html"), "<p id=\"top\"><a href=\"a/b.html#x\">").unwrap();
        let page = "<h1 id=\"x\"><a href=\"../index.html#top\"><a href=\"https://e.org/\">";
        fs::write(site.path().join("a/b.html"), page).unwrap();
        let checked = check(site.path()).unwrap();
        assert_eq!((checked.pages, checked.links), (2, 2));

        let page = "<h1 id=\"x\"><a href=\"../index.html#bottom\"><img src=\"c.svg\">";
        fs::write(site.path().join("a/b.html"), page).unwrap();
        let error = check(site.path()).unwrap_err().to_string();
        insta::assert_snapshot!(error, @r"
        2 broken links:
          a/b.html: ../index.html#bottom: the page has no such anchor
          a/b.html: c.svg: there is no such file
        ");
    }
}
