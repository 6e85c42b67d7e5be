//! The results of a measurement, OSD by OSD.

use measurement::{OsdRecord, TestResult};

use super::slow_osds::{Standing, standings};

/// An OSD with its results.
#[derive(Debug, Clone, Copy)]
pub struct OsdRow<'a> {
    /// The record of its writes at depth 1, if there are any.
    pub osd: &'a OsdRecord,
    /// Writes at depth 1.
    pub write: Option<&'a TestResult>,
    pub read: Option<&'a TestResult>,
    /// Writes at a greater depth.
    pub deep: Option<&'a TestResult>,
    pub standing: Option<Standing>,
}

/// A row for each OSD, slowest first.
pub fn osd_rows(results: &[TestResult]) -> Vec<OsdRow<'_>> {
    let standings = standings(results);
    let mut rows: Vec<OsdRow<'_>> = Vec::new();
    for result in results {
        let Some(osd) = &result.osd else { continue };
        let at = rows.iter().position(|row| row.osd.id == osd.id).unwrap_or_else(|| {
            let standing = standings.iter().find(|one| one.osd == osd.id).copied();
            rows.push(OsdRow { osd, write: None, read: None, deep: None, standing });
            rows.len() - 1
        });
        let row = &mut rows[at];
        let place = match (result.write_us.is_some(), result.workload.depth) {
            (true, 1) => &mut row.write,
            (true, _) => &mut row.deep,
            (false, _) => &mut row.read,
        };
        *place = Some(result);
        if result.write_us.is_some() && result.workload.depth == 1 {
            row.osd = osd;
        }
    }
    let p50 = |row: &OsdRow<'_>| row.standing.map_or(0.0, |standing| standing.p50_us);
    rows.sort_by(|a, b| p50(b).total_cmp(&p50(a)));
    rows
}
