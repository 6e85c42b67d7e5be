//! Completions: the shell runs the program itself with the words typed so far, and the program
//! answers from its definition of the command line.
//!
//! The answer therefore always fits the program, and may contain what only the machine knows, such
//! as its drives.

use clap::{Command, ValueEnum};
use clap_complete::env::{CompleteEnv, Shells};

/// The shells for which there is a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// A program, and the variable by which its script asks for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Completions {
    pub program: &'static str,
    /// Must be set by nobody else, or the program would answer instead of working.
    pub variable: &'static str,
}

impl Completions {
    /// Answers and exits if the shell asks for completions. Must be called before anything is
    /// printed.
    pub fn answer(self, command: impl Fn() -> Command) {
        CompleteEnv::with_factory(command).var(self.variable).complete();
    }

    /// The script to load in a shell.
    pub fn script(self, shell: Shell) -> String {
        match shell {
            Shell::Bash => self.filled(BASH),
            // The file is the body of the function that zsh runs at the first completion, which
            // would only define another function.
            Shell::Zsh => self.registration("zsh") + &self.filled(ZSH_FIRST),
            Shell::Fish => self.registration("fish"),
        }
    }

    fn registration(self, shell: &str) -> String {
        let mut script = Vec::new();
        let shells = Shells::builtins();
        let completer = shells.completer(shell).expect("a shell that clap_complete knows");
        completer
            .write_registration(
                self.variable, self.program, self.program, self.program, &mut script,
            )
            .expect("a vector accepts every byte");
        String::from_utf8(script).expect("a script is text")
    }

    fn filled(self, script: &str) -> String {
        script.replace("PROGRAM", self.program).replace("VARIABLE", self.variable)
    }
}

/// Instead of the script of `clap_complete`, for which `sim:MODEL` and `--format=json` are three
/// words each, because bash breaks words at colons and equals signs.
const BASH: &str = r#"# Completions of PROGRAM for bash 4.3 or later.
_PROGRAM() {
    # The words as PROGRAM would get them. Those of bash end at each character of COMP_WORDBREAKS;
    # where no space stands between two of them, they are one.
    local line=${COMP_LINE:0:COMP_POINT} rest word
    local -a words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}" ''; do
        rest=${line#"${line%%[![:space:]]*}"}
        # The last one ends at the cursor.
        [[ ${#words[@]} -gt 0 && -z $word ]] && word=$rest
        if [[ ${#words[@]} -eq 0 || $rest != "$line" ]]; then
            words+=("$word")
        else
            words[-1]+=$word
        fi
        line=${rest#"$word"}
    done

    mapfile -t COMPREPLY < <(
        _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) VARIABLE=bash \
            PROGRAM -- "${words[@]}" 2>/dev/null
    )

    # bash replaces what follows the last break, and expects no more than that.
    local breaks=${COMP_WORDBREAKS//[^:=]/} typed=${words[-1]} kept='' index
    [[ -n $breaks ]] && kept=${typed%"${typed##*[$breaks]}"}
    for index in "${!COMPREPLY[@]}"; do
        word=${COMPREPLY[index]#"$kept"}
        [[ $word == *[[:space:]]* ]] && printf -v word %q "$word"
        COMPREPLY[index]=$word
    done
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=:] ]] && compopt -o nospace
    return 0
}
complete -F _PROGRAM PROGRAM
"#;

const ZSH_FIRST: &str = r#"
if [[ ${funcstack[1]} == _PROGRAM ]]; then
    _clap_dynamic_completer_PROGRAM "$@"
fi
"#;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const COMPLETIONS: Completions = Completions { program: "wash", variable: "_WASH_COMPLETE" };

    /// The request that the program gets when bash has these words of a line, and the answer that
    /// bash gets. A function takes the place of the program, prints the request, and answers.
    fn in_bash(line: &str, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let test = format!(
            "wash() {{ echo \"$_WASH_COMPLETE $_CLAP_COMPLETE_INDEX: $*\" >&2; \
             printf 'sim:one\\nsim:a b/\\n'; }}\n\
             {}\nCOMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}} COMP_WORDS=({})\n\
             COMP_POINT=${{#COMP_LINE}} COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _wash wash; printf '<%s>' \"${{COMPREPLY[@]}}\" >&2",
            COMPLETIONS.script(Shell::Bash).replace(" 2>/dev/null", ""),
            words.join(" ")
        );
        let output = Command::new("bash").args(["-c", &test]).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    }

    #[test]
    fn bash_hands_over_whole_words_and_gets_what_is_missing() {
        let answer = in_bash("wash check sim:", &["wash", "check", "sim", ":"]);
        assert_eq!(answer, "bash 2: -- wash check sim:\n<one><a\\ b/>");
        let answer = in_bash("wash  check si", &["wash", "check", "si"]);
        assert_eq!(answer, "bash 2: -- wash check si\n<sim:one><sim:a\\ b/>");
        let answer = in_bash("wash --format=js", &["wash", "--format", "=", "js"]);
        assert_eq!(answer, "bash 1: -- wash --format=js\n<sim:one><sim:a\\ b/>");
        let answer = in_bash("wash check ", &["wash", "check", ""]);
        assert_eq!(answer, "bash 2: -- wash check \n<sim:one><sim:a\\ b/>");
    }

    #[test]
    fn each_shell_has_a_script_that_asks_the_program() {
        for shell in Shell::value_variants() {
            let script = COMPLETIONS.script(*shell);
            assert!(script.contains("_WASH_COMPLETE") && script.contains("wash --"), "{script}");
            assert!(!script.contains("PROGRAM") && !script.contains("VARIABLE"), "{script}");
        }
    }
}
