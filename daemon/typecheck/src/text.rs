//! The text of a `mux.d.ts`: of a few servers it is short and at hand, of large APIs it is long and packed.
//!
//! Invariant: it is read whole or not at all, and by nobody who has not been told that there is something to look up in it.

use std::{borrow::Cow, fmt, sync::Arc};

use mux_files::gzip_text::Packed;

/// From so many bytes on it is packed. To unpack a shorter one would be felt with every mistake that is found.
const LONG: usize = 1 << 20;
/// The longest that is unpacked: far more than the types of ten thousand tools.
const LONGEST: usize = 1 << 30;

/// Cheap to clone.
#[derive(Clone)]
pub struct Text(Held);

#[derive(Clone)]
enum Held {
    Plain(Arc<str>),
    Packed(Packed),
}

impl Text {
    pub fn read(&self) -> Cow<'_, str> {
        match &self.0 {
            Held::Plain(text) => Cow::Borrowed(text),
            // What was packed here can be read.
            Held::Packed(packed) => packed.read(LONGEST).unwrap_or_default().into(),
        }
    }

    /// To be kept.
    pub fn packed(&self) -> Packed {
        match &self.0 {
            Held::Plain(text) => Packed::of(text),
            Held::Packed(packed) => packed.clone(),
        }
    }

    /// What was kept, with the text itself. `None` if it was none.
    pub fn kept(bytes: Vec<u8>) -> Option<(Self, String)> {
        let packed = Packed::from_bytes(bytes)?;
        let text = packed.read(LONGEST)?;
        let held = match text.len() < LONG {
            true => Held::Plain(text.as_str().into()),
            false => Held::Packed(packed),
        };
        Some((Self(held), text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(match text.len() < LONG {
            true => Held::Plain(text.into()),
            false => Held::Packed(Packed::of(text)),
        })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Held::Plain(text) => write!(f, "Text({} bytes)", text.len()),
            Held::Packed(packed) => write!(f, "Text({packed:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_takes_little_room_and_is_the_same() {
        for text in [
            "declare const mux: Mux;\n",
            &"type A = 1;\n".repeat(LONG / 10),
        ] {
            let held = Text::from(text);
            assert_eq!(held.read(), text);
            assert_eq!(matches!(held.0, Held::Packed(_)), text.len() > LONG);
            let (again, read) = Text::kept(held.packed().bytes().to_vec()).unwrap();
            assert_eq!((again.read(), read.as_str()), (held.read(), text));
        }
        assert!(Text::kept(b"declare const mux: Mux;\n".to_vec()).is_none());
    }
}
