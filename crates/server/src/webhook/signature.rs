//! Decides how a delivery proves where it comes from: the scheme of Standard Webhooks.
//! Called for every attempt. A secret is made here and otherwise only read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const PREFIX: &str = "whsec_";

/// A secret nobody can guess.
pub(super) fn new_secret() -> String {
    format!("{PREFIX}{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}

/// What stands in `webhook-signature`; none if the secret is not one of ours.
pub(super) fn sign(secret: &str, id: &str, timestamp: i64, body: &str) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body.as_bytes());
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks specification's libraries.
    #[test]
    fn a_known_delivery_has_the_known_signature() {
        let signature = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn secrets_differ_and_can_sign() {
        let (one, other) = (new_secret(), new_secret());
        assert_ne!(one, other);
        assert!(sign(&one, "a", 1, "b").is_some());
        assert_ne!(sign(&one, "a", 1, "b"), sign(&one, "a", 2, "b"));
        assert_eq!(sign("plain", "a", 1, "b"), None);
    }
}
