//! The connection to the server, with a password that the user may be asked for.

use std::io::{BufRead as _, IsTerminal as _};
use std::time::Duration;

use anyhow::Context as _;
use database::{DatabaseError, Problem, ServerUrl, Session};
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use crate::signals;

/// A server, and the password that the user typed, if one was asked for.
pub struct Server {
    pub url: ServerUrl,
    pub password: Option<String>,
    pub patience: Duration,
}

impl Server {
    pub fn open(&self) -> Result<Session, DatabaseError> {
        Session::open(&self.url, self.password.as_deref(), self.patience)
    }
}

/// A terminal that does not show what is typed, until this is dropped.
struct Unseen {
    before: Termios,
}

impl Unseen {
    fn begin() -> std::io::Result<Unseen> {
        let before = termios::tcgetattr(rustix::stdio::stdin())?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        without.local_modes.insert(LocalModes::ECHONL);
        // This keeps what was typed before: a program that answers may be fast.
        termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &without)?;
        Ok(Unseen { before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // If the terminal is gone, nobody sees anything on it.
        let stdin = rustix::stdio::stdin();
        let _ = termios::tcsetattr(stdin, OptionalActions::Now, &self.before);
    }
}

/// The password that the user types. The question comes once the terminal hides the answer.
fn asked_for(url: &ServerUrl) -> std::io::Result<String> {
    let unseen = Unseen::begin()?;
    eprint!("Password for {}: ", unseen::escaped(&url.to_string()));
    while !is_answered()? {
        if let Some(signal) = signals::received() {
            drop(unseen);
            eprintln!();
            rados::exit(128 + signal);
        }
    }
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    Ok(typed.trim_end_matches(['\n', '\r']).to_owned())
}

/// Waits a moment for a line on the terminal.
fn is_answered() -> std::io::Result<bool> {
    const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let stdin = rustix::stdio::stdin();
    match event::poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&MOMENT)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Connects. If the server rejects the login, a user at a terminal is asked for the password once.
pub fn connect(url: ServerUrl, patience: Duration) -> anyhow::Result<(Server, Session)> {
    let mut server = Server { url, password: None, patience };
    let rejection = match server.open() {
        Ok(session) => return Ok((server, session)),
        Err(error) => error,
    };
    let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !matches!(rejection.problem, Problem::NotAdmitted { .. }) || !can_ask {
        return Err(rejection.into());
    }
    server.password = Some(asked_for(&server.url).context("cannot read the password")?);
    let session = server.open()?;
    Ok((server, session))
}
