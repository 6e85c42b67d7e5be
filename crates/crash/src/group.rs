//! A process with everything that it starts: heard until it ends, and ended whole.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// How often it is asked whether to go on.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What is read at once: what a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// Where a process writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its output.
    Said,
    /// Its complaints.
    Complained,
}

/// A running process that leads a process group. Dropping it kills what is left of the group.
#[derive(Debug)]
pub struct Group {
    child: Child,
    end: OwnedFd,
    said: Option<ChildStdout>,
    complained: Option<ChildStderr>,
}

impl Group {
    /// Starts it. What is piped of its output is heard by [`Group::attend`].
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Group> {
        let mut child = command.process_group(0).spawn()?;
        let (said, complained) = (child.stdout.take(), child.stderr.take());
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).inspect_err(|_| drop(child.kill()))?;
        let group = Group { child, end, said, complained };
        // Whoever inherited the pipe may keep it open for ever: nobody waits for its end.
        let pipes = [group.said.as_ref().map(AsFd::as_fd), group.complained.as_ref().map(AsFd::as_fd)];
        for pipe in pipes.into_iter().flatten() {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(group)
    }

    /// Hears it until the process ends, of which it tells how; `None` when `go_on` says otherwise before, which is asked ten times a second.
    ///
    /// # Errors
    /// Those of the system, and those of `hear`.
    pub fn attend(
        &mut self,
        go_on: impl Fn() -> bool,
        mut hear: impl FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> io::Result<Option<ExitStatus>> {
        let mut words = vec![0; PIPE_BYTES];
        while go_on() {
            let mut watched = vec![PollFd::new(&self.end, PollFlags::IN)];
            watched.extend(self.said.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            watched.extend(self.complained.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut watched, Some(&TICK)) {
                // A signal that somebody else looks at.
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let ended = !watched[0].revents().is_empty();
            // What it said before its end is in the pipe by now.
            hear_from(&mut self.said, &mut words, |words| hear(Stream::Said, words))?;
            hear_from(&mut self.complained, &mut words, |words| hear(Stream::Complained, words))?;
            if ended {
                return self.child.wait().map(Some);
            }
        }
        Ok(None)
    }
}

/// Takes what a pipe holds; forgets the pipe at its end.
fn hear_from(
    pipe: &mut Option<impl Read>,
    words: &mut [u8],
    hear: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    match open.read(words) {
        Ok(0) => *pipe = None,
        Ok(bytes) => hear(&words[..bytes])?,
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Group {
        let mut command = Command::new("/bin/sh");
        Group::start(command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped())).unwrap()
    }

    #[test]
    fn it_is_heard_until_its_end() {
        let mut heard = (String::new(), String::new());
        let status = shell("echo one; echo two >&2; sleep 0.05; echo three; exit 3").attend(
            || true,
            |stream, words| {
                let words = std::str::from_utf8(words).unwrap();
                if stream == Stream::Said {
                    heard.0 += words;
                } else {
                    heard.1 += words;
                }
                Ok(())
            },
        );
        assert_eq!(status.unwrap().unwrap().code(), Some(3));
        assert_eq!(heard, ("one\nthree\n".to_owned(), "two\n".to_owned()));
    }

    #[test]
    fn nobody_waits_for_a_pipe_that_somebody_else_keeps() {
        let begun = Instant::now();
        let status = shell("setsid sleep 5 & exit 0").attend(|| true, |_, _| Ok(()));
        assert!(status.unwrap().unwrap().success());
        assert!(begun.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn dropping_it_ends_the_whole_group() {
        let begun = Instant::now();
        let mut group = shell("sleep 60 & echo $!; wait");
        let mut pid = String::new();
        let status = group.attend(
            || begun.elapsed() < Duration::from_millis(300),
            |_, words| {
                pid += std::str::from_utf8(words).unwrap();
                Ok(())
            },
        );
        assert!(status.unwrap().is_none());
        drop(group);
        // It is gone, or has not been reaped yet by whoever inherited it.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(5);
        while !stat.is_empty() && Instant::now() < deadline {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(stat.is_empty(), "{stat}");
    }

    #[test]
    fn an_error_of_the_listener_ends_it() {
        let refuse = |_, _: &[u8]| Err(io::ErrorKind::StorageFull.into());
        let error = shell("echo one; sleep 60").attend(|| true, refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
