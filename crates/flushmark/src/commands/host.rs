//! `flushmark host`: finds what on the host slows or endangers commits.

use drive::{HostFacts, SystemRoot};
use measurement::{HostDocument, host_document};

use super::{look, print};
use crate::args::{Format, HostArgs};
use crate::exit::{ExitStatus, WrongUse};
use crate::host_settings;
use crate::signals;

/// Reads, measures if asked to, and prints.
pub fn run(args: &HostArgs) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::new(&args.facts.system_root);
    if args.measure.is_some() && root != SystemRoot::default() {
        return Err(WrongUse(
            "--measure measures this machine, but --system-root selects another".to_owned(),
        )
        .into());
    }
    let facts = HostFacts::read(&root);
    let audit = judge::audit(&facts);
    let mut document = HostDocument {
        schema: host_document::SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        facts,
        audit,
        measured: None,
        measured_governor: None,
        not_measured: Vec::new(),
    };
    // Keep what is known already if measuring fails.
    let measured = args.measure.as_ref().map(|path| host_settings::effects(path, &document.facts));
    let failed = match measured {
        Some(Ok(effects)) => {
            document.measured = effects.c_states;
            document.measured_governor = effects.governor;
            document.not_measured = effects.not_measured;
            None
        }
        Some(Err(error)) => Some(error),
        None => None,
    };
    match args.facts.format {
        Format::Text => print(&report::host_page(&document, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&document)? + "\n"))?,
    }
    match (failed, signals::received()) {
        (Some(error), _) => Err(error),
        (None, Some(signal)) => Ok(ExitStatus::Interrupted(signal)),
        (None, None) => Ok(ExitStatus::Done),
    }
}
