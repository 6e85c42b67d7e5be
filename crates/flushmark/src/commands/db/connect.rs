//! The connection to the server, with a password that the user may be asked for.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use database::{DatabaseError, Problem, ServerUrl, Session};

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
    eprint!("Password for {}: ", unseen::escaped(&server.url.to_string()));
    let terminal = console::Term::stderr();
    let password = terminal.read_secure_line().context("cannot read the password")?;
    server.password = Some(password);
    let session = server.open()?;
    Ok((server, session))
}
