//! `cargo xtask site`: the documentation as a website, in `target/site`.
//!
//! mdBook renders it: one program without plugins, in Rust like everything else here. (Material for
//! MkDocs only gets critical fixes since its authors began its successor in 2025.) The pages keep
//! their places relative to each other, so links that work in the repository work here. The
//! navigation is the index `docs/README.md`; the reference of commands, findings and schemas is
//! generated from their definitions.
//!
//! | module | content |
//! | --- | --- |
//! | `findings` | the page about all findings, from the code that makes them |
//! | `links` | a check of every link and anchor of the site |
//! | `navigation` | mdBook's list of chapters, from the index |
//! | `schema` | a page for a JSON schema |

mod findings;
mod links;
mod navigation;
mod schema;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::build;
use crate::command::{command, output, root};

/// The release of mdBook that is installed and used.
const MDBOOK: &str = "0.5.4";

/// Pages outside of `docs` to which pages link.
const PROJECT: [(&str, &str); 3] = [
    ("CHANGELOG.md", "Changes"),
    ("CONTRIBUTING.md", "Contributing"),
    ("ARCHITECTURE.md", "Architecture"),
];

const BOOK: &str = r#"[book]
title = "flushmark"
language = "en"
src = "source"

[build]
build-dir = "../site"
create-missing = false
# No includes, and README.md is not renamed: the pages are those of the repository.
use-default-preprocessors = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
additional-css = ["site.css"]
smart-punctuation = false
no-section-label = true

[output.html.print]
enable = false

[output.html.search]
limit-results = 20
"#;

const STYLE: &str = "\
main img { max-width: 100%; height: auto }
main img[src$='path.svg'] { display: block; width: 100%; max-width: 32rem; margin: 0 auto }
.table-wrapper { overflow-x: auto }
.content main td { vertical-align: top }
@media (max-width: 600px) {
  .content main table { font-size: 0.9em }
  .content main td, .content main th { padding: 3px 8px }
}
";

const FIRST: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>flushmark</title>\n\
    <meta http-equiv=\"refresh\" content=\"0; url=docs/README.html\">\n\
    <a href=\"docs/README.html\">flushmark's documentation</a>\n";

/// Builds the site, checks its links and returns its first page.
pub fn build() -> anyhow::Result<PathBuf> {
    let mdbook = install()?;
    let [book, site] = ["book", "site"].map(|name| root().join("target").join(name));
    for directory in [&book, &site] {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
    }
    let source = book.join("source");
    let docs = root().join("docs");
    copy_tree(&docs, &source.join("docs"))?;
    copy_tree(&root().join("schemas"), &source.join("schemas"))?;
    copy_pages(&root().join("fleet"), &source.join("fleet"))?;
    for (page, _) in PROJECT {
        fs::copy(root().join(page), source.join(page))?;
    }
    let verbs = commands(&source.join("reference/commands"))?;
    let schemas = schemas(&source.join("reference/schemas"))?;
    fs::write(source.join("reference/findings.md"), findings::page(&root())?)?;

    let mut chapters = navigation::of_index(&fs::read_to_string(docs.join("README.md"))?);
    navigation::ensure_complete(&chapters, &docs)?;
    chapters.push(navigation::Part::generated("Commands", "reference/commands", &verbs));
    chapters.push(navigation::Part::new("Findings", &[("All findings", "reference/findings.md")]));
    chapters.push(navigation::Part::generated("JSON schemas", "reference/schemas", &schemas));
    chapters.push(navigation::Part::pages("Many hosts", &source, "fleet")?);
    let project = PROJECT.map(|(page, title)| (title, page));
    chapters.push(navigation::Part::new("Project", &project));
    fs::write(source.join("SUMMARY.md"), navigation::summary(&chapters))?;
    fs::write(book.join("book.toml"), BOOK)?;
    fs::write(book.join("site.css"), STYLE)?;

    let built = command(&mdbook.to_string_lossy(), &["build"]).current_dir(&book).output()?;
    let said = String::from_utf8_lossy(&built.stderr);
    ensure!(built.status.success(), "mdbook ended with {}:\n{said}", built.status);
    ensure!(!said.contains("WARN"), "mdbook warns:\n{said}");
    // mdBook's copy of the first page has links that only work in the directory of that page.
    fs::write(site.join("index.html"), FIRST)?;
    let checked = links::check(&site)?;
    println!("{} pages, {} links", checked.pages, checked.links);
    Ok(site.join("index.html"))
}

/// mdBook, installed in the target directory unless it is there.
fn install() -> anyhow::Result<PathBuf> {
    let tools = build::target_directory().join("tools");
    let program = tools.join("bin/mdbook");
    let version = output(&program.to_string_lossy(), &["--version"]);
    if version.is_ok_and(|version| version.contains(MDBOOK)) {
        return Ok(program);
    }
    let build = tools.join("build");
    let tools = tools.to_string_lossy().into_owned();
    // Unoptimised: rendering takes two seconds, and optimising it would take minutes.
    let args = [
        "install", "--quiet", "--locked", "--debug", "--no-default-features", "--features",
        "search", "--version", MDBOOK, "--root", &tools, "mdbook",
    ];
    let status = command("cargo", &args)
        .env("CARGO_TARGET_DIR", build)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "installing mdbook {MDBOOK} ended with {status}");
    Ok(program)
}

/// A page for each verb; returns the verbs.
fn commands(directory: &Path) -> anyhow::Result<Vec<String>> {
    let directory = directory.to_string_lossy();
    let args = ["run", "--quiet", "--package", "flushmark", "--", "reference", &directory];
    Ok(output("cargo", &args)?.lines().map(str::to_owned).collect())
}

/// A page for each schema; returns their names.
fn schemas(directory: &Path) -> anyhow::Result<Vec<String>> {
    fs::create_dir_all(directory)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("schemas"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let schema = serde_json::from_slice(&fs::read(&path)?)
            .with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(directory.join(&name).with_extension("md"), schema::page(&name, &schema))?;
        names.push(name);
    }
    names.sort();
    Ok(names)
}

fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    copy_if(from, to, &|_| true)
}

/// Copies pages and the documents to which they link.
fn copy_pages(from: &Path, to: &Path) -> anyhow::Result<()> {
    let is_wanted = |extension: &OsStr| extension == "md" || extension == "json";
    copy_if(from, to, &|path| path.extension().is_some_and(is_wanted))
}

fn copy_if(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_if(&path, &copy, wanted)?;
        } else if wanted(&path) {
            fs::create_dir_all(to)?;
            fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}
