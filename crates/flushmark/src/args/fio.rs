//! fio's options mixed with flushmark's options.

use clap::{Arg, ArgAction, ArgMatches, Command};
use workload::fio::options::{FioOption, OPTIONS, Value};

/// fio options that mean something else in flushmark.
const OWN: [&str; 1] = ["output"];

/// The fio options on the command line, in their order.
#[derive(Debug, Clone, Default)]
pub struct FioOptions {
    /// Each word is an option with its value.
    pub words: Vec<String>,
}

fn names() -> impl Iterator<Item = (&'static FioOption, &'static str)> {
    let each = OPTIONS.iter().flat_map(|option| option.names().map(move |name| (option, name)));
    each.filter(|(_, name)| !OWN.contains(name))
}

impl clap::Args for FioOptions {
    fn augment_args(command: Command) -> Command {
        names().fold(command, |command, (option, name)| {
            // Documented in docs/fio.md instead of in --help.
            let arg = Arg::new(name).long(name).hide(true).action(ArgAction::Append);
            command.arg(match option.value {
                Value::Required => arg.num_args(1).allow_hyphen_values(true),
                Value::Optional => {
                    arg.num_args(0..=1).require_equals(true).default_missing_value("1")
                }
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for FioOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<FioOptions, clap::Error> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for (_, name) in names() {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(
                places.zip(values).map(|(place, value)| (place, format!("--{name}={value}"))),
            );
        }
        found.sort();
        Ok(FioOptions { words: found.into_iter().map(|(_, word)| word).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = FioOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::{Args, Command};

    fn words(line: &str) -> Vec<String> {
        let args = Args::try_parse_from(line.split(' ')).unwrap();
        match args.command {
            Command::Run(run) => run.fio_options.words,
            _ => unreachable!("the line runs something"),
        }
    }

    #[test]
    fn options_of_both_programs_mix() {
        assert_eq!(
            words(
                "flushmark run --rw randwrite --target . --time_based --bs=4k --direct 1 --quiet \
                 --buffered=0"
            ),
            ["--rw=randwrite", "--time_based=1", "--bs=4k", "--direct=1", "--buffered=0"]
        );
        assert!(words("flushmark run journal .").is_empty());
    }
}
