//! Manual pages: one for a program, and one for each of its verbs.

use clap::{Arg, Command};

use crate::after_help::{Section, definitions, sections};
use crate::roff::{Roff, bold, escaped, italic};

/// Content of the pages that the definition of the command line lacks.
#[derive(Debug, Clone, Copy)]
pub struct Manual<'a> {
    /// In the last line of a page, such as `flushmark 0.1.0`.
    pub source: &'a str,
    /// The day of the version, YYYY-MM-DD; empty if unknown.
    pub date: &'a str,
    /// The verbs under headings, on the program's own page; if empty, they are one list.
    pub groups: &'a [(&'a str, &'a [&'a str])],
    pub files: &'a [Entry<'a>],
    pub environment: &'a [Entry<'a>],
    /// Other pages, for the program's own page.
    pub see_also: &'a [&'a str],
}

/// A file, or a variable of the environment. On the program's own page, and on those of verbs that
/// have the option.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub name: &'a str,
    pub meaning: &'a str,
    /// The option's name, without its hyphens.
    pub option: Option<&'a str>,
}

#[derive(Debug)]
pub struct Page {
    /// Such as `flushmark-check.1`.
    pub file_name: String,
    pub roff: String,
}

/// The section of the manual: user commands.
const SECTION: &str = "1";

/// On a terminal of 80 columns, `man` indents text by 7 and leaves a margin of 2.
const EXAMPLE_COLUMNS: usize = 71;

const EXIT_CODES: &str = "Exit codes";

impl Manual<'_> {
    /// The pages of a program, its own first.
    pub fn pages(&self, program: Command) -> Vec<Page> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let mut pages = Vec::new();
        self.add_pages(&program, &[], &mut pages);
        pages
    }

    fn add_pages(&self, command: &Command, parents: &[&Command], pages: &mut Vec<Page>) {
        pages.push(self.page(command, parents));
        let parents: Vec<&Command> = parents.iter().copied().chain([command]).collect();
        for verb in verbs(command) {
            self.add_pages(verb, &parents, pages);
        }
    }

    fn page(&self, command: &Command, parents: &[&Command]) -> Page {
        let title = title(command);
        let program = parents.first().copied().unwrap_or(command);
        let mut roff = Roff::default();
        let manual = "User Commands";
        roff.macro_line("TH", &[&title.to_uppercase(), SECTION, self.date, self.source, manual]);
        // Names that users copy are not hyphenated, and spaces in them are not stretched.
        roff.request("nh");
        roff.request("ad l");
        heading(&mut roff, "Name");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        roff.line(&format!("{} \\- {}", escaped(&title), escaped(&about)));
        heading(&mut roff, "Synopsis");
        synopsis(&mut roff, command);
        heading(&mut roff, "Description");
        let description = command.get_long_about().or_else(|| command.get_about());
        roff.prose(&as_sentences(&description.map(ToString::to_string).unwrap_or_default()));
        if command.has_subcommands() {
            heading(&mut roff, "Commands");
            self.verbs(&mut roff, command, parents.is_empty());
        }
        options(&mut roff, command);
        let has_option = |option: &str| {
            command.get_arguments().any(|argument| argument.get_long() == Some(option))
        };
        let shown = |entries: &[Entry<'_>]| -> Vec<(String, String)> {
            let is_shown =
                |entry: &&Entry<'_>| parents.is_empty() || entry.option.is_some_and(has_option);
            let pair = |entry: &Entry<'_>| (entry.name.to_owned(), entry.meaning.to_owned());
            entries.iter().filter(is_shown).map(pair).collect()
        };
        let own = sections_of(command);
        let of_program = sections_of(program);
        let is_exit = |section: &&Section| section.heading.as_deref() == Some(EXIT_CODES);
        if let Some(codes) = own.iter().chain(&of_program).find(is_exit) {
            list(&mut roff, "Exit status", &definitions(&codes.lines));
        }
        list(&mut roff, "Files", &shown(self.files));
        list(&mut roff, "Environment", &shown(self.environment));
        after_help(&mut roff, &own);
        let others: Vec<String> = match parents {
            [] => self.see_also.iter().map(|page| (*page).to_owned()).collect(),
            parents => parents.iter().rev().map(|parent| self::title(parent)).collect(),
        };
        if !others.is_empty() {
            heading(&mut roff, "See also");
            let others: Vec<String> = others.iter().map(|page| reference(page)).collect();
            roff.line(&others.join(", "));
        }
        Page { file_name: format!("{title}.{SECTION}"), roff: roff.finish() }
    }

    /// The verbs of a command; those of the program itself under their headings.
    fn verbs(&self, roff: &mut Roff, command: &Command, is_program: bool) {
        if !is_program || self.groups.is_empty() {
            verbs(command).for_each(|verb| verb_item(roff, verb));
            return;
        }
        for (group, names) in self.groups {
            let in_group = || verbs(command).filter(|verb| names.contains(&verb.get_name()));
            if in_group().next().is_some() {
                roff.macro_line("SS", &[group]);
                in_group().for_each(|verb| verb_item(roff, verb));
            }
        }
    }
}

/// The name of a command's page.
fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-")
}

fn verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

fn heading(roff: &mut Roff, text: &str) {
    roff.macro_line("SH", &[&text.to_uppercase()]);
}

/// A reference from one page to another; `man` makes a link of it.
fn reference(page: &str) -> String {
    format!("{}({SECTION})", bold(page))
}

fn verb_item(roff: &mut Roff, verb: &Command) {
    roff.request("TP");
    roff.line(&reference(&title(verb)));
    roff.prose(&verb.get_about().map(ToString::to_string).unwrap_or_default());
}

/// The usage that clap prints, with the program in bold and placeholders in italics.
fn synopsis(roff: &mut Roff, command: &Command) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim);
    for (index, line) in usage.enumerate() {
        if index > 0 {
            roff.request("br");
        }
        let (program, arguments) = match line.strip_prefix(name) {
            Some(arguments) => (bold(name), arguments),
            None => (String::new(), line),
        };
        let words: Vec<String> = arguments.split(' ').map(placeholders).collect();
        roff.line(&format!("{program}{}", words.join(" ")));
    }
}

/// A word of a usage: what stands for a value, which is in capitals, in italics; an option in bold.
fn placeholders(word: &str) -> String {
    let is_literal = |c: char| !c.is_ascii_uppercase() && !"_=|.~[]<>".contains(c);
    let inner = word.trim_matches(['[', ']', '<', '>', '.']);
    let marked = match inner {
        "" | "--" => return escaped(word),
        inner if inner.contains(is_literal) => bold(inner),
        inner => italic(inner),
    };
    match word.split_once(inner) {
        Some((before, after)) => format!("{}{marked}{}", escaped(before), escaped(after)),
        None => escaped(word),
    }
}

/// Positional arguments and options; those under another heading follow.
fn options(roff: &mut Roff, command: &Command) {
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    let mut headings: Vec<Option<&str>> = vec![None];
    for argument in shown() {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    for group in headings {
        let in_group = || shown().filter(|argument| argument.get_help_heading() == group);
        if in_group().next().is_none() {
            continue;
        }
        heading(roff, group.unwrap_or("Options"));
        in_group().filter(|argument| argument.is_positional()).for_each(|one| option(roff, one));
        in_group().filter(|argument| !argument.is_positional()).for_each(|one| option(roff, one));
    }
}

fn option(roff: &mut Roff, argument: &Arg) {
    let short = argument.get_short().map(|short| bold(&format!("-{short}")));
    let long = argument.get_long().map(|long| bold(&format!("--{long}")));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes_values = argument.get_num_args().is_some_and(|count| count.takes_values());
    let may_be_alone = argument.get_num_args().is_some_and(|count| count.min_values() == 0);
    let values: Vec<String> = argument
        .get_value_names()
        .filter(|_| takes_values)
        .into_iter()
        .flatten()
        .map(|name| italic(name))
        .collect();
    let values = match (values.join(" "), names.is_empty()) {
        (values, true) => values,
        (values, false) if values.is_empty() => values,
        (values, false) if may_be_alone && argument.is_require_equals_set() => {
            format!("[={values}]")
        }
        (values, false) if may_be_alone => format!(" [{values}]"),
        (values, false) => format!(" {values}"),
    };
    roff.request("TP");
    roff.line(&format!("{}{values}", names.join(", ")));
    let help = argument.get_long_help().or_else(|| argument.get_help());
    roff.prose(&as_sentences(&help.map(ToString::to_string).unwrap_or_default()));
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| bold(&value.to_string_lossy())).collect();
    if takes_values && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        roff.line(&format!("[default: {}]", defaults.join(", ")));
    }
    possible_values(roff, argument);
}

fn possible_values(roff: &mut Roff, argument: &Arg) {
    let takes_values = argument.get_num_args().is_some_and(|count| count.takes_values());
    let values: Vec<_> =
        argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if !takes_values || values.is_empty() || argument.is_hide_possible_values_set() {
        return;
    }
    if values.iter().all(|value| value.get_help().is_none()) {
        let names: Vec<String> = values.iter().map(|value| bold(value.get_name())).collect();
        roff.line(&format!("[possible values: {}]", names.join(", ")));
        return;
    }
    roff.request("RS");
    for value in values {
        roff.request("TP");
        roff.line(&bold(value.get_name()));
        roff.prose(&as_sentences(&value.get_help().map(ToString::to_string).unwrap_or_default()));
    }
    roff.request("RE");
}

/// Help ends without a full stop, because it is a line of a list; here it is text.
fn as_sentences(help: &str) -> String {
    let paragraphs = help.trim().split("\n\n").map(|paragraph| {
        let stop = if paragraph.is_empty() || paragraph.ends_with(['.', ':', '!', '?', ']']) {
            ""
        } else {
            "."
        };
        format!("{paragraph}{stop}")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn sections_of(command: &Command) -> Vec<Section> {
    let text = command.get_after_long_help().or_else(|| command.get_after_help());
    text.map(|text| sections(&text.to_string())).unwrap_or_default()
}

/// Examples, notes, and lists under their own headings.
fn after_help(roff: &mut Roff, sections: &[Section]) {
    for Section { heading, lines } in sections {
        match heading.as_deref() {
            Some("Examples") => {
                self::heading(roff, "Examples");
                let lines: Vec<String> = lines.iter().flat_map(|line| folded(line)).collect();
                roff.verbatim(&lines);
            }
            Some(EXIT_CODES) | None => {}
            Some(other) => list(roff, other, &definitions(lines)),
        }
    }
    let notes: Vec<String> = sections
        .iter()
        .filter(|section| section.heading.is_none())
        .map(|section| section.lines.join("\n"))
        .collect();
    if !notes.is_empty() {
        heading(roff, "Notes");
        roff.prose(&notes.join("\n\n"));
    }
}

/// A list of names and what they mean; without any, nothing.
fn list(roff: &mut Roff, heading: &str, entries: &[(String, String)]) {
    if entries.is_empty() {
        return;
    }
    self::heading(roff, heading);
    for (name, meaning) in entries {
        roff.request("TP");
        roff.line(&bold(name));
        let mut letters = meaning.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        roff.prose(&as_sentences(&first.into_iter().chain(letters).collect::<String>()));
    }
}

/// A command in as many lines as it needs, each but the last with the backslash that continues it.
/// A line is broken before an option, or not at all.
fn folded(command: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = command.to_owned();
    while rest.chars().count() > EXAMPLE_COLUMNS {
        let fits = |at: &usize| *at + 2 <= EXAMPLE_COLUMNS && *at > 8;
        let breaks = rest.match_indices(" -").map(|(at, _)| at);
        let Some(at) = breaks.filter(fits).last() else { break };
        let next = rest.split_off(at);
        lines.push(format!("{rest} \\"));
        rest = format!("    {}", next.trim_start());
    }
    lines.push(rest);
    lines
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

    use super::*;

    #[derive(Clone, Copy, ValueEnum)]
    enum Format {
        /// For people
        Text,
        /// For programs
        Json,
    }

    /// Wash files
    #[derive(Parser)]
    #[command(
        name = "wash",
        version = "2.0",
        after_help = "\
Exit codes:
  0  success
  1  not clean, or
     not dry"
    )]
    struct Args {
        #[command(subcommand)]
        #[allow(dead_code, reason = "only its definition is read")]
        verb: Verb,
    }

    #[derive(Subcommand)]
    enum Verb {
        /// Wash with `soap`
        ///
        /// No file is lost.
        #[command(after_help = "\
Examples:
  wash soap --format json /var/lib/a-directory/with-a-long-name --store wash.db > clean.json

Soap is in /srv.")]
        Soap {
            /// What to wash
            path: std::path::PathBuf,
            /// Output format
            #[arg(long, short, value_enum, default_value_t = Format::Text)]
            format: Format,
            /// Where it is kept
            #[arg(long, value_name = "FILE", help_heading = "Keeping")]
            store: Option<String>,
            /// Nobody sees this
            #[arg(long, hide = true)]
            secret: bool,
        },
        /// Nobody sees this, either
        #[command(hide = true)]
        Rinse,
    }

    const MANUAL: Manual<'_> = Manual {
        source: "wash 2.0",
        date: "2026-11-28",
        groups: &[("Wet", &["soap"])],
        files: &[
            Entry { name: "/srv/wash.db", meaning: "the store", option: Some("store") },
            Entry { name: "/etc/wash", meaning: "settings", option: None },
        ],
        environment: &[Entry { name: "WASH_STORE", meaning: "the store", option: Some("store") }],
        see_also: &["dry"],
    };

    #[test]
    fn a_program_and_its_verbs_have_a_page_each() {
        let pages = MANUAL.pages(Args::command());
        let names: Vec<&str> = pages.iter().map(|page| page.file_name.as_str()).collect();
        assert_eq!(names, ["wash.1", "wash-soap.1"]);
        insta::assert_snapshot!(pages[0].roff, @r#"
        .TH "WASH" "1" "2026-11-28" "wash 2.0" "User Commands"
        .nh
        .ad l
        .SH "NAME"
        wash \- Wash files
        .SH "SYNOPSIS"
        \fBwash\fR <\fICOMMAND\fR>
        .SH "DESCRIPTION"
        Wash files.
        .SH "COMMANDS"
        .SS "Wet"
        .TP
        \fBwash\-soap\fR(1)
        Wash with \fBsoap\fR
        .SH "OPTIONS"
        .TP
        \fB\-h\fR, \fB\-\-help\fR
        Print help.
        .TP
        \fB\-V\fR, \fB\-\-version\fR
        Print version.
        .SH "EXIT STATUS"
        .TP
        \fB0\fR
        Success.
        .TP
        \fB1\fR
        Not clean, or not dry.
        .SH "FILES"
        .TP
        \fB/srv/wash.db\fR
        The store.
        .TP
        \fB/etc/wash\fR
        Settings.
        .SH "ENVIRONMENT"
        .TP
        \fBWASH_STORE\fR
        The store.
        .SH "SEE ALSO"
        \fBdry\fR(1)
        "#);
    }

    #[test]
    fn the_page_of_a_verb() {
        insta::assert_snapshot!(MANUAL.pages(Args::command())[1].roff, @r#"
        .TH "WASH-SOAP" "1" "2026-11-28" "wash 2.0" "User Commands"
        .nh
        .ad l
        .SH "NAME"
        wash\-soap \- Wash with \(gasoap\(ga
        .SH "SYNOPSIS"
        \fBwash soap\fR [\fIOPTIONS\fR] <\fIPATH\fR>
        .SH "DESCRIPTION"
        Wash with \fBsoap\fR.
        .sp
        No file is lost.
        .SH "OPTIONS"
        .TP
        \fIPATH\fR
        What to wash.
        .TP
        \fB\-f\fR, \fB\-\-format\fR \fIFORMAT\fR
        Output format.
        [default: \fBtext\fR]
        .RS
        .TP
        \fBtext\fR
        For people.
        .TP
        \fBjson\fR
        For programs.
        .RE
        .TP
        \fB\-h\fR, \fB\-\-help\fR
        Print help (see a summary with \(aq\-h\(aq).
        .SH "KEEPING"
        .TP
        \fB\-\-store\fR \fIFILE\fR
        Where it is kept.
        .SH "EXIT STATUS"
        .TP
        \fB0\fR
        Success.
        .TP
        \fB1\fR
        Not clean, or not dry.
        .SH "FILES"
        .TP
        \fB/srv/wash.db\fR
        The store.
        .SH "ENVIRONMENT"
        .TP
        \fBWASH_STORE\fR
        The store.
        .SH "EXAMPLES"
        .EX
        wash soap \-\-format json /var/lib/a\-directory/with\-a\-long\-name \e
            \-\-store wash.db > clean.json
        .EE
        .SH "NOTES"
        Soap is in /srv.
        .SH "SEE ALSO"
        \fBwash\fR(1)
        "#);
    }

    #[test]
    fn a_long_command_is_continued() {
        let command = format!("wash {} --dry --store {} | less", "x".repeat(40), "y".repeat(30));
        assert_eq!(
            folded(&command),
            [
                format!("wash {} --dry \\", "x".repeat(40)),
                format!("    --store {} | less", "y".repeat(30)),
            ]
        );
        let long = "x".repeat(100);
        assert_eq!(folded(&long), [long.as_str()]);
    }
}
