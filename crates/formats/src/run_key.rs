//! The identity of a run in tables, whichever file or store it comes from.

use std::fmt;

use measurement::{RunDocument, TestResult};
use sha2::{Digest as _, Sha256};

/// The key that joins the tables of results. It is derived from what was measured: when, on what,
/// and the figures of the first test, or of all tests if the time is unknown. So it stays the same
/// when the run gets more tests, findings or fields of a later version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey([u8; 16]);

impl RunKey {
    pub fn of(document: &RunDocument) -> RunKey {
        let mut hash = Sha256::new();
        // With their lengths: two texts differ from the same characters divided otherwise.
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        let began = document.began();
        let source = document.source.as_ref();
        let texts = [
            document.flushmark.as_str(),
            &document.started_at,
            &document.suite,
            &document.target.given,
            document.target.kind.name(),
            source.map_or("", |source| &source.tool),
            source.and_then(|source| source.drive.as_deref()).unwrap_or_default(),
        ];
        texts.into_iter().for_each(|text| add(text.as_bytes()));
        add(&document.merged_runs.unwrap_or_default().to_le_bytes());
        let counted = if began.is_some() { 1 } else { usize::MAX };
        for result in document.results.iter().take(counted) {
            add(result.test.as_bytes());
            for figure in figures(result) {
                add(&figure.to_le_bytes());
            }
        }
        let digest = hash.finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        RunKey(key)
    }
}

/// Figures that no two measurements share.
fn figures(result: &TestResult) -> impl Iterator<Item = u64> {
    let latencies = [result.read_us, result.write_us, result.sync_us, result.commit_us];
    let latencies = latencies
        .into_iter()
        .flat_map(|us| us.map_or([0; 3], |us| [us.count, us.mean.to_bits(), us.max.to_bits()]));
    [result.ops, result.elapsed_s.to_bits(), result.iops.to_bits()].into_iter().chain(latencies)
}

/// 32 hexadecimal digits.
impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(change: impl FnOnce(&mut RunDocument)) -> RunKey {
        let mut document = samples::document::checked();
        change(&mut document);
        RunKey::of(&document)
    }

    #[test]
    fn it_outlasts_what_is_added_to_a_run() {
        // A change here makes every run of an existing lake a second one.
        assert_eq!(key(|_| ()).to_string(), "755227818116f139d4558c772bb1e3e4");
        let unchanged: [fn(&mut RunDocument); 3] = [
            |document| document.results.truncate(1),
            |document| document.findings.clear(),
            |document| document.results[0].notes.push("a remark".to_owned()),
        ];
        for change in unchanged {
            assert_eq!(key(change), key(|_| ()));
        }
    }

    #[test]
    fn it_tells_runs_apart() {
        let changed: [fn(&mut RunDocument); 5] = [
            |document| "2026-11-20T00:00:01Z".clone_into(&mut document.started_at),
            |document| document.suite += "2",
            |document| document.target.given += "/x",
            |document| document.results[0].ops += 1,
            |document| document.results.clear(),
        ];
        for change in changed {
            assert_ne!(key(change), key(|_| ()));
        }
        // Without a time, all tests count.
        let untimed = |change: fn(&mut RunDocument)| {
            key(|document| {
                "1970-01-01T00:00:00Z".clone_into(&mut document.started_at);
                change(document);
            })
        };
        assert_ne!(untimed(|_| ()), untimed(|document| document.results[1].ops += 1));
    }
}
