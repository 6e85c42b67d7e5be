//! Arguments of `flushmark web`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Parser;

use super::store::StoreArgs;

/// Below 32768, where Linux's ephemeral ports start, and between registered ports (doip-data is
/// 13400, bprd 13720).
const PORT: u16 = 13587;

/// Browse kept runs, and tests as they run, in a browser
///
/// The pages list, filter and compare runs, with charts.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark web --open
  flushmark web --listen 8080
  flushmark web --listen 192.0.2.7 --store postgres://bench@db1/flushmark

Only this machine can connect, unless --listen names another address. The printed address then
carries a token that every request needs. Press Ctrl-C to stop.")]
pub struct WebArgs {
    /// Where to listen: PORT, ADDRESS or ADDRESS:PORT; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)), value_parser = parse_listen)]
    pub listen: SocketAddr,

    /// Require the token in this file from every client, also on this machine; at least 32 letters,
    /// digits and any of - . _ ~ [default: a new one at each start, if others can connect]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Open the page in a browser: $BROWSER, or else the desktop's default
    #[arg(long)]
    pub open: bool,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok();
    let bare = || {
        text.trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .map(|ip: IpAddr| SocketAddr::from((ip, PORT)))
            .ok()
    };
    text.parse().ok().or_else(port).or_else(bare).ok_or_else(|| {
        "expected PORT, ADDRESS or ADDRESS:PORT with a numeric address, such as 127.0.0.1:8080 or \
         [::1]:8080"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_listen() {
        let read = |text: &str| parse_listen(text).map(|address| address.to_string());
        assert_eq!(read("8080").unwrap(), "127.0.0.1:8080");
        assert_eq!(read("192.0.2.7").unwrap(), format!("192.0.2.7:{PORT}"));
        assert_eq!(read("192.0.2.7:80").unwrap(), "192.0.2.7:80");
        assert_eq!(read("::1").unwrap(), format!("[::1]:{PORT}"));
        assert_eq!(read("[::1]:80").unwrap(), "[::1]:80");
        for wrong in ["", "localhost", "127.0.0.1:", "127.0.0.1:65536", "-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
