//! Recognises the content of an unused device: filesystems, partition tables, RAID and volume
//! members, identified by magic numbers near both ends.
//!
//! [`signatures`] is pure and works on a device's [`DeviceEdges`]; [`read_signatures`] reads them.
//! It prefers false positives: checksums are not verified, because a damaged filesystem
//! is data worth keeping, too.

mod edges;
mod kind;
mod layout;
mod magic;

use std::fs::File;
use std::path::Path;

pub use edges::DeviceEdges;
pub use kind::{Signature, SignatureKind};

use crate::DriveError;

/// All signatures found; each kind is listed once, at its first position. Never fails or panics,
/// whatever the bytes.
///
/// ```
/// use drive::{DeviceEdges, SignatureKind, signatures};
///
/// let mut image = vec![0; 1 << 20];
/// image[..4].copy_from_slice(b"XFSB");
/// let found = signatures(&DeviceEdges::of_bytes(&image));
/// assert_eq!(found[0].kind, SignatureKind::Xfs);
/// ```
pub fn signatures(edges: &DeviceEdges) -> Vec<Signature> {
    let mut found: Vec<Signature> = Vec::new();
    for signature in magic::find(edges).into_iter().chain(layout::find(edges)) {
        if !found.iter().any(|earlier| earlier.kind == signature.kind) {
            found.push(signature);
        }
    }
    found
}

/// Reads the edges of a device or image, and lists the signatures on it.
///
/// # Errors
///
/// [`DriveError::Unreadable`] when it cannot be opened or read.
pub fn read_signatures(path: &Path) -> Result<Vec<Signature>, DriveError> {
    let edges = File::open(path).and_then(|file| DeviceEdges::read(&file));
    let edges = edges.map_err(|source| DriveError::Unreadable { path: path.to_owned(), source })?;
    Ok(signatures(&edges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_device_has_no_signature() {
        for len in [0, 1, 511, 512, 4096, 3 << 20] {
            let edges = DeviceEdges::of_bytes(&vec![0; len]);
            assert_eq!(signatures(&edges), []);
            assert!(edges.is_blank());
            assert_eq!(edges.len_bytes(), len as u64);
        }
        assert!(!DeviceEdges::of_bytes(b"a database without a mark").is_blank());
    }

    #[test]
    fn each_kind_is_listed_once_at_its_first_position() {
        let mut image = vec![0; 2 << 20];
        for offset in [1024, 5 * 1024] {
            image[offset..][..4].copy_from_slice(&0xF2F5_2010_u32.to_le_bytes());
        }
        let found = signatures(&DeviceEdges::of_bytes(&image));
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @"an F2FS filesystem at byte 1024");
    }

    #[test]
    fn a_file_reads_as_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut image = vec![7; (3 << 20) + 511];
        image[..4].copy_from_slice(b"XFSB");
        std::fs::write(file.path(), &image).unwrap();
        assert_eq!(DeviceEdges::read(file.as_file()).unwrap(), DeviceEdges::of_bytes(&image));
        assert_eq!(read_signatures(file.path()).unwrap()[0].kind, SignatureKind::Xfs);
    }

    #[test]
    fn a_device_that_cannot_be_read_is_an_error() {
        let error = read_signatures(Path::new("/no/such/device")).unwrap_err();
        insta::assert_snapshot!(error, @"cannot read /no/such/device to see whether it contains data: No such file or directory (os error 2)");
    }
}
