//! The envelope of a value on disk, which detects any damage and any mix-up of keys.
//!
//! Layout: magic · format · space · key · BLAKE3 of the value · value

use super::{CacheSpace, DigestKey};

/// Increased with every change to the format or the stored values.
pub(super) const ENVELOPE_FORMAT: u8 = 1;
const ENVELOPE_MAGIC: [u8; 4] = *b"muxC";
const HEADER_BYTES: usize = ENVELOPE_MAGIC.len() + 2 + 32;
const CHECKSUM_BYTES: usize = 32;

pub(super) fn seal(space: CacheSpace, key: &DigestKey, value: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEADER_BYTES + CHECKSUM_BYTES + value.len());
    sealed.extend_from_slice(&envelope_header(space, key));
    sealed.extend_from_slice(blake3::hash(value).as_bytes());
    sealed.extend_from_slice(value);
    sealed
}

/// The value, if it is intact and belongs to this key.
pub(super) fn unseal(space: CacheSpace, key: &DigestKey, sealed: &[u8]) -> Option<Vec<u8>> {
    let rest = sealed.strip_prefix(&envelope_header(space, key))?;
    let (sum, value) = rest.split_at_checked(CHECKSUM_BYTES)?;
    (blake3::hash(value).as_bytes() == sum).then(|| value.to_vec())
}

fn envelope_header(space: CacheSpace, key: &DigestKey) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    head[..4].copy_from_slice(&ENVELOPE_MAGIC);
    head[4] = ENVELOPE_FORMAT;
    head[5] = space as u8;
    head[6..].copy_from_slice(key);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: DigestKey = [7; 32];

    #[test]
    fn value_unseals_only_under_its_space_and_key() {
        let sealed = seal(CacheSpace::Types, &KEY, b"declare");
        assert_eq!(
            unseal(CacheSpace::Types, &KEY, &sealed).as_deref(),
            Some(&b"declare"[..])
        );
        assert_eq!(unseal(CacheSpace::Shapes, &KEY, &sealed), None);
        assert_eq!(unseal(CacheSpace::Types, &[8; 32], &sealed), None);
    }

    #[test]
    fn changed_or_truncated_envelope_does_not_unseal() {
        let sealed = seal(CacheSpace::Catalogs, &KEY, b"twelve tools");
        for at in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert_eq!(
                unseal(CacheSpace::Catalogs, &KEY, &flipped),
                None,
                "byte {at} flipped"
            );
            assert_eq!(
                unseal(CacheSpace::Catalogs, &KEY, &sealed[..at]),
                None,
                "cut at {at}"
            );
        }
    }
}
