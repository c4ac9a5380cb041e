//! Damage to bytes and text, such as that of a cut file, a bad disk or a hostile sender.
//!
//! Invariant: bytes that were damaged are at most [`MAX_ADDED_BYTES`] longer than before.

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

/// How many bytes one damage adds at most.
pub const MAX_ADDED_BYTES: usize = 4096;

/// Damage to bytes at some place.
#[derive(Clone, Debug)]
pub enum Damage {
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, Vec<u8>),
    /// Removes the bytes between two places.
    Remove(Index, Index),
    /// Repeats the bytes between two places.
    Repeat(Index, Index),
    /// Writes the byte over those between two places.
    Blank(Index, Index, u8),
}

impl Damage {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Flip(place, mask) if !bytes.is_empty() => {
                let place = place.index(bytes.len());
                bytes[place] ^= mask;
            }
            Self::Flip(..) => {}
            Self::Cut(place) => bytes.truncate(place.index(bytes.len() + 1)),
            Self::Insert(place, more) => {
                let place = place.index(bytes.len() + 1);
                bytes.splice(place..place, more.iter().copied());
            }
            Self::Remove(one, other) => {
                let range = range(bytes, *one, *other);
                bytes.drain(range);
            }
            Self::Repeat(one, other) => {
                let range = range(bytes, *one, *other);
                let end = range.end;
                let mut again = bytes[range].to_vec();
                again.truncate(MAX_ADDED_BYTES);
                bytes.splice(end..end, again);
            }
            Self::Blank(one, other, byte) => {
                let range = range(bytes, *one, *other);
                bytes[range].fill(*byte);
            }
        }
    }
}

fn range(bytes: &[u8], one: Index, other: Index) -> std::ops::Range<usize> {
    let one = one.index(bytes.len() + 1);
    let other = other.index(bytes.len() + 1);
    one.min(other)..one.max(other)
}

/// Bytes changed by each damage in turn.
pub fn damaged(bytes: impl Into<Vec<u8>>, damages: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.into();
    for damage in damages {
        damage.apply(&mut bytes);
    }
    bytes
}

/// Any damage to bytes.
pub fn damage() -> impl Strategy<Value = Damage> {
    damage_with(vec(any::<u8>(), 1..9).boxed())
}

/// Damage that also inserts `tokens`, which have a meaning in the damaged format.
pub fn damage_of(tokens: &'static [&'static str]) -> impl Strategy<Value = Damage> {
    let token = select(tokens).prop_map(|token| token.as_bytes().to_vec());
    damage_with(prop_oneof![3 => token, 1 => vec(any::<u8>(), 1..9)].boxed())
}

fn damage_with(inserted: BoxedStrategy<Vec<u8>>) -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    prop_oneof![
        3 => (place(), 1..=u8::MAX).prop_map(|(place, mask)| Damage::Flip(place, mask)),
        2 => place().prop_map(Damage::Cut),
        3 => (place(), inserted).prop_map(|(place, more)| Damage::Insert(place, more)),
        1 => (place(), place()).prop_map(|(one, other)| Damage::Remove(one, other)),
        1 => (place(), place()).prop_map(|(one, other)| Damage::Repeat(one, other)),
        1 => (place(), place(), select(&[0, b' ', b'\n', 0xff][..]))
            .prop_map(|(one, other, byte)| Damage::Blank(one, other, byte)),
    ]
}

/// Lengths of pieces that a text is cut into, some of them none.
pub fn cuts() -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 0..6)
}

/// The bytes in pieces, cut at these places.
pub fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    places.push(bytes.len());
    let mut start = 0;
    let mut pieces = Vec::new();
    for place in places {
        pieces.push(&bytes[start..place]);
        start = place;
    }
    pieces
}
