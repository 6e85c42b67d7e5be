//! Publishes the metrics of a watch.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use measurement::watch::Reading;

use super::super::measure::expect_files;
use crate::args::watch::Destination;
use crate::exit::complain;
use crate::export::READABLE_BY_ALL;
use crate::listening::listen;
use crate::signals::STOP;

pub enum Publisher {
    File(PathBuf),
    /// The text that a server in another thread sends.
    Server(Arc<Mutex<String>>),
}

impl Publisher {
    /// Checks the file, or starts the server.
    pub fn begin(destination: &Destination) -> anyhow::Result<Publisher> {
        let address = match destination {
            Destination::File(path) => {
                expect_files(&[("--openmetrics", &Some(path.clone()), "metrics")])?;
                return Ok(Publisher::File(path.clone()));
            }
            Destination::Address(address) => *address,
        };
        let listener = listen(address, "watch", "--openmetrics")?;
        let address = listener.local_addr().context("cannot get the server's address")?;
        let text = Arc::new(Mutex::new(formats::openmetrics::watched(&Reading::default())));
        let served = Arc::clone(&text);
        let answer = move || served.lock().unwrap_or_else(PoisonError::into_inner).clone();
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            if let Err(error) = web::serve_metrics(listener, answer, || STOP.is_requested()) {
                complain(&format!("the metrics are no longer served: {error}"));
            }
        })?;
        complain(&format!("the metrics are at http://{address}/metrics"));
        Ok(Publisher::Server(text))
    }

    /// Replaces what was published before. A file is not synced: the watch must not add to what it
    /// counts.
    pub fn publish(&self, reading: &Reading) -> anyhow::Result<()> {
        let text = formats::openmetrics::watched(reading);
        match self {
            Publisher::File(path) => {
                wholefile::replace_unsynced(path, text.as_bytes(), Some(READABLE_BY_ALL))
                    .with_context(|| format!("cannot write the metrics to {}", path.display()))?;
            }
            Publisher::Server(served) => {
                *served.lock().unwrap_or_else(PoisonError::into_inner) = text;
            }
        }
        Ok(())
    }
}
