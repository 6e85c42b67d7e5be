//! A connection whose statements end within a time limit.
//!
//! Not every wait of the client libraries has a limit: PostgreSQL's waits for an answer, and for a
//! login, as long as the connection exists. A stopped server process keeps it open.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::connection::{Connection, Row};
use crate::error::{DatabaseError, Problem};
use crate::server_url::ServerUrl;

/// One connection. After a timeout it is closed, and every further statement fails.
pub struct Session {
    url: ServerUrl,
    connection: Option<Connection>,
    patience: Duration,
}

impl Session {
    /// Connects. Without a password, it is looked up where the product's own clients look.
    pub fn open(
        url: &ServerUrl,
        password: Option<&str>,
        patience: Duration,
    ) -> Result<Session, DatabaseError> {
        let (own_url, password) = (url.clone(), password.map(str::to_owned));
        let opened =
            within(patience, move || Connection::open(&own_url, password.as_deref(), patience));
        let connection = opened.and_then(|opened| opened).map_err(|problem| of(url, problem))?;
        Ok(Session { url: url.clone(), connection: Some(connection), patience })
    }

    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// Executes a statement and returns its rows, each column as text.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, DatabaseError> {
        self.try_rows(sql).map_err(|problem| of(&self.url, problem))
    }

    pub(crate) fn try_rows(&mut self, sql: &str) -> Result<Vec<Row>, Problem> {
        let closed = || Problem::Gone("an earlier statement was not answered".to_owned());
        let mut connection = self.connection.take().ok_or_else(closed)?;
        let sql = sql.to_owned();
        let (connection, rows) = within(self.patience, move || {
            let rows = connection.rows(&sql);
            (connection, rows)
        })?;
        self.connection = Some(connection);
        rows
    }

    pub fn error(&self, problem: Problem) -> DatabaseError {
        of(&self.url, problem)
    }
}

fn of(url: &ServerUrl, problem: Problem) -> DatabaseError {
    DatabaseError { server: url.to_string(), problem }
}

/// The result of something that may block; its thread is left behind if it takes longer.
pub(crate) fn within<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || drop(sender.send(work())));
    receiver.recv_timeout(patience).map_err(|error| match error {
        RecvTimeoutError::Timeout => Problem::Silent(patience),
        RecvTimeoutError::Disconnected => Problem::Gone("the client failed".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_reported() {
        let patience = Duration::from_millis(20);
        assert_eq!(within(patience, || 7).unwrap(), 7);
        let late = within(patience, || std::thread::sleep(Duration::from_secs(5)));
        assert!(matches!(late, Err(Problem::Silent(waited)) if waited == patience));
    }
}
