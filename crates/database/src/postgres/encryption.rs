//! TLS of a connection over a network, and the checks of the server's certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;

/// The file, below the home directory, in which libpq looks for CA certificates if the URL names
/// none.
const USUAL_ROOT_CERT: &str = ".postgresql/root.crt";

/// The TLS configuration for a URL.
pub(super) fn connector(
    mode: TlsMode,
    root_cert: Option<PathBuf>,
) -> Result<MakeRustlsConnect, ConnectError> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(USUAL_ROOT_CERT));
    let root_cert = root_cert.or_else(|| home.filter(|path| path.exists()));
    let provider = Arc::new(ring::default_provider());
    let trust = match (mode, root_cert) {
        (TlsMode::Disable | TlsMode::Prefer, _) | (TlsMode::Require, None) => None,
        (TlsMode::VerifyCa | TlsMode::VerifyFull, None) => {
            return Err(ConnectError::Tls(format!(
                "sslmode={} needs a trusted CA certificate: sslrootcert=FILE or \
                 ~/{USUAL_ROOT_CERT}",
                mode.libpq_name()
            )));
        }
        (_, Some(path)) => Some(Trust::read(&path, mode == TlsMode::VerifyFull, &provider)?),
    };
    let verifier = Verifier { provider: Arc::clone(&provider), trust };
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| ConnectError::Tls(error.to_string()))?.dangerous();
    Ok(MakeRustlsConnect::new(
        config.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth(),
    ))
}

#[derive(Debug)]
struct Trust {
    authorities: Arc<WebPkiServerVerifier>,
    /// The same certificates: a server's self-signed certificate is often given instead of a CA's.
    certificates: Vec<CertificateDer<'static>>,
    /// True if the certificate must also match the host name.
    names_host: bool,
}

impl Trust {
    fn read(
        path: &Path,
        names_host: bool,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Trust, ConnectError> {
        let unread = |cause: &dyn std::fmt::Display| {
            ConnectError::Tls(format!("sslrootcert={}: {cause}", path.display()))
        };
        let certificates =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.map_err(|error| unread(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| unread(&error))?;
        }
        let authorities =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build();
        let authorities = authorities.map_err(|_| unread(&"it contains no certificate"))?;
        Ok(Trust { authorities, certificates, names_host })
    }
}

/// libpq's rules for certificates.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None` accepts any certificate: the data is encrypted, but the identity of the server is
    /// unknown.
    trust: Option<Trust>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trust) = &self.trust else { return Ok(ServerCertVerified::assertion()) };
        // The chain rules reject a CA certificate as a server's own. One that the user named needs
        // no chain.
        if trust.certificates.iter().any(|trusted| trusted == certificate) {
            if trust.names_host {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, host)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        match trust
            .authorities
            .verify_server_cert(certificate, intermediates, host, ocsp_response, now)
        {
            // The name is checked last: everything else is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !trust.names_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
