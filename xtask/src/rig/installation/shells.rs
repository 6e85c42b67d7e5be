//! The effect of Tab in a real shell.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::debian_root::Root;

#[derive(Debug, Clone, Copy)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub const ALL: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// The text typed before Tab, and the line that it must become.
const LINES: [(&str, &str); 6] = [
    ("flushmark exp", "flushmark explain"),
    ("flushmark results comp", "flushmark results compare"),
    ("flushmark check --fail-on zfs", "flushmark check --fail-on zfs-slog"),
    ("flushmark run --as", "flushmark run --as-published"),
    ("flushmark check sim:consumer-sa", "flushmark check sim:consumer-sata"),
    ("prefixsort --zero", "prefixsort --zero-terminated"),
];

impl Shell {
    pub const fn program(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
        }
    }

    pub fn test(self, root: &Root) -> anyhow::Result<()> {
        let lines = match self {
            Shell::Fish => completed_by_fish(root)?,
            Shell::Bash => in_terminal(root, "bash --noprofile --norc -i", SETUP_BASH)?,
            Shell::Zsh => in_terminal(root, "zsh -f -i", SETUP_ZSH)?,
        };
        let expected: Vec<&str> = LINES.iter().map(|(_, expected)| *expected).collect();
        ensure!(lines == expected, "the lines became {lines:#?}; expected {expected:#?}");
        Ok(())
    }
}

/// The setup of users' shells at their start.
const SETUP_BASH: &str = ". /usr/share/bash-completion/bash_completion";
const SETUP_ZSH: &str = "autoload -U compinit && compinit -u -D";

/// Between keys. A shell that is not yet ready for them takes Tab for a character.
const PACE: Duration = Duration::from_secs(1);

/// The lines after Tab, typed into a shell: from its beginning, each becomes the argument of `echo`.
fn in_terminal(root: &Root, shell: &str, setup: &str) -> anyhow::Result<Vec<String>> {
    const TO_THE_BEGINNING: &str = "\u{1}";
    let mut child = root
        .command(&format!("exec script --quiet --return --command '{shell}' /dev/null"))?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start a terminal")?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut keys = vec![format!("{setup}\n")];
    for (typed, _) in LINES {
        keys.extend([format!("{typed}\t"), format!("{TO_THE_BEGINNING}echo LINE: \n")]);
    }
    keys.push("exit\n".to_owned());
    for keys in keys {
        stdin.write_all(keys.as_bytes()).context("the shell has ended")?;
        std::thread::sleep(PACE);
    }
    drop(stdin);
    let output = child.wait_with_output().context("cannot wait for the shell")?;
    let shown = String::from_utf8_lossy(&output.stdout);
    let line = |line: &str| line.trim().strip_prefix("LINE: ").map(str::to_owned);
    Ok(shown.lines().filter_map(line).collect())
}

/// fish completes lines without a terminal.
fn completed_by_fish(root: &Root) -> anyhow::Result<Vec<String>> {
    let completed = |typed: &str| {
        let found = root.run(&format!("fish --command \"complete --do-complete '{typed}'\""))?;
        // A candidate has its description after a tab.
        let words: Vec<&str> = found.lines().filter_map(|line| line.split('\t').next()).collect();
        let (before, _) = typed.rsplit_once(' ').unwrap_or_default();
        Ok(format!("{before} {}", words.join(" ")))
    };
    LINES.iter().map(|(typed, _)| completed(typed)).collect()
}
