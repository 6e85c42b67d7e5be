//! A local page over kept runs, and over those that are being measured: list, filter, compare, read, tag, note, look on.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`access`] | who may ask: this machine under its own name, or others by token |
//! | [`running`] | what a run that is being measured tells |
//! | [`query`] | what a list is narrowed down to, as an address says it |
//! | [`shelf`] | the store, asked with a limit on waiting |
//! | [`views`] | what is answered, as HTML: one file a page |
//! | `router` | which address is answered by what |
//! | `assets` | styles and scripts, named by their digests |
//!
//! Pages are made on the server and are whole without a script; a filter is a link, and what changes something is a form. The charts are those of
//! `pages`. Nothing is asked of any other server.

mod assets;
mod router;

pub mod access;
pub mod query;
pub mod running;
pub mod shelf;
pub mod views;

use std::io;
use std::net::TcpListener;
use std::time::Duration;

pub use access::Access;
pub use running::Running;

use shelf::Shelf;
use store::Location;

/// What a server shows, and to whom.
pub struct Server {
    access: Access,
    shelf: Shelf,
    running: Box<dyn Fn() -> Vec<Running> + Send + Sync>,
}

/// How often is looked whether a person wants the end.
const STOP_LOOK: Duration = Duration::from_millis(100);
/// Answers that are under way may still be given for so long.
const FAREWELL: Duration = Duration::from_secs(2);

impl Server {
    /// A server over a store. `running` tells which runs are being measured now.
    pub fn new(
        access: Access,
        location: Location,
        running: impl Fn() -> Vec<Running> + Send + Sync + 'static,
    ) -> Server {
        Server { access, shelf: Shelf::new(location), running: Box::new(running) }
    }

    /// Answers until `stop` says so.
    ///
    /// # Errors
    /// When the system does not give what a server needs.
    pub fn serve(self, listener: TcpListener, stop: impl Fn() -> bool) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let served = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (close, closed) = tokio::sync::oneshot::channel::<()>();
            let serving =
                axum::serve(listener, router::router(self)).with_graceful_shutdown(async { drop(closed.await) });
            let serving = tokio::spawn(serving.into_future());
            while !stop() {
                tokio::time::sleep(STOP_LOOK).await;
            }
            drop(close);
            match tokio::time::timeout(FAREWELL, serving).await {
                Ok(Ok(served)) => served,
                // An answer that is still under way, of a store that hangs, ends with the program.
                Ok(Err(_)) | Err(_) => Ok(()),
            }
        });
        runtime.shutdown_background();
        served
    }
}
