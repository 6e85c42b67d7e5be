//! The commands that the documentation shows, for tests that run them.
//!
//! A command is a line of a fenced block without a language, or of one called `sh` or `console`,
//! that starts a program of this project. Lines after a prompt (`$ `) up to the next one are what
//! the command prints; three dots stand for lines that are left out.

use std::fs;
use std::path::{Path, PathBuf};

/// The programs of this project.
const PROGRAMS: [&str; 2] = ["flushmark", "prefixsort"];
/// Fenced blocks with commands.
const LANGUAGES: [&str; 3] = ["", "sh", "console"];

/// A command of a page.
#[derive(Debug, Clone)]
pub struct Example {
    /// The page, relative to the repository.
    pub page: String,
    pub line: usize,
    /// The command as a shell reads it, with its continuation lines and its here-document.
    pub command: String,
    /// The output that the page shows.
    pub shown: Option<String>,
}

impl Example {
    /// The page and line, as compilers print it.
    pub fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// The commands in code spans and tables, which need not be complete.
#[derive(Debug, Clone)]
pub struct Mention {
    pub place: String,
    pub words: Vec<String>,
}

/// Every page with text for users.
pub fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    for directory in ["docs", "fleet"] {
        collect(&root.join(directory), &mut pages);
    }
    pages.sort();
    pages
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn collect(directory: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// The commands of every page, in order.
pub fn examples() -> Vec<Example> {
    let of_page = |path: PathBuf| {
        let page = path.strip_prefix(root()).unwrap().display().to_string();
        in_page(&page, &fs::read_to_string(path).unwrap())
    };
    pages().into_iter().flat_map(of_page).collect()
}

/// The commands of one page.
pub fn in_page(page: &str, text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let block: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| !line.trim_start().starts_with("```")).collect();
        if LANGUAGES.contains(&language.trim()) {
            in_block(page, &block, &mut examples);
        }
    }
    examples
}

fn in_block(page: &str, block: &[(usize, &str)], examples: &mut Vec<Example>) {
    let has_prompts = block.iter().any(|(_, line)| after_prompt(line).is_some());
    let mut rest = block.iter().peekable();
    while let Some((at, line)) = rest.next() {
        let Some(first) = (if has_prompts { after_prompt(line) } else { Some(*line) }) else {
            continue;
        };
        let mut command = first.trim().to_owned();
        while command.ends_with('\\') {
            let Some((_, more)) = rest.next() else { break };
            command.push('\n');
            command.push_str(more.trim());
        }
        if let Some(end) = here_document(&command) {
            for (_, more) in rest.by_ref() {
                command.push('\n');
                command.push_str(more);
                if *more == end {
                    break;
                }
            }
        }
        let mut shown = String::new();
        let is_output = |(_, line): &&(usize, &str)| has_prompts && after_prompt(line).is_none();
        while let Some((_, line)) = rest.next_if(is_output) {
            shown.push_str(line);
            shown.push('\n');
        }
        if simple_commands(&command).iter().any(|words| is_ours(words)) {
            let shown = (!shown.trim().is_empty()).then_some(shown);
            examples.push(Example { page: page.to_owned(), line: at + 1, command, shown });
        }
    }
}

/// The rest of the line after `$ `, or `HOST$ `.
fn after_prompt(line: &str) -> Option<&str> {
    let (host, command) = line.trim_start().split_once("$ ")?;
    host.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(command)
}

/// The word that ends the here-document of this command.
fn here_document(command: &str) -> Option<String> {
    let (_, word) = command.split_once("<<")?;
    Some(word.trim().trim_matches('\'').to_owned())
}

pub fn is_ours(words: &[String]) -> bool {
    words.first().is_some_and(|word| PROGRAMS.contains(&word.as_str()))
}

/// The simple commands of a line of shell: split at operators, without comments, redirections,
/// assignments and `sudo`. A substitution becomes the word `1`.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut skip_next = false;
    let mut rest = line.chars().peekable();
    let finish = |word: &mut Option<String>, words: &mut Vec<String>, skip: &mut bool| {
        if let Some(word) = word.take()
            && !std::mem::take(skip)
        {
            words.push(word);
        }
    };
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                let quoted = word.get_or_insert_default();
                quoted.extend(rest.by_ref().take_while(|&c| c != '\''));
            }
            '"' => {
                let quoted: String = rest.by_ref().take_while(|&c| c != '"').collect();
                word.get_or_insert_default().push_str(&substituted(&quoted));
            }
            '$' if rest.peek() == Some(&'(') => {
                rest.by_ref().take_while(|&c| c != ')').for_each(drop);
                word.get_or_insert_default().push('1');
            }
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(c) => word.get_or_insert_default().push(c),
            },
            '#' if word.is_none() => {
                rest.by_ref().take_while(|&c| c != '\n').for_each(drop);
            }
            '<' if rest.peek() == Some(&'<') => break,
            '>' | '<' => {
                finish(&mut word, &mut words, &mut skip_next);
                if rest.peek() == Some(&'>') {
                    rest.next();
                }
                skip_next = true;
            }
            '|' | ';' | '&' | '\n' => {
                finish(&mut word, &mut words, &mut skip_next);
                commands.push(std::mem::take(&mut words));
            }
            c if c.is_whitespace() => finish(&mut word, &mut words, &mut skip_next),
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut words, &mut skip_next);
    commands.push(words);
    commands.into_iter().map(without_prefix).filter(|words| !words.is_empty()).collect()
}

/// The text with `1` in place of variables.
fn substituted(quoted: &str) -> String {
    let mut parts = quoted.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('1');
        text.push_str(part.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
    }
    text
}

fn without_prefix(words: Vec<String>) -> Vec<String> {
    let is_prefix = |word: &String| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        });
        ["sudo", "do", "then", "time"].contains(&word.as_str()) || is_assignment
    };
    words.into_iter().skip_while(is_prefix).collect()
}

/// Code spans that begin with one of the programs and a further word.
pub fn mentions() -> Vec<Mention> {
    let mut mentions = Vec::new();
    for path in pages() {
        let page = path.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let mut is_fenced = false;
        for (at, part) in (1..).zip(text.split_inclusive('\n')) {
            if part.trim_start().starts_with("```") {
                is_fenced = !is_fenced;
            } else if !is_fenced {
                for span in part.split('`').skip(1).step_by(2) {
                    let words = simple_commands(span).into_iter().next().unwrap_or_default();
                    if is_ours(&words) && words.len() > 1 {
                        mentions.push(Mention { place: format!("{page}:{at}"), words });
                    }
                }
            }
        }
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_with_what_they_print() {
        let page = "```sh\nflushmark check   # quick\nsudo flushmark cache off /dev/sda | tee x\nls\n\
                    ```\n\n```console\n$ flushmark models\nlist\n...\nhost$ flushmark web \\\n    --open\n\
                    ```\n```toml\nflushmark = 1\n```\n```sh\nflushmark results import - <<'END'\n\
                    a b\nEND\n```\n";
        let found = in_page("p.md", page);
        let found: Vec<(usize, &str, Option<&str>)> = found
            .iter()
            .map(|found| (found.line, found.command.as_str(), found.shown.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "flushmark check   # quick", None),
                (3, "sudo flushmark cache off /dev/sda | tee x", None),
                (8, "flushmark models", Some("list\n...\n")),
                (11, "flushmark web \\\n--open", None),
                (18, "flushmark results import - <<'END'\na b\nEND", None),
            ]
        );
    }

    #[test]
    fn shell_is_split_into_words() {
        let words = |line: &str| -> Vec<Vec<String>> { simple_commands(line) };
        assert_eq!(words("A=1 sudo x 'a b' \"c $D\" > out y # z"), [["x", "a b", "c 1", "y"]]);
        assert_eq!(words("x $(pidof -s y) \\\n z"), [["x", "1", "z"]]);
        assert_eq!(words("a | b; c && d"), [["a"], ["b"], ["c"], ["d"]]);
        assert_eq!(words("a - <<'END'\nb"), [["a", "-"]]);
    }
}
