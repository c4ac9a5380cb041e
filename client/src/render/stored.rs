//! Prints a stored value, page by page.
//!
//! Invariant: the whole value is printed. Text, and JSON that is too long to be formatted, need the memory of one page.

use std::io;

use mux_proto::Handle;
use serde_json::Value;

use super::{data, plain, unescape::Unescape};

/// The maximum length of JSON text that is formatted, in bytes; a longer one is printed as it is stored.
const LAID_OUT: u64 = 8 << 20;

/// Prints the pages of a stored value, in order.
pub(crate) struct StoredValue(How);

enum How {
    /// The value is one JSON string.
    Text {
        text: Unescape,
        ends_line: bool,
    },
    Collect(String),
    AsItIs,
}

impl StoredValue {
    pub(crate) fn new(handle: &Handle) -> Self {
        Self(if handle.preview.trim_start().starts_with('"') {
            How::Text {
                text: Unescape::default(),
                ends_line: false,
            }
        } else if handle.bytes <= LAID_OUT {
            How::Collect(String::new())
        } else {
            How::AsItIs
        })
    }

    pub(crate) fn page(&mut self, page: &str) -> io::Result<()> {
        match &mut self.0 {
            How::Text { text, ends_line } => {
                let piece = text.piece(page);
                if let Some(last) = piece.chars().next_back() {
                    *ends_line = last == '\n';
                }
                data(&piece)
            }
            How::Collect(whole) => {
                whole.push_str(page);
                Ok(())
            }
            How::AsItIs => data(page),
        }
    }

    /// Prints the rest after the last page.
    pub(crate) fn end(self) -> io::Result<()> {
        match self.0 {
            How::Text {
                ends_line: true, ..
            } => Ok(()),
            How::Text { .. } | How::AsItIs => data("\n"),
            How::Collect(whole) => match serde_json::from_str::<Value>(&whole) {
                Ok(value) => plain(&value),
                Err(_) => data(&whole).and_then(|()| data("\n")),
            },
        }
    }
}
