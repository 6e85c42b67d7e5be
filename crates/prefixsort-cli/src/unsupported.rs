//! The options of GNU `sort` that this program does not have. Each is refused by name, and a long
//! option may be abbreviated only where GNU `sort` allows it.

use clap::builder::OsStringValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use clierror::WrongUse;
use sortfile::OtherOrdering;

/// Options that do not select an ordering, and what to use instead.
const OTHERS: [(&str, Value, &str); 4] = [
    (
        "batch-size",
        Value::Expected,
        "the memory determines how many files are merged at a time; use --buffer-size",
    ),
    (
        "compress-program",
        Value::Expected,
        "temporary files are stored without repeated prefixes; for more, use a filesystem that \
         compresses",
    ),
    ("debug", Value::None, "use GNU `sort --debug`"),
    ("random-source", Value::Expected, OtherOrdering::Random.instead()),
];

/// The option that selects an ordering by name.
const SORT: &str = "sort";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Expected,
    None,
}

/// The options, hidden from help.
pub fn options() -> Vec<Arg> {
    let orderings = OtherOrdering::ALL
        .map(|ordering| option(ordering.long(), Value::None).short(ordering.letter()));
    let others = OTHERS.map(|(name, value, _)| option(name, value));
    orderings.into_iter().chain(others).chain([option(SORT, Value::Expected)]).collect()
}

fn option(name: &'static str, value: Value) -> Arg {
    let option = Arg::new(name).long(name).hide(true);
    match value {
        Value::Expected => {
            option.action(ArgAction::Append).value_parser(OsStringValueParser::new())
        }
        Value::None => option.action(ArgAction::Count),
    }
}

/// Refuses the first of these options that was given.
pub fn refuse(given: &ArgMatches) -> Result<(), WrongUse> {
    let refused = |option: &str, instead: &str| {
        Err(WrongUse(format!("{option} is not supported: {instead}")))
    };
    let ordered = |option: &str, ordering: OtherOrdering| {
        refused(option, &format!("lines are compared byte by byte; {}", ordering.instead()))
    };
    if let Some(ordering) =
        OtherOrdering::ALL.into_iter().find(|ordering| given.get_count(ordering.long()) > 0)
    {
        return ordered(&format!("-{} (--{})", ordering.letter(), ordering.long()), ordering);
    }
    if let Some(name) = given.get_raw(SORT).and_then(|mut names| names.next()) {
        let name = name.to_string_lossy();
        let long = format!("{name}-sort");
        let option = format!("--sort={name}");
        return match OtherOrdering::ALL.into_iter().find(|ordering| ordering.long() == long) {
            Some(ordering) => ordered(&option, ordering),
            None => refused(&option, "lines are compared byte by byte; leave it out"),
        };
    }
    match OTHERS
        .iter()
        .find(|(name, ..)| given.value_source(name) == Some(ValueSource::CommandLine))
    {
        Some((name, _, instead)) => refused(&format!("--{name}"), instead),
        None => Ok(()),
    }
}
