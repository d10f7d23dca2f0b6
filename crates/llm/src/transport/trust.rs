//! Decides whose certificates are trusted: those that the machine trusts, and what the program adds.
//! Called when a transport is built. The cryptography is named here and nowhere else, so that no provider needs to be
//! installed for the whole process. A machine without any certificates is no failure: local models need none.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::unusable;
use crate::Error;

pub(super) struct Trust {
    pub config: ClientConfig,
    /// Whether every secure connection will fail, because nobody is trusted.
    pub nobody: bool,
}

/// # Errors
/// When an added certificate is none.
pub(super) fn configure(added: Vec<Vec<u8>>) -> Result<Trust, Error> {
    configure_with(added, Verifier::new_with_extra_roots)
}

fn configure_with<V: ServerCertVerifier + 'static>(
    added: Vec<Vec<u8>>,
    machine: impl FnOnce(Vec<CertificateDer<'static>>, Arc<CryptoProvider>) -> Result<V, rustls::Error>,
) -> Result<Trust, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let added: Vec<_> = added.into_iter().map(CertificateDer::from).collect();
    readable(&added)?;
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(format!("no secure connection can be configured: {error}")))?;
    let (mut config, nobody) = match machine(added, provider) {
        Ok(verifier) => {
            let verifier = Arc::new(verifier);
            let config = versions.dangerous().with_custom_certificate_verifier(verifier);
            (config.with_no_client_auth(), false)
        }
        // With certificates of our own there would have been somebody to trust.
        Err(_) => {
            (versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth(), true)
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Trust { config, nobody })
}

fn readable(added: &[CertificateDer<'static>]) -> Result<(), Error> {
    let mut roots = RootCertStore::empty();
    for certificate in added {
        roots.add(certificate.clone()).map_err(|error| {
            unusable(format!("a certificate to be trusted cannot be read: {error}; give it as DER"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustls::client::WebPkiServerVerifier;

    use super::*;

    #[test]
    fn a_machine_without_certificates_still_gets_a_client() {
        let bare = |_, _| -> Result<WebPkiServerVerifier, _> {
            Err(rustls::Error::General("no certificates here".to_owned()))
        };
        let trust = configure_with(Vec::new(), bare).unwrap();
        assert!(trust.nobody);
        let client = reqwest::Client::builder().tls_backend_preconfigured(trust.config).build();
        assert!(client.is_ok(), "{client:?}");
    }

    #[test]
    fn a_certificate_that_is_none_is_refused() {
        let error = configure(vec![b"no certificate".to_vec()]).map(|_| ()).unwrap_err();
        assert!(error.message.contains("cannot be read"), "{error}");
    }

    #[test]
    fn the_newer_http_is_offered_first() {
        let trust = configure(Vec::new()).unwrap();
        assert_eq!(trust.config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }
}
