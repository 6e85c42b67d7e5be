//! What the settings, the counters and the drive of a database server say about its commits.

mod group_commit;
mod settings;
mod syncs_lost;
mod time_in_sync;

use measurement::{DatabaseRecord, Finding, ServerActivity, TestResult};

use crate::case::Case;
use crate::findings;

/// The findings about a server, on which clients committed or which was watched. The case has its
/// results, and the drive under its log if the server runs on this host.
pub fn database(record: &DatabaseRecord, case: &Case<'_>) -> Vec<Finding> {
    let mut found = settings::judge(record, case.place);
    found.extend(findings::on_the_way_to_the_drive(case));
    found.extend(syncs_lost::judge(case));
    found.extend(time_in_sync::judge(case));
    found.extend(group_commit::judge(case));
    found
}

/// The server's own load, if it was watched. Fewer commits than this show nothing.
fn watched<'a>(case: &Case<'a>) -> Option<(&'a TestResult, &'a ServerActivity)> {
    const COMMITS_MIN: f64 = 20.0;
    let result = case.results.iter().find(|result| result.is_watched())?;
    let activity = result.server.as_ref()?;
    let commits = activity.commits.as_ref()?;
    (commits.count >= COMMITS_MIN).then_some((result, activity))
}

#[cfg(test)]
mod tests {
    use drive::{HostFacts, Place};
    use measurement::DatabaseProduct;
    use samples::activity;

    use super::*;

    /// The findings about a server that was watched, whose drive counted this many flushes.
    fn found(place: Option<&Place>, activity: ServerActivity, flushes: u64) -> String {
        let result = samples::watched(activity, flushes);
        let host = HostFacts::default();
        let results = [result];
        let record = DatabaseRecord {
            product: DatabaseProduct::Postgresql,
            version: "15.18".to_owned(),
            settings: Vec::new(),
        };
        let found = database(&record, &Case::new(&results, place, &host));
        let words = |finding: Finding| {
            let doubt = finding.doubt.map(|doubt| format!("\n? {doubt}")).unwrap_or_default();
            format!("{}: {}\n> {}{doubt}", finding.id, finding.title, finding.advice)
        };
        found.into_iter().map(words).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_layer_that_loses_syncs() {
        let volatile = samples::machine::consumer_nvme();
        let place = volatile.place.unwrap();
        let words = found(Some(&place), activity(1000.0, 900.0, None), 3);
        insta::assert_snapshot!(words, @"
        database-syncs-lost: Syncs of the log are lost: the server made 900, and the device counted 3 flushes, although the kernel assumes a volatile cache.
        > Find what drops them between the server and the drive: a preloaded library (LD_PRELOAD in /proc/PID/environ), mount options (`findmnt -no OPTIONS -T /srv/db`), or a layer such as a container's filesystem. Acknowledged commits are not durable until then.
        ");
        // Each sync arrived.
        assert_eq!(found(Some(&place), activity(1000.0, 900.0, None), 905), "");
        // The kernel sends no flushes to a drive whose cache is not volatile.
        let protected = samples::machine::cacheless_virtual_disk().place.unwrap();
        assert_eq!(found(Some(&protected), activity(1000.0, 900.0, None), 0), "");
    }

    #[test]
    fn time_in_syncs() {
        let words = found(None, activity(4000.0, 1000.0, Some(9000.0)), 0);
        insta::assert_snapshot!(words, @"
        database-waits-for-syncs: Syncs limit the commits: 90 % of the time goes to syncs of the log, 9 ms each, at 400 commits/s.
        > Commit more rows per transaction, let more clients commit at the same time, or put the log on a drive with power-loss protection. `flushmark check` in the directory of the log shows what the drive can do.
        ");
        assert_eq!(found(None, activity(4000.0, 1000.0, Some(3000.0)), 0), "");
        assert_eq!(found(None, activity(10.0, 10.0, Some(9000.0)), 0), "");
    }

    #[test]
    fn commits_that_share_no_syncs() {
        let words = found(None, activity(1000.0, 980.0, Some(9500.0)), 0);
        insta::assert_snapshot!(words, @"
        database-waits-for-syncs: Syncs limit the commits: 95 % of the time goes to syncs of the log, 9.69 ms each, at 100 commits/s.
        > Commit more rows per transaction, let more clients commit at the same time, or put the log on a drive with power-loss protection. `flushmark check` in the directory of the log shows what the drive can do.
        database-commits-one-by-one: Commits do not share syncs: 8 clients are active, but a sync makes 1.02 commits durable.
        > Look for what lets only one of them commit at a time: a lock on the same row, a queue in the application, or a single writer.
        ? Clients that only read are active as well.
        ");
    }
}
