//! A connection to either product.

use std::time::Duration;

use mysql::prelude::Queryable as _;
use postgres::SimpleQueryMessage;

use crate::connect_error::ConnectError;
use crate::error::Problem;
use crate::server_url::{Product, ServerUrl};
use crate::{mysql as mysql_client, postgres as postgres_client};

/// The columns of a row as text; `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

pub(crate) enum Connection {
    Postgres(Box<postgres::Client>),
    Mysql(Box<mysql::Conn>),
}

impl Connection {
    pub(crate) fn open(
        url: &ServerUrl,
        password: Option<&str>,
        wait: Duration,
    ) -> Result<Connection, Problem> {
        match url.product() {
            Product::Postgres => {
                let mut client = postgres_client::connect(url.text(), password, wait)
                    .map_err(|error| of_connecting(error, url.product()))?;
                let set = client.batch_execute(&timeouts_of_postgres(wait));
                set.map_err(|error| of_postgres(&error))?;
                Ok(Connection::Postgres(Box::new(client)))
            }
            Product::Mysql => {
                Connection::open_mysql(url, password, wait).map(Box::new).map(Connection::Mysql)
            }
        }
    }

    pub(crate) fn open_mysql(
        url: &ServerUrl,
        password: Option<&str>,
        wait: Duration,
    ) -> Result<mysql::Conn, Problem> {
        let address = mysql_client::Address::read(url.rest());
        let connected = address.and_then(|address| mysql_client::connect(&address, password, wait));
        let mut conn = connected.map_err(|error| of_connecting(error, url.product()))?;
        // A commit per statement, whatever the server's default is.
        conn.query_drop("SET SESSION autocommit = 1").map_err(|error| of_mysql(&error))?;
        Ok(conn)
    }

    /// Executes a statement and returns its rows.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Problem> {
        match self {
            Connection::Postgres(client) => {
                let messages = client.simple_query(sql).map_err(|error| of_postgres(&error))?;
                let row = |message: &SimpleQueryMessage| match message {
                    SimpleQueryMessage::Row(row) => {
                        Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
                    }
                    _ => None,
                };
                Ok(messages.iter().filter_map(row).collect())
            }
            Connection::Mysql(conn) => {
                let rows: Vec<mysql::Row> = conn.query(sql).map_err(|error| of_mysql(&error))?;
                let cell = |value: mysql::Value| match value {
                    mysql::Value::NULL => None,
                    mysql::Value::Bytes(bytes) => {
                        Some(String::from_utf8_lossy(&bytes).into_owned())
                    }
                    other => Some(other.as_sql(true)),
                };
                Ok(rows
                    .into_iter()
                    .map(|row| row.unwrap().into_iter().map(cell).collect())
                    .collect())
            }
        }
    }
}

/// A statement ends within this time.
pub(crate) fn timeouts_of_postgres(wait: Duration) -> String {
    let ms = wait.as_millis();
    format!("SET statement_timeout = {ms}; SET lock_timeout = {ms}")
}

pub(crate) fn of_connecting(error: ConnectError, product: Product) -> Problem {
    match error {
        ConnectError::Url(why) => Problem::Url(why),
        ConnectError::Tls(why) => Problem::Tls(why),
        ConnectError::NotAdmitted(said) => Problem::NotAdmitted { said, product },
        ConnectError::NoDatabase(said) => Problem::NoDatabase(said),
        ConnectError::TooManyConnections(said) => Problem::TooManyConnections(said),
        ConnectError::Unreachable(said) => Problem::Unreachable(said),
    }
}

/// Why a statement failed.
pub(crate) fn of_postgres(error: &postgres::Error) -> Problem {
    use std::error::Error as _;

    use postgres::error::SqlState;
    let said = crate::postgres::said(error);
    let is_io = error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
    match error.code() {
        _ if error.is_closed() || is_io => Problem::Gone(said),
        Some(
            &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW,
        ) => Problem::Gone(said),
        Some(&SqlState::DISK_FULL) => Problem::Full(said),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => Problem::ReadOnly(said),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Problem::LacksPrivilege(said),
        _ => Problem::Refused(said),
    }
}

/// Why a statement failed.
pub(crate) fn of_mysql(error: &mysql::Error) -> Problem {
    /// No access to a database, a table, a column; a privilege is missing.
    const LACKS_PRIVILEGE: [u16; 5] = [1044, 1142, 1143, 1227, 1410];
    /// The server is shutting down; the connection was killed.
    const GONE: [u16; 4] = [1053, 1077, 1927, 3169];
    /// The disk is full; the table is full.
    const FULL: [u16; 3] = [1021, 1030, 1114];
    /// `read_only`, `super_read_only`, `innodb_read_only`.
    const READ_ONLY: [u16; 3] = [1290, 1836, 1874];
    let said = crate::mysql::said(error);
    match error {
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) | mysql::Error::DriverError(_) => {
            Problem::Gone(said)
        }
        mysql::Error::MySqlError(refusal) => match refusal.code {
            code if LACKS_PRIVILEGE.contains(&code) => Problem::LacksPrivilege(said),
            code if GONE.contains(&code) => Problem::Gone(said),
            code if FULL.contains(&code) => Problem::Full(said),
            code if READ_ONLY.contains(&code) => Problem::ReadOnly(said),
            _ => Problem::Refused(said),
        },
        _ => Problem::Refused(said),
    }
}
