//! A process with everything that it starts: heard until it ends, and ended whole.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open, waitid,
};

/// How often it is asked whether to go on.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What is read at once: what a pipe holds.
const PIPE_BYTES: usize = 64 << 10;
/// After the end so often: what the largest pipe of an ordinary user holds (`fs.pipe-max-size`). Whoever else has it open may never fall silent.
const READS_AFTER_THE_END: usize = (1 << 20) / PIPE_BYTES;

/// Where a process writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its output.
    Said,
    /// Its complaints.
    Complained,
}

/// A process that leads a process group. Dropping it kills what is left of the group.
///
/// The leader is not reaped before: as long as it is not, nobody else is given its number, and so nobody else is killed.
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
            ioctl_fionbio(pipe, true)?;
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
            let reads = if ended { READS_AFTER_THE_END } else { 1 };
            hear_from(&mut self.said, reads, &mut words, |words| hear(Stream::Said, words))?;
            hear_from(&mut self.complained, reads, &mut words, |words| hear(Stream::Complained, words))?;
            if ended {
                return self.status();
            }
        }
        Ok(None)
    }

    /// How the process ended, if it did. It is left unreaped.
    fn status(&self) -> io::Result<Option<ExitStatus>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::PidFd(self.end.as_fd()), look)?.map(|ended| exit_status(&ended)))
    }
}

/// As `wait` encodes it.
fn exit_status(ended: &WaitIdStatus) -> ExitStatus {
    let dumped = if ended.dumped() { 0x80 } else { 0 };
    let signalled = ended.terminating_signal().map(|signal| signal | dumped);
    ExitStatus::from_raw(signalled.unwrap_or_else(|| ended.exit_status().unwrap_or_default() << 8))
}

/// Takes what a pipe holds, in so many reads at most; forgets the pipe at its end.
fn hear_from(
    pipe: &mut Option<impl Read>,
    reads: usize,
    words: &mut [u8],
    mut hear: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    for _ in 0..reads {
        let Some(open) = pipe else { break };
        match open.read(words) {
            Ok(0) => *pipe = None,
            Ok(bytes) => hear(&words[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
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
    use std::cell::RefCell;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use rustix::pipe::fcntl_setpipe_size;
    use rustix::process::{kill_process, test_kill_process_group};

    use super::*;

    /// Long enough for a busy machine.
    const PATIENCE: Duration = Duration::from_mins(1);

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
    fn each_end_is_told() {
        let told = |script: &str| {
            let status = shell(script).attend(|| true, |_, _| Ok(())).unwrap().unwrap();
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
        assert_eq!(group.attend(|| true, |_, _| Ok(())).unwrap().unwrap().code(), Some(3));
        assert_eq!(test_kill_process_group(pid), Ok(()));
        drop(group);
        assert_eq!(test_kill_process_group(pid), Err(Errno::SRCH));
    }

    #[test]
    fn all_that_a_large_pipe_holds_is_heard() {
        let mut group = shell("sleep 0.1; head -c 300000 /dev/zero");
        fcntl_setpipe_size(group.said.as_ref().unwrap(), 1 << 20).unwrap();
        let mut heard = 0;
        // Nothing is read before the process has ended.
        while group.status().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let hear = |_, words: &[u8]| {
            heard += words.len();
            Ok(())
        };
        group.attend(|| true, hear).unwrap().unwrap();
        assert_eq!(heard, 300_000);
    }

    #[test]
    fn nobody_hears_for_ever_what_somebody_else_says() {
        let mut reads = 0;
        hear_from(&mut Some(io::repeat(b'x')), 16, &mut [0; 8], |_| {
            reads += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(reads, 16);
    }

    #[test]
    fn nobody_waits_for_a_pipe_that_somebody_else_keeps() {
        let begun = Instant::now();
        let mut group = shell("setsid sleep 600 & echo $!");
        let mut pid = String::new();
        let status = group.attend(
            || begun.elapsed() < PATIENCE,
            |_, words| {
                pid += std::str::from_utf8(words).unwrap();
                Ok(())
            },
        );
        assert!(status.unwrap().unwrap().success());
        assert!(group.said.is_some(), "its end has not come");
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
            |_, words| {
                *pid.borrow_mut() += std::str::from_utf8(words).unwrap();
                Ok(())
            },
        );
        assert!(status.unwrap().is_none());
        drop(group);
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.borrow().trim())).unwrap_or_default();
        // It is gone, or has not been reaped yet by whoever inherited it.
        while !stat().is_empty() && !stat().contains(") Z ") {
            assert!(begun.elapsed() < 2 * PATIENCE, "{}", stat());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn an_error_of_the_listener_ends_it() {
        let refuse = |_, _: &[u8]| Err(io::ErrorKind::StorageFull.into());
        let error = shell("echo one; sleep 60").attend(|| true, refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
