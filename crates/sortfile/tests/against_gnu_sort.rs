//! What GNU `sort` prints with the same options, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use prefixsort::ExternalOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use sortfile::{Order, Sorter, Ties, Unit, first_disorder};

/// Options that both have.
#[derive(Clone, Debug)]
struct Options {
    keys: Vec<String>,
    separator: Option<u8>,
    reverse: bool,
    skip_blanks: bool,
    ties: Ties,
    zero: bool,
}

impl Options {
    fn order(&self) -> Order {
        Order {
            unit: Unit::Lines { end: if self.zero { 0 } else { b'\n' } },
            keys: self.keys.iter().map(|key| key.parse().unwrap()).collect(),
            separator: self.separator,
            skip_blanks: self.skip_blanks,
            reverse: self.reverse,
            ties: self.ties,
        }
    }

    fn gnu(&self, input: &[u8], check: bool) -> Output {
        let mut command = Command::new("sort");
        command.env("LC_ALL", "C");
        command.args(self.keys.iter().flat_map(|key| ["-k", key]));
        if let Some(separator) = self.separator {
            command.arg("-t").arg(char::from(separator).to_string());
        }
        let flags = [(self.reverse, "-r"), (self.skip_blanks, "-b"), (self.zero, "-z"), (check, "-c")];
        command.args(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| flag));
        match self.ties {
            Ties::WholeRecord => {}
            Ties::AsTheyCame => drop(command.arg("-s")),
            Ties::FirstOnly => drop(command.arg("-u")),
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // With -c it may be gone before it has read everything.
        let _ = stdin.write_all(input);
        drop(stdin);
        child.wait_with_output().unwrap()
    }
}

fn place() -> impl Strategy<Value = (usize, usize)> {
    (1usize..4, 0usize..4)
}

fn key() -> impl Strategy<Value = String> {
    let letters = prop_oneof![3 => Just(""), 1 => Just("b"), 1 => Just("r"), 1 => Just("br")];
    let from = (place(), letters.clone()).prop_map(|((field, character), letters)| match character {
        0 => format!("{field}{letters}"),
        character => format!("{field}.{character}{letters}"),
    });
    let to = (place(), letters).prop_map(|((field, character), letters)| format!("{field}.{character}{letters}"));
    (from, proptest::option::of(to)).prop_map(|(from, to)| to.map_or(from.clone(), |to| format!("{from},{to}")))
}

fn options() -> impl Strategy<Value = Options> {
    let ties = prop_oneof![Just(Ties::WholeRecord), Just(Ties::AsTheyCame), Just(Ties::FirstOnly)];
    let separator = proptest::option::of(prop_oneof![Just(b':'), Just(b' '), Just(b'a')]);
    (vec(key(), 0..3), separator, any::<[bool; 3]>(), ties).prop_map(|(keys, separator, flags, ties)| Options {
        keys,
        separator,
        reverse: flags[0],
        skip_blanks: flags[1],
        zero: flags[2],
        ties,
    })
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        8 => Just(b'a'), 8 => Just(b'b'), 6 => Just(b' '), 2 => Just(b'\t'), 6 => Just(b':'),
        6 => Just(b'\n'), 4 => Just(0_u8), 1 => Just(255), 1 => any::<u8>(),
    ];
    vec(byte, 0..200)
}

fn ours(order: &Order, input: &[u8]) -> Vec<u8> {
    let mut sorter = Sorter::new(order, ExternalOptions { threads: 0, ..ExternalOptions::default() }).unwrap();
    sorter.take(input, |_| true).unwrap();
    let mut out = vec![];
    sorter.finish(&mut out, |_| true).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_same_comes_out(options in options(), input in input()) {
        let gnu = options.gnu(&input, false);
        prop_assert!(gnu.status.success(), "{}", String::from_utf8_lossy(&gnu.stderr));
        let ours = ours(&options.order(), &input);
        prop_assert_eq!(
            String::from_utf8_lossy(&ours), String::from_utf8_lossy(&gnu.stdout), "{:?} {:?}", options, input
        );
    }

    #[test]
    fn the_same_disorder_is_found(options in options(), input in input(), sorted: bool) {
        let order = options.order();
        let input = if sorted { ours(&order, &input) } else { input };
        let gnu = options.gnu(&input, true);
        let disorder = first_disorder(&order, &input[..], |_| true).unwrap();
        prop_assert_eq!(gnu.status.code(), Some(i32::from(disorder.is_some())), "{:?} {:?}", options, input);
        if let Some(disorder) = disorder {
            let place = format!("sort: -:{}: disorder: ", disorder.number);
            prop_assert!(gnu.stderr.starts_with(place.as_bytes()), "{}", String::from_utf8_lossy(&gnu.stderr));
        }
    }
}
