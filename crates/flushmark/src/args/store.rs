//! Arguments that say where runs are kept.

use store::Location;

/// For verbs that measure.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KeepArgs {
    /// Keep the run in this store: a file, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", value_parser = parse_store, long_help = "\
Keep the run in this store: a file, or postgres://USER@HOST/DATABASE (password: PGPASSWORD, ~/.pgpass).
Default: $FLUSHMARK_STORE (`none` keeps nothing), else results.db in $XDG_DATA_HOME/flushmark
or ~/.local/share/flushmark. Runs on a model or null: are kept only if this option names a
store; smoke runs never are.")]
    pub store: Option<Location>,

    /// Do not keep the run
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

/// For verbs that read kept runs.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StoreArgs {
    /// The store: a file, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", value_parser = parse_store, global = true, long_help = "\
The store: a file, or postgres://USER@HOST/DATABASE (password: PGPASSWORD, ~/.pgpass).
Default: $FLUSHMARK_STORE, else results.db in $XDG_DATA_HOME/flushmark or
~/.local/share/flushmark.")]
    pub store: Option<Location>,
}

fn parse_store(text: &str) -> Result<Location, String> {
    text.parse().map_err(|error: store::InvalidLocation| error.to_string())
}
