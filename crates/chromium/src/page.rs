//! One page.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::error::ChromiumError;

/// Time-out of a condition on the page.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Limit of the connection's silence during a wait: a test that hangs would stop all others.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Interval at which a condition is checked.
const WAIT_STEP: Duration = Duration::from_millis(25);

/// A page, its connection, and the events that it reported.
#[derive(Debug)]
pub struct Page {
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    last_id: u64,
    events: Vec<Value>,
}

impl Page {
    pub(crate) fn attach(stream: TcpStream, address: &str) -> Result<Page, ChromiumError> {
        stream.set_read_timeout(Some(SILENCE_MAX)).map_err(ChromiumError::Start)?;
        let (socket, _) =
            tungstenite::client(address, stream).map_err(|error| ChromiumError::Refused {
                method: "the connection".to_owned(),
                message: error.to_string(),
            })?;
        let mut page = Page { socket, session: None, last_id: 0, events: Vec::new() };
        let context = page.command("Target.createBrowserContext", &json!({}))?;
        let target = page.command(
            "Target.createTarget",
            &json!({"url": "about:blank", "browserContextId": context["browserContextId"]}),
        )?;
        let session = page.command(
            "Target.attachToTarget",
            &json!({"targetId": target["targetId"], "flatten": true}),
        )?;
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            page.command(&format!("{domain}.enable"), &json!({}))?;
        }
        page.command("Page.setLifecycleEventsEnabled", &json!({"enabled": true}))?;
        Ok(page)
    }

    /// Sends a DevTools command and returns its result.
    pub fn command(&mut self, method: &str, params: &Value) -> Result<Value, ChromiumError> {
        self.last_id += 1;
        let id = self.last_id;
        let mut command = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(command.to_string())).map_err(Box::new)?;
        loop {
            let message = self.next_message()?;
            if message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => Err(ChromiumError::Refused {
                        method: method.to_owned(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    /// The next message; events are stored.
    fn next_message(&mut self) -> Result<Value, ChromiumError> {
        loop {
            let message = self.socket.read().map_err(|error| match error {
                // The kinds of error with which a socket's timeout ends a read.
                tungstenite::Error::Io(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    ChromiumError::Unanswered(SILENCE_MAX)
                }
                error => ChromiumError::Connection(Box::new(error)),
            })?;
            let Ok(text) = message.to_text() else { continue };
            let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
            if value.get("method").is_some() {
                self.events.push(value.clone());
            }
            return Ok(value);
        }
    }

    /// Opens an address and waits until it is loaded. Earlier events are discarded.
    pub fn open(&mut self, address: &str) -> Result<(), ChromiumError> {
        self.events.clear();
        let answer = self.command("Page.navigate", &json!({"url": address}))?;
        if let Some(message) = answer["errorText"].as_str() {
            return Err(ChromiumError::Refused {
                method: address.to_owned(),
                message: message.to_owned(),
            });
        }
        // Its own load: that of the previous page may still be reported.
        let is_loaded = |event: &Value| {
            let params = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && params["name"] == "load"
                && params["loaderId"] == answer["loaderId"]
        };
        while !self.events.iter().any(is_loaded) {
            self.next_message()?;
        }
        Ok(())
    }

    /// The value of an expression on the page; a promise is awaited.
    pub fn value(&mut self, script: &str) -> Result<Value, ChromiumError> {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.command("Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(ChromiumError::Threw {
                script: script.to_owned(),
                message: details["exception"]["description"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            }),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    /// If it does not become true within half a minute.
    pub fn wait_for(&mut self, script: &str) -> Result<(), ChromiumError> {
        let begun = Instant::now();
        while self.value(script)? != json!(true) {
            if begun.elapsed() > WAIT_MAX {
                return Err(ChromiumError::Late { what: script.to_owned(), within: WAIT_MAX });
            }
            std::thread::sleep(WAIT_STEP);
        }
        Ok(())
    }

    /// Complaints of the page since it was opened: console errors and warnings, exceptions,
    /// violations of its content security policy.
    pub fn complaints(&self) -> Vec<String> {
        let told = self.events.iter().filter_map(|event| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled"
                    if ["error", "warning"].contains(&params["type"].as_str()?) =>
                {
                    Some(params["args"].to_string())
                }
                "Log.entryAdded"
                    if ["error", "warning"].contains(&params["entry"]["level"].as_str()?) =>
                {
                    Some(params["entry"]["text"].to_string())
                }
                _ => None,
            }
        });
        told.collect()
    }

    /// The network requests of the page since it was opened, including its own.
    pub fn requests(&self) -> Vec<String> {
        let sent =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| Some(event["params"]["request"]["url"].as_str()?.to_owned()))
            .collect()
    }

    /// Presses a key, with the name that DevTools uses: `Tab`, `Enter`, `ArrowDown`, or a
    /// character.
    pub fn press(&mut self, key: &str) -> Result<(), ChromiumError> {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            character => (0, character),
        };
        let named = if key == " " { "Space" } else { key };
        let event = |kind: &str| {
            let text = if kind == "keyDown" { text } else { "" };
            json!({"type": kind, "key": key, "code": named, "windowsVirtualKeyCode": code, "text": text})
        };
        self.command("Input.dispatchKeyEvent", &event("keyDown"))?;
        self.command("Input.dispatchKeyEvent", &event("keyUp"))?;
        Ok(())
    }

    /// Moves the mouse to a point of the view, in CSS pixels, and clicks.
    pub fn click(&mut self, x: f64, y: f64) -> Result<(), ChromiumError> {
        self.point(x, y)?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.command("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Moves the mouse to a point of the view, in CSS pixels.
    pub fn point(&mut self, x: f64, y: f64) -> Result<(), ChromiumError> {
        self.command("Input.dispatchMouseEvent", &json!({"type": "mouseMoved", "x": x, "y": y}))
            .map(|_| ())
    }

    /// Emulates the user's preference for the colour scheme `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) -> Result<(), ChromiumError> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", &features).map(|_| ())
    }

    /// Resizes the view, in CSS pixels.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), ChromiumError> {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &metrics).map(|_| ())
    }

    /// Enables or disables scripts, for pages opened from then on.
    pub fn scripts(&mut self, on: bool) -> Result<(), ChromiumError> {
        self.command("Emulation.setScriptExecutionDisabled", &json!({"value": !on})).map(|_| ())
    }

    /// The accessibility tree as a screen reader presents it: role and name of every node that is
    /// not ignored.
    pub fn accessible(&mut self) -> Result<Vec<(String, String)>, ChromiumError> {
        let tree = self.command("Accessibility.getFullAXTree", &json!({}))?;
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let heard = nodes.iter().filter(|node| node["ignored"] != json!(true));
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        Ok(heard.map(|node| (text(&node["role"]), text(&node["name"]))).collect())
    }

    /// Writes a screenshot of the view as PNG.
    pub fn picture(&mut self, file: &Path) -> Result<(), ChromiumError> {
        let answer = self.command("Page.captureScreenshot", &json!({"format": "png"}))?;
        write_decoded(&answer, file).map(|_| ())
    }

    /// Prints the page as an A4 PDF; returns its bytes.
    pub fn print(&mut self, file: &Path) -> Result<Vec<u8>, ChromiumError> {
        let params = json!({"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true, "printBackground": true});
        let answer = self.command("Page.printToPDF", &params)?;
        write_decoded(&answer, file)
    }
}

/// Decodes the data in a result and writes it to a file.
fn write_decoded(answer: &Value, file: &Path) -> Result<Vec<u8>, ChromiumError> {
    let bytes = BASE64.decode(answer["data"].as_str().unwrap_or_default()).unwrap_or_default();
    let failed = |error| ChromiumError::Keep { path: file.to_owned(), error };
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    std::fs::write(file, &bytes).map_err(failed)?;
    Ok(bytes)
}
