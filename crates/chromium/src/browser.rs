//! The browser process.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::error::ChromiumError;
use crate::page::Page;

/// Longer than a start on a machine that compiles on all of its processors.
const START_MAX: Duration = Duration::from_mins(1);

/// A Chromium with its own profile; both are removed on drop.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    port: u16,
    // Dropped after the process has ended.
    profile: TempDir,
}

impl Browser {
    pub fn start() -> Result<Browser, ChromiumError> {
        let profile = tempfile::tempdir().map_err(ChromiumError::Start)?;
        let mut command = Command::new("chromium");
        command
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
            ])
            // No page is visible here, and none may be throttled for that: a page that draws when
            // it comes into view would never draw.
            .args([
                "--disable-background-timer-throttling",
                "--disable-backgrounding-occluded-windows",
                "--disable-renderer-backgrounding",
            ])
            .args([
                "--disable-extensions",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--remote-allow-origins=*",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ChromiumError::NotInstalled,
            _ => ChromiumError::Start(error),
        })?;
        // From here on the process is owned, so it is ended if the wait fails.
        let mut browser = Browser { process, port: 0, profile };
        browser.port = browser.listening()?;
        Ok(browser)
    }

    /// The DevTools port, which Chromium writes into its profile once it listens.
    fn listening(&self) -> Result<u16, ChromiumError> {
        let file = self.profile.path().join("DevToolsActivePort");
        let begun = Instant::now();
        while begun.elapsed() < START_MAX {
            if let Some(port) = port_in(&file) {
                return Ok(port);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(ChromiumError::Silent(START_MAX))
    }

    /// Opens a page in a separate browser context: it shares no cookies and no cache with others.
    pub fn page(&self) -> Result<Page, ChromiumError> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(ChromiumError::Start)?;
        let path = std::fs::read_to_string(self.profile.path().join("DevToolsActivePort"))
            .map_err(ChromiumError::Start)?;
        let path = path.lines().nth(1).unwrap_or_default().to_owned();
        Page::attach(stream, &format!("ws://127.0.0.1:{}{path}", self.port))
    }
}

fn port_in(file: &Path) -> Option<u16> {
    std::fs::read_to_string(file)
        .ok()
        .filter(|text| text.lines().count() == 2)?
        .lines()
        .next()?
        .parse()
        .ok()
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
