//! The markup of manual pages: the `man` macros that groff and mandoc share.

/// A page in the making.
#[derive(Debug, Default)]
pub struct Roff {
    text: String,
}

impl Roff {
    /// A macro, such as `TP`, with arguments in quotes.
    pub fn macro_line(&mut self, name: &str, arguments: &[&str]) {
        self.text.push('.');
        self.text.push_str(name);
        for argument in arguments {
            // Hyphens stay: readers of pages take names and dates from these lines.
            let argument = argument.replace('\\', "\\e").replace('"', "\\(dq");
            self.text.push_str(&format!(" \"{argument}\""));
        }
        self.text.push('\n');
    }

    /// A macro without arguments in quotes, such as `TP` or `ad l`.
    pub fn request(&mut self, request: &str) {
        self.text.push_str(&format!(".{request}\n"));
    }

    /// Text that is filled to the width of the terminal, with the first paragraph where the page
    /// stands. A line that is indented keeps its break. `Code` in backticks is bold.
    pub fn prose(&mut self, text: &str) {
        for (index, paragraph) in text.trim().split("\n\n").enumerate() {
            if index > 0 {
                self.text.push_str(".sp\n");
            }
            for line in paragraph.lines() {
                if line.starts_with(' ') {
                    self.text.push_str(".br\n");
                }
                self.line(&with_code(line.trim()));
            }
        }
    }

    /// Lines as they are, such as commands to type.
    pub fn verbatim(&mut self, lines: &[impl AsRef<str>]) {
        self.text.push_str(".EX\n");
        for line in lines {
            self.line(&escaped(line.as_ref()));
        }
        self.text.push_str(".EE\n");
    }

    /// A line whose markup is done.
    pub fn line(&mut self, line: &str) {
        // At the beginning of a line, these two start a macro.
        if line.starts_with(['.', '\'']) {
            self.text.push_str("\\&");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// Text as it is: without this, a backslash is a command and a hyphen is not the ASCII character,
/// which could then not be pasted into a shell.
pub fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, character| {
        match character {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            character => escaped.push(character),
        }
        escaped
    })
}

pub fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escaped(text))
}

pub fn italic(text: &str) -> String {
    format!("\\fI{}\\fR", escaped(text))
}

fn with_code(text: &str) -> String {
    let parts = text.split('`').collect::<Vec<_>>();
    // A backtick without its partner is only a backtick.
    if parts.len() % 2 == 0 {
        return escaped(text);
    }
    let marked = |(index, part): (usize, &&str)| match index % 2 {
        0 => escaped(part),
        _ => bold(part),
    };
    parts.iter().enumerate().map(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_what_it_is() {
        let mut roff = Roff::default();
        roff.macro_line("SH", &["SEE \"ALSO\""]);
        roff.prose(".hidden is `ls -a`'s\n  indented\n\nA path: C:\\x, a ` alone");
        roff.verbatim(&["'quoted' --option ~/x"]);
        insta::assert_snapshot!(roff.finish(), @r#"
        .SH "SEE \(dqALSO\(dq"
        \&.hidden is \fBls \-a\fR\(aqs
        .br
        indented
        .sp
        A path: C:\ex, a \(ga alone
        .EX
        \(aqquoted\(aq \-\-option \(ti/x
        .EE
        "#);
    }
}
