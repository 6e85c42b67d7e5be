//! The targets of a measurement.

/// One or several targets, by position or with `--target`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TargetArgs {
    /// Where to measure: a directory (for a test file that is removed afterwards), a file, a device
    /// under /dev, a modelled drive sim:MODEL (see `flushmark models`), an NBD export
    /// nbd://HOST/EXPORT, a Ceph image rbd:POOL/IMAGE, objects in a Ceph pool rados:POOL, or null:.
    /// Several are measured at once
    #[arg(value_name = "TARGET", value_hint = clap::ValueHint::AnyPath)]
    pub placed: Vec<String>,

    /// The same, for use anywhere on the command line
    #[arg(long = "target", short = 't', value_name = "TARGET", value_hint = clap::ValueHint::AnyPath)]
    pub named: Vec<String>,
}

impl TargetArgs {
    /// All targets, in either form.
    pub fn all(&self) -> Vec<String> {
        self.placed.iter().chain(&self.named).cloned().collect()
    }
}
