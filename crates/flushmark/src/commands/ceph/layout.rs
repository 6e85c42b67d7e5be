//! `flushmark ceph layout`: what a cluster consists of, and what is wrong with its layout.

use measurement::ceph_document::{LAYOUT_SCHEMA, LayoutDocument};

use super::super::{look, print};
use super::cluster;
use crate::args::Format;
use crate::args::ceph::LayoutArgs;
use crate::exit::ExitStatus;

pub fn run(args: &LayoutArgs) -> anyhow::Result<ExitStatus> {
    let facts = cluster::facts(&cluster::connect(&args.access)?);
    let findings = judge::cluster(&facts);
    match args.format {
        Format::Text => print(&report::ceph_layout_page(&facts, &findings, &look()))?,
        Format::Json => {
            let document = LayoutDocument {
                schema: LAYOUT_SCHEMA.to_owned(),
                flushmark: env!("CARGO_PKG_VERSION").to_owned(),
                facts,
                findings,
            };
            print(&(serde_json::to_string_pretty(&document)? + "\n"))?;
        }
    }
    Ok(ExitStatus::Done)
}
