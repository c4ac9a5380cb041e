//! The access token of `mux ui`, and the one-time code for it.
//!
//! Invariant: secrets are compared by their hashes, so that the time of a comparison reveals nothing about them.

use std::{
    fmt, io,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// The lifetime of the one-time code, in which the browser must start and load the page.
pub(super) const CODE_LIFETIME: Duration = Duration::from_mins(1);

/// A random secret of 256 bits.
pub(super) struct AccessSecret {
    text: String,
    digest: [u8; 32],
}

impl AccessSecret {
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let digest = secret_digest(&text);
        Ok(Self { text, digest })
    }

    pub(super) fn matches_secret(&self, given: &str) -> bool {
        secret_digest(given) == self.digest
    }
}

impl fmt::Display for AccessSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn secret_digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// A one-time code. It is passed on the command line of a browser, where other users of the machine can see it, and is
/// kept in the browser's history.
pub(super) struct OneTimeCode {
    secret: AccessSecret,
    /// The expiry; `None` once the code was used.
    open: Mutex<Option<Instant>>,
}

impl OneTimeCode {
    pub(super) fn new(secret: AccessSecret, open_for: Duration) -> Self {
        let open = Mutex::new(Some(Instant::now() + open_for));
        Self { secret, open }
    }

    /// Whether `said` is the code, unused and not expired. Uses up the code.
    pub(super) fn redeem_code(&self, given: &str) -> bool {
        if !self.secret.matches_secret(given) {
            return false;
        }
        let mut open = self.open.lock();
        open.take().is_some_and(|until| Instant::now() < until)
    }
}

impl fmt::Display for OneTimeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.secret.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_random_with_256_bits() {
        let one = AccessSecret::new().unwrap();
        let other = AccessSecret::new().unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.decode(one.to_string()).map(|b| b.len()),
            Ok(32)
        );
        assert!(one.matches_secret(&one.to_string()) && !one.matches_secret(&other.to_string()));
        let text = one.to_string();
        for wrong in ["", &text[1..], &text.to_uppercase(), &format!("{text} ")] {
            assert!(!one.matches_secret(wrong), "{wrong}");
        }
    }

    #[test]
    fn code_works_once_and_a_wrong_code_does_not_use_it_up() {
        let once = OneTimeCode::new(AccessSecret::new().unwrap(), CODE_LIFETIME);
        let code = once.to_string();
        assert!(!once.redeem_code("wrong"));
        assert!(once.redeem_code(&code));
        assert!(!once.redeem_code(&code));
    }

    #[test]
    fn expired_code_is_rejected() {
        let once = OneTimeCode::new(AccessSecret::new().unwrap(), Duration::ZERO);
        assert!(!once.redeem_code(&once.to_string()));
    }
}
