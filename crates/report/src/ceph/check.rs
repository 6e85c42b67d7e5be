//! `flushmark ceph check`: whether a cluster is well, and what a commit costs on it.

use ceph::ClusterFacts;
use measurement::{Finding, RunDocument};

use super::layout::{header, not_known, settings_section};
use super::osds::tables;
use crate::findings::findings as findings_list;
use crate::look::Look;

/// The page. `findings` are those of `judge::cluster`; those about measurements are in the run.
pub fn check(
    facts: &ClusterFacts,
    run: Option<&RunDocument>,
    findings: &[Finding],
    look: &Look,
) -> String {
    let mut text = header(facts, look);
    text += &settings_section(facts, look);
    text += &not_known(facts, look);
    match run {
        Some(run) => text += &format!("\n{}", tables(run, look)),
        None => {
            text += &format!(
                "\n{}",
                look.hanging(
                    "",
                    "Nothing was measured. Name a pool with --pool POOL, or have one created and \
                     deleted with --make-pool, to see what a commit costs on each OSD.",
                )
            );
        }
    }
    let measured = run.map_or(&[][..], |run| &run.findings);
    let all = [findings, measured].concat();
    if all.is_empty() {
        text += "\nNothing is wrong that could be seen.\n";
    } else {
        text += &format!("\n{}", findings_list(&all, look));
    }
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_measurement() {
        let facts = ClusterFacts { fsid: Some("3f1c".to_owned()), ..ClusterFacts::default() };
        insta::assert_snapshot!(check(&facts, None, &[], &Look::plain()), @"
        cluster      3f1c
        health       not known

        Nothing was measured. Name a pool with --pool POOL, or have one created and deleted with
        --make-pool, to see what a commit costs on each OSD.

        Nothing is wrong that could be seen.
        ");
    }
}
