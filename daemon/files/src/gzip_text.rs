//! Compressed texts, for long texts that are kept and rarely read.
//!
//! Invariant: reading returns the original text or nothing: gzip has a checksum.

use std::{
    fmt,
    io::{self, BufWriter, Read as _, Write},
    sync::Arc,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::Serialize;

/// The first bytes of gzip. No JSON or TypeScript starts with them.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The minimum length: the header and trailer of a gzip member.
const MIN_GZIP_BYTES: usize = 18;
/// The size of the buffer between the JSON serializer and the compressor.
const WRITE_BUFFER_BYTES: usize = 32 << 10;

/// A text compressed with gzip.
#[derive(Clone, Eq, PartialEq)]
pub struct GzipText(Arc<[u8]>);

impl GzipText {
    pub fn of(text: &str) -> Self {
        Self::compress_with(|out| out.write_all(text.as_bytes()))
    }

    /// Compresses a value as JSON without holding all of it in memory.
    pub fn json(value: &impl Serialize) -> Self {
        Self::compress_with(|out| {
            let mut out = BufWriter::with_capacity(WRITE_BUFFER_BYTES, out);
            serde_json::to_writer(&mut out, value)?;
            out.flush()
        })
    }

    /// Takes compressed bytes. `None` if they are not gzip.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let is_one = bytes.starts_with(&GZIP_MAGIC) && bytes.len() >= MIN_GZIP_BYTES;
        is_one.then(|| Self(bytes.into()))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decompresses the text. `None` if it is damaged or longer than `most` bytes.
    pub fn read(&self, most: usize) -> Option<String> {
        let length = self.unpacked_bytes();
        if length > most {
            return None;
        }
        let mut bytes = Vec::with_capacity(length);
        let mut text = GzDecoder::new(&*self.0).take(length as u64 + 1);
        text.read_to_end(&mut bytes).ok()?;
        String::from_utf8(bytes)
            .ok()
            .filter(|text| text.len() == length)
    }

    /// The length of the text, from the end of the gzip data.
    pub fn unpacked_bytes(&self) -> usize {
        let end = self.0.last_chunk::<4>().copied();
        end.map_or(0, |end| u32::from_le_bytes(end) as usize)
    }

    fn compress_with(write: impl FnOnce(&mut GzEncoder<Vec<u8>>) -> io::Result<()>) -> Self {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        let written = write(&mut out).and_then(|()| out.finish());
        // Writing to memory does not fail. If it did, reading would return `None`.
        Self(written.unwrap_or_default().into())
    }
}

impl fmt::Debug for GzipText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Packed({} in {} bytes)",
            self.unpacked_bytes(),
            self.0.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compressed_text_reads_back() {
        let long = "größer, ".repeat(100_000);
        for text in ["", "x", long.as_str()] {
            let packed = GzipText::of(text);
            assert_eq!(packed.read(long.len()).as_deref(), Some(text));
            let again = GzipText::from_bytes(packed.bytes().to_vec()).unwrap();
            assert_eq!(again, packed);
        }
        let packed = GzipText::of(&long);
        assert!(packed.bytes().len() * 50 < long.len(), "{packed:?}");
        assert_eq!(packed.read(long.len() - 1), None);
        let value = json!({ "a": [1, "two", null] });
        let text = GzipText::json(&value).read(100);
        assert_eq!(text, Some(value.to_string()));
    }

    #[test]
    fn damaged_or_foreign_bytes_are_rejected() {
        let bytes = GzipText::of("some words, and some words").bytes().to_vec();
        for place in 10..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 4;
            let read = GzipText::from_bytes(flipped).and_then(|packed| packed.read(1 << 20));
            assert_eq!(read, None, "byte {place}");
        }
        for other in [&b"[1]"[..], b"", &GZIP_MAGIC, b"declare const mux"] {
            assert!(GzipText::from_bytes(other.to_vec()).is_none());
        }
    }
}
