//! Deserializes lists in frames up to a maximum length.
//!
//! Invariant: the first entry over the limit is an error. An empty entry takes one byte in a frame and a hundred in
//! memory.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};

/// Reads a list of at most `MAX` entries.
pub(crate) fn list<'de, const MAX: usize, T, D>(from: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    from.deserialize_seq(BoundedListVisitor::<MAX, T>(PhantomData))
}

struct BoundedListVisitor<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for BoundedListVisitor<MAX, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = from.next_element()? {
            if list.len() == MAX {
                return Err(A::Error::custom(format!("more than {MAX} entries")));
            }
            list.push(entry);
        }
        Ok(list)
    }
}
