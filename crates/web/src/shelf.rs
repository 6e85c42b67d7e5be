//! The store as a server asks it: in threads that may wait, a few at once, and never longer than a user would.

use std::sync::Arc;
use std::time::Duration;

use store::{Location, Store, StoreError};
use tokio::sync::Semaphore;

/// Locks of other processes are held for milliseconds; after this a page says that the store is locked.
const LOCK_WAIT: Duration = Duration::from_secs(3);
/// Longer than any question takes; after this the database, or the disk beneath it, does not answer.
const ANSWER_WAIT: Duration = Duration::from_secs(12);

/// Where the runs are.
#[derive(Debug, Clone)]
pub struct Shelf {
    location: Location,
    questions: Arc<Semaphore>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The store says why.
    Store(StoreError),
    /// It says nothing.
    Silent(Location),
    /// What was to be made of its answer went wrong within this program.
    Broken,
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoAnswer::Store(error) => error.fmt(f),
            NoAnswer::Silent(location) => write!(
                f,
                "the store {location} has not answered for {} s; its disk or server hangs. Reload this page when it answers again",
                ANSWER_WAIT.as_secs()
            ),
            NoAnswer::Broken => f.write_str(
                "this page could not be made, which is a fault of flushmark and not yours; the terminal in which `flushmark web` runs says where. \
                 Please report it with those lines",
            ),
        }
    }
}

impl Shelf {
    /// The runs at this place, which is asked so many questions at once.
    pub fn new(location: Location, questions: usize) -> Shelf {
        Shelf { location, questions: Arc::new(Semaphore::new(questions)) }
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Asks the store. It is opened for each question, so that one that was away, moved or replaced is found again; that takes a millisecond.
    ///
    /// # Errors
    /// When the store has a problem, or does not answer.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let location = self.location.clone();
        let turn = Arc::clone(&self.questions).acquire_owned();
        let work = async move {
            let turn = turn.await;
            tokio::task::spawn_blocking(move || {
                // Held until the thread is done: one that hangs has its files open however long it was waited for.
                let _turn = turn;
                let mut store = Store::open_waiting(&location, false, LOCK_WAIT)?;
                question(&mut store)
            })
            .await
        };
        match tokio::time::timeout(ANSWER_WAIT, work).await {
            Ok(Ok(answer)) => answer.map_err(NoAnswer::Store),
            // It panicked.
            Ok(Err(_)) => Err(NoAnswer::Broken),
            Err(_) => Err(NoAnswer::Silent(self.location.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_cannot_be_made_is_no_silence() {
        let place = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(place.path().join("results.db"));
        Store::open(&location).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let broken = runtime.block_on(
            Shelf::new(location, 1)
                .ask(|_| -> Result<(), StoreError> { std::panic::resume_unwind(Box::new("of the test")) }),
        );
        let broken = broken.unwrap_err();
        assert!(matches!(broken, NoAnswer::Broken));
        insta::assert_snapshot!(broken, @"this page could not be made, which is a fault of flushmark and not yours; the terminal in which `flushmark web` runs says where. Please report it with those lines");
    }
}
