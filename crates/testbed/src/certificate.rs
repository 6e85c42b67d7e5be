//! Certificates of a server, made with OpenSSL's command.

use std::path::{Path, PathBuf};

use crate::system::system;

/// A key and a certificate for `localhost`, signed by an authority made for it alone.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The certificate of the authority.
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Certificate {
    /// Makes them in a directory that exists; they are valid for two days.
    pub fn make(directory: &Path) -> Certificate {
        let made = Certificate {
            authority: directory.join("authority.crt"),
            certificate: directory.join("server.crt"),
            key: directory.join("server.key"),
        };
        let authority_key = directory.join("authority.key");
        let [authority, certificate, key, authority_key] =
            [&made.authority, &made.certificate, &made.key, &authority_key]
                .map(|path| path.to_str().unwrap());
        let openssl = |words: &[&str]| {
            let new = [
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
            ];
            system("openssl", &[&new[..], words].concat()).unwrap();
        };
        openssl(&["-subj", "/CN=authority", "-keyout", authority_key, "-out", authority]);
        openssl(&[
            "-CA",
            authority,
            "-CAkey",
            authority_key,
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-subj",
            "/CN=localhost",
            "-keyout",
            key,
            "-out",
            certificate,
        ]);
        made
    }
}
