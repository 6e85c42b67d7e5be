//! A process with all of its descendants: its output is read until it ends, and the whole group is
//! killed.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
    waitid,
};

use crate::printed::Pipe;

/// The interval for asking whether to continue.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A process that leads a process group. Dropping it kills the rest of the group.
///
/// The leader is reaped last: until then, its ID is not reused, so no unrelated process can be
/// killed.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    end: OwnedFd,
    said: Option<Pipe>,
    complained: Option<Pipe>,
}

impl Group {
    /// Starts the process. Its piped output is delivered by [`Group::attend`].
    pub(crate) fn start(command: &mut Command) -> io::Result<Group> {
        let mut child = command.process_group(0).spawn()?;
        let (said, complained) = (child.stdout.take(), child.stderr.take());
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .inspect_err(|_| drop(child.kill()))?;
        let mut group = Group { child, end, said: None, complained: None };
        group.said = said.map(|pipe| Pipe::new(pipe.into())).transpose()?;
        group.complained = complained.map(|pipe| Pipe::new(pipe.into())).transpose()?;
        Ok(group)
    }

    /// Reads another pipe instead of the process's standard output.
    pub(crate) fn watch(&mut self, said: Pipe) {
        self.said = Some(said);
    }

    /// Waits until the process ends, and returns its status; `None` if `go_on`, which is called ten
    /// times a second, returns `false` before. `hear` reads a pipe that has data, and returns what
    /// [`Pipe::drain`] returns.
    ///
    /// A pipe may outlive the process if a descendant keeps it open. Everything that the process
    /// printed has been read even then.
    pub(crate) fn attend(
        &mut self,
        go_on: impl Fn() -> bool,
        mut hear: impl FnMut(Stream, &mut Pipe) -> io::Result<bool>,
    ) -> io::Result<Option<ExitStatus>> {
        while go_on() {
            let mut watched = vec![PollFd::new(&self.end, PollFlags::IN)];
            watched.extend(self.said.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            watched.extend(self.complained.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut watched, Some(&TICK)) {
                // A signal that is handled elsewhere.
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let ended = !watched[0].revents().is_empty();
            let streams =
                [(Stream::Stdout, &mut self.said), (Stream::Stderr, &mut self.complained)];
            for (stream, pipe) in streams {
                if let Some(open) = pipe
                    && !hear(stream, open)?
                {
                    *pipe = None;
                }
            }
            if ended {
                return self.status();
            }
        }
        Ok(None)
    }

    /// The status of the process, if it has ended. It is not reaped.
    fn status(&self) -> io::Result<Option<ExitStatus>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::PidFd(self.end.as_fd()), look)?.map(|ended| exit_status(&ended)))
    }
}

/// Encoded like the status of `wait`.
fn exit_status(ended: &WaitIdStatus) -> ExitStatus {
    let dumped = if ended.dumped() { 0x80 } else { 0 };
    let signalled = ended.terminating_signal().map(|signal| signal | dumped);
    ExitStatus::from_raw(signalled.unwrap_or_else(|| ended.exit_status().unwrap_or_default() << 8))
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use rustix::pipe::fcntl_setpipe_size;
    use rustix::process::{kill_process, test_kill_process_group};

    use super::*;

    /// Long enough for a busy host.
    const PATIENCE: Duration = Duration::from_mins(1);

    fn shell(script: &str) -> Group {
        let mut command = Command::new("/bin/sh");
        Group::start(command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped()))
            .unwrap()
    }

    #[expect(clippy::unnecessary_wraps, reason = "what a pipe's drain takes")]
    fn add(heard: &mut String, words: &[u8]) -> io::Result<()> {
        heard.push_str(std::str::from_utf8(words).unwrap());
        Ok(())
    }

    #[test]
    fn it_is_heard_until_its_end() {
        let mut heard = (String::new(), String::new());
        let status = shell("echo one; echo two >&2; sleep 0.05; echo three; exit 3").attend(
            || true,
            |stream, pipe| {
                let heard = if stream == Stream::Stdout { &mut heard.0 } else { &mut heard.1 };
                pipe.drain(|words| add(heard, words))
            },
        );
        assert_eq!(status.unwrap().unwrap().code(), Some(3));
        assert_eq!(heard, ("one\nthree\n".to_owned(), "two\n".to_owned()));
    }

    #[test]
    fn each_exit_status_is_reported() {
        let told = |script: &str| {
            let status =
                shell(script).attend(|| true, |_, pipe| pipe.drain(|_| Ok(()))).unwrap().unwrap();
            (status.code(), status.signal())
        };
        assert_eq!(told("exit 0"), (Some(0), None));
        assert_eq!(told("exit 255"), (Some(255), None));
        assert_eq!(told("kill -TERM $$"), (None, Some(15)));
        assert_eq!(told("ulimit -c 0; kill -ABRT $$"), (None, Some(6)));
    }

    #[test]
    fn its_number_is_kept_until_the_group_has_been_killed() {
        let mut group = shell("exit 3");
        let pid = Pid::from_child(&group.child);
        assert_eq!(
            group.attend(|| true, |_, pipe| pipe.drain(|_| Ok(()))).unwrap().unwrap().code(),
            Some(3)
        );
        assert_eq!(test_kill_process_group(pid), Ok(()));
        drop(group);
        assert_eq!(test_kill_process_group(pid), Err(Errno::SRCH));
    }

    #[test]
    fn all_that_a_large_pipe_holds_is_heard() {
        let mut group = shell("sleep 0.1; head -c 300000 /dev/zero");
        fcntl_setpipe_size(group.said.as_ref().unwrap(), 1 << 20).unwrap();
        let mut heard = 0;
        // Nothing is read before the process ends.
        while group.status().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut count = |words: &[u8]| {
            heard += words.len();
            Ok(())
        };
        group.attend(|| true, |_, pipe| pipe.drain(&mut count)).unwrap().unwrap();
        assert_eq!(heard, 300_000);
    }

    #[test]
    fn a_pipe_kept_open_elsewhere_is_not_waited_for() {
        let begun = Instant::now();
        let mut group = shell("setsid sleep 600 & echo $!");
        let mut pid = String::new();
        let status = group.attend(
            || begun.elapsed() < PATIENCE,
            |_, pipe| pipe.drain(|words| add(&mut pid, words)),
        );
        assert!(status.unwrap().unwrap().success());
        assert!(group.said.is_some(), "it is still open");
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn dropping_it_ends_the_whole_group() {
        let begun = Instant::now();
        let mut group = shell("sleep 600 & echo $!; wait");
        let pid = RefCell::new(String::new());
        let status = group.attend(
            || !pid.borrow().ends_with('\n') && begun.elapsed() < PATIENCE,
            |_, pipe| pipe.drain(|words| add(&mut pid.borrow_mut(), words)),
        );
        assert!(status.unwrap().is_none());
        drop(group);
        let stat = || {
            std::fs::read_to_string(format!("/proc/{}/stat", pid.borrow().trim()))
                .unwrap_or_default()
        };
        // It is gone, or its new parent has not reaped it yet.
        while !stat().is_empty() && !stat().contains(") Z ") {
            assert!(begun.elapsed() < 2 * PATIENCE, "{}", stat());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn an_error_of_the_listener_ends_it() {
        let refuse = |_: &[u8]| Err(io::ErrorKind::StorageFull.into());
        let error =
            shell("echo one; sleep 60").attend(|| true, |_, pipe| pipe.drain(refuse)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
