//! The files that packages install beside the program: its manual page, and completions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use testbed::Run;

fn prefixsort() -> Command {
    Command::new(env!("CARGO_BIN_EXE_prefixsort"))
}

fn generated(what: &str) -> String {
    let run = Run::of(prefixsort().args(["--generate", what]).output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}");
    run.stdout
}

#[test]
fn the_manual_page_has_every_option_of_the_help() {
    let page = generated("manual").replace("\\-", "-");
    let help = Run::of(prefixsort().arg("--help").output().unwrap()).stdout;
    let options: Vec<&str> = help
        .split_whitespace()
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(|word| word.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap())
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options {
        assert!(page.contains(option), "{option}");
    }
    for section in ["SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"] {
        assert!(page.contains(&format!(".SH \"{section}\"")), "{section}");
    }
}

#[test]
fn the_script_of_bash_completes_options_and_their_values() {
    let script = generated("bash");
    let completed = |line: &str, words: &str| {
        let test = format!(
            "PATH=${{0%/*}}:$PATH\n{script}\nCOMP_LINE='{line}' COMP_WORDS=({words})\n\
             COMP_POINT=${{#COMP_LINE}} COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _prefixsort prefixsort; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &test, env!("CARGO_BIN_EXE_prefixsort")]);
        String::from_utf8(bash.output().unwrap().stdout).unwrap().trim_end().to_owned()
    };
    assert_eq!(completed("prefixsort --zero", "prefixsort --zero"), "--zero-terminated");
    assert_eq!(completed("prefixsort --check=q", "prefixsort --check = q"), "quiet");
    let options = completed("prefixsort --", "prefixsort --");
    assert!(options.contains("--zero-terminated") && !options.contains("--generate"), "{options}");
}

#[test]
fn nothing_is_sorted_beside_it() {
    let run = Run::of(prefixsort().args(["--generate", "manual", "file"]).output().unwrap());
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}
