//! Decodes the bytes of a description to text: gzip, and the encodings that editors and programs write.
//!
//! Invariant: the text is at most as long as the limit for descriptions, regardless of its compressed length.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::MAX_DESCRIPTION_BYTES;
use mux_files::gzip_text::GzipText;

/// The first bytes of a ZIP archive.
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// The text of a description. The error follows the name of the file or the URL, and tells the user what to do.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(GZIP_MAGIC) {
        return decompress(bytes);
    }
    if bytes.starts_with(ZIP_MAGIC) {
        return Err("is a ZIP archive: unpack it, and name the description in it".into());
    }
    let found = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    // Without a byte order mark, ASCII is recognized by every other byte.
    let found = found.or(match bytes.as_slice() {
        [0, first, ..] if *first != 0 => Some(UTF_16BE),
        [first, 0, ..] if *first != 0 => Some(UTF_16LE),
        _ => None,
    });
    if let Some(encoding) = found.filter(|it| [UTF_16BE, UTF_16LE].contains(it)) {
        let (text, has_errors) = encoding.decode_with_bom_removal(&bytes);
        return match (has_errors, text.len() > MAX_DESCRIPTION_BYTES) {
            (true, _) => Err(format!(
                "is not valid {}: save it as UTF-8",
                encoding.name()
            )),
            (false, true) => Err(too_long()),
            (false, false) => Ok(text.into_owned()),
        };
    }
    String::from_utf8(bytes).map_err(|error| {
        let start = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = start.split(|byte| *byte == b'\n').count();
        let before = start.iter().rev().take_while(|byte| **byte != b'\n');
        let column = before.count() + 1;
        format!("is not UTF-8 text: the byte at line {line}, column {column} is not valid UTF-8; save it as UTF-8")
    })
}

fn decompress(bytes: Vec<u8>) -> Result<String, String> {
    let damaged =
        || "is compressed with gzip, and is damaged or not UTF-8: unpack it to see".to_owned();
    let packed = GzipText::from_bytes(bytes).ok_or_else(damaged)?;
    if packed.unpacked_bytes() > MAX_DESCRIPTION_BYTES {
        return Err(too_long());
    }
    packed.read(MAX_DESCRIPTION_BYTES).ok_or_else(damaged)
}

fn too_long() -> String {
    let most = MAX_DESCRIPTION_BYTES >> 20;
    format!("is larger than {most} MiB when it is decoded, the limit for descriptions")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "openapi: 3.1.0\ninfo: {title: Größe}\n";

    fn utf16(text: &str, write: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(write).collect()
    }

    #[test]
    fn encodings_and_gzip_are_decoded() {
        let marked = format!("\u{feff}{TEXT}");
        for bytes in [
            TEXT.as_bytes().to_vec(),
            utf16(TEXT, u16::to_le_bytes),
            utf16(TEXT, u16::to_be_bytes),
            utf16(&marked, u16::to_le_bytes),
            utf16(&marked, u16::to_be_bytes),
            GzipText::of(TEXT).bytes().to_vec(),
        ] {
            assert_eq!(decode(bytes.clone()).as_deref(), Ok(TEXT), "{bytes:?}");
        }
        assert_eq!(decode(Vec::new()).as_deref(), Ok(""));
        assert_eq!(decode(marked.clone().into_bytes()), Ok(marked));
    }

    #[test]
    fn error_says_what_the_bytes_are() {
        let latin = b"openapi: 3.1.0\ninfo: {title: Gr\xf6\xdfe}\n".to_vec();
        let mut cut = GzipText::of(TEXT).bytes().to_vec();
        cut.truncate(30);
        let long = "x".repeat(MAX_DESCRIPTION_BYTES + 1);
        for (bytes, part) in [
            (latin, "line 2, column 17"),
            (b"PK\x03\x04rest".to_vec(), "a ZIP archive"),
            (b"\xff\xfe{\x00\x00\xd8".to_vec(), "not valid UTF-16LE"),
            (cut, "larger than 64 MiB"),
            (b"\x1f\x8b\x08".to_vec(), "is damaged"),
            (GzipText::of(&long).bytes().to_vec(), "larger than 64 MiB"),
        ] {
            let problem = decode(bytes).unwrap_err();
            assert!(problem.contains(part), "{part}: {problem}");
        }
    }
}
