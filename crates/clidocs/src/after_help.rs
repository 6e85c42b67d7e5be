//! The text that follows the options in the help: examples, exit codes, notes.

/// A heading with the indented lines under it; or, without a heading, a paragraph.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    pub heading: Option<String>,
    /// The lines without their common indentation.
    pub lines: Vec<String>,
}

/// The sections of a text. A line that ends with a colon and is followed by an indented one is a
/// heading.
pub fn sections(text: &str) -> Vec<Section> {
    let lines: Vec<&str> = text.lines().collect();
    let mut sections: Vec<Section> = Vec::new();
    let mut ended = true;
    for (index, line) in lines.iter().enumerate() {
        let indented = |line: &str| line.starts_with(' ');
        let next_is_indented = lines.get(index + 1).is_some_and(|next| indented(next));
        if line.trim().is_empty() {
            ended = true;
        } else if !indented(line) && line.ends_with(':') && next_is_indented {
            let heading = Some(line.trim_end_matches(':').to_owned());
            sections.push(Section { heading, lines: Vec::new() });
            ended = false;
        } else if let Some(last) =
            sections.last_mut().filter(|last| !ended && last.heading.is_some() == indented(line))
        {
            last.lines.push((*line).to_owned());
        } else {
            sections.push(Section { heading: None, lines: vec![(*line).to_owned()] });
            ended = false;
        }
    }
    for section in &mut sections {
        let indentation = |line: &String| line.len() - line.trim_start().len();
        let shared = section.lines.iter().map(indentation).min().unwrap_or(0);
        section.lines.iter_mut().for_each(|line| drop(line.drain(..shared)));
    }
    sections
}

/// Lines of a list of names and what they mean, two spaces apart. A line that is indented as far as
/// the meanings continues the one before.
pub fn definitions(lines: &[String]) -> Vec<(String, String)> {
    let mut definitions: Vec<(String, String)> = Vec::new();
    for line in lines {
        match line.split_once("  ").filter(|(name, _)| !name.is_empty()) {
            Some((name, meaning)) => definitions.push((name.to_owned(), meaning.trim().to_owned())),
            None => {
                if let Some((_, meaning)) = definitions.last_mut() {
                    meaning.push(' ');
                    meaning.push_str(line.trim());
                }
            }
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_paragraphs() {
        let section = |heading: Option<&str>, lines: &[&str]| Section {
            heading: heading.map(str::to_owned),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let text = "Examples:\n  a |\n    b\n  c\n\nOne note:\nit goes on.\n\nAnother.";
        assert_eq!(
            sections(text),
            [
                section(Some("Examples"), &["a |", "  b", "c"]),
                section(None, &["One note:", "it goes on."]),
                section(None, &["Another."]),
            ]
        );
        assert_eq!(sections(""), []);
    }

    #[test]
    fn a_list_of_codes() {
        let lines = ["0  success", "2  usage error, or", "   nothing ran", "130, 143  interrupted"];
        let lines = lines.map(str::to_owned);
        let pair = |name: &str, meaning: &str| (name.to_owned(), meaning.to_owned());
        assert_eq!(
            definitions(&lines),
            [
                pair("0", "success"),
                pair("2", "usage error, or nothing ran"),
                pair("130, 143", "interrupted"),
            ]
        );
    }
}
