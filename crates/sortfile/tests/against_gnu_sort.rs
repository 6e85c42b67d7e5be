//! The output is that of GNU `sort` with the same options, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use prefixsort::ExternalOptions;
use proptest::collection::vec;
use proptest::prelude::*;
use sortfile::{Input, Order, Sorter, Ties, Unit, first_disorder};

/// Options that both support.
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

    /// GNU `sort` with these options.
    fn command(&self) -> Command {
        let mut command = Command::new("sort");
        command.env("LC_ALL", "C");
        command.args(self.keys.iter().flat_map(|key| ["-k", key]));
        if let Some(separator) = self.separator {
            command.arg("-t").arg(char::from(separator).to_string());
        }
        let flags = [(self.reverse, "-r"), (self.skip_blanks, "-b"), (self.zero, "-z")];
        command.args(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| flag));
        match self.ties {
            Ties::WholeRecord => {}
            Ties::AsTheyCame => drop(command.arg("-s")),
            Ties::FirstOnly => drop(command.arg("-u")),
        }
        command
    }

    fn gnu(&self, input: &[u8], check: bool) -> Output {
        let mut child = self
            .command()
            .args(check.then_some("-c"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // With -c it may exit before it has read everything.
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
    let from =
        (place(), letters.clone()).prop_map(|((field, character), letters)| match character {
            0 => format!("{field}{letters}"),
            character => format!("{field}.{character}{letters}"),
        });
    let to = (place(), letters)
        .prop_map(|((field, character), letters)| format!("{field}.{character}{letters}"));
    (from, proptest::option::of(to))
        .prop_map(|(from, to)| to.map_or(from.clone(), |to| format!("{from},{to}")))
}

fn options() -> impl Strategy<Value = Options> {
    let ties = prop_oneof![Just(Ties::WholeRecord), Just(Ties::AsTheyCame), Just(Ties::FirstOnly)];
    let separator = proptest::option::of(prop_oneof![Just(b':'), Just(b' '), Just(b'a')]);
    (vec(key(), 0..3), separator, any::<[bool; 3]>(), ties).prop_map(
        |(keys, separator, flags, ties)| Options {
            keys,
            separator,
            reverse: flags[0],
            skip_blanks: flags[1],
            zero: flags[2],
            ties,
        },
    )
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        8 => Just(b'a'), 8 => Just(b'b'), 6 => Just(b' '), 2 => Just(b'\t'), 6 => Just(b':'),
        6 => Just(b'\n'), 4 => Just(0_u8), 1 => Just(255), 1 => any::<u8>(),
    ];
    vec(byte, 0..200)
}

fn ours(order: &Order, input: &[u8]) -> Vec<u8> {
    let mut sorter =
        Sorter::new(order, ExternalOptions { threads: 0, ..ExternalOptions::default() }).unwrap();
    sorter.take(input, |_| {}).unwrap();
    let mut out = vec![];
    sorter.finish(&mut out, |_| {}).unwrap();
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
    fn the_same_is_merged(options in options(), inputs in vec(input(), 0..12)) {
        let order = options.order();
        let directory = tempfile::tempdir().unwrap();
        let sorted: Vec<Vec<u8>> = inputs.iter().map(|input| ours(&order, input)).collect();
        let files = (0..).zip(&sorted).map(|(number, bytes)| {
            let file = directory.path().join(format!("{number:02}"));
            std::fs::write(&file, bytes).unwrap();
            file
        });
        let gnu = options.command().arg("-m").arg("/dev/null").args(files).output().unwrap();
        prop_assert!(gnu.status.success(), "{}", String::from_utf8_lossy(&gnu.stderr));
        let input = |bytes: Vec<u8>| Input {
            size: bytes.len() as u64,
            open: Box::new(move || Ok(Box::new(io::Cursor::new(bytes.clone())))),
        };
        // Memory for seven inputs: more are merged into runs first.
        let external =
            ExternalOptions { threads: 0, memory: 4 << 20, ..ExternalOptions::default() };
        let inputs = sorted.into_iter().map(input).collect();
        let mut out = vec![];
        Sorter::merging(&order, external, inputs).unwrap().finish(&mut out, |_| {}).unwrap();
        prop_assert_eq!(
            String::from_utf8_lossy(&out), String::from_utf8_lossy(&gnu.stdout), "{:?}", options
        );
    }

    #[test]
    fn the_same_disorder_is_found(options in options(), input in input(), sorted: bool) {
        let order = options.order();
        let input = if sorted { ours(&order, &input) } else { input };
        let gnu = options.gnu(&input, true);
        let disorder = first_disorder(&order, &input[..], |_| {}).unwrap();
        prop_assert_eq!(gnu.status.code(), Some(i32::from(disorder.is_some())), "{:?} {:?}", options, input);
        if let Some(disorder) = disorder {
            let place = format!("sort: -:{}: disorder: ", disorder.number);
            prop_assert!(gnu.stderr.starts_with(place.as_bytes()), "{}", String::from_utf8_lossy(&gnu.stderr));
        }
    }
}

/// Lines of a word, a number and a word, from a fixed seed. A third of them occur more than once,
/// so ties, repetitions and prefixes of one another are spread over all runs.
fn many_lines(bytes: usize, end: u8) -> Vec<u8> {
    const WORDS: [&str; 8] = ["a", "ab", "abc", "b", "", "customer", "customers", "\u{ff}"];
    // Knuth's MMIX generator; its upper bits are the random ones.
    let mut state = 7_u64;
    let mut below = |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let mut lines = Vec::with_capacity(bytes + 64);
    while lines.len() < bytes {
        let (first, last) = (WORDS[below(8) as usize], WORDS[below(8) as usize]);
        let number = if below(3) == 0 { below(100) } else { below(10_000_000) };
        lines.extend_from_slice(format!("{first}:{number}:{last}").as_bytes());
        lines.push(end);
    }
    lines
}

#[test]
fn the_same_comes_out_of_many_buffers_runs_and_passes() {
    let plain = Options {
        keys: vec![],
        separator: None,
        reverse: false,
        skip_blanks: false,
        ties: Ties::WholeRecord,
        zero: false,
    };
    let keyed = |keys: &[&str]| Options {
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        separator: Some(b':'),
        ..plain.clone()
    };
    let cases = [
        plain.clone(),
        Options { reverse: true, ..plain.clone() },
        Options { ties: Ties::FirstOnly, ..plain.clone() },
        Options { zero: true, ..plain.clone() },
        keyed(&["3,3", "1,1r"]),
        Options { ties: Ties::AsTheyCame, ..keyed(&["1,1"]) },
        Options { ties: Ties::AsTheyCame, reverse: true, ..keyed(&["3,3"]) },
        Options { ties: Ties::FirstOnly, ..keyed(&["2,2"]) },
        Options { ties: Ties::FirstOnly, reverse: true, zero: true, ..keyed(&["2.2,3"]) },
    ];
    for options in cases {
        let input = many_lines(12 << 20, if options.zero { 0 } else { b'\n' });
        // The minimum of memory: some megabytes of records per run, and four runs per merge.
        let external =
            ExternalOptions { memory: 4 << 20, threads: 2, ..ExternalOptions::default() };
        let mut sorter = Sorter::new(&options.order(), external).unwrap();
        sorter.take(&input[..], |_| {}).unwrap();
        let mut out = vec![];
        let done = sorter.finish(&mut out, |_| {}).unwrap();
        assert!(
            done.figures.runs > 5,
            "runs are merged into runs: {options:?}: {:?}",
            done.figures
        );
        let gnu = options.gnu(&input, false);
        assert!(gnu.status.success(), "{}", String::from_utf8_lossy(&gnu.stderr));
        // Not the texts themselves in the message: they are megabytes long.
        let same = out.iter().zip(&gnu.stdout).take_while(|(ours, theirs)| ours == theirs).count();
        assert_eq!(
            (same, out.len()),
            (gnu.stdout.len(), gnu.stdout.len()),
            "{options:?}: equal up to byte {same}"
        );
    }
}
