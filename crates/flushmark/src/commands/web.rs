//! `flushmark web`: kept runs in a browser, and those that are being measured.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use anyhow::Context as _;
use web::{Access, Server};

use super::print;
use crate::args::web::WebArgs;
use crate::exit::{self, Verdict, WrongUse};
use crate::signals::{self, STOP};
use crate::{browser, keeping, live};

/// Serves until a signal comes.
///
/// # Errors
/// When it cannot listen there, or nobody says where runs are kept.
pub fn run(args: &WebArgs) -> anyhow::Result<Verdict> {
    let location = keeping::location(&args.store)?;
    signals::listen().context("cannot listen to signals")?;
    let listener = listen(args.listen)?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    let access = Access::new(address, &name(address)).context("the kernel gives no random numbers for a token")?;
    let url = access.address();
    print(&format!("{url}\n"))?;
    exit::complain(&format!("shows the runs in {location}; Ctrl-C ends it"));
    if args.open {
        // Beside the server, which the browser asks.
        std::thread::spawn(move || browser::open(&url).unwrap_or_else(|why| exit::complain(&why)));
    }
    Server::new(access, location, live::running).serve(listener, || STOP.is_requested()).context("cannot serve")?;
    // Its end is what the person asked for.
    Ok(Verdict::Done)
}

/// Where others find it. A server on all addresses is found by the machine's name.
fn name(address: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match host.trim() {
        host if address.ip().is_unspecified() && !host.is_empty() => format!("{host}:{}", address.port()),
        _ => address.to_string(),
    }
}

fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => WrongUse(format!(
            "{address} is in use, perhaps by another `flushmark web`; name another port, such as --listen {}, or --listen 0 for any that is free",
            address.port().wrapping_add(1)
        ))
        .into(),
        ErrorKind::AddrNotAvailable => {
            WrongUse(format!("{address} is no address of this machine; `ip address` shows what it has")).into()
        }
        ErrorKind::PermissionDenied => WrongUse(format!(
            "port {} may only be listened to by root; name one from 1024 on", address.port()
        ))
        .into(),
        _ => anyhow::Error::new(error).context(format!("cannot listen to {address}")),
    })
}
