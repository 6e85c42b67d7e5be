//! Decoding a file into text.

use crate::error::ImportError;

/// The magic bytes of compressed files (RFC 1952, RFC 8878, the .xz file format, bzip2's manual),
/// the format's name, and the command that prints the contents.
const COMPRESSED: [(&[u8], &str, &str); 4] = [
    (b"\x1f\x8b", "gzip", "zcat"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
];

/// Decodes a file's bytes.
///
/// PowerShell's `>` writes UTF-16 with a byte order mark. Everything else is decoded as UTF-8. fio
/// writes names of jobs and files unchanged, so invalid sequences are replaced and not rejected.
///
/// # Errors
/// If the file is compressed.
///
/// ```
/// let text = formats::decoded(&[0xff, 0xfe, b'f', 0, b'i', 0, b'o', 0])?;
/// assert_eq!(text, "fio");
/// # Ok::<(), formats::ImportError>(())
/// ```
pub fn decoded(bytes: &[u8]) -> Result<String, ImportError> {
    if let Some(&(_, format, command)) =
        COMPRESSED.iter().find(|(magic, _, _)| bytes.starts_with(magic))
    {
        return Err(ImportError::Compressed { format, command });
    }
    let pairs = |rest: &[u8], unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect()
    };
    Ok(match bytes {
        [0xff, 0xfe, rest @ ..] => String::from_utf16_lossy(&pairs(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => String::from_utf16_lossy(&pairs(rest, u16::from_be_bytes)),
        other => String::from_utf8_lossy(other).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_byte_order() {
        let words: Vec<u16> = "\u{feff}é: (groupid=0".encode_utf16().collect();
        let little: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(decoded(&little).unwrap(), "é: (groupid=0");
        assert_eq!(decoded(&big).unwrap(), "é: (groupid=0");
        assert_eq!(decoded(b"\xe9 fio").unwrap(), "\u{fffd} fio");
    }

    #[test]
    fn compressed_files_are_rejected_with_a_command() {
        let refusal = decoded(b"\x1f\x8b\x08\0").unwrap_err().to_string();
        insta::assert_snapshot!(refusal, @"it is compressed (gzip); unpack it first: zcat FILE | flushmark results import -");
        assert!(decoded(b"BZh91AY").unwrap_err().to_string().contains("bzcat"));
    }
}
