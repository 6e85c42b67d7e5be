//! A real Chromium for tests of pages: Debian's `chromium`, without a window, driven over the DevTools protocol.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`browser`] | the process, its profile, and pages in it |
//! | [`page`] | one page: what it shows, runs, asks of the network, complains of; what a person presses |
//! | [`error`] | what may go wrong |
//!
//! The protocol itself and not WebDriver, because it alone tells of network requests, policy violations and the accessibility tree, prints to PDF and
//! switches light and dark. Sandboxing is off: the pages are ours, and tests run as root in containers.
//!
//! ```no_run
//! let mut browser = chromium::Browser::start()?;
//! let mut page = browser.page()?;
//! page.open("file:///tmp/report.html")?;
//! assert_eq!(page.complaints(), [""; 0]);
//! # Ok::<(), chromium::ChromiumError>(())
//! ```

pub mod browser;
pub mod error;
pub mod page;

pub use browser::Browser;
pub use error::ChromiumError;
pub use page::Page;
