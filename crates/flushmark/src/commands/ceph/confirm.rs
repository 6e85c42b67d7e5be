//! Asks before a command changes the cluster.

use std::io::{IsTerminal as _, Write as _};

use crate::exit::WrongUse;

/// Shows the commands below a heading, and asks whether to send them. `what` is the sentence for a
/// script, which cannot be asked.
///
/// # Errors
/// If the user declines, or nobody can be asked.
pub fn confirm(what: &str, heading: &str, commands: &[String]) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(WrongUse(format!("{what} and must be confirmed; add --yes in a script")).into());
    }
    let mut stderr = std::io::stderr();
    writeln!(stderr, "{heading}")?;
    for command in commands {
        writeln!(stderr, "  {command}")?;
    }
    write!(stderr, "Continue? [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "yes") {
        return Err(WrongUse("nothing was changed".to_owned()).into());
    }
    Ok(())
}
