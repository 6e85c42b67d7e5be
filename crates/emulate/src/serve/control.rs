//! The control socket: one order per line, one reply per line, in JSON.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// An order to an emulated drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Order {
    /// Report state and counters.
    Status,
    Cut,
    PowerOn,
    /// Overwrite the drive randomly this many times, in no time, to age it.
    Wear(f64),
    /// Precondition this percentage of it, as if written once.
    Fill(f64),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown order `{0}`; expected status, cut, power-on, wear N (overwrites of the whole drive, \
     above 0, at most 20), or fill P (percent, 0 to 100)"
)]
pub struct InvalidOrder(String);

impl FromStr for Order {
    type Err = InvalidOrder;

    fn from_str(line: &str) -> Result<Order, InvalidOrder> {
        let bad = || InvalidOrder(line.trim().to_owned());
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str, most: f64| {
            text.parse().ok().filter(|number| (0.0..=most).contains(number)).ok_or_else(bad)
        };
        match words[..] {
            ["status"] => Ok(Order::Status),
            ["cut"] => Ok(Order::Cut),
            ["power-on"] => Ok(Order::PowerOn),
            ["wear", times] => number(times, 20.0)
                .map(Order::Wear)
                .and_then(|order| if order == Order::Wear(0.0) { Err(bad()) } else { Ok(order) }),
            ["fill", percent] => number(percent, 100.0).map(Order::Fill),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Status => f.write_str("status"),
            Order::Cut => f.write_str("cut"),
            Order::PowerOn => f.write_str("power-on"),
            Order::Wear(times) => write!(f, "wear {times}"),
            Order::Fill(percent) => write!(f, "fill {percent}"),
        }
    }
}

/// Timeout of a reply: a cut may have to write a whole cache back.
const PATIENCE: Duration = Duration::from_mins(2);

impl Order {
    /// Sends it to a control socket, and waits for the reply, a JSON document.
    pub fn send(self, socket: &Path) -> io::Result<serde_json::Value> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        // If the server closes the connection early, the outcome of the order is unknown: that is
        // not a broken pipe of our output.
        let sent = stream.write_all(format!("{self}\n").as_bytes());
        sent.and_then(|()| BufReader::new(stream).read_line(&mut line))
            .map_err(io::Error::other)?;
        serde_json::from_str(&line).map_err(|_| match line.as_str() {
            "" => io::Error::other("the server closed the connection without a reply"),
            _ => io::Error::other("the server is not an emulated drive"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_as_they_are_written() {
        for order in
            [Order::Status, Order::Cut, Order::PowerOn, Order::Wear(1.5), Order::Fill(80.0)]
        {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for wrong in
            ["", "off", "wear", "wear x", "wear -1", "wear 0", "wear inf", "fill 101", "cut now"]
        {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
        insta::assert_snapshot!("off\n".parse::<Order>().unwrap_err(), @"unknown order `off`; expected status, cut, power-on, wear N (overwrites of the whole drive, above 0, at most 20), or fill P (percent, 0 to 100)");
    }
}
