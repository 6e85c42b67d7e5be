//! Records a command: creates the drive, runs the command on it, and logs everything that it
//! writes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use emulate::{Blank, Filesystem, LoopDevice, MountedFilesystem};

use crate::error::CrashError;
use crate::group::Group;
use crate::holders::Holders;
use crate::mounted::unmounted_by;
use crate::printed::Pipe;
use crate::recorded::Recorded;
use crate::served::{DRIVE, QUEUE, Served};
use crate::session::Session;
use crate::view::Recording;

/// A command to record, and the drive to record it on.
#[derive(Debug, Clone)]
pub struct RecordingSetup {
    pub command: Vec<String>,
    /// A shell command that prepares the drive. What it has written when it ends is safe before the
    /// recording starts.
    pub prepare: Option<String>,
    /// The filesystem; `None`: the command gets the drive itself.
    pub filesystem: Option<Filesystem>,
    pub capacity_bytes: u64,
    /// The time to record after the command's end, while the kernel writes back data that was not
    /// synced.
    pub settle: Duration,
}

/// The result of recording a command.
#[derive(Debug)]
pub struct Outcome {
    pub recording: Recording,
    pub status: ExitStatus,
}

/// Records a command. `work` is an empty directory for mount points. The command is killed when
/// `stop` returns `true`.
///
/// # Errors
/// When the drive cannot be set up, the command cannot be run, or the log cannot be written. A
/// failure of the command is not an error: its writes can still be checked.
pub fn record(
    setup: &RecordingSetup,
    session: &Session,
    work: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, CrashError> {
    let is_root = rustix::process::geteuid().is_root();
    if setup.filesystem.is_some() && !is_root {
        return Err(CrashError::Root);
    }
    let (base, log) = session.blank(setup.capacity_bytes)?;
    let drives = work.join("drives");
    let directory = work.join("mounted");
    for directory in [&drives, &directory] {
        std::fs::create_dir_all(directory).map_err(CrashError::call("creating a mount point"))?;
    }
    let piped = CrashError::call("creating a pipe for the command's output");
    let (said, printer) = io::pipe().map_err(&piped)?;
    let watched = said.try_clone().and_then(|said| Pipe::new(said.into())).map_err(&piped)?;
    let said = Pipe::new(said.into()).map_err(&piped)?;
    // The threads that serve the drive cannot see files opened after they have started.
    let recorded = Recorded::new(base, log, said, setup.capacity_bytes);
    let served = Served::of_recorded(&drives, recorded)?;
    let file = served.path(DRIVE);
    let device =
        setup.filesystem.is_some().then(|| LoopDevice::attach(&file, QUEUE)).transpose()?;
    let drive: PathBuf = device.as_ref().map_or(file.clone(), |device| device.path().to_owned());
    let mut mounted = match (&device, setup.filesystem) {
        (Some(device), Some(filesystem)) => Some(mount(device, &directory, filesystem)?),
        _ => None,
    };
    let place = mounted.is_some().then_some(directory.as_path());
    let prepare = |command: &String| prepared(command, place, &drive, stop);
    let prepared = setup.prepare.as_ref().map(prepare).transpose()?;
    // The current content is to be safe.
    if let Some(place) = place {
        let opened = std::fs::File::open(place);
        let synced = opened.and_then(|opened| Ok(rustix::fs::syncfs(&opened)?));
        synced.map_err(CrashError::call("syncing the filesystem"))?;
    }
    let broke_off =
        |source| CrashError::Recording { directory: session.directory().to_owned(), source };
    served.recorded(Recorded::begin).map_err(broke_off)?;
    let is_whole = || served.recorded(|recorded| recorded.is_whole());
    let go_on = || !stop() && is_whole().is_ok();
    let mut group = start(&setup.command, place, &drive, printer.into())?;
    group.watch(watched);
    let status = group
        .attend(go_on, |_, _| served.recorded(Recorded::note_lines))
        .map_err(CrashError::call("waiting for the command"));
    is_whole().map_err(broke_off)?;
    let status = status?.ok_or(CrashError::Stopped)?;
    served.recorded(Recorded::note_last_line).map_err(broke_off)?;
    if place.is_some() {
        let settled = Instant::now() + setup.settle;
        while go_on() && Instant::now() < settled {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // Processes left running would keep the filesystem mounted.
    drop((group, prepared));
    if stop() {
        return Err(CrashError::Stopped);
    }
    if let (Some(mounted), Some(device)) = (&mut mounted, &device)
        && !unmounted_by(|| mounted.unmount().is_ok())
    {
        mounted.unmount_lazily();
        return Err(CrashError::Held {
            who: "the command".to_owned(),
            holders: Holders::of(device.path()),
        });
    }
    let tape = served.recorded(Recorded::end).map_err(broke_off)?;
    drop(device);
    drop(served);
    let missing = || io::Error::other("the recording never began");
    let recording = Recording::new(tape.ok_or_else(missing).map_err(broke_off)?);
    Ok(Outcome { recording, status })
}

fn mount(
    device: &LoopDevice,
    directory: &Path,
    filesystem: Filesystem,
) -> Result<MountedFilesystem, CrashError> {
    // Data that was not synced is committed after one second, not five.
    let commits = if filesystem == Filesystem::Ext4 { ",commit=1" } else { "" };
    let options = format!("{}{commits}", filesystem.mount_options());
    let blank = Blank::GetsAFilesystem;
    Ok(MountedFilesystem::mount(device.path(), directory, filesystem, &options, blank)?)
}

/// Runs the preparation. Processes that it leaves running, such as a server, are available to the
/// recorded command, and end with the group.
fn prepared(
    command: &str,
    directory: Option<&Path>,
    drive: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<Group, CrashError> {
    let words = ["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()];
    // Its output is not part of the result.
    let mut group = start(&words, directory, drive, io::stderr().into())?;
    let status = group
        .attend(|| !stop(), |_, pipe| pipe.drain(|_| Ok(())))
        .map_err(CrashError::call("waiting for the preparation"))?;
    let status = status.ok_or(CrashError::Stopped)?;
    if !status.success() {
        return Err(CrashError::Prepare { command: command.to_owned(), status });
    }
    Ok(group)
}

fn start(
    words: &[String],
    directory: Option<&Path>,
    drive: &Path,
    stdout: Stdio,
) -> Result<Group, CrashError> {
    let failed = |source| CrashError::Command { command: words.join(" "), source };
    let (program, arguments) =
        words.split_first().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let mut command = Command::new(program);
    command.args(arguments).env("CRASH_DRIVE", drive).stdin(Stdio::null()).stdout(stdout);
    if let Some(directory) = directory {
        command.current_dir(directory).env("CRASH_DIR", directory);
    }
    Group::start(&mut command).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::check::{Check, CheckVerdict};
    use crate::explore::{Explorer, Lost};
    use crate::log::Entry;
    use crate::session::Plan;
    use crate::state::State;
    use crate::view::View;

    fn setup(command: &str, prepare: Option<&str>) -> RecordingSetup {
        RecordingSetup {
            command: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(),
            prepare: prepare.map(str::to_owned),
            filesystem: None,
            capacity_bytes: 1 << 20,
            settle: Duration::ZERO,
        }
    }

    /// `None` where this host cannot set up the drive.
    fn recorded(
        test: &str,
        setup: &RecordingSetup,
        stop: bool,
    ) -> Option<Result<Outcome, CrashError>> {
        let directory = tempfile::tempdir().unwrap();
        let session = Session::create(&directory.path().join("session")).unwrap();
        match record(setup, &session, &directory.path().join("work"), &|| stop) {
            Err(error @ (CrashError::Mount(_) | CrashError::Chain(_) | CrashError::Root)) => {
                eprintln!("skipped: {test}: {error}");
                None
            }
            outcome => Some(outcome),
        }
    }

    #[test]
    fn what_a_command_writes_and_prints_is_recorded_in_its_order() {
        let put = |text: &str, at: u64, sync: &str| {
            format!(
                "printf {text} | dd of=$CRASH_DRIVE bs=512 seek={at} conv=notrunc{sync} status=none"
            )
        };
        // The last line has no line end.
        let command =
            format!("{}; echo one; {}; printf two; exit 3", put("x", 2, ",fsync"), put("y", 4, ""));
        let prepare = format!("{}; echo unheard >&2", put("before", 0, ",fsync"));
        let test = "what_a_command_writes_and_prints_is_recorded_in_its_order";
        let Some(outcome) = recorded(test, &setup(&command, Some(&prepare)), false) else { return };
        let Outcome { recording, status } = outcome.unwrap();
        assert_eq!(status.code(), Some(3));
        let entry = |entry: &Entry| match entry {
            Entry::Write { offset, bytes, .. } => format!("{bytes} B at {offset}"),
            Entry::Zeros { .. } => "zeros".to_owned(),
            Entry::Flush => "flush".to_owned(),
            Entry::Printed(line) => String::from_utf8(line.clone()).unwrap(),
        };
        let entries: Vec<String> = recording.entries().iter().map(entry).collect();
        assert_eq!(entries, ["512 B at 1024", "flush", "one", "512 B at 2048", "two"]);
        let printed = |number: usize| recording.printed_by(&recording.epochs()[number]);
        assert_eq!((printed(0), printed(1)), (Vec::new(), b"one\ntwo\n".to_vec()));
        // The content before the command is in each state.
        let mut held = [0; 2560];
        View::new(Arc::new(recording), &State::boundary(1, 1)).read(0, &mut held).unwrap();
        assert_eq!((&held[..7], held[1024], held[2048]), (&b"before\0"[..], b'x', 0));
    }

    #[test]
    fn a_failed_recording_reports_the_reason() {
        let test = "a_failed_recording_reports_the_reason";
        let error =
            |setup: &RecordingSetup, stop| recorded(test, setup, stop).map(Result::unwrap_err);
        let Some(unprepared) = error(&setup("true", Some("exit 3")), false) else { return };
        insta::assert_snapshot!(unprepared, @"`exit 3` failed (exit status: 3); nothing was recorded");
        let unknown = RecordingSetup {
            command: vec!["/not/there".to_owned(), "-x".to_owned()],
            ..setup("", None)
        };
        insta::assert_snapshot!(error(&unknown, false).unwrap(), @"cannot run `/not/there -x`");
        let empty = RecordingSetup { command: Vec::new(), ..setup("", None) };
        assert!(matches!(error(&empty, false), Some(CrashError::Command { .. })));
        for prepare in [None, Some("sleep 60")] {
            assert!(
                matches!(error(&setup("sleep 60", prepare), true), Some(CrashError::Stopped)),
                "{prepare:?}"
            );
        }
    }

    #[test]
    fn what_ext4_synced_is_in_each_state_after_its_line_and_what_is_lost_has_owners() {
        let test = "what_ext4_synced_is_in_each_state_after_its_line_and_what_is_lost_has_owners";
        let filesystem = Some(Filesystem::Ext4);
        let command =
            "seq 3001 5000 | dd of=file conv=notrunc status=none; mkdir new; sync file; echo kept";
        let setup = RecordingSetup {
            filesystem,
            capacity_bytes: 16 << 20,
            settle: Duration::from_secs(2),
            ..setup(command, Some("seq 1001 3000 > file"))
        };
        let begun = Instant::now();
        let directory = tempfile::tempdir().unwrap();
        let session = Session::create(&directory.path().join("session")).unwrap();
        let recording = match record(&setup, &session, &directory.path().join("work"), &|| false) {
            Err(error @ (CrashError::Mount(_) | CrashError::Chain(_) | CrashError::Root)) => {
                return eprintln!("skipped: {test}: {error}");
            }
            outcome => Arc::new(outcome.unwrap().recording),
        };
        assert!(begun.elapsed() >= setup.settle, "the kernel needs time to write back");
        let rule = "case $(head -n 1 file) in 3001) exit 0;; 1001) test ! -s $CRASH_PRINTED;; *) \
                    exit 1;; esac";
        let plan = Plan {
            command: Vec::new(),
            capacity_bytes: setup.capacity_bytes,
            filesystem,
            log_bytes: 0,
            log_entries: 0,
            check: Check { command: rule.to_owned(), expect: None, filesystem, timeout_s: 60 },
            samples: 0,
            seed: 1,
            atomic_bytes: 4096,
        };
        let explorer =
            Explorer::new(Arc::clone(&recording), plan, 1, &directory.path().join("states"))
                .unwrap();
        let mut owners = BTreeSet::new();
        for (number, epoch) in recording.epochs().iter().enumerate() {
            let state = State::boundary(number, epoch.writes.len());
            assert_eq!(explorer.check_one(&state).unwrap(), CheckVerdict::Passed, "{state}");
            let lost: Vec<Lost> = explorer.lost(&state).unwrap();
            owners.extend(lost.into_iter().flat_map(|lost| lost.owners.unwrap_or_default()));
        }
        for owner in ["file", "the journal", "the superblock"] {
            assert!(owners.contains(owner), "{owners:?}");
        }
        let last = State::whole(recording.epochs().len() - 1);
        let mut left = None;
        let looked = explorer.with_state(&last, filesystem, |_, mounted| {
            left = Some(
                Command::new("sleep").arg("60").current_dir(mounted.unwrap()).spawn().unwrap(),
            );
        });
        let mut left = left.unwrap();
        let expected = format!("`sleep` (process {})", left.id());
        left.kill().unwrap();
        left.wait().unwrap();
        match looked.unwrap_err() {
            CrashError::Held { who, holders } => {
                assert_eq!(
                    (who, holders.to_string()),
                    (format!("the inspection of state {last}"), expected)
                );
            }
            error => panic!("{error}"),
        }
    }
}
