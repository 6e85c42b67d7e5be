//! Requests of others that make commits slower.

use measurement::{Confidence, Evidence, Finding};
use workload::number::number;

use super::Traced;

/// Fewer commits on either side show nothing.
const FEWEST: u64 = 20;
/// Commits with company take at least this many times as long.
const TIMES: f64 = 1.5;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let company = &traced.anatomy.company;
    let enough = company.alone >= FEWEST && company.accompanied >= FEWEST;
    let times = company.accompanied_mean_us / company.alone_mean_us;
    (enough && times >= TIMES).then(|| {
        let others = company.others.iter().take(3);
        let others = others.map(|one| format!("{} ({})", one.command, one.thread));
        Finding {
            id: "traced-company".to_owned(),
            title: format!(
                "While others use {}, {} takes {} times as long.",
                traced.devices(),
                traced.words(),
                number(times)
            ),
            evidence: vec![
                Evidence::number("alone, mean", company.alone_mean_us, "us"),
                Evidence::number("with company, mean", company.accompanied_mean_us, "us"),
                Evidence::number("commits with company", company.accompanied as f64, ""),
                Evidence::fact("others", others.collect::<Vec<_>>().join(", ")),
            ],
            confidence: Confidence::Medium,
            doubt: Some(
                "Both may have a common cause, such as a checkpoint of the same database."
                    .to_owned(),
            ),
            advice: "Move the others to another drive, or limit them: `io.max` of their control \
                     group."
                .to_owned(),
        }
    })
}
