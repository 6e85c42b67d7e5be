//! Our sort compared with that of another build, on slices and on a column.

use anyhow::bail;

use super::Options;
use super::runner::{Input, Measured, Outcome, Runner};
use crate::versus::{Compared, Wanted, and_build, in_turns, print};

/// Ours, on slices and on a column.
const CONTESTANTS: [&str; 2] = ["prefixsort", "ours-on-column"];
/// Each program measures this many times in each of its turns, since generating the keys takes
/// longer than sorting them.
const SORTS_PER_TURN: usize = 3;

/// Measures every data set with both builds in turns, and prints the ratios of their times.
pub fn run(runner: &Runner, options: &Options, sets: &[String]) -> anyhow::Result<()> {
    let others = options.builds.iter().map(|build| Runner::of(build.clone(), options.cpu));
    let runners: Vec<Runner> = std::iter::once(runner.clone()).chain(others).collect();
    let rounds = u32::try_from(options.repeat)?;
    let mut table = Vec::new();
    for data in sets {
        eprintln!("{data}");
        let samples = in_turns(rounds, &runners, Sample::slices, |runner| {
            Sample::of(runner, data, options.keys)
        })?;
        for (build, theirs) in options.builds.iter().zip(&samples[1..]) {
            for (what, figure) in
                [("slices", Sample::slices as fn(&Sample) -> f64), ("column", Sample::column)]
            {
                let what = and_build(what, build);
                let both = [&samples[0][..], theirs];
                table.push(Compared::medians(data, what, both, figure, Wanted::BUILD_TIME));
            }
        }
    }
    println!("ns a key, {} keys of each data set, medians of {rounds}", options.keys);
    print(&table);
    Ok(())
}

/// Nanoseconds per key of one turn.
struct Sample {
    slices: f64,
    column: f64,
}

impl Sample {
    fn of(runner: &Runner, data: &str, keys: usize) -> anyhow::Result<Sample> {
        let measured = match runner.compare(data, keys, SORTS_PER_TURN, &CONTESTANTS)? {
            Outcome::Measured(measured) => measured,
            Outcome::LeftOut(why) => bail!("{data}: {why}"),
        };
        let on = |input: Input| {
            let found = measured.iter().find(|measured| measured.input == input);
            found.map_or(f64::NAN, Measured::median_ns)
        };
        Ok(Sample { slices: on(Input::Slices), column: on(Input::Column) })
    }

    fn slices(&self) -> f64 {
        self.slices
    }

    fn column(&self) -> f64 {
        self.column
    }
}
