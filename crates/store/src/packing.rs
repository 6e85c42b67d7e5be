//! Documents as compressed JSON.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use measurement::{RunDocument, TestResult};
use sha2::{Digest as _, Sha256};

use crate::error::Problem;

/// No part of a document is as large; a damaged length must not take all memory.
const JSON_BYTES_MAX: u64 = 1 << 28;

/// The document without its tests, compressed.
pub(crate) fn pack_header(document: &RunDocument) -> Result<Vec<u8>, Problem> {
    pack(&RunDocument { results: Vec::new(), ..document.clone() })
}

/// One test's result, compressed.
pub(crate) fn pack_result(result: &TestResult) -> Result<Vec<u8>, Problem> {
    pack(result)
}

fn pack(part: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    let json =
        serde_json::to_vec(part).map_err(|error| Problem::Io(format!("a result does not write as JSON: {error}")))?;
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(json.len() / 3), Compression::default());
    let packed = encoder.write_all(&json).and_then(|()| encoder.finish());
    packed.map_err(|error| Problem::Io(error.to_string()))
}

/// What [`pack_header`] and [`pack_result`] made.
pub(crate) fn unpack<T: serde::de::DeserializeOwned>(packed: &[u8]) -> Result<T, Problem> {
    let mut json = Vec::new();
    let read = ZlibDecoder::new(packed).take(JSON_BYTES_MAX).read_to_end(&mut json);
    read.map_err(|error| Problem::Damaged(format!("a document does not decompress: {error}")))?;
    serde_json::from_slice(&json).map_err(|error| Problem::Damaged(format!("a document does not read: {error}")))
}

/// A fingerprint (SHA-256) of what a document says, so that the same run imported twice is noticed, however its file was indented.
pub(crate) fn digest(document: &RunDocument) -> Result<String, Problem> {
    let json = serde_json::to_vec(document)
        .map_err(|error| Problem::Io(format!("a result does not write as JSON: {error}")))?;
    Ok(Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect())
}
