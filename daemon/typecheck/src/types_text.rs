//! The content of a `mux.d.ts`. Long declarations, from large APIs, are compressed.
//!
//! Invariant: the text is read as a whole, and only when something must be looked up in it.

use std::{borrow::Cow, fmt, sync::Arc};

use mux_files::gzip_text::GzipText;

/// Declarations of at least this size are compressed. Decompressing shorter ones for every diagnostic is not
/// worth it.
const MIN_PACKED_BYTES: usize = 1 << 20;
/// The maximum decompressed size: far more than the types of ten thousand tools.
const MAX_UNPACKED_BYTES: usize = 1 << 30;

/// The content of a `mux.d.ts`. Cheap to clone.
#[derive(Clone)]
pub struct TypesText(TypesTextRepr);

#[derive(Clone)]
enum TypesTextRepr {
    Plain(Arc<str>),
    Packed(GzipText),
}

impl TypesText {
    pub fn read(&self) -> Cow<'_, str> {
        match &self.0 {
            TypesTextRepr::Plain(text) => Cow::Borrowed(text),
            // A text compressed here can be decompressed.
            TypesTextRepr::Packed(packed) => {
                packed.read(MAX_UNPACKED_BYTES).unwrap_or_default().into()
            }
        }
    }

    /// The compressed text, to be stored.
    pub fn packed(&self) -> GzipText {
        match &self.0 {
            TypesTextRepr::Plain(text) => GzipText::of(text),
            TypesTextRepr::Packed(packed) => packed.clone(),
        }
    }

    /// Restores a stored text, and also returns it decompressed. `None` if `bytes` are invalid.
    pub fn kept(bytes: Vec<u8>) -> Option<(Self, String)> {
        let packed = GzipText::from_bytes(bytes)?;
        let text = packed.read(MAX_UNPACKED_BYTES)?;
        let held = if text.len() < MIN_PACKED_BYTES {
            TypesTextRepr::Plain(text.as_str().into())
        } else {
            TypesTextRepr::Packed(packed)
        };
        Some((Self(held), text))
    }
}

impl From<&str> for TypesText {
    fn from(text: &str) -> Self {
        Self(if text.len() < MIN_PACKED_BYTES {
            TypesTextRepr::Plain(text.into())
        } else {
            TypesTextRepr::Packed(GzipText::of(text))
        })
    }
}

impl fmt::Debug for TypesText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            TypesTextRepr::Plain(text) => write!(f, "Text({} bytes)", text.len()),
            TypesTextRepr::Packed(packed) => write!(f, "Text({packed:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_compressed_and_read_unchanged() {
        for text in [
            "declare const mux: Mux;\n",
            &"type A = 1;\n".repeat(MIN_PACKED_BYTES / 10),
        ] {
            let held = TypesText::from(text);
            assert_eq!(held.read(), text);
            assert_eq!(
                matches!(held.0, TypesTextRepr::Packed(_)),
                text.len() > MIN_PACKED_BYTES
            );
            let (again, read) = TypesText::kept(held.packed().bytes().to_vec()).unwrap();
            assert_eq!((again.read(), read.as_str()), (held.read(), text));
        }
        assert!(TypesText::kept(b"declare const mux: Mux;\n".to_vec()).is_none());
    }
}
