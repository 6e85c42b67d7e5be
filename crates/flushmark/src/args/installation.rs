//! Arguments of the verbs that complete an installation: `completions` and `manual`.

use std::path::PathBuf;

use clap::Parser;
use clidocs::completions::Shell;

/// Print the script that completes arguments in a shell
///
/// Packages install it. The shell then asks flushmark itself for verbs, options, suites, models and
/// drives.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  source <(flushmark completions bash)
  flushmark completions zsh > ~/.zfunc/_flushmark
  flushmark completions fish > ~/.config/fish/completions/flushmark.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Write the manual pages of all verbs to a directory
///
/// Packages install them. Existing pages in the directory are replaced.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark manual ~/.local/share/man/man1
  man flushmark-check")]
pub struct ManualArgs {
    /// The directory, which is created if it does not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
