//! The bytes of messages: lines, documents and events, with the unusual bytes of a [`Framing`].

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::case::{Framing, Transport};

const BYTE_ORDER_MARK: &str = "\u{feff}";
/// The length of the pieces of [`Framing::SmallPieces`], in bytes. Pieces of this length split
/// characters.
const PIECE_BYTES: usize = 7;

/// How one message is framed.
pub(super) struct Framer<'a> {
    framing: &'a [Framing],
    /// True if arrays of messages can be sent, because the revision is known.
    is_initialized: bool,
}

impl<'a> Framer<'a> {
    pub(super) fn new(framing: &'a [Framing], is_initialized: bool) -> Self {
        Self {
            framing,
            is_initialized,
        }
    }

    pub(super) fn has(&self, framing: Framing) -> bool {
        self.framing.contains(&framing)
    }

    /// A message as a line of stdio.
    pub(super) fn line(&self, message: &str) -> String {
        let mut line = String::new();
        if self.has(Framing::LogLine) {
            line.push_str("INFO [server] a request {\"took\": 1}\n");
        }
        if self.has(Framing::BlankLines) {
            line.push_str("\n  \n");
        }
        if self.has(Framing::ByteOrderMark) {
            line.push_str(BYTE_ORDER_MARK);
        }
        line.push_str(&self.message(message));
        line.push_str(if self.has(Framing::Crlf) {
            "\r\n"
        } else {
            "\n"
        });
        line
    }

    /// All messages as the body of one JSON document.
    pub(super) fn document(&self, messages: &[String]) -> String {
        let text = match messages {
            [one] => self.message(one),
            several => format!("[{}]", several.join(",")),
        };
        if self.has(Framing::ByteOrderMark) {
            format!("{BYTE_ORDER_MARK}{text}")
        } else {
            text
        }
    }

    /// All messages as the body of one event stream.
    pub(super) fn event_stream(&self, messages: &[String]) -> String {
        let mut body = self.stream_start().to_owned();
        for (number, message) in messages.iter().enumerate() {
            body.push_str(&self.event(message, number));
        }
        if self.has(Framing::NoBlankLine) {
            body.truncate(body.trim_end().len());
        }
        body
    }

    pub(super) fn stream_start(&self) -> &'static str {
        if self.has(Framing::ByteOrderMark) {
            BYTE_ORDER_MARK
        } else {
            ""
        }
    }

    /// A message as an event.
    pub(super) fn event(&self, message: &str, number: usize) -> String {
        let mut lines = Vec::new();
        if self.has(Framing::Comment) {
            lines.extend([": keep-alive".to_owned(), String::new()]);
        }
        if self.has(Framing::BlankLines) {
            lines.extend([String::new(), String::new()]);
        }
        if self.has(Framing::PingEvent) {
            lines.extend(["event: ping".into(), "data: {}".into(), String::new()]);
        }
        if self.has(Framing::EmptyEvent) {
            lines.extend(["event: message".into(), "data: ".into(), String::new()]);
        }
        if self.has(Framing::EventIds) {
            lines.extend([format!("id: event-{number}"), "retry: 1000".to_owned()]);
        }
        let space = if self.has(Framing::NoSpace) { "" } else { " " };
        if self.has(Framing::OtherEventCase) {
            lines.push(format!("event:{space}Message"));
        } else if !self.has(Framing::UnnamedEvent) {
            lines.push(format!("event:{space}message"));
        }
        let text = self.message(message);
        lines.extend(text.lines().map(|line| format!("data:{space}{line}")));
        lines.extend([String::new(), String::new()]);
        let end = if self.has(Framing::Crlf) {
            "\r\n"
        } else {
            "\n"
        };
        lines.join(end)
    }

    pub(super) fn media_type(&self, transport: Transport) -> String {
        let plain = match transport {
            Transport::Json => "application/json",
            _ => "text/event-stream",
        };
        let written = if self.has(Framing::MediaTypeCase) {
            plain.to_uppercase()
        } else {
            plain.to_owned()
        };
        if self.has(Framing::MediaTypeParameters) {
            format!("{written};Charset=\"utf-8\" ; profile=a")
        } else {
            written
        }
    }

    /// The pieces in which a body is sent.
    pub(super) fn pieces(&self, body: Vec<u8>) -> Vec<Vec<u8>> {
        if self.has(Framing::SmallPieces) {
            body.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()
        } else {
            vec![body]
        }
    }

    /// The body, compressed if this server compresses.
    pub(super) fn encoded(&self, body: String) -> Vec<u8> {
        if !self.has(Framing::Gzip) {
            return body.into_bytes();
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn message(&self, message: &str) -> String {
        let spaces = if self.has(Framing::LeadingSpaces) {
            "  \t"
        } else {
            ""
        };
        if self.has(Framing::Array) && self.is_initialized {
            format!("{spaces}[{message}]")
        } else {
            format!("{spaces}{message}")
        }
    }
}
