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
//! | `connections` | how many connections there are at once, and how long each may take |
//! | `assets` | styles and scripts, named by their digests |
//!
//! Pages are made on the server and are whole without a script; a filter is a link, and what changes something is a form. The charts are those of
//! `pages`. Nothing is asked of any other server.

mod assets;
mod connections;
mod router;

pub mod access;
pub mod query;
pub mod running;
pub mod shelf;
pub mod views;

use std::io;
use std::net::TcpListener;

pub use access::Access;
pub use running::Running;

use connections::Limits;
use shelf::Shelf;
use store::Location;

/// What a server shows, and to whom.
pub struct Server {
    access: Access,
    shelf: Shelf,
    running: Box<dyn Fn() -> Vec<Running> + Send + Sync>,
    limits: Limits,
}

impl Server {
    /// A server over a store. `running` tells which runs are being measured now.
    pub fn new(
        access: Access,
        location: Location,
        running: impl Fn() -> Vec<Running> + Send + Sync + 'static,
    ) -> Server {
        let limits = Limits::of_process();
        Server { access, shelf: Shelf::new(location, limits.questions), running: Box::new(running), limits }
    }

    /// Answers until `stop` says so.
    ///
    /// # Errors
    /// When the system does not give what a server needs.
    pub fn serve(self, listener: TcpListener, stop: impl Fn() -> bool) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let most = self.limits.connections;
        let served = runtime.block_on(connections::serve(listener, router::router(self), most, stop));
        runtime.shutdown_background();
        served
    }
}
