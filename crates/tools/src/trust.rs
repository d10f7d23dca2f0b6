//! Decides whose certificates are trusted: those that the machine trusts.
//! Called when a client for HTTP is made: for pages, for MCP servers, and by the command line. The cryptography is named here, so that no provider needs to be installed
//! for the whole process. A machine without certificates can still reach servers of its
//! own; every https page fails there, and says so.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// What a client of HTTP trusts.
///
/// # Errors
/// When the cryptography offers no secure protocol.
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
