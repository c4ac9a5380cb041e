//! A value that the daemon keeps, printed as any other value, page by page.
//!
//! Invariant: everything is printed. Text and what is too long to be laid out take the memory of one page.

use std::io;

use mux_proto::Handle;
use serde_json::Value;

use super::{data, plain, unescape::Unescape};

/// The longest JSON text that is laid out; a longer one is printed as it is kept.
const LAID_OUT: u64 = 8 << 20;

/// Takes the pages in order.
pub(crate) struct StoredValue(How);

enum How {
    /// One JSON string.
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

    /// Behind the last page.
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
