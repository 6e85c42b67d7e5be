//! The PostgreSQL engine of the store. The tables are in a schema `flushmark`, so the database may
//! contain other things.

mod problem;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Statement};

use crate::engine::{Dialect, Engine, Row, Value};
use crate::error::Problem;

/// Key of the advisory lock for schema changes; `FLSM`.
const MIGRATION_KEY: i64 = 0x464C_534D;
/// First half of the keys of the locks for finding and storing documents; one higher.
const INSERT_KEY: i32 = 0x464C_534E;
/// First half of the keys of runs' locks; the second half is the run's number.
const RUN_KEY: i32 = 0x464C_534D;

pub(crate) struct Postgres {
    client: Client,
    wait: Duration,
    /// The prepared statements, by their text.
    prepared: HashMap<String, Statement>,
}

/// Statements of more than this many texts are prepared again.
const PREPARED_MAX: usize = 256;

impl Postgres {
    pub(crate) fn open(url: &str, wait: Duration) -> Result<Postgres, Problem> {
        let client = database::connect_postgres(url, None, wait)?;
        let mut engine = Postgres { client, wait, prepared: HashMap::new() };
        engine.batch(&format!(
            "SET search_path = flushmark; SET lock_timeout = {}; SET synchronous_commit = on; SET \
             client_min_messages = warning",
            wait.as_millis()
        ))?;
        Ok(engine)
    }

    /// A statement that is used again: its values are not part of its text.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Problem> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        let statement =
            self.client.prepare(sql).map_err(|error| problem::of_statement(&error, self.wait))?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::FLOAT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}

fn value(row: &postgres::Row, column: usize) -> Result<Value, postgres::Error> {
    Ok(match *row.columns()[column].type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map_or(Value::Null, Value::Integer),
        Type::INT4 => row
            .try_get::<_, Option<i32>>(column)?
            .map_or(Value::Null, |number| Value::Integer(number.into())),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(column)?.map_or(Value::Null, Value::Real),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(column)?.map_or(Value::Null, Value::Blob),
        _ => row.try_get::<_, Option<String>>(column)?.map_or(Value::Null, Value::Text),
    })
}

impl Engine for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn has_table(&mut self, name: &str) -> Result<bool, Problem> {
        let found = self.one(
            "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'flushmark' AND tablename::text \
             = $1",
            &[name.into()],
        )?;
        Ok(found.is_some())
    }

    fn batch(&mut self, sql: &str) -> Result<(), Problem> {
        self.client.batch_execute(sql).map_err(|error| problem::of_statement(&error, self.wait))
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Problem> {
        let statement = self.prepare(sql)?;
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.client
            .execute(&statement, &values)
            .map_err(|error| problem::of_statement(&error, self.wait))
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Problem> {
        let rows = if values.is_empty() {
            self.client.query(sql, &[])
        } else {
            let statement = self.prepare(sql)?;
            let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            self.client.query(&statement, &values)
        };
        let rows = rows.map_err(|error| problem::of_statement(&error, self.wait))?;
        let cells = |row: &postgres::Row| {
            (0..row.len()).map(|column| value(row, column)).collect::<Result<_, _>>()
        };
        let rows: Result<Vec<_>, _> = rows.iter().map(|row| cells(row).map(Row)).collect();
        rows.map_err(|error| problem::of_statement(&error, self.wait))
    }

    fn begin(&mut self) -> Result<(), Problem> {
        self.batch("BEGIN")
    }

    fn begin_reading(&mut self) -> Result<(), Problem> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }

    fn begin_insert(&mut self, keys: &BTreeSet<i32>) -> Result<(), Problem> {
        let lock = |key: &i32| format!("; SELECT pg_advisory_xact_lock({INSERT_KEY}, {key})");
        self.batch(&format!("BEGIN{}", keys.iter().map(lock).collect::<String>()))
    }

    fn begin_migration(&mut self) -> Result<(), Problem> {
        self.begin()?;
        // Two sessions that create a schema at once would fail each other; the end of the
        // transaction releases the lock.
        self.batch(&format!(
            "SELECT pg_advisory_xact_lock({MIGRATION_KEY}); CREATE SCHEMA IF NOT EXISTS flushmark"
        ))
    }

    /// A session lock: the server releases it when the connection ends for any reason, and every
    /// host can see it.
    fn lock_run(&mut self, run: i64) -> Result<(), Problem> {
        self.batch(&format!("SELECT pg_advisory_lock({RUN_KEY}, {})", run as i32))
    }

    fn unlock_run(&mut self, run: i64) -> Result<(), Problem> {
        self.batch(&format!("SELECT pg_advisory_unlock({RUN_KEY}, {})", run as i32))
    }

    fn is_run_locked(&mut self, run: i64, _writer: &str) -> Result<bool, Problem> {
        let held = self.one(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = $1
             AND objid::bigint = $2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            &[i64::from(RUN_KEY).into(), i64::from(run as u32).into()],
        )?;
        Ok(held.is_some())
    }
}

#[cfg(test)]
mod tests {
    use postgresql::Server;

    use super::*;

    const WAIT: Duration = Duration::from_secs(3);

    #[test]
    fn server_errors_map_to_problems() {
        let Some(server) = Server::start("server_errors_map_to_problems") else { return };
        let mut engine = Postgres::open(&server.database("causes"), WAIT)
            .unwrap_or_else(|problem| panic!("{problem}"));
        let mut raised = |code: &str| {
            let sql = format!("DO $$ BEGIN RAISE EXCEPTION 'why' USING ERRCODE = '{code}'; END $$");
            engine.batch(&sql).unwrap_err()
        };
        assert!(matches!(raised("55P03"), Problem::Locked(WAIT)));
        assert!(matches!(raised("53100"), Problem::Full));
        for code in ["57P01", "57P02", "57P03"] {
            assert!(matches!(raised(code), Problem::Gone(said) if said == "why"), "{code}");
        }
        for code in ["XX001", "XX002"] {
            assert!(matches!(raised(code), Problem::Damaged(said) if said == "why"), "{code}");
        }
        assert!(matches!(raised("22012"), Problem::Refused(said) if said == "why"));
    }

    #[test]
    fn every_type_in_use_can_be_read() {
        let Some(server) = Server::start("every_type_in_use_can_be_read") else { return };
        let mut engine = Postgres::open(&server.database("types"), WAIT)
            .unwrap_or_else(|problem| panic!("{problem}"));
        let sql = "SELECT 1::bigint, 2, 1.5::float8, 'text', '\\x0708'::bytea, NULL::bigint";
        let Row(cells) = engine.one(sql, &[]).unwrap().unwrap();
        let text = Value::Text("text".to_owned());
        let blob = Value::Blob(vec![7, 8]);
        assert_eq!(
            cells,
            [Value::Integer(1), Value::Integer(2), Value::Real(1.5), text, blob, Value::Null]
        );
    }

    #[test]
    fn a_run_is_locked_until_it_is_unlocked_or_its_connection_ends() {
        let Some(server) =
            Server::start("a_run_is_locked_until_it_is_unlocked_or_its_connection_ends")
        else {
            return;
        };
        let url = server.database("locks");
        let open = || Postgres::open(&url, WAIT).unwrap_or_else(|problem| panic!("{problem}"));
        let (mut here, mut there) = (open(), open());
        here.lock_run(7).unwrap();
        assert!(there.is_run_locked(7, "").unwrap() && !there.is_run_locked(8, "").unwrap());
        here.unlock_run(7).unwrap();
        assert!(!there.is_run_locked(7, "").unwrap());

        // Inserts of different documents and a migration can run at once, but not two of a kind.
        here.begin_insert(&[7, -8].into()).unwrap();
        there.begin_insert(&[9].into()).unwrap();
        there.batch("ROLLBACK").unwrap();
        there.begin_migration().unwrap();
        there.batch("ROLLBACK; SET lock_timeout = 200").unwrap();
        assert!(matches!(there.begin_insert(&[5, -8].into()).unwrap_err(), Problem::Locked(_)));
        there.batch("ROLLBACK").unwrap();
        here.batch("ROLLBACK").unwrap();
        here.begin_migration().unwrap();
        assert!(matches!(there.begin_migration().unwrap_err(), Problem::Locked(_)));
        here.batch("ROLLBACK").unwrap();
        there.batch("ROLLBACK").unwrap();

        // A reading transaction cannot write.
        here.begin_reading().unwrap();
        assert!(matches!(
            here.batch("CREATE TABLE public.x (y int)").unwrap_err(),
            Problem::Refused(_)
        ));
    }
}
