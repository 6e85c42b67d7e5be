//! The first rows before the end: for a query with a LIMIT, or a run that is being spilled.

use anyhow::Context as _;
use serde::Deserialize;

use super::Options;
use super::runner::Runner;
use crate::versus::median;

const DATA: &str = "urls";
const KEYS: usize = 10_000_000;
/// Limit on the first hundredth, as a share of the time of the whole sort.
const WANTED: f64 = 0.25;

#[derive(Debug, Deserialize)]
struct FirstRows {
    whole: Vec<f64>,
    first: Vec<f64>,
    drained: Vec<f64>,
}

pub fn run(runner: &Runner, options: &Options) -> anyhow::Result<()> {
    let data = options.data.first().map_or(DATA, String::as_str);
    let (keys, repeat) = (KEYS.to_string(), options.repeat.to_string());
    let text = runner.run(&["first", "--data", data, "--keys", &keys, "--repeat", &repeat])?;
    print!(
        "{}",
        table(data, serde_json::from_str(&text).context("sortbench printed no measurement")?)
    );
    Ok(())
}

fn table(data: &str, rows: FirstRows) -> String {
    let (whole, first, drained) = (
        median(rows.whole.into_iter()),
        median(rows.first.into_iter()),
        median(rows.drained.into_iter()),
    );
    let met = if first / whole <= WANTED { "yes" } else { "SHORT" };
    let ms = |ns_per_key: f64| ns_per_key * KEYS as f64 / 1e6;
    format!(
        "{KEYS} keys of {data}, in milliseconds\n\
         the whole sort              {:>8.0}\n\
         the first 1 % of rows       {:>8.0}  {:.1} % of the whole; wanted <= {:.0} %: {met}\n\
         the iterator to its end     {:>8.0}  {:.1} %\n",
        ms(whole),
        ms(first),
        first / whole * 100.0,
        WANTED * 100.0,
        ms(drained),
        drained / whole * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_whole_sort() {
        let rows =
            |first| FirstRows { whole: vec![200.0], first: vec![first], drained: vec![220.0] };
        assert_eq!(
            table("urls", rows(48.0)),
            "10000000 keys of urls, in milliseconds\n\
             the whole sort                  2000\n\
             the first 1 % of rows            480  24.0 % of the whole; wanted <= 25 %: yes\n\
             the iterator to its end         2200  110.0 %\n"
        );
        assert!(table("urls", rows(51.0)).contains("25.5 % of the whole; wanted <= 25 %: SHORT"));
    }
}
