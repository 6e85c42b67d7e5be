//! Prepared statements of either product.

use mysql::prelude::Queryable as _;
use postgres::types::ToSql;

use crate::connection::{Connection, of_mysql, of_postgres};
use crate::error::Problem;

/// A parameter's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Integer(i32),
    Key(i64),
    Text(&'a str),
}

pub(super) enum Prepared {
    Postgres(postgres::Statement),
    Mysql(mysql::Statement),
}

impl Prepared {
    pub(super) fn new(connection: &mut Connection, sql: &str) -> Result<Prepared, Problem> {
        match connection {
            Connection::Postgres(client) => {
                client.prepare(sql).map(Prepared::Postgres).map_err(|error| of_postgres(&error))
            }
            Connection::Mysql(conn) => {
                conn.prep(sql).map(Prepared::Mysql).map_err(|error| of_mysql(&error))
            }
        }
    }

    /// The number of rows changed.
    pub(super) fn execute(
        &self,
        connection: &mut Connection,
        values: &[Value<'_>],
    ) -> Result<u64, Problem> {
        match (self, connection) {
            (Prepared::Postgres(statement), Connection::Postgres(client)) => {
                client.execute(statement, &of_values(values)).map_err(|error| of_postgres(&error))
            }
            (Prepared::Mysql(statement), Connection::Mysql(conn)) => conn
                .exec_drop(statement, positional(values))
                .map(|()| conn.affected_rows())
                .map_err(|error| of_mysql(&error)),
            _ => Err(of_another_product()),
        }
    }

    /// The number of rows returned.
    pub(super) fn query(
        &self,
        connection: &mut Connection,
        values: &[Value<'_>],
    ) -> Result<u64, Problem> {
        match (self, connection) {
            (Prepared::Postgres(statement), Connection::Postgres(client)) => client
                .query(statement, &of_values(values))
                .map(|rows| rows.len() as u64)
                .map_err(|error| of_postgres(&error)),
            (Prepared::Mysql(statement), Connection::Mysql(conn)) => conn
                .exec(statement, positional(values))
                .map(|rows: Vec<mysql::Row>| rows.len() as u64)
                .map_err(|error| of_mysql(&error)),
            _ => Err(of_another_product()),
        }
    }
}

fn of_another_product() -> Problem {
    Problem::Refused("the statement was prepared on another product".to_owned())
}

fn of_values<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    let value = |value: &'a Value<'_>| match value {
        Value::Integer(value) => value as &(dyn ToSql + Sync),
        Value::Key(value) => value,
        Value::Text(value) => value,
    };
    values.iter().map(value).collect()
}

fn positional(values: &[Value<'_>]) -> mysql::Params {
    let value = |value: &Value<'_>| match value {
        Value::Integer(value) => mysql::Value::from(*value),
        Value::Key(value) => mysql::Value::from(*value),
        Value::Text(value) => mysql::Value::from(*value),
    };
    mysql::Params::Positional(values.iter().map(value).collect())
}
