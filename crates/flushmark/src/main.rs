//! The command line of flushmark: parses arguments, connects the crates and prints. The other
//! crates decide what is measured, judged and shown.

mod args;
mod bench;
mod browser;
mod build_info;
mod ceph_leftovers;
mod commands;
mod completion;
mod config;
mod exit;
mod export;
mod help;
mod host_settings;
mod keeping;
mod listening;
mod live;
mod modelled;
mod progress;
mod reference;
mod selection;
mod session;
mod signals;
mod start_line;
mod tracing;
mod unsent;
mod write_cache;

use clap::{CommandFactory as _, FromArgMatches as _};

fn main() {
    completion::COMPLETIONS.answer(|| completion::complete(args::Args::command()));
    let args = help::command()
        .try_get_matches()
        .and_then(|matches| args::Args::from_arg_matches(&matches))
        .unwrap_or_else(|error| exit::exit_as_parsed(&args::with_hint(error)));
    rados::exit(exit::code(run(args)).into())
}

fn run(args: args::Args) -> anyhow::Result<exit::ExitStatus> {
    let config = config::load()?;
    if let Some(color) = args.color.or(config.color) {
        anstream::ColorChoice::from(color).write_global();
    }
    match args.command {
        args::Command::Check(check) => commands::check::run(&check),
        args::Command::Run(run) => commands::run::run(&run),
        args::Command::Db(db) => commands::db::run(&db),
        args::Command::Drives(drives) => commands::drives::run(&drives),
        args::Command::Cache(cache) => commands::cache::run(&cache),
        args::Command::Host(host) => commands::host::run(&host),
        args::Command::Trace(trace) => commands::trace::run(&trace),
        args::Command::Watch(watch) => commands::watch::run(&watch),
        args::Command::Suites(suites) => commands::suites::run(&suites),
        args::Command::Models(models) => commands::models::run(&models),
        args::Command::Fit(fit) => commands::fit::run(&fit),
        args::Command::Emulate(emulate) => commands::emulate::run(&emulate),
        args::Command::Crash(crash) => commands::crash::run(&crash),
        args::Command::Report(report) => commands::report::run(&report),
        args::Command::Results(results) => commands::results::run(&results),
        args::Command::Web(web) => commands::web::run(&web),
        args::Command::Ceph(ceph) => commands::ceph::run(&ceph),
        args::Command::Fleet(fleet) => commands::fleet::run(&fleet),
        args::Command::Explain(explain) => commands::explain::run(&explain),
        args::Command::Catalogue(catalogue) => commands::catalogue::run(&catalogue),
        args::Command::Completions(completions) => commands::completions::run(&completions),
        args::Command::Manual(manual) => commands::manual::run(&manual),
        args::Command::Verify(verify) => commands::verify::run(&verify),
        args::Command::Reference(reference) => commands::reference::run(&reference),
    }
}
