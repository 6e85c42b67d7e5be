//! Arguments of runs that begin together with others.

use std::time::Duration;

use jiff::Timestamp;

use super::parse_time;

/// Begin each test at the same moment as other runs.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct GroupArgs {
    /// Begin each test at the same moment as the other hosts of this group; they meet in the
    /// PostgreSQL store
    #[arg(long, value_name = "NAME", requires = "hosts")]
    pub group: Option<String>,

    /// The number of hosts in the group (1 to 100,000)
    #[arg(long, value_name = "N", requires = "group", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub hosts: Option<u32>,

    /// How long to wait for hosts of the group that are missing or not ready; then the others go on
    #[arg(long, value_name = "TIME", default_value = "2min", value_parser = parse_time, requires = "group")]
    pub group_wait: Duration,

    /// Begin the first test at this time, such as 2026-12-01T03:00:00Z, and the others at times that
    /// follow from it: without a store, hosts begin together as well as their clocks agree
    #[arg(long, value_name = "TIME", conflicts_with = "group", value_parser = parse_timestamp)]
    pub start_at: Option<Timestamp>,
}

fn parse_timestamp(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| {
        "expected a date and time with its offset from UTC, such as 2026-12-01T03:00:00Z or \
         2026-12-01T04:00:00+01:00"
            .to_owned()
    })
}
