//! Decides whose certificates are trusted: those that the machine trusts.
//! Called when the first page is fetched. The cryptography is named here, so that no provider needs to be installed
//! for the whole process. On a machine without certificates every https page fails, and says so.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

pub fn configure() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no secure connection can be configured: {error}"))?;
    let mut config = match Verifier::new(provider) {
        Ok(verifier) => versions
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(_) => versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
