//! The levels of encryption and verification.

/// libpq's levels ("SSL Support" in its documentation), to which MySQL's correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    /// No encryption.
    Disable,
    /// Encryption if the server supports it.
    Prefer,
    /// Encryption. PostgreSQL: verified as with [`TlsMode::VerifyCa`] if there is a CA certificate.
    Require,
    /// Encryption, with a certificate signed by the CA.
    VerifyCa,
    /// The same, and the certificate must match the host name.
    VerifyFull,
}

impl TlsMode {
    pub(crate) fn of_libpq(word: &str) -> Option<TlsMode> {
        Some(match word {
            "disable" => TlsMode::Disable,
            // Trying without encryption first is not safer: an eavesdropper sees as much.
            "allow" | "prefer" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyFull,
            _ => return None,
        })
    }

    /// The name that libpq uses.
    pub(crate) const fn libpq_name(self) -> &'static str {
        match self {
            TlsMode::Disable => "disable",
            TlsMode::Prefer => "prefer",
            TlsMode::Require => "require",
            TlsMode::VerifyCa => "verify-ca",
            TlsMode::VerifyFull => "verify-full",
        }
    }

    /// MySQL's name for it, in any case.
    pub(crate) fn of_mysql(word: &str) -> Option<TlsMode> {
        Some(match word.to_ascii_uppercase().as_str() {
            "DISABLED" => TlsMode::Disable,
            "PREFERRED" => TlsMode::Prefer,
            "REQUIRED" => TlsMode::Require,
            "VERIFY_CA" => TlsMode::VerifyCa,
            "VERIFY_IDENTITY" => TlsMode::VerifyFull,
            _ => return None,
        })
    }
}
