//! Decodes an event stream leniently, following the HTML standard except that it also returns events without data and the
//! unfinished last event. Unknown fields and lines without a colon are ignored, a repeated field replaces the earlier
//! one, and text that is not UTF-8 is replaced.
//!
//! Invariant: the decoder keeps only the bytes of the unfinished event.

use std::collections::VecDeque;

use sse_stream::Sse;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Default)]
pub(super) struct SseDecoder {
    /// The unfinished line.
    line: Vec<u8>,
    after_return: bool,
    first_line_read: bool,
    event: Option<Sse>,
    event_bytes: usize,
    decoded: VecDeque<Sse>,
}

impl SseDecoder {
    pub(super) fn push_chunk(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (end, text) = match piece.split_last() {
                Some((b'\n', [])) if self.after_return => {
                    self.after_return = false;
                    continue;
                }
                Some((end @ (b'\n' | b'\r'), text)) => (Some(*end), text),
                _ => (None, piece),
            };
            self.line.extend_from_slice(text);
            self.after_return = end == Some(b'\r');
            if end.is_some() {
                self.finish_line();
            }
        }
    }

    /// The event that the end of the stream has cut off. The event's data may be cut, too.
    pub(super) fn finish(&mut self) -> Option<Sse> {
        if !self.line.is_empty() {
            self.finish_line();
        }
        self.event.take()
    }

    pub(super) fn next_event(&mut self) -> Option<Sse> {
        self.decoded.pop_front()
    }

    /// The number of bytes of the unfinished event.
    pub(super) fn pending_bytes(&self) -> usize {
        self.event_bytes + self.line.len()
    }

    fn finish_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if !self.first_line_read && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        self.first_line_read = true;
        if line.is_empty() {
            self.event_bytes = 0;
            self.decoded.extend(self.event.take());
            return;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if !matches!(name, b"data" | b"event" | b"id" | b"retry") {
            return;
        }
        self.event_bytes += line.len();
        let value = String::from_utf8_lossy(value).into_owned();
        let event = self.event.get_or_insert_default();
        match name {
            b"data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => event.data = Some(value),
            },
            b"event" => event.event = Some(value),
            b"id" if !value.contains('\0') => event.id = Some(value),
            b"retry" => event.retry = value.trim().parse().ok().or(event.retry),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(parts: &[&[u8]]) -> (Vec<Sse>, Option<Sse>) {
        let mut decoder = SseDecoder::default();
        for part in parts {
            decoder.push_chunk(part);
        }
        let events = std::iter::from_fn(|| decoder.next_event()).collect();
        (events, decoder.finish())
    }

    #[test]
    fn events_are_the_same_for_all_line_ends_and_chunk_cuts() {
        let expected = [
            Sse::default().id("1").data("x\ny"),
            Sse::default().event("message").data("").retry(9),
        ];
        for end in ["\n", "\r\n", "\r"] {
            let lines = [
                "\u{feff}id: 1",
                ": comment",
                "data: x",
                "data:y",
                "",
                "event:message",
                "retry: 9",
                "data",
                "",
                "data: z",
            ];
            let text = lines.join(end);
            for cut in 1..text.len() {
                let (one, two) = text.as_bytes().split_at(cut);
                let (events, last) = decode(&[one, two]);
                assert_eq!(events, expected, "{text:?} cut at {cut}");
                assert_eq!(last, Some(Sse::default().data("z")));
            }
        }
    }

    #[test]
    fn odd_lines_do_not_end_the_stream() {
        let (events, last) = decode(&[
            b"no colon\nunknown: x\nevent: a\nevent: b\nid: 1\nid: 2\nretry: soon\ndata: \xff\n\n",
        ]);
        assert_eq!(events, [Sse::default().event("b").id("2").data("\u{fffd}")]);
        assert_eq!(last, None);
    }

    #[test]
    fn pending_bytes_are_those_of_the_unfinished_event() {
        let mut decoder = SseDecoder::default();
        decoder.push_chunk(b"data: abc\ndata: de");
        // The ends of the lines do not count.
        assert_eq!(decoder.pending_bytes(), 17);
        decoder.push_chunk(b"\n\n: a comment is not kept\n");
        assert_eq!(decoder.pending_bytes(), 0);
    }
}
