//! Errors of a command-line program: one sentence on stderr, and the exit code of [`Blame`].
//!
//! ```
//! use blame::Blame;
//! use clierror::{Program, WrongUse, blame_of, sentence};
//!
//! const PROGRAM: Program = Program::named("prefixsort");
//!
//! let error = anyhow::Error::new(WrongUse("--check takes exactly one file".to_owned()));
//! assert_eq!(blame_of(&error), Some(Blame::Usage));
//! // Prints `prefixsort: --check takes exactly one file`.
//! let code = PROGRAM.failed(&error, |_| None);
//!
//! let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
//! let error = anyhow::Error::new(missing).context("cannot open urls.txt");
//! assert_eq!(sentence(&error), "cannot open urls.txt: entity not found");
//! assert_eq!(blame_of(&error), None);
//! ```

mod streams;

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};

use anyhow::Context as _;
use blame::Blame;

pub use streams::expect_open;

/// A usage error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

/// An action refused because it could destroy data.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// The program whose name begins each message.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    name: &'static str,
}

impl Program {
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self { name }
    }

    /// Prints a message on stderr, with invisible characters escaped. Ignores write errors: a
    /// closed stderr must not cause a panic.
    pub fn complain(self, sentence: &str) {
        let _ = writeln!(anstream::stderr(), "{}", self.message(sentence));
    }

    /// Prints an error and returns its exit code: that of [`blame_of`], or else of `blame_of_own`,
    /// which knows the errors of the program's other crates, or else of [`Blame::System`]. An error
    /// that [`is_broken_pipe`] is a success, and nothing is printed.
    pub fn failed(
        self,
        error: &anyhow::Error,
        blame_of_own: impl FnOnce(&anyhow::Error) -> Option<Blame>,
    ) -> u8 {
        let blame = blame_of(error).or_else(|| blame_of_own(error)).unwrap_or(Blame::System);
        self.failed_with(error, blame.exit_code())
    }

    /// Prints an error and returns this exit code. An error that [`is_broken_pipe`] is a success,
    /// and nothing is printed.
    pub fn failed_with(self, error: &anyhow::Error, code: u8) -> u8 {
        if is_broken_pipe(error) {
            return 0;
        }
        self.complain(&sentence(error));
        code
    }

    /// Prints what clap says about the arguments, or the help that was asked for, and exits.
    /// Invisible characters of the arguments are escaped. Help that cannot be printed is an error
    /// with the exit code `unprinted`.
    pub fn exit_as_parsed(self, error: &clap::Error, unprinted: u8) -> ! {
        if !error.use_stderr() {
            let printed = expect_open(&io::stdout())
                .and_then(|()| error.print())
                .and_then(|()| io::stdout().flush())
                .context("cannot write to stdout");
            if let Err(error) = printed
                && !is_broken_pipe(&error)
            {
                self.complain(&sentence(&error));
                std::process::exit(unprinted.into());
            }
            std::process::exit(error.exit_code());
        }
        let text = error.render().to_string();
        let lines: Vec<_> = text.split('\n').map(unseen::escaped).collect();
        if lines.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
            error.exit();
        }
        let _ = write!(anstream::stderr(), "{}", lines.join("\n"));
        std::process::exit(error.exit_code());
    }

    fn message(self, sentence: &str) -> String {
        let lines: Vec<_> = sentence.split('\n').map(unseen::escaped).collect();
        format!("{}: {}", self.name, lines.join("\n"))
    }
}

/// The party at fault for [`WrongUse`] and [`Refused`]; `None` for any other error.
pub fn blame_of(error: &anyhow::Error) -> Option<Blame> {
    let wrong_use = error.is::<WrongUse>().then_some(Blame::Usage);
    wrong_use.or_else(|| error.is::<Refused>().then_some(Blame::Safety))
}

/// Returns whether the reader of the output went away (`flushmark suites | head`), which is not an
/// error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// An error with its causes. A cause that the text already contains is not repeated.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program = Program::named("program");

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write: {0}")]
    struct Unwritten(#[source] std::io::Error);

    fn unwritten(kind: ErrorKind) -> anyhow::Error {
        anyhow::Error::new(Unwritten(kind.into())).context("no result")
    }

    #[test]
    fn a_cause_is_said_once() {
        assert_eq!(
            sentence(&unwritten(ErrorKind::NotFound)),
            "no result: cannot write: entity not found"
        );
    }

    #[test]
    fn a_message_shows_what_is_unseen_and_keeps_its_lines() {
        assert_eq!(PROGRAM.message("no \u{202e}file\nat all"), "program: no \\u{202e}file\nat all");
    }

    #[test]
    fn context_does_not_change_the_code() {
        let wrong = anyhow::Error::new(WrongUse("wrong".to_owned())).context("cannot begin");
        let refused = anyhow::Error::new(Refused("in use".to_owned())).context("cannot write");
        assert_eq!(
            (blame_of(&wrong), blame_of(&refused)),
            (Some(Blame::Usage), Some(Blame::Safety))
        );
        assert_eq!(PROGRAM.failed(&refused, |_| Some(Blame::Usage)), 3);
    }

    #[test]
    fn other_errors_have_the_code_of_the_program() {
        let error = unwritten(ErrorKind::NotFound);
        assert_eq!(
            PROGRAM.failed(&error, |error| error.is::<Unwritten>().then_some(Blame::Usage)),
            2
        );
        assert_eq!(PROGRAM.failed(&error, |_| None), 4);
    }

    #[test]
    fn a_reader_that_goes_away_is_a_success() {
        assert!(is_broken_pipe(&unwritten(ErrorKind::BrokenPipe)));
        assert_eq!(PROGRAM.failed(&unwritten(ErrorKind::BrokenPipe), |_| Some(Blame::Usage)), 0);
        assert!(!is_broken_pipe(&unwritten(ErrorKind::NotFound)));
    }
}
