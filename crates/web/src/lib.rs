//! A local web site of kept runs and of those being measured: list, filter, compare, view, tag,
//! annotate, watch.
//!
//! | module | content |
//! | --- | --- |
//! | `access` | who may send requests: this machine under its host name, or others by token |
//! | [`running`] | the progress of a run that is being measured |
//! | `query` | the filter of the list, as part of an address |
//! | `store_client` | queries of the store, with a time limit |
//! | `views` | the pages as HTML, one file each |
//! | `router` | the routes, and the error pages |
//! | `connections` | how many connections there are, and how long each may take |
//! | `metrics` | metrics for Prometheus, without the site |
//! | `assets` | styles and scripts, named by their digests |
//!
//! Pages are rendered on the server and are complete without scripts; a filter is a link, and
//! changes are forms. The charts are those of `pages`. Nothing is loaded from any other server.

mod assets;
mod connections;
mod metrics;
mod router;

mod access;
mod query;
pub mod running;
mod store_client;
mod views;

use std::io;
use std::net::TcpListener;

pub use access::{Access, CHOSEN_MIN, Token};
pub use metrics::serve_metrics;
pub use running::Running;

use connections::Limits;
use store::Location;
use store_client::StoreClient;

/// A server of one store: what it shows, and who may see it.
pub struct Server {
    access: Access,
    store: StoreClient,
    running: Box<dyn Fn() -> Vec<Running> + Send + Sync>,
    limits: Limits,
}

impl Server {
    /// A server of the store at `location`. `running` returns the runs being measured at that
    /// moment.
    pub fn new(
        access: Access,
        location: Location,
        running: impl Fn() -> Vec<Running> + Send + Sync + 'static,
    ) -> Server {
        let limits = Limits::of_process();
        Server {
            access,
            store: StoreClient::new(location, limits.queries),
            running: Box::new(running),
            limits,
        }
    }

    /// Accepts and answers requests until `stop` returns true.
    pub fn serve(self, listener: TcpListener, stop: impl Fn() -> bool) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let most = self.limits.connections;
        let served =
            runtime.block_on(connections::serve(listener, router::router(self), most, stop));
        runtime.shutdown_background();
        served
    }
}
