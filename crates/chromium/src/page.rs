//! One page.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::error::ChromiumError;

/// How long a page may take to come true.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// How long it may say nothing while it is waited for: a test that hangs would hang all others with it.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// How often is asked.
const WAIT_STEP: Duration = Duration::from_millis(25);

/// A page, its connection, and what it told of itself.
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
        let (socket, _) = tungstenite::client(address, stream).map_err(|error| ChromiumError::Refused {
            method: "the connection".to_owned(),
            message: error.to_string(),
        })?;
        let mut page = Page { socket, session: None, last_id: 0, events: Vec::new() };
        let context = page.tell("Target.createBrowserContext", &json!({}))?;
        let target = page.tell(
            "Target.createTarget",
            &json!({"url": "about:blank", "browserContextId": context["browserContextId"]}),
        )?;
        let session = page.tell("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}))?;
        page.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            page.tell(&format!("{domain}.enable"), &json!({}))?;
        }
        page.tell("Page.setLifecycleEventsEnabled", &json!({"enabled": true}))?;
        Ok(page)
    }

    /// Gives a command of the protocol; its answer.
    ///
    /// # Errors
    /// When it is refused, or the connection broke.
    pub fn tell(&mut self, method: &str, params: &Value) -> Result<Value, ChromiumError> {
        self.last_id += 1;
        let id = self.last_id;
        let mut command = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(command.to_string())).map_err(Box::new)?;
        loop {
            let message = self.hear()?;
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

    /// The next message; events are kept.
    fn hear(&mut self) -> Result<Value, ChromiumError> {
        loop {
            let message = self.socket.read().map_err(|error| match error {
                // What a socket's time limit ends a read with.
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

    /// Opens an address and waits until it is loaded. What was told before is forgotten.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn open(&mut self, address: &str) -> Result<(), ChromiumError> {
        self.events.clear();
        let answer = self.tell("Page.navigate", &json!({"url": address}))?;
        if let Some(message) = answer["errorText"].as_str() {
            return Err(ChromiumError::Refused { method: address.to_owned(), message: message.to_owned() });
        }
        // Its own load: that of a page which was left may still be told of.
        let is_loaded = |event: &Value| {
            let params = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && params["name"] == "load"
                && params["loaderId"] == answer["loaderId"]
        };
        while !self.events.iter().any(is_loaded) {
            self.hear()?;
        }
        Ok(())
    }

    /// The value of an expression on the page; a promise is waited for.
    ///
    /// # Errors
    /// When it throws.
    pub fn value(&mut self, script: &str) -> Result<Value, ChromiumError> {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.tell("Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(ChromiumError::Threw {
                script: script.to_owned(),
                message: details["exception"]["description"].as_str().unwrap_or_default().to_owned(),
            }),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    /// When it does not become so in half a minute.
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

    /// What the page complained of since it was opened: console errors and warnings, exceptions, breaches of its content security policy.
    pub fn complaints(&self) -> Vec<String> {
        let told = self.events.iter().filter_map(|event| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if ["error", "warning"].contains(&params["type"].as_str()?) => {
                    Some(params["args"].to_string())
                }
                "Log.entryAdded" if ["error", "warning"].contains(&params["entry"]["level"].as_str()?) => {
                    Some(params["entry"]["text"].to_string())
                }
                _ => None,
            }
        });
        told.collect()
    }

    /// What the page asked of the network since it was opened, itself included.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| Some(event["params"]["request"]["url"].as_str()?.to_owned())).collect()
    }

    /// Presses a key, as DevTools names it: `Tab`, `Enter`, `ArrowDown`, or a character.
    ///
    /// # Errors
    /// When the connection broke.
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
        self.tell("Input.dispatchKeyEvent", &event("keyDown"))?;
        self.tell("Input.dispatchKeyEvent", &event("keyUp"))?;
        Ok(())
    }

    /// Moves the mouse to a point of the view, in CSS pixels, and presses its button there.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn click(&mut self, x: f64, y: f64) -> Result<(), ChromiumError> {
        self.point(x, y)?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.tell("Input.dispatchMouseEvent", &event)?;
        }
        Ok(())
    }

    /// Moves the mouse to a point of the view, in CSS pixels.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn point(&mut self, x: f64, y: f64) -> Result<(), ChromiumError> {
        self.tell("Input.dispatchMouseEvent", &json!({"type": "mouseMoved", "x": x, "y": y})).map(|_| ())
    }

    /// Lets the page believe that the person wants `light` or `dark`.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn prefer(&mut self, scheme: &str) -> Result<(), ChromiumError> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tell("Emulation.setEmulatedMedia", &features).map(|_| ())
    }

    /// Makes the view so wide and high, in CSS pixels.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), ChromiumError> {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tell("Emulation.setDeviceMetricsOverride", &metrics).map(|_| ())
    }

    /// Switches scripts on or off, for pages opened from then on.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn scripts(&mut self, on: bool) -> Result<(), ChromiumError> {
        self.tell("Emulation.setScriptExecutionDisabled", &json!({"value": !on})).map(|_| ())
    }

    /// What a screen reader hears: role and name of every node that is not ignored.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn accessible(&mut self) -> Result<Vec<(String, String)>, ChromiumError> {
        let tree = self.tell("Accessibility.getFullAXTree", &json!({}))?;
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let heard = nodes.iter().filter(|node| node["ignored"] != json!(true));
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        Ok(heard.map(|node| (text(&node["role"]), text(&node["name"]))).collect())
    }

    /// Keeps a picture of the view as PNG.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn picture(&mut self, file: &Path) -> Result<(), ChromiumError> {
        let answer = self.tell("Page.captureScreenshot", &json!({"format": "png"}))?;
        keep(&answer, file).map(|_| ())
    }

    /// Prints on A4 as a PDF; its bytes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn print(&mut self, file: &Path) -> Result<Vec<u8>, ChromiumError> {
        let params =
            json!({"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": true, "printBackground": true});
        let answer = self.tell("Page.printToPDF", &params)?;
        keep(&answer, file)
    }
}

/// Writes what an answer carries.
fn keep(answer: &Value, file: &Path) -> Result<Vec<u8>, ChromiumError> {
    let bytes = BASE64.decode(answer["data"].as_str().unwrap_or_default()).unwrap_or_default();
    let failed = |error| ChromiumError::Keep { path: file.to_owned(), error };
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    std::fs::write(file, &bytes).map_err(failed)?;
    Ok(bytes)
}
