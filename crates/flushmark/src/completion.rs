//! Completion of values on the command line, by the placeholders that stand for them in the help.

use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clidocs::completions::Completions;
use measurement::{Grade, Use};

/// The program's name, and the variable by which a shell asks it for completions.
pub const COMPLETIONS: Completions =
    Completions { program: "flushmark", variable: "_FLUSHMARK_COMPLETE" };

/// The beginnings of targets that are not paths.
const OTHER_TARGETS: [&str; 5] = ["sim:", "nbd://", "rbd:", "rados:", "null:"];

/// The command line with completions of its values.
pub fn complete(command: Command) -> Command {
    command.mut_args(complete_value).mut_subcommands(complete)
}

fn complete_value(argument: Arg) -> Arg {
    let Some(placeholder) = placeholder(&argument) else { return argument };
    let completer = match placeholder.as_str() {
        "TARGET" | "PATH" => ArgValueCompleter::new(targets),
        "SUITE" | "PLAN" => ArgValueCompleter::new(suites_and_files),
        "MODEL" => ArgValueCompleter::new(models_and_files),
        "DEV" => ArgValueCompleter::new(block_devices()),
        "RUN" => ArgValueCompleter::new(|word: &OsStr| candidates(["last"], word)),
        "RESULT" => ArgValueCompleter::new(results),
        "USE[=GRADE]" => ArgValueCompleter::new(uses),
        "STORE" => ArgValueCompleter::new(stores),
        "DIR" => return argument.value_hint(ValueHint::DirPath),
        "FILE" | "DEVICE|PATH" | "RESULT.json" => return argument.value_hint(ValueHint::AnyPath),
        "COMMAND" => return argument.value_hint(ValueHint::CommandName),
        _ => return argument,
    };
    argument.add(completer)
}

/// The placeholder of the value in the help; `None` for a flag.
fn placeholder(argument: &Arg) -> Option<String> {
    if !argument.get_action().takes_values() {
        return None;
    }
    let named = argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    Some(named.unwrap_or_else(|| argument.get_id().as_str().to_ascii_uppercase()))
}

fn candidates<S: AsRef<str>>(
    names: impl IntoIterator<Item = S>,
    word: &OsStr,
) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let begins = |name: &S| name.as_ref().starts_with(&*word);
    let candidate = |name: S| CompletionCandidate::new(name.as_ref().to_owned());
    names.into_iter().filter(begins).map(candidate).collect()
}

fn targets(word: &OsStr) -> Vec<CompletionCandidate> {
    if word.to_string_lossy().starts_with("sim:") {
        let models = catalogue::models().iter().map(|model| format!("sim:{}", model.model));
        return candidates(models, word);
    }
    let mut targets = PathCompleter::any().complete(word);
    targets.extend(candidates(OTHER_TARGETS, word));
    targets
}

fn suites_and_files(word: &OsStr) -> Vec<CompletionCandidate> {
    let mut suites = candidates(workload::suites::all().into_iter().map(|plan| plan.name), word);
    suites.extend(PathCompleter::file().complete(word));
    suites
}

fn models_and_files(word: &OsStr) -> Vec<CompletionCandidate> {
    let mut models = candidates(catalogue::models().iter().map(|model| &model.model), word);
    models.extend(PathCompleter::file().complete(word));
    models
}

fn results(word: &OsStr) -> Vec<CompletionCandidate> {
    let mut results = candidates(["last"], word);
    results.extend(PathCompleter::file().complete(word));
    results
}

fn uses(word: &OsStr) -> Vec<CompletionCandidate> {
    let grades = [Grade::Poor, Grade::Fair, Grade::Good, Grade::Excellent];
    let of_use = |name: &str| grades.map(|grade| format!("{name}={}", grade.name()));
    let names = Use::ALL.map(Use::name);
    if word.to_string_lossy().contains('=') {
        candidates(names.into_iter().flat_map(of_use), word)
    } else {
        candidates(names, word)
    }
}

fn stores(word: &OsStr) -> Vec<CompletionCandidate> {
    let mut stores = PathCompleter::file().complete(word);
    stores.extend(candidates(["none", "postgres://"], word));
    stores
}

fn block_devices() -> PathCompleter {
    let is_device = |path: &Path| path.metadata().is_ok_and(|it| it.file_type().is_block_device());
    PathCompleter::any().filter(is_device)
}
