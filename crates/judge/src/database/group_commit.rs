//! Many clients are active, and each sync makes one commit durable.

use measurement::{Confidence, Evidence, Finding, ServerFile};

use super::watched;
use crate::case::Case;
use crate::wording::rounded;

const CLIENTS_MIN: f64 = 4.0;
const GROUP_MAX: f64 = 1.2;
/// With short syncs, commits seldom wait for the same one.
const SHARE_MIN: f64 = 0.5;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let (_, activity) = watched(case)?;
    let (clients, size) = (activity.active_clients?, activity.group_size()?);
    let share = activity.share_in_sync(ServerFile::Log)?;
    if clients < CLIENTS_MIN || size > GROUP_MAX || share < SHARE_MIN {
        return None;
    }
    Some(Finding {
        id: "database-commits-one-by-one".to_owned(),
        title: format!(
            "Commits do not share syncs: {clients:.0} clients are active, but a sync makes \
             {size:.2} commits durable."
        ),
        evidence: vec![
            Evidence::number("active clients", rounded(clients), ""),
            Evidence::number("commits per sync", rounded(size), ""),
            Evidence::number("time in syncs of the log", rounded(share * 100.0), "%"),
        ],
        confidence: Confidence::Medium,
        doubt: Some("Clients that only read are active as well.".to_owned()),
        advice: "Look for what lets only one of them commit at a time: a lock on the same row, a \
                 queue in the application, or a single writer."
            .to_owned(),
    })
}
