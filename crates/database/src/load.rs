//! The load of other clients on a server.

use std::time::{Duration, Instant};

use crate::error::{DatabaseError, Problem};
use crate::server_url::Product;
use crate::session::Session;

/// Statistics of PostgreSQL's sessions appear with up to a second of delay.
const WATCHED: Duration = Duration::from_millis(1500);
/// Transactions or statements per second that background processes and a monitoring agent make.
const PER_SECOND_MAX: f64 = 10.0;

/// Seen while nothing of this program ran but the connection that looked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Other clients that execute a statement.
    pub active_clients: u64,
    /// PostgreSQL: transactions; MariaDB and MySQL: statements.
    pub per_second: f64,
}

impl Load {
    /// Watches the server for a moment.
    pub fn watch(session: &mut Session) -> Result<Load, DatabaseError> {
        let product = session.url().product();
        let watch = |session: &mut Session| -> Result<Load, Problem> {
            let before = count(session, counter(product))?;
            let begun = Instant::now();
            let mut active_clients = 0;
            for _ in 0..3 {
                std::thread::sleep(WATCHED / 3);
                active_clients = active_clients.max(count(session, active(product))?);
            }
            let after = count(session, counter(product))?;
            // Minus the statements of this session: three looks and one count.
            let others = after.saturating_sub(before).saturating_sub(4);
            Ok(Load { active_clients, per_second: others as f64 / begun.elapsed().as_secs_f64() })
        };
        watch(session).map_err(|problem| session.error(problem))
    }

    /// The objection to measuring beside this load; `None` if it is low enough.
    pub fn objection(self, product: Product) -> Option<Problem> {
        let what = match product {
            Product::Postgres => "transactions",
            Product::Mysql => "statements",
        };
        let rate = format!("other clients make {:.0} {what}/s", self.per_second);
        match (self.active_clients, self.per_second > PER_SECOND_MAX) {
            (0, false) => None,
            (0, true) => Some(Problem::Busy(rate)),
            (1, false) => Some(Problem::Busy("another client executes a statement".to_owned())),
            (clients, false) => {
                Some(Problem::Busy(format!("{clients} other clients execute statements")))
            }
            (clients, true) => {
                Some(Problem::Busy(format!("{rate}; at one moment, {clients} were active")))
            }
        }
    }
}

const fn counter(product: Product) -> &'static str {
    match product {
        Product::Postgres => {
            "SELECT sum(xact_commit + xact_rollback)::bigint::text FROM pg_catalog.pg_stat_database"
        }
        Product::Mysql => "SHOW GLOBAL STATUS LIKE 'Questions'",
    }
}

const fn active(product: Product) -> &'static str {
    match product {
        Product::Postgres => {
            "SELECT count(*)::text FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client \
             backend' AND state <> 'idle' AND pid <> pg_catalog.pg_backend_pid()"
        }
        Product::Mysql => {
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND \
             COMMAND IN ('Query', 'Execute', 'Prepare', 'Fetch', 'Field List', 'Long Data')"
        }
    }
}

fn count(session: &mut Session, sql: &str) -> Result<u64, Problem> {
    let rows = session.try_rows(sql)?;
    // SHOW STATUS has the name first.
    let last = rows.into_iter().next().and_then(|row| row.into_iter().next_back()).flatten();
    last.and_then(|text| text.parse().ok()).ok_or(Problem::Incomplete("its statistics"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much() {
        let objection = |active_clients, per_second, product| {
            Load { active_clients, per_second }
                .objection(product)
                .map(|problem| problem.to_string())
        };
        assert_eq!(objection(0, 2.0, Product::Postgres), None);
        insta::assert_snapshot!(objection(0, 250.4, Product::Postgres).unwrap(), @"is busy: other clients make 250 transactions/s. The figures would include that load, and it would be slowed down; try again when the server is idle, or give --busy");
        for (clients, per_second, words) in [
            (1, 0.0, "another client executes a statement"),
            (3, 0.0, "3 other clients execute statements"),
            (3, 90.0, "other clients make 90 statements/s; at one moment, 3 were active"),
        ] {
            let objection = objection(clients, per_second, Product::Mysql).unwrap();
            assert!(objection.starts_with(&format!("is busy: {words}. ")), "{objection}");
        }
    }
}
