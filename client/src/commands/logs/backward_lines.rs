//! Reads the lines of a file from the last to the first.
//!
//! Invariant: memory is bounded, however long the file and its lines are.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

/// Maximum bytes kept of a line: of a longer one, the beginning.
pub(super) const MAX_LINE_BYTES: usize = 16 << 10;
const BLOCK_BYTES: u64 = 64 << 10;

pub(super) struct BackwardLines {
    file: File,
    /// The offset up to which lines are still to be read.
    end: u64,
    /// The two blocks of the file that were read last, with their numbers.
    blocks: Vec<(u64, Vec<u8>)>,
}

/// The beginning of a line, and the length of the whole line in bytes.
pub(super) type RawLine = (Vec<u8>, u64);

impl BackwardLines {
    /// Starts at the offset `end`, which may be in a line that is not terminated yet.
    pub(super) fn new(file: File, end: u64) -> Self {
        let blocks = Vec::new();
        Self { file, end, blocks }
    }

    /// The offset up to which lines are terminated.
    pub(super) fn end_of_terminated_lines(&mut self) -> io::Result<u64> {
        self.line_start(self.end)
    }

    pub(super) fn next(&mut self) -> io::Result<Option<RawLine>> {
        if self.end == 0 {
            return Ok(None);
        }
        let end = match self.bytes(self.end - 1, 1)?.as_slice() {
            [b'\n'] => self.end - 1,
            [_] => self.end,
            // The file was truncated meanwhile.
            _ => return Ok(None),
        };
        let start = self.line_start(end)?;
        self.end = start;
        let length = end - start;
        let kept = self.bytes(start, length.min(MAX_LINE_BYTES as u64))?;
        Ok(Some((kept, length)))
    }

    /// The offset at which the line that ends at `end` begins: after the last newline before it.
    fn line_start(&mut self, end: u64) -> io::Result<u64> {
        let mut behind = end;
        while behind > 0 {
            let number = (behind - 1) / BLOCK_BYTES;
            let from = number * BLOCK_BYTES;
            let block = self.block(number)?;
            let within = usize::try_from(behind - from).unwrap_or(usize::MAX);
            let part = &block[..within.min(block.len())];
            if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
                return Ok(from + at as u64 + 1);
            }
            behind = from;
        }
        Ok(0)
    }

    fn bytes(&mut self, from: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut at = from;
        while at < from + length {
            let number = at / BLOCK_BYTES;
            let offset = usize::try_from(at % BLOCK_BYTES).unwrap_or(usize::MAX);
            let left = usize::try_from(from + length - at).unwrap_or(usize::MAX);
            let block = self.block(number)?;
            let part = block.get(offset..).unwrap_or_default();
            let part = &part[..part.len().min(left)];
            if part.is_empty() {
                break;
            }
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    fn block(&mut self, number: u64) -> io::Result<&[u8]> {
        let known = self.blocks.iter().position(|(known, _)| *known == number);
        let at = if let Some(at) = known {
            at
        } else {
            self.file.seek(SeekFrom::Start(number * BLOCK_BYTES))?;
            let mut block = Vec::new();
            (&mut self.file).take(BLOCK_BYTES).read_to_end(&mut block)?;
            self.blocks.truncate(1);
            self.blocks.insert(0, (number, block));
            0
        };
        Ok(&self.blocks[at].1)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<RawLine> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = BackwardLines::new(file, bytes.len() as u64);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line);
        }
        found
    }

    #[test]
    fn lines_are_read_from_the_last_to_the_first() {
        for (text, expected) in [
            ("", vec![]),
            ("\n", vec![""]),
            ("a", vec!["a"]),
            ("a\nb\n", vec!["b", "a"]),
            ("a\n\nbc", vec!["bc", "", "a"]),
        ] {
            let found = lines(text.as_bytes());
            let texts: Vec<&[u8]> = found.iter().map(|(kept, _)| kept.as_slice()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(texts, expected, "{text:?}");
        }
    }

    #[test]
    fn long_line_is_truncated_at_any_offset() {
        let long = 5 * usize::try_from(BLOCK_BYTES).unwrap() + 7;
        for before in [0, 1, 65_535, 65_536, 65_537] {
            let mut bytes = vec![b'x'; before];
            bytes.push(b'\n');
            bytes.extend(b"begin");
            bytes.extend(vec![b'y'; long]);
            bytes.extend(b"\nlast\n");
            let found = lines(&bytes);
            assert_eq!(found.len(), 3);
            assert_eq!(found[0], (b"last".to_vec(), 4));
            let (kept, length) = &found[1];
            assert_eq!((kept.len(), *length), (MAX_LINE_BYTES, long as u64 + 5));
            assert!(kept.starts_with(b"beginyy"));
            assert_eq!(found[2].1, before as u64);
        }
    }

    #[test]
    fn unterminated_line_can_be_left_out() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nhal").unwrap();
        assert_eq!(
            BackwardLines::new(file, 11)
                .end_of_terminated_lines()
                .unwrap(),
            8
        );
    }
}
