//! `flushmark web`: shows kept runs, and runs in progress, in a browser.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use web::{Access, CHOSEN_MIN, Server, Token};

use super::print;
use crate::args::web::WebArgs;
use crate::exit::{self, ExitStatus, WrongUse};
use crate::listening::listen;
use crate::signals::{self, STOP};
use crate::{browser, keeping, live};

/// Serves until a signal stops it.
pub fn run(args: &WebArgs) -> anyhow::Result<ExitStatus> {
    let location = keeping::location(&args.store)?;
    let token = args.token_file.as_deref().map(token_in).transpose()?;
    signals::listen().context("cannot handle signals")?;
    let listener = listen(args.listen, "web", "--listen")?;
    let address = listener.local_addr().context("cannot get the server's address")?;
    let access = Access::new(address, &name(address), token)
        .context("cannot get random numbers for a token")?;
    let url = access.address();
    print(&format!("{url}\n"))?;
    exit::complain(&format!("showing the runs in {location}; press Ctrl-C to stop"));
    if args.open {
        // In a separate thread, because the browser needs the server.
        std::thread::spawn(move || browser::open(&url).unwrap_or_else(|why| exit::complain(&why)));
    }
    Server::new(access, location, live::running)
        .serve(listener, || STOP.is_requested())
        .context("cannot serve")?;
    // A signal is the normal way to stop.
    Ok(ExitStatus::Done)
}

/// The token in a file, which a program such as Prometheus has as well.
fn token_in(file: &Path) -> anyhow::Result<Token> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the token in {}", file.display()))?;
    let wrong = || {
        WrongUse(format!(
            "{} has no token: expected at least {CHOSEN_MIN} letters, digits and any of - . _ ~, \
             such as `openssl rand -hex 32` prints",
            file.display()
        ))
    };
    Ok(Token::chosen(text.trim()).ok_or_else(wrong)?)
}

/// The name under which others reach the server: the machine's name if it listens on all addresses.
fn name(address: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match host.trim() {
        host if address.ip().is_unspecified() && !host.is_empty() => {
            format!("{host}:{}", address.port())
        }
        _ => address.to_string(),
    }
}
