//! Records what the program is built from, for `flushmark --version`.
//!
//! The commit is recorded in optimised builds only. Otherwise each commit would compile this crate
//! and link its tests again, for a line that nobody reads in a build that is not passed on.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let optimised = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if optimised { Commit::of_this_source() } else { None };
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"]));
    let record =
        |name: &str, value: &str| println!("cargo::rustc-env=FLUSHMARK_BUILD_{name}={value}");
    let (commit, date) = match &commit {
        Some(commit) if commit.modified => (format!("{}, modified", commit.id), &*commit.date),
        Some(commit) => (commit.id.clone(), &*commit.date),
        None => ("not recorded".to_owned(), ""),
    };
    record("COMMIT", &commit);
    record("DATE", date);
    record("TARGET", &std::env::var("TARGET").unwrap_or_default());
    record("COMPILER", compiler.as_deref().unwrap_or("unknown"));
}

struct Commit {
    id: String,
    /// Of the commit, YYYY-MM-DD in UTC.
    date: String,
    /// A file that belongs to the commit was changed.
    modified: bool,
}

impl Commit {
    /// `None` if the source is not a checkout, such as that of a package.
    fn of_this_source() -> Option<Commit> {
        let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?)
            .join("../..")
            .canonicalize()
            .ok()?;
        // The source may lie in a checkout of something else.
        let checkout = PathBuf::from(git(&root, &["rev-parse", "--show-toplevel"])?);
        if checkout.canonicalize().ok()? != root {
            return None;
        }
        // Again after a commit, and after a change of what is compiled.
        let reference = git(&root, &["symbolic-ref", "--quiet", "HEAD"]);
        for name in [Some("HEAD"), reference.as_deref(), Some("packed-refs")].into_iter().flatten()
        {
            let path = root.join(git(&root, &["rev-parse", "--git-path", name])?);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
        for name in ["Cargo.lock", "Cargo.toml", "crates"] {
            println!("cargo::rerun-if-changed={}", root.join(name).display());
        }
        let shown = git(
            &root,
            &["log", "-1", "--date=format-local:%Y-%m-%d", "--format=%h %cd", "--abbrev=12"],
        )?;
        let (id, date) = shown.split_once(' ')?;
        let changes = git(&root, &["status", "--porcelain", "--untracked-files=no"])?;
        Some(Commit { id: id.to_owned(), date: date.to_owned(), modified: !changes.is_empty() })
    }
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let root = root.to_str()?;
    output("git", &[&["-C", root][..], arguments].concat())
}

/// The output of a program; `None` if it cannot be started, or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    // Dates are those of UTC, wherever the build runs.
    let output = command.args(arguments).env("TZ", "UTC").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
