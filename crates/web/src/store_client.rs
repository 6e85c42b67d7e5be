//! The store, as a server uses it: queries run in blocking threads, a few at a time and with a time
//! limit.

use std::sync::Arc;
use std::time::Duration;

use store::{Location, Store, StoreError};
use tokio::sync::Semaphore;

/// Other processes hold locks for milliseconds; after this time, a page reports that the store is
/// locked.
const LOCK_WAIT: Duration = Duration::from_secs(3);
/// Longer than any query takes; after this time, the database or its drive is considered hung.
const ANSWER_WAIT: Duration = Duration::from_secs(12);

#[derive(Debug, Clone)]
pub struct StoreClient {
    location: Location,
    queries: Arc<Semaphore>,
}

/// Why a query has no result.
#[derive(Debug)]
pub enum QueryError {
    Store(StoreError),
    /// No answer within [`ANSWER_WAIT`].
    TimedOut(Location),
    Panicked,
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueryError::Store(error) => error.fmt(f),
            QueryError::TimedOut(location) => write!(
                f,
                "the store {location} has not answered for {} s; its drive or server hangs. Reload \
                 this page once it is back",
                ANSWER_WAIT.as_secs()
            ),
            QueryError::Panicked => f.write_str(
                "this page could not be generated because of a bug in flushmark; please report it \
                 with the messages \
                 in the terminal in which `flushmark web` runs",
            ),
        }
    }
}

impl StoreClient {
    /// A client of the store at `location` that runs up to `queries` queries at once.
    pub fn new(location: Location, queries: usize) -> StoreClient {
        StoreClient { location, queries: Arc::new(Semaphore::new(queries)) }
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Runs a query. The store is opened for each one, which takes a millisecond, so a store that
    /// was unavailable, moved or replaced is found again.
    pub async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let location = self.location.clone();
        let turn = Arc::clone(&self.queries).acquire_owned();
        let work = async move {
            let turn = turn.await;
            tokio::task::spawn_blocking(move || {
                // Held until the thread is done: a hung thread has its files open, however long the
                // caller waited.
                let _turn = turn;
                let mut store = Store::open_waiting(&location, false, LOCK_WAIT)?;
                query(&mut store)
            })
            .await
        };
        match tokio::time::timeout(ANSWER_WAIT, work).await {
            Ok(Ok(answer)) => answer.map_err(QueryError::Store),
            Ok(Err(_)) => Err(QueryError::Panicked),
            Err(_) => Err(QueryError::TimedOut(self.location.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_panics_is_reported_as_a_bug() {
        let place = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(place.path().join("results.db"));
        Store::open(&location).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let broken =
            runtime.block_on(StoreClient::new(location, 1).query(|_| -> Result<(), StoreError> {
                std::panic::resume_unwind(Box::new("of the test"))
            }));
        let broken = broken.unwrap_err();
        assert!(matches!(broken, QueryError::Panicked));
        insta::assert_snapshot!(broken, @"this page could not be generated because of a bug in flushmark; please report it with the messages in the terminal in which `flushmark web` runs");
    }
}
