//! Describes findings in sentences.

use workload::number::latency;

use crate::provenance::{Attribution, Origin};
use crate::run_header::{RunHeader, run_name};
use crate::survey::{Damage, Oddity, Witness};
use crate::verdict::{Class, Evidence, Finding};

/// Describes what happened to one record.
pub fn sentence(finding: &Finding, run: &RunHeader) -> String {
    let required = finding.required;
    let promised = match (finding.age_us, required) {
        (_, 0) => "version 0, which was synced before the run".to_owned(),
        (Some(age_us), _) => {
            format!("version {required}, acknowledged {} before the end", latency(age_us as f64))
        }
        (None, _) => format!("version {required}, which was acknowledged as durable"),
    };
    match &finding.evidence {
        Evidence::Older => {
            let there =
                finding.found.map_or("nothing".to_owned(), |version| format!("version {version}"));
            match &finding.witness {
                Some(witness) => {
                    format!("found {there} instead of {promised}; {}", proof(witness, finding))
                }
                None => format!("found {there} instead of {promised}"),
            }
        }
        Evidence::OtherRun(other) => {
            let proof = match finding.class {
                Class::Unserializable => {
                    "; the surviving superblock or records of this run were written after every \
                     slot had been synced"
                }
                _ => "",
            };
            format!(
                "found a record of the older run {} instead of {promised}{proof}",
                run_name(*other)
            )
        }
        Evidence::PartOfRecord => {
            let older = finding.sectors.len();
            let all = run.geometry.record_sectors;
            let found =
                finding.found.map_or(String::new(), |version| format!(", version {version}"));
            format!("{older} of {all} sectors are older{found}; expected {promised}")
        }
        Evidence::FoundAt(at) => {
            format!("missing here but found at byte {at}; expected {promised}")
        }
        Evidence::Nothing => "no sector of the target can be read".to_owned(),
        Evidence::Sector(oddity) => odd(oddity, finding, &promised),
    }
}

fn odd(oddity: &Oddity, finding: &Finding, promised: &str) -> String {
    match oddity {
        Oddity::Torn(attribution) => {
            format!(
                "one sector is a mix of several versions ({}); expected {promised}",
                pieces(attribution)
            )
        }
        Oddity::Flying { home_bytes, version, .. } => {
            format!(
                "found version {version} of the sector at byte {home_bytes}; expected {promised}"
            )
        }
        Oddity::OtherRun { run_id } => {
            format!("found a record of the older run {} instead of {promised}", run_name(*run_id))
        }
        Oddity::Corrupt(Damage::Garbage(Some(attribution))) => {
            format!("damaged bytes ({}); expected {promised}", pieces(attribution))
        }
        Oddity::Corrupt(damage) => format!("{}; expected {promised}", damaged(damage)),
        Oddity::Unreadable(why) => {
            let count = finding.sectors.len();
            format!("{count} of its sectors cannot be read ({why}); expected {promised}")
        }
        Oddity::NeverIssued { version } => {
            format!("version {version}, which the run cannot have written")
        }
    }
}

fn proof(witness: &Witness, finding: &Finding) -> String {
    let own = if witness.lane == finding.lane {
        "of the same lane".to_owned()
    } else {
        format!("of lane {}", witness.lane)
    };
    format!(
        "this is proven by the surviving record at byte {} (operation {} {own}), which was written \
         after that acknowledgement",
        witness.address_bytes, witness.seq
    )
}

fn damaged(damage: &Damage) -> String {
    match damage {
        Damage::Zeros => "all zeros".to_owned(),
        Damage::Ones => "all ones, as in erased flash".to_owned(),
        Damage::Bits { wrong_bits: 1, version } => format!("version {version} with one wrong bit"),
        Damage::Bits { wrong_bits, version } => {
            format!("version {version} with {wrong_bits} wrong bits")
        }
        Damage::Header => "an intact body after a damaged header".to_owned(),
        Damage::Garbage(_) => "unknown bytes".to_owned(),
        Damage::Unstable => "two consecutive readings that differ".to_owned(),
    }
}

/// The first stretches of a sector, and their origins.
fn pieces(attribution: &Attribution) -> String {
    const SHOWN: usize = 5;
    let header = attribution.header.ok().map(|header| header.version);
    let mut words: Vec<String> = attribution
        .stretches
        .iter()
        .take(SHOWN)
        .map(|stretch| {
            format!(
                "bytes {} to {}: {}",
                stretch.bytes.start,
                stretch.bytes.end - 1,
                origin(stretch.origin, header)
            )
        })
        .collect();
    if attribution.stretches.len() > SHOWN {
        words.push("and more".to_owned());
    }
    words.join(", ")
}

fn origin(origin: Origin, header: Option<u32>) -> String {
    match origin {
        Origin::Header => {
            header.map_or("a header".to_owned(), |version| format!("header of version {version}"))
        }
        Origin::Version(version) => format!("version {version}"),
        Origin::Seam { before, behind } => format!("version {before} changing to {behind}"),
        Origin::Foreign { address_bytes, version } => {
            format!("version {version} of byte {address_bytes}")
        }
        Origin::Zeros => "zeros".to_owned(),
        Origin::Ones => "ones".to_owned(),
        Origin::Unknown { wrong_bits: Some(1) } => "one wrong bit".to_owned(),
        Origin::Unknown { wrong_bits: Some(bits) } => format!("{bits} wrong bits"),
        Origin::Unknown { wrong_bits: None } => "unknown".to_owned(),
    }
}

pub const fn meaning(class: Class) -> &'static str {
    match class {
        Class::Lost => "acknowledged as durable, but missing",
        Class::Shorn => "acknowledged as durable, but only partly present",
        Class::Flying => "written to the wrong place",
        Class::Corrupt => "damaged",
        Class::Unserializable => {
            "missing, although records survive that were written after it was acknowledged"
        }
        Class::RolledBack => "missing with everything that came after one earlier moment",
        Class::Unreadable => "cannot be read",
        Class::Dead => "no sector of the target can be read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::LaneKind;
    use crate::provenance::Stretch;
    use crate::record::HeaderFault;
    use crate::run_header::tests::sample;

    fn finding(class: Class, evidence: Evidence) -> Finding {
        Finding {
            class,
            lane: 0,
            kind: LaneKind::Flush,
            address_bytes: 1 << 20,
            sectors: vec![0],
            required: 7,
            found: Some(6),
            witness: None,
            age_us: Some(1_250),
            evidence,
        }
    }

    #[test]
    fn every_finding_has_its_sentence() {
        let attribution = Attribution {
            header: Err(HeaderFault::Checksum),
            stretches: vec![
                Stretch { bytes: 0..64, origin: Origin::Unknown { wrong_bits: None } },
                Stretch { bytes: 64..192, origin: Origin::Version(7) },
                Stretch { bytes: 192..256, origin: Origin::Seam { before: 7, behind: 6 } },
                Stretch {
                    bytes: 256..320,
                    origin: Origin::Foreign { address_bytes: 4096, version: 3 },
                },
                Stretch { bytes: 320..384, origin: Origin::Zeros },
                Stretch { bytes: 384..512, origin: Origin::Ones },
            ],
        };
        let witness = Witness { lane: 2, seq: 99, address_bytes: 8192 };
        let all = [
            finding(Class::Lost, Evidence::Older),
            Finding {
                required: 0,
                found: None,
                age_us: None,
                ..finding(Class::Lost, Evidence::Older)
            },
            Finding {
                witness: Some(witness),
                age_us: None,
                ..finding(Class::Unserializable, Evidence::Older)
            },
            finding(Class::Unserializable, Evidence::OtherRun(15)),
            finding(Class::Shorn, Evidence::PartOfRecord),
            finding(Class::Flying, Evidence::FoundAt(8192)),
            finding(Class::Dead, Evidence::Nothing),
            finding(Class::Shorn, Evidence::Sector(Oddity::Torn(attribution.clone()))),
            finding(
                Class::Flying,
                Evidence::Sector(Oddity::Flying {
                    home_bytes: 8192,
                    version: 2,
                    attribution: None,
                }),
            ),
            finding(
                Class::Corrupt,
                Evidence::Sector(Oddity::Corrupt(Damage::Garbage(Some(attribution)))),
            ),
            finding(
                Class::Corrupt,
                Evidence::Sector(Oddity::Corrupt(Damage::Bits { wrong_bits: 1, version: 7 })),
            ),
            finding(Class::Corrupt, Evidence::Sector(Oddity::Corrupt(Damage::Unstable))),
            finding(
                Class::Unreadable,
                Evidence::Sector(Oddity::Unreadable("Input/output error".to_owned())),
            ),
        ];
        let sentences: Vec<String> =
            all.iter().map(|finding| sentence(finding, &sample())).collect();
        insta::assert_snapshot!(sentences.join("\n"), @"
        found version 6 instead of version 7, acknowledged 1.25 ms before the end
        found nothing instead of version 0, which was synced before the run
        found version 6 instead of version 7, which was acknowledged as durable; this is proven by the surviving record at byte 8192 (operation 99 of lane 2), which was written after that acknowledgement
        found a record of the older run 000000000000000f instead of version 7, acknowledged 1.25 ms before the end; the surviving superblock or records of this run were written after every slot had been synced
        1 of 4 sectors are older, version 6; expected version 7, acknowledged 1.25 ms before the end
        missing here but found at byte 8192; expected version 7, acknowledged 1.25 ms before the end
        no sector of the target can be read
        one sector is a mix of several versions (bytes 0 to 63: unknown, bytes 64 to 191: version 7, bytes 192 to 255: version 7 changing to 6, bytes 256 to 319: version 3 of byte 4096, bytes 320 to 383: zeros, and more); expected version 7, acknowledged 1.25 ms before the end
        found version 2 of the sector at byte 8192; expected version 7, acknowledged 1.25 ms before the end
        damaged bytes (bytes 0 to 63: unknown, bytes 64 to 191: version 7, bytes 192 to 255: version 7 changing to 6, bytes 256 to 319: version 3 of byte 4096, bytes 320 to 383: zeros, and more); expected version 7, acknowledged 1.25 ms before the end
        version 7 with one wrong bit; expected version 7, acknowledged 1.25 ms before the end
        two consecutive readings that differ; expected version 7, acknowledged 1.25 ms before the end
        1 of its sectors cannot be read (Input/output error); expected version 7, acknowledged 1.25 ms before the end
        ");
    }

    #[test]
    fn five_pieces_of_a_sector_are_shown() {
        let attribution = |count: usize| {
            let stretches = (0..count)
                .map(|chunk| Stretch {
                    bytes: chunk * 64..chunk * 64 + 64,
                    origin: Origin::Version(chunk as u32),
                })
                .collect();
            Attribution { header: Err(HeaderFault::Checksum), stretches }
        };
        assert_eq!(pieces(&attribution(2)), "bytes 0 to 63: version 0, bytes 64 to 127: version 1");
        assert!(pieces(&attribution(5)).ends_with("bytes 256 to 319: version 4"));
        assert!(pieces(&attribution(6)).ends_with("bytes 256 to 319: version 4, and more"));
    }
}
