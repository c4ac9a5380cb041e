//! Digests over lists of parts, as keys for computed values.
//!
//! Invariant: every part is hashed with its length, because different lists of parts must not
//! collide.

/// The result of a digest.
pub type DigestKey = [u8; 32];

/// A digest under construction.
#[derive(Clone, Debug, Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn bytes(mut self, part: &[u8]) -> Self {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    #[must_use]
    pub fn text(self, part: &str) -> Self {
        self.bytes(part.as_bytes())
    }

    /// Adds an optional string. `None` differs from an empty string.
    #[must_use]
    pub fn optional_text(self, part: Option<&str>) -> Self {
        match part {
            Some(text) => self.bytes(&[1]).text(text),
            None => self.bytes(&[0]),
        }
    }

    pub fn key(self) -> DigestKey {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_boundaries_change_the_digest() {
        let key = |parts: &[Option<&str>]| {
            let parts = parts.iter();
            parts
                .fold(Digest::new(), |digest, part| digest.optional_text(*part))
                .key()
        };
        assert_eq!(key(&[Some("a"), None]), key(&[Some("a"), None]));
        assert_ne!(key(&[Some("ab"), Some("")]), key(&[Some("a"), Some("b")]));
        assert_ne!(key(&[None]), key(&[Some("")]));
        assert_ne!(key(&[None, Some("a")]), key(&[Some("a"), None]));
    }
}
