//! The command that is traced.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use crate::exit::WrongUse;
use crate::tracing::Recording;

/// The time in which a command should end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// A command that runs while it is traced.
///
/// A separate thread starts it. The tracer follows this thread, and so also the command from its
/// first instruction on.
pub struct Traced {
    process: Pid,
    ended: Receiver<std::io::Result<ExitStatus>>,
    status: Option<std::io::Result<ExitStatus>>,
}

impl Traced {
    pub fn spawn(
        program: &OsStr,
        arguments: &[OsString],
        recording: &mut Recording<'_>,
    ) -> anyhow::Result<Traced> {
        let mut command = Command::new(program);
        command.args(arguments);
        end_with_parent(&mut command);
        let (thread_sender, thread) = channel();
        let (go, may_go) = channel::<()>();
        let (child_sender, child) = channel();
        let (end_sender, ended) = channel();
        std::thread::Builder::new().name("starts command".to_owned()).spawn(move || {
            let _ = thread_sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32);
            if may_go.recv().is_ok() {
                run(command, &child_sender, &end_sender);
            }
        })?;
        recording.follow(&[thread.recv()?])?;
        go.send(())?;
        let process = child.recv()?.map_err(|error| {
            let name = program.to_string_lossy();
            let why = match error.kind() {
                ErrorKind::NotFound => "there is no such command".to_owned(),
                _ => error.to_string(),
            };
            WrongUse(format!("cannot run `{name}`: {why}"))
        })?;
        let process = Pid::from_raw(process as i32)
            .ok_or_else(|| WrongUse("the command has no process".to_owned()))?;
        Ok(Traced { process, ended, status: None })
    }

    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            match self.ended.try_recv() {
                Ok(status) => self.status = Some(status),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        true
    }

    /// Asks the command to end if it still runs, and waits for it; kills it if it does not end.
    /// Returns what to say if it was killed, or failed by itself.
    pub fn end(mut self) -> anyhow::Result<Option<String>> {
        if !self.has_ended() {
            let _ = kill_process(self.process, Signal::TERM);
            if !matches!(self.ended.recv_timeout(PATIENCE), Err(RecvTimeoutError::Timeout)) {
                return Ok(None);
            }
            let _ = kill_process(self.process, Signal::KILL);
            let _ = self.ended.recv();
            let seconds = PATIENCE.as_secs();
            return Ok(Some(format!(
                "the command went on for {seconds} s after SIGTERM, and was killed"
            )));
        }
        let status = self.status.transpose()?;
        let failed = status.filter(|status| !status.success());
        Ok(failed.map(|status| format!("the command failed ({status})")))
    }
}

/// Ends the command if flushmark is killed. The kernel sends the signal when the thread ends that
/// started it, which waits for it.
#[expect(unsafe_code, reason = "the signal can be set only between fork and exec")]
fn end_with_parent(command: &mut Command) {
    // SAFETY: It makes one system call, which is allowed there.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
}

fn run(
    mut command: Command,
    child: &Sender<std::io::Result<u32>>,
    end: &Sender<std::io::Result<ExitStatus>>,
) {
    match command.spawn() {
        Ok(mut running) => {
            let _ = child.send(Ok(running.id()));
            let _ = end.send(running.wait());
        }
        Err(error) => {
            let _ = child.send(Err(error));
        }
    }
}
