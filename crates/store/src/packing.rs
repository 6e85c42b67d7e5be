//! Documents as compressed JSON.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use measurement::{RunDocument, TestResult};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::error::Problem;

/// Larger than any part of a document, so a damaged length cannot exhaust memory.
const JSON_BYTES_MAX: u64 = 1 << 28;

/// The document without its tests, compressed.
pub(crate) fn pack_header(document: &RunDocument) -> Result<Vec<u8>, Problem> {
    pack(&RunDocument { results: Vec::new(), ..document.clone() })
}

/// One test's result, compressed.
pub(crate) fn pack_result(result: &TestResult) -> Result<Vec<u8>, Problem> {
    pack(result)
}

fn pack<T: Serialize + DeserializeOwned + PartialEq>(part: &T) -> Result<Vec<u8>, Problem> {
    let json = serde_json::to_vec(part)
        .map_err(|error| Problem::Io(format!("cannot write a result as JSON: {error}")))?;
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(json.len() / 3), Compression::default());
    let packed = encoder.write_all(&json).and_then(|()| encoder.finish());
    let packed = packed.map_err(|error| Problem::Io(error.to_string()))?;
    debug_assert!(
        unpack::<T>(&packed).is_ok_and(|back| back == *part),
        "what is stored comes back equal"
    );
    Ok(packed)
}

/// Reads what [`pack_header`] and [`pack_result`] wrote.
pub(crate) fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, Problem> {
    let mut json = Vec::new();
    let read = ZlibDecoder::new(packed).take(JSON_BYTES_MAX).read_to_end(&mut json);
    read.map_err(|error| Problem::Damaged(format!("cannot decompress a document: {error}")))?;
    serde_json::from_slice(&json)
        .map_err(|error| Problem::Damaged(format!("cannot read a document: {error}")))
}

/// SHA-256 of a document's content, to recognise a run that is imported twice however its file is
/// formatted.
pub(crate) fn digest(document: &RunDocument) -> Result<String, Problem> {
    let json = serde_json::to_vec(document)
        .map_err(|error| Problem::Io(format!("cannot write a result as JSON: {error}")))?;
    Ok(Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use measurement::Histogram;
    use proptest::prelude::*;
    use samples::document::checked;

    use super::*;

    proptest! {
        // A histogram has 24,000 cells, and tests are not optimized.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_result_comes_back_equal(
            latencies in prop::collection::vec((0_u64..u64::MAX, 1_u64..1_000_000), 0..200),
            rate in any::<f64>().prop_filter("JSON has no other", |rate| rate.is_finite()),
            p99 in prop::option::of(0.0..1e12_f64),
            name in any::<String>(),
        ) {
            let mut result = checked().results.remove(0);
            let mut histogram = Histogram::new();
            latencies.iter().for_each(|&(latency, count)| histogram.record_n(latency, count));
            result.histograms.commit = Some(histogram);
            result.iops = rate;
            result.series.commit_p99_us.push(p99);
            result.test = name;
            let back: TestResult = unpack(&pack_result(&result).unwrap()).unwrap();
            prop_assert!(back == result);
        }

        #[test]
        fn damage_is_an_error_and_never_a_panic(at in 0_usize..2000, with in any::<u8>(), length in 0_usize..3000) {
            let packed = pack_result(&checked().results[0]).unwrap();
            let mut damaged = packed.clone();
            let at = at % damaged.len();
            damaged[at] ^= with;
            damaged.truncate(length);
            // zlib's checksum finds all damage to the content; only a flag in the header can go
            // unnoticed.
            if let Ok(back) = unpack::<TestResult>(&damaged) {
                prop_assert!(back == checked().results[0]);
            }
        }
    }

    #[test]
    fn a_digest_is_of_the_content_and_not_of_its_formatting() {
        let pretty = serde_json::to_string_pretty(&checked()).unwrap();
        assert_eq!(
            digest(&RunDocument::from_json(&pretty).unwrap()).unwrap(),
            digest(&checked()).unwrap()
        );
        assert_ne!(
            digest(&RunDocument { smoke: true, ..checked() }).unwrap(),
            digest(&checked()).unwrap()
        );
    }

    #[test]
    fn a_header_has_no_tests() {
        let header: RunDocument = unpack(&pack_header(&checked()).unwrap()).unwrap();
        assert!(header == RunDocument { results: Vec::new(), ..checked() });
    }
}
