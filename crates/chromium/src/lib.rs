//! A real Chromium for tests of pages: Debian's `chromium`, headless, controlled over the DevTools
//! protocol.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`browser`] | the process, its profile, and its pages |
//! | [`page`] | one page: its content, scripts, network requests and complaints; user input |
//! | [`error`] | errors |
//!
//! The DevTools protocol is used instead of WebDriver because only it reports network requests,
//! policy violations and the accessibility tree, prints to PDF and switches between light and dark.
//! The sandbox is off: the pages are our own, and tests run as root in containers.
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
