//! The verbs in groups, for `flushmark --help`.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use crate::args::Args;

/// Every verb, under its heading.
pub const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["check", "run", "db", "suites"]),
    ("Inspect", &["drives", "host", "cache", "trace", "watch", "catalogue"]),
    ("Model and emulate", &["models", "fit", "emulate", "explain"]),
    ("Clusters and fleets", &["ceph", "fleet"]),
    ("Prove", &["verify", "crash"]),
    ("Keep and share", &["results", "report", "web"]),
    ("Other", &["completions", "manual", "help"]),
];

/// The command line, with the verbs of its help in groups.
///
/// clap has headings for options, but prints all subcommands as one list, so this fills a template.
pub fn command() -> Command {
    let mut command = Args::command();
    // Adds the `help` verb.
    command.build();
    let verbs = verbs(&command);
    let (header, reset) = {
        let style = command.get_styles().get_header();
        (style.render().to_string(), style.render_reset().to_string())
    };
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}\
         {header}Options:{reset}\n{{options}}{{after-help}}"
    );
    Args::command().help_template(template)
}

fn verbs(command: &Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let width =
        GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for verb in verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(
                text,
                "  {literal}{verb}{literal:#}{:1$}  {about}",
                "",
                width - verb.len()
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of the list of verbs.
    const COLUMNS_MAX: usize = 72;

    #[test]
    fn every_verb_is_in_one_group() {
        let mut command = Args::command();
        command.build();
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut known: Vec<&str> = visible.map(Command::get_name).collect();
        let mut listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn every_verb_has_a_short_line() {
        let mut command = Args::command().color(clap::ColorChoice::Never);
        command.build();
        for line in anstream::adapter::strip_str(&verbs(&command)).to_string().lines() {
            assert!(line.chars().count() <= COLUMNS_MAX, "{line}");
            assert!(!line.ends_with("  "), "{line}");
        }
    }
}
