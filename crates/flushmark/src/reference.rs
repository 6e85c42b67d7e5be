//! The reference of the command line as Markdown, a page for each verb, from clap's definitions.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// A page of the reference.
pub struct Page {
    /// The verb, which is also the name of the file.
    pub verb: String,
    pub markdown: String,
}

/// A page for each visible verb, in the order of the definitions.
pub fn pages(command: &Command) -> Vec<Page> {
    let mut command = command.clone();
    command.build();
    let of_program = command.get_name().to_owned();
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
        .map(|verb| {
            let mut markdown = String::new();
            section(&mut markdown, verb, &format!("{of_program} {}", verb.get_name()), 1);
            Page { verb: verb.get_name().to_owned(), markdown }
        })
        .collect()
}

fn section(page: &mut String, command: &Command, name: &str, level: usize) {
    let heading = "#".repeat(level);
    let _ = writeln!(page, "{heading} `{name}`\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = writeln!(page, "{}\n", paragraphs(about));
    }
    // clap names the program's verb only after `build`, and the usage contains it then.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let usage: Vec<&str> = usage.lines().map(str::trim).collect();
    let _ = writeln!(page, "```text\n{}\n```\n", usage.join("\n"));
    arguments(page, command);
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        let _ = writeln!(page, "```text\n{}\n```\n", after.to_string().trim_end());
    }
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    for verb in verbs.filter(|verb| verb.get_name() != "help") {
        section(page, verb, &format!("{name} {}", verb.get_name()), level + 1);
    }
}

fn arguments(page: &mut String, command: &Command) {
    let visible: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && argument.get_id() != "help")
        .collect();
    for argument in &visible {
        let _ = write!(page, "- **`{}`**", names(argument));
        if let Some(help) = argument.get_long_help().or_else(|| argument.get_help()) {
            let _ = write!(page, ": {}", paragraphs(help).replace('\n', "\n  "));
        }
        let values = argument.get_possible_values();
        let values: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).collect();
        if argument.get_action().takes_values() && !values.is_empty() {
            let values: Vec<String> = values
                .iter()
                .map(|value| match value.get_help() {
                    Some(help) => {
                        format!("`{}` ({})", value.get_name(), escaped(&help.to_string()))
                    }
                    None => format!("`{}`", value.get_name()),
                })
                .collect();
            let _ = write!(page, " — one of {}", values.join(", "));
        }
        let defaults = argument.get_default_values();
        if argument.get_action().takes_values() && !defaults.is_empty() {
            let defaults: Vec<_> =
                defaults.iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
            let _ = write!(page, " — default {}", defaults.join(", "));
        }
        page.push('\n');
    }
    if !visible.is_empty() {
        page.push('\n');
    }
}

/// `-t, --target <TARGET>`, or `<PATH>`.
fn names(argument: &Arg) -> String {
    let mut names = Vec::new();
    if let Some(short) = argument.get_short() {
        names.push(format!("-{short}"));
    }
    if let Some(long) = argument.get_long() {
        names.push(format!("--{long}"));
    }
    let mut text = names.join(", ");
    if argument.get_action().takes_values() {
        let values = argument.get_value_names().map_or_else(
            || vec![argument.get_id().to_string().to_uppercase()],
            |names| names.iter().map(ToString::to_string).collect(),
        );
        for value in values {
            let space = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{space}<{value}>");
        }
    }
    text
}

/// Help text with its paragraphs, as Markdown.
fn paragraphs(help: &StyledStr) -> String {
    escaped(help.to_string().trim())
}

/// Escapes what Markdown would interpret, except in code spans.
fn escaped(text: &str) -> String {
    let mut markdown = String::new();
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        match c {
            '<' if !is_code => markdown.push_str("&lt;"),
            '*' | '_' | '[' | ']' if !is_code => {
                markdown.push('\\');
                markdown.push(c);
            }
            _ => markdown.push(c),
        }
    }
    markdown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_usage_arguments_examples_and_verbs() {
        let command = Command::new("tool").subcommand(
            Command::new("cut")
                .about("Cut *it*")
                .after_help("Examples:\n  tool cut x")
                .arg(Arg::new("file").value_name("FILE").help("The <file>, `a_b`"))
                .arg(
                    Arg::new("sharp")
                        .long("sharp")
                        .short('s')
                        .value_parser(["yes", "no"])
                        .default_value("yes")
                        .help("How"),
                )
                .arg(Arg::new("secret").long("secret").hide(true))
                .subcommand(Command::new("twice").about("Again")),
        );
        let pages = pages(&command);
        assert_eq!(pages.iter().map(|page| page.verb.as_str()).collect::<Vec<_>>(), ["cut"]);
        insta::assert_snapshot!(pages[0].markdown, @r"
        # `tool cut`

        Cut \*it\*

        ```text
        tool cut [OPTIONS] [FILE] [COMMAND]
        ```

        - **`<FILE>`**: The &lt;file>, `a_b`
        - **`-s, --sharp <SHARP>`**: How — one of `yes`, `no` — default `yes`

        ```text
        Examples:
          tool cut x
        ```

        ## `tool cut twice`

        Again

        ```text
        tool cut twice
        ```
        ");
    }

    #[test]
    fn every_visible_verb_has_a_page() {
        let command = crate::help::command();
        let pages = pages(&command);
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let visible: Vec<&str> =
            visible.map(Command::get_name).filter(|verb| *verb != "help").collect();
        assert_eq!(pages.iter().map(|page| page.verb.as_str()).collect::<Vec<_>>(), visible);
        let check = &pages.iter().find(|page| page.verb == "check").unwrap().markdown;
        assert!(check.contains("- **`--fail-on <USE[=GRADE]>`**: Exit with 1"), "{check}");
    }
}
