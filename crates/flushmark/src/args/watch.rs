//! Arguments of `flushmark watch`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use super::{Format, parse_time};

/// Shorter intervals hold too few commits for a rate, and watching is not free.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Show writes and flushes second by second, and who commits
///
/// Prints a line for each drive and second: writes and flushes per second, and their mean times,
/// from the kernel's own counters. Writes nothing to the drives. As root, it also shows which
/// processes commit (fsync, fdatasync, msync, sync, syncfs), and traces a sample of
/// their commits: the median, the 99th percentile, and the layer that takes most of the time.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark watch
  sudo flushmark watch /var/lib/postgresql --for 1min
  flushmark watch /dev/sda /dev/nvme0n1 --interval 10s --format json
  sudo flushmark watch --openmetrics :9487

Press Ctrl-C to stop.")]
pub struct WatchArgs {
    /// Devices, or paths on the drives to watch [default: all drives]
    #[arg(value_name = "DEVICE|PATH")]
    pub places: Vec<PathBuf>,

    /// Time between two lines (at least 100ms)
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub interval: Duration,

    /// Stop after this time [default: run until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Also publish the counters as metrics for Prometheus: in a file that is replaced after each
    /// interval, or over HTTP under /metrics at PORT, :PORT (of this machine only) or ADDRESS:PORT
    #[arg(long, value_name = "FILE|ADDRESS", value_parser = parse_destination)]
    pub openmetrics: Option<Destination>,

    /// Output format; JSON has one line for each interval
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Read sysfs and procfs below this directory, such as one captured on another machine
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub system_root: PathBuf,
}

/// The place where metrics are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    File(PathBuf),
    Address(SocketAddr),
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse_time(text)?;
    if interval < INTERVAL_MIN {
        return Err(format!("expected at least {} ms", INTERVAL_MIN.as_millis()));
    }
    Ok(interval)
}

/// A port, or what ends in a colon and a number, is an address; a file of such a name can be
/// written as `./9187`.
fn parse_destination(text: &str) -> Result<Destination, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || text.contains('/') {
        return Ok(Destination::File(text.into()));
    }
    let port = || port.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok();
    let address = if host.is_empty() { port() } else { text.parse().ok() };
    address.map(Destination::Address).ok_or_else(|| {
        "expected a file, PORT, :PORT or ADDRESS:PORT with a numeric address, such as \
         127.0.0.1:9187 or [::1]:9187"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_metrics_go() {
        let address = |text: &str| Destination::Address(text.parse().unwrap());
        for (text, expected) in [
            ("9187", address("127.0.0.1:9187")),
            (":9187", address("127.0.0.1:9187")),
            ("192.0.2.7:80", address("192.0.2.7:80")),
            ("[::1]:80", address("[::1]:80")),
            ("./9187", Destination::File("./9187".into())),
            ("flushmark.prom", Destination::File("flushmark.prom".into())),
            ("/tmp/a:1", Destination::File("/tmp/a:1".into())),
            ("a:b", Destination::File("a:b".into())),
        ] {
            assert_eq!(parse_destination(text), Ok(expected), "{text}");
        }
        for wrong in ["localhost:9187", ":65536", "70000", "::1:80000"] {
            assert!(parse_destination(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn intervals() {
        assert_eq!(parse_interval("100ms"), Ok(INTERVAL_MIN));
        assert_eq!(parse_interval("0").unwrap_err(), "expected a time above zero");
        assert_eq!(parse_interval("99ms").unwrap_err(), "expected at least 100 ms");
    }
}
