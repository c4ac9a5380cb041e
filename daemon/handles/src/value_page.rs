//! Cuts a text into pages of whole characters.
//!
//! Invariant: consecutive pages, each from the `next` of the page before, add up to the text. A page with a length
//! over 0 is empty only at the end.

use std::{io, ops::Range};

use mux_messages::ReadPage;

/// The size of a page if the caller gives none.
pub(super) const DEFAULT_PAGE_BYTES: u64 = 256 << 10;
/// The maximum size of a page. Escaped as JSON it may take twice as much in a frame.
const MAX_PAGE_BYTES: u64 = 4 << 20;
/// The maximum number of bytes of a character after its first.
const MAX_CONTINUATION_BYTES: u64 = 3;

/// A requested range, clamped to the bounds of the text.
pub(super) struct PageRange {
    offset: u64,
    length: u64,
    total: u64,
}

impl PageRange {
    pub(super) fn new(offset: u64, length: Option<u64>, total: u64) -> Self {
        let offset = offset.min(total);
        let length = length.unwrap_or(DEFAULT_PAGE_BYTES).min(MAX_PAGE_BYTES);
        Self {
            offset,
            length: length.min(total - offset),
            total,
        }
    }

    /// The bytes to read: the requested ones, and enough to complete the characters at both ends.
    pub(super) fn range(&self) -> Range<u64> {
        let end = self.offset + self.length;
        self.offset.saturating_sub(MAX_CONTINUATION_BYTES)
            ..(end + MAX_CONTINUATION_BYTES).min(self.total)
    }

    /// Cuts the page from the bytes of [`PageRange::range`].
    pub(super) fn cut_page(&self, bytes: &[u8]) -> io::Result<ReadPage> {
        let range = self.range();
        let is_start = |at: u64| {
            let byte = at
                .checked_sub(range.start)
                .map(to_index)
                .and_then(|at| bytes.get(at));
            at >= self.total || byte.is_some_and(|byte| byte & 0xc0 != 0x80)
        };
        let back = |from: u64| (range.start..=from).rev().find(|at| is_start(*at));
        let start = back(self.offset).unwrap_or(self.offset);
        let mut end = back(self.offset + self.length).map_or(start, |end| end.max(start));
        if end == start && self.length > 0 {
            // The length is less than one character: return the whole character.
            end = (start + 1..=range.end)
                .find(|at| is_start(*at))
                .unwrap_or(range.end);
        }
        let text = bytes
            .get(to_index(start - range.start)..to_index(end - range.start))
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(ReadPage {
            text: String::from_utf8(text.to_vec()).map_err(io::Error::other)?,
            offset: start,
            next: (end < self.total).then_some(end),
            total: self.total,
        })
    }
}

/// Converts an offset within a page, which always fits.
fn to_index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, offset: u64, length: Option<u64>) -> ReadPage {
        let wanted = PageRange::new(offset, length, text.len() as u64);
        let range = wanted.range();
        wanted
            .cut_page(&text.as_bytes()[to_index(range.start)..to_index(range.end)])
            .unwrap()
    }

    #[test]
    fn consecutive_pages_of_any_length_make_up_the_text() {
        let text = "\"añ€x𝄞𝄞 plain ünd so weiter 𝄞\"";
        for length in 1..=text.len() as u64 + 2 {
            let mut all = String::new();
            let mut offset = 0;
            loop {
                let page = page(text, offset, Some(length));
                assert_eq!((page.offset, page.total), (offset, text.len() as u64));
                assert!(!page.text.is_empty());
                all.push_str(&page.text);
                match page.next {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            assert_eq!(all, text, "{length}");
        }
    }

    #[test]
    fn offset_moves_back_to_a_character_and_is_clamped_to_the_end() {
        let text = "a𝄞b";
        for offset in 1..=4 {
            let page = page(text, offset, Some(4));
            assert_eq!(
                (page.offset, page.text.as_str()),
                (1, if offset == 1 { "𝄞" } else { "𝄞b" })
            );
        }
        for offset in [6, 7, u64::MAX] {
            let page = page(text, offset, None);
            assert_eq!((page.text.as_str(), page.next, page.offset), ("", None, 6));
        }
        let nothing = page(text, 1, Some(0));
        assert_eq!((nothing.text.as_str(), nothing.next), ("", Some(1)));
        let all = page(text, 0, Some(u64::MAX));
        assert_eq!((all.text.as_str(), all.next), (text, None));
        assert_eq!(page("", 0, None).total, 0);
    }

    #[test]
    fn page_has_a_default_and_a_maximum_length() {
        let text = "x".repeat(6 << 20);
        assert_eq!(page(&text, 0, None).text.len() as u64, DEFAULT_PAGE_BYTES);
        assert_eq!(
            page(&text, 5, Some(u64::MAX)).next,
            Some(MAX_PAGE_BYTES + 5)
        );
    }

    #[test]
    fn invalid_utf8_or_missing_bytes_are_an_error() {
        let wanted = PageRange::new(0, None, 4);
        assert!(wanted.cut_page(b"\xff\xfe\xfd\xfc").is_err());
        assert!(wanted.cut_page(b"ab").is_err());
    }
}
