//! `flushmark results`: one file per subcommand.

mod compare;
mod delete;
mod export;
mod import;
mod list;
mod mark;
mod merge;
mod push;
mod show;

use crate::args::results::{ResultsArgs, ResultsCommand};
use crate::exit::ExitStatus;

pub fn run(args: &ResultsArgs) -> anyhow::Result<ExitStatus> {
    match &args.command {
        ResultsCommand::List(list) => list::run(list, &args.store),
        ResultsCommand::Show(show) => show::run(show, &args.store),
        ResultsCommand::Tag(tag) => mark::tag(tag, &args.store),
        ResultsCommand::Note(note) => mark::note(note, &args.store),
        ResultsCommand::Delete(delete) => delete::run(delete, &args.store),
        ResultsCommand::Compare(compare) => compare::run(compare, &args.store),
        ResultsCommand::Merge(merge) => merge::run(merge, &args.store),
        ResultsCommand::Import(import) => import::run(import, &args.store),
        ResultsCommand::Push => push::run(&args.store),
        ResultsCommand::Export(export) => export::run(export, &args.store),
    }
}
