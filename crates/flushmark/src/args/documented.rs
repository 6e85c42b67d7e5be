//! Tests that every command in the documentation and in the help is one that this program accepts.

use clap::{Command, FromArgMatches as _};
use testbed::examples::{self, simple_commands};

use super::Args;

/// The number of commands in the documentation when this test was written, rounded down: fewer
/// mean that they are no longer found.
const EXAMPLES_MIN: usize = 200;

fn of_flushmark(line: &str) -> Vec<Vec<String>> {
    let mut commands = simple_commands(line);
    commands.retain(|words| words.first().is_some_and(|word| word == "flushmark"));
    commands
}

/// The first line of clap's error, if these words are not a valid command.
fn rejected(words: &[String]) -> Option<String> {
    let parsed = crate::help::command()
        .try_get_matches_from(words)
        .and_then(|matches| Args::from_arg_matches(&matches));
    match parsed {
        Ok(_) => None,
        Err(error) if !error.use_stderr() => None,
        Err(error) => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

#[test]
fn every_command_of_the_documentation_is_accepted() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for example in examples::examples() {
        for words in of_flushmark(&example.command) {
            count += 1;
            if let Some(error) = rejected(&words) {
                wrong.push(format!("{}: {}\n  {error}", example.place(), words.join(" ")));
            }
        }
    }
    eprintln!("{count} commands of the documentation were parsed");
    assert!(wrong.is_empty(), "{} commands are rejected:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= EXAMPLES_MIN, "only {count} commands were found");
}

#[test]
fn every_example_of_the_help_is_accepted() {
    let mut wrong = Vec::new();
    let mut count = 0;
    walk(&crate::help::command(), &mut |command| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.replace("\\\n", "").lines() {
            for words in of_flushmark(without_remark(line)) {
                count += 1;
                if let Some(error) = rejected(&words) {
                    wrong.push(format!(
                        "help of {}: {}\n  {error}",
                        command.get_name(),
                        line.trim()
                    ));
                }
            }
        }
    });
    eprintln!("{count} examples of the help were parsed");
    assert!(wrong.is_empty(), "{} examples are rejected:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 60, "only {count} examples were found");
}

/// An example without the remark in parentheses that may follow it.
fn without_remark(line: &str) -> &str {
    line.split("  (").next().unwrap_or(line)
}

fn walk(command: &Command, visit: &mut impl FnMut(&Command)) {
    visit(command);
    for verb in command.get_subcommands() {
        walk(verb, visit);
    }
}

/// Code spans may be incomplete (`flushmark verify`), but their verbs and options exist.
#[test]
fn every_option_that_the_documentation_mentions_exists() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for mention in examples::mentions() {
        if mention.words[0] != "flushmark" {
            continue;
        }
        count += 1;
        if let Some(unknown) = unknown_word(&mention.words[1..]) {
            wrong.push(format!("{}: {}: {unknown}", mention.place, mention.words.join(" ")));
        }
    }
    eprintln!("{count} mentions of the documentation were checked");
    assert!(wrong.is_empty(), "{} mentions are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 150, "only {count} mentions were found");
}

fn unknown_word(words: &[String]) -> Option<String> {
    let mut root = crate::help::command();
    root.build();
    let mut command = &root;
    let mut rest = words.iter().peekable();
    while let Some(verb) = rest.peek().and_then(|word| command.find_subcommand(word.as_str())) {
        command = verb;
        rest.next();
    }
    if command.get_name() == "flushmark" && rest.peek().is_some_and(|word| !word.starts_with('-')) {
        return rest.next().map(|word| format!("there is no verb `{word}`"));
    }
    let options = rest.take_while(|word| *word != "--").filter(|word| word.starts_with("--"));
    for option in options {
        let name = option.trim_start_matches('-').split('=').next().unwrap_or_default();
        let is_known = command.get_arguments().any(|known| {
            known.get_long_and_visible_aliases().is_some_and(|all| all.contains(&name))
        }) || name == "help";
        if !is_known {
            return Some(format!("there is no option `--{name}`"));
        }
    }
    None
}

#[test]
fn wrong_commands_are_noticed() {
    let words = |line: &str| simple_commands(line).remove(0);
    assert!(rejected(&words("flushmark chek")).unwrap().contains("chek"));
    assert!(rejected(&words("flushmark check --fsat")).unwrap().contains("--fsat"));
    assert_eq!(rejected(&words("flushmark check --help")), None);
    assert_eq!(
        unknown_word(&words("verify --lanes 4")),
        Some("there is no option `--lanes`".into())
    );
    assert_eq!(unknown_word(&words("verify write --lanes 4")), None);
    assert_eq!(unknown_word(&words("chek")), Some("there is no verb `chek`".into()));
}
