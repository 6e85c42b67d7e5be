//! Limits of the system: memory, files, threads, locked memory, io_uring. Either a message names
//! the limit, or the run reports how it managed without.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a seccomp filter for one child process")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;

use common::{Run, entries, flushmark, install_program, is_root, needs_root, plan, run};

#[test]
fn more_than_the_system_can_give() {
    let directory = tempfile::tempdir().unwrap();
    let all = "[[test]]\npattern = \"randwrite\"\nblock = \"64MiB\"\ndepth = 1024\njobs = \
               256\nsize = \"16GiB\"\n";
    let run_all = run(&["run", &plan(directory.path(), all), "--target", "null:", "--quiet"]);
    assert_eq!(run_all.code, Some(4));
    assert!(
        run_all
            .stderr
            .contains("256 jobs with 1024 blocks of 64 MiB in flight need 16.0 TiB of memory"),
        "{}",
        run_all.stderr
    );

    let many = plan(
        directory.path(),
        "[[test]]\npattern = \"randwrite\"\njobs = 256\nsize = \"1MiB\"\ncount = 1\n",
    );
    let limited = format!(
        "ulimit -n 64; exec {} run {many} --quiet --target null:",
        env!("CARGO_BIN_EXE_flushmark")
    );
    let run = Run::of(std::process::Command::new("bash").args(["-c", &limited]).output().unwrap());
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: 256 jobs need 800 open files, but the limit is 64; raise it (ulimit -n 800) or use fewer jobs");
}

#[test]
fn more_threads_than_the_system_can_give() {
    const TEST: &str = "more_threads_than_the_system_can_give";
    // Only root can switch to a user without other processes, whose limit is reached at a known
    // point.
    if !needs_root(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let plan = plan(
        directory.path(),
        "[[test]]\npattern = \"randwrite\"\njobs = 256\nsize = \"1MiB\"\ncount = 1000\n",
    );
    let program = install_program(directory.path());
    let limited = format!("ulimit -u 60; exec {} run {plan} --quiet --target .", program.display());
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &limited]).current_dir(directory.path()).uid(61234).gid(61234);
    let run = Run::of(command.output().unwrap());
    assert_eq!(run.code, Some(4));
    let (before, after) = run.stderr.split_once(" job ").unwrap();
    assert_eq!(before, "flushmark: cannot start a thread for");
    insta::assert_snapshot!(after.split_once(" of ").unwrap().1.trim_end(), @"256 (resource temporarily unavailable); raise the limit (ulimit -u) or use fewer jobs");
    assert!(!entries(directory.path()).iter().any(|name| name.starts_with(".flushmark")));
}

#[test]
fn without_locked_memory_depth_still_works() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let text = "[[test]]\npattern = \"randread\"\nblock = \"1MiB\"\ndepth = 16\nsize \
                = \"32MiB\"\ncount = 20\nwarm_up = \"0s\"\n";
    let plan = plan(directory.path(), text);
    let program = install_program(directory.path());
    let limited = format!(
        "ulimit -l 64; exec {} run {plan} --quiet --format json --target {}",
        program.display(),
        directory.path().display()
    );
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &limited]);
    if is_root() {
        command.uid(65534).gid(65534);
    }
    let run = Run::of(command.output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let result = &run.document()["results"][0];
    assert_eq!(result["proof"]["reads"], 20);
    let notes = result["notes"].to_string();
    assert!(notes.contains("locked memory") || notes.contains("used libaio instead"), "{notes}");
}

/// Makes io_uring fail with ENOSYS in the child, as a container's filter does.
fn without_io_uring(command: &mut std::process::Command) {
    let filter = move || {
        // Load the call's number; io_uring_setup, io_uring_enter, io_uring_register (425 to 427
        // everywhere) fail, all else passes.
        let instruction =
            |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
        let mut program = [
            instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 2, 425),
            instruction(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, 0, 427),
            instruction(
                libc::BPF_RET | libc::BPF_K,
                0,
                0,
                libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
            ),
            instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the kernel copies the filter within the calls.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0
        };
        if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(filter) };
}

#[test]
fn a_kernel_without_io_uring() {
    let directory = tempfile::tempdir().unwrap();
    let text = "[[test]]\npattern = \"randwrite\"\ndepth = 8\nsize = \"1MiB\"\ncount = 50\nwarm_up \
                = \"0s\"\n";
    let plan = plan(directory.path(), text);
    let run = |more: &[&str]| {
        let mut command = flushmark();
        command
            .args(["run", &plan, "--quiet", "--format", "json", "--target"])
            .arg(directory.path())
            .args(more);
        without_io_uring(&mut command);
        Run::of(command.output().unwrap())
    };
    let fallback = run(&[]);
    assert_eq!(fallback.code, Some(0), "{}", fallback.stderr);
    let result = &fallback.document()["results"][0];
    assert_eq!((&result["engine"], &result["proof"]["writes"]), (&"libaio".into(), &50.into()));
    insta::assert_snapshot!(result["notes"][0].as_str().unwrap(), @"io_uring is not available (not supported by the kernel, or blocked by a container's seccomp filter); used libaio instead");
    let by_name = run(&["--engine", "io_uring"]);
    assert_eq!(by_name.code, Some(4));
    insta::assert_snapshot!(by_name.stderr.trim_end(), @"flushmark: io_uring is not available: function not implemented; omit --engine to let flushmark choose");
}

#[test]
fn too_few_open_files_leave_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let program = flushmark().get_program().to_str().unwrap().to_owned();
    let mut codes = Vec::new();
    for files in 4..20 {
        let script =
            format!("ulimit -n {files}; exec {program} run check --smoke --quiet --target {place}");
        let run = Run::of(std::process::Command::new("sh").args(["-c", &script]).output().unwrap());
        assert_eq!(entries(directory.path()), Vec::<String>::new(), "{files}: {}", run.stderr);
        codes.push(run.code);
    }
    assert!(codes.contains(&Some(4)), "{codes:?}");
}
