//! What may be typed after `flushmark web`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Parser;

use super::store::StoreArgs;

/// Below 32768, from where on Linux takes ports for outgoing connections, and between the registered ones (doip-data is 13400, bprd 13720).
const PORT: u16 = 13587;

/// Look at kept runs in a browser: list, filter, compare, charts, and tests while they run
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark web --open
  flushmark web --listen 8080
  flushmark web --listen 192.0.2.7 --store postgres://bench@db1/flushmark

Only this machine can ask, unless --listen names another address; the address that is then
printed carries a token, without which nothing is shown. Ctrl-C ends it.")]
pub struct WebArgs {
    /// Where to listen: PORT, ADDRESS or ADDRESS:PORT; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)), value_parser = parse_listen)]
    pub listen: SocketAddr,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Open the page in a browser: the one that BROWSER names, else the desktop's
    #[arg(long)]
    pub open: bool,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok();
    let bare = || {
        text.trim_start_matches('[').trim_end_matches(']').parse().map(|ip: IpAddr| SocketAddr::from((ip, PORT))).ok()
    };
    text.parse().ok().or_else(port).or_else(bare).ok_or_else(|| {
        "write PORT, ADDRESS or ADDRESS:PORT, with the address in numbers, such as 127.0.0.1:8080 or [::1]:8080"
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
