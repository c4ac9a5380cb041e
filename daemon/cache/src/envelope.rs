//! What stands around a value on the disk, so that a value is the one that was put or none.
//!
//! magic · format · space · key · BLAKE3 of the value · value

use super::{Key, Space};

/// Goes up with every change of what is kept, or how.
pub(super) const FORMAT: u8 = 1;
const MAGIC: [u8; 4] = *b"muxC";
const HEAD: usize = MAGIC.len() + 2 + 32;
const SUM: usize = 32;

pub(super) fn seal(space: Space, key: &Key, value: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(HEAD + SUM + value.len());
    sealed.extend_from_slice(&head(space, key));
    sealed.extend_from_slice(blake3::hash(value).as_bytes());
    sealed.extend_from_slice(value);
    sealed
}

/// The value, if it is whole and belongs to this key.
pub(super) fn unseal(space: Space, key: &Key, sealed: &[u8]) -> Option<Vec<u8>> {
    let rest = sealed.strip_prefix(&head(space, key))?;
    let (sum, value) = rest.split_at_checked(SUM)?;
    (blake3::hash(value).as_bytes() == sum).then(|| value.to_vec())
}

fn head(space: Space, key: &Key) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&MAGIC);
    head[4] = FORMAT;
    head[5] = space as u8;
    head[6..].copy_from_slice(key);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [7; 32];

    #[test]
    fn a_value_comes_back_under_its_own_key_only() {
        let sealed = seal(Space::Types, &KEY, b"declare");
        assert_eq!(
            unseal(Space::Types, &KEY, &sealed).as_deref(),
            Some(&b"declare"[..])
        );
        assert_eq!(unseal(Space::Shapes, &KEY, &sealed), None);
        assert_eq!(unseal(Space::Types, &[8; 32], &sealed), None);
    }

    #[test]
    fn no_byte_of_it_can_change_and_no_end_be_missing() {
        let sealed = seal(Space::Catalogs, &KEY, b"twelve tools");
        for at in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert_eq!(
                unseal(Space::Catalogs, &KEY, &flipped),
                None,
                "byte {at} flipped"
            );
            assert_eq!(
                unseal(Space::Catalogs, &KEY, &sealed[..at]),
                None,
                "cut at {at}"
            );
        }
    }
}
