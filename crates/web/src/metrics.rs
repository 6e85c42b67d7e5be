//! Metrics over HTTP, for Prometheus.

use std::io;
use std::net::TcpListener;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use crate::connections::{self, Limits};

/// The media type of OpenMetrics.
pub(crate) const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers requests for `/metrics` with what `text` returns, until `stop` returns true.
///
/// # Errors
/// If the server cannot begin.
pub fn serve_metrics(
    listener: TcpListener,
    text: impl Fn() -> String + Clone + Send + Sync + 'static,
    stop: impl Fn() -> bool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let router = Router::new()
        .route("/metrics", get(move || async move { ([(CONTENT_TYPE, OPENMETRICS)], text()) }))
        .fallback(|| async { (StatusCode::NOT_FOUND, "The metrics are at /metrics.\n") });
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let most = Limits::of_process().connections;
    let served = runtime.block_on(connections::serve(listener, router, most, stop));
    runtime.shutdown_background();
    served
}
