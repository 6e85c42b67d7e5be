//! A drive served by the binary, and an NBD client that can send anything.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nbd::wire::{RequestHeader, SIMPLE_REPLY_BYTES, SimpleReply, command};
use serde_json::Value;

use super::{Run, flushmark, kill, run};

/// An emulated drive, served by the binary.
pub struct Served {
    pub child: Child,
    pub directory: tempfile::TempDir,
    pub facts: Value,
}

impl Served {
    /// With its sockets in a separate directory. `DIR` in an argument is replaced by that
    /// directory.
    pub fn start(model: &str, args: &[&str]) -> Served {
        let directory = tempfile::tempdir().unwrap();
        Served::start_in(directory, model, args).unwrap_or_else(|said| panic!("{said}"))
    }

    pub fn start_in(
        directory: tempfile::TempDir,
        model: &str,
        args: &[&str],
    ) -> Result<Served, String> {
        let here = std::env::current_dir().unwrap();
        Served::start_from(&here, directory, model, args)
    }

    /// With `here` as the working directory.
    pub fn start_from(
        here: &Path,
        directory: tempfile::TempDir,
        model: &str,
        args: &[&str],
    ) -> Result<Served, String> {
        let place = directory.path().to_str().unwrap().to_owned();
        let args: Vec<String> = args.iter().map(|arg| arg.replace("DIR", &place)).collect();
        let mut child = flushmark()
            .args(["emulate", model, "--quiet", "--format", "json", "--control"])
            .arg(directory.path().join("ctl"))
            .args(args)
            .current_dir(here)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            text += &line;
            if line == "}" {
                break;
            }
        }
        if let Ok(facts) = serde_json::from_str(&text) {
            return Ok(Served { child, directory, facts });
        }
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        Err(format!("{:?}: {said}", child.wait().unwrap()))
    }

    /// Over NBD, on a separate socket.
    pub fn nbd(model: &str, args: &[&str]) -> Served {
        Served::start(model, &[&["--nbd", "DIR/nbd"], args].concat())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn uri(&self) -> &str {
        self.facts["nbd"].as_str().unwrap()
    }

    pub fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().unwrap_or_else(|| panic!("{name}: {}", self.facts))
    }

    pub fn ctl(&self, order: &[&str]) -> Run {
        let socket = self.path("ctl");
        run(&[&["emulate", "ctl", socket.to_str().unwrap()], order, &["--format", "json"]].concat())
    }

    pub fn connect(&self) -> UnixStream {
        UnixStream::connect(self.path("nbd")).unwrap()
    }

    /// A client in the transmission phase, old style, simple replies.
    pub fn client(&self) -> UnixStream {
        let mut stream = self.connect();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(&[0, 0, 0, 3]).unwrap();
        stream.write_all(b"IHAVEOPT").unwrap();
        stream.write_all(&[0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        stream
    }

    pub fn stop(mut self) -> Run {
        kill(&["-TERM", &self.child.id().to_string()]).unwrap();
        let status = self.child.wait().unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!self.path("ctl").exists(), "the control socket is removed");
        Run { code: status.code(), stdout: String::new(), stderr }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = kill(&["-TERM", &self.child.id().to_string()]);
            let _ = self.child.wait();
        }
    }
}

/// A request without its data.
pub fn request(command: u16, flags: u16, offset: u64, bytes: u32) -> Vec<u8> {
    RequestHeader { flags, command, cookie: 7, offset, bytes }.to_bytes().to_vec()
}

/// The error of the next answer, or 0.
pub fn answer(stream: &mut UnixStream) -> u32 {
    let mut answer = [0; SIMPLE_REPLY_BYTES];
    stream.read_exact(&mut answer).unwrap();
    SimpleReply::from_bytes(&answer).unwrap().error
}

pub fn write(stream: &mut UnixStream, offset: u64, data: &[u8]) -> u32 {
    stream.write_all(&request(command::WRITE, 0, offset, data.len() as u32)).unwrap();
    stream.write_all(data).unwrap();
    answer(stream)
}

pub fn read(stream: &mut UnixStream, offset: u64, bytes: u32) -> Vec<u8> {
    stream.write_all(&request(command::READ, 0, offset, bytes)).unwrap();
    assert_eq!(answer(stream), 0);
    let mut data = vec![0; bytes as usize];
    stream.read_exact(&mut data).unwrap();
    data
}

pub fn flush(stream: &mut UnixStream) {
    stream.write_all(&request(command::FLUSH, 0, 0, 0)).unwrap();
    assert_eq!(answer(stream), 0);
}
