//! `flushmark reference`: the pages of the website about each verb.

use anyhow::Context as _;

use super::print;
use crate::args::ReferenceArgs;
use crate::exit::ExitStatus;
use crate::reference;

/// Writes a page for each verb into a directory, and prints their names.
pub fn run(args: &ReferenceArgs) -> anyhow::Result<ExitStatus> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for page in reference::pages(&crate::help::command()) {
        let path = directory.join(&page.verb).with_extension("md");
        std::fs::write(&path, page.markdown)
            .with_context(|| format!("cannot write {}", path.display()))?;
        print(&format!("{}\n", page.verb))?;
    }
    Ok(ExitStatus::Done)
}
