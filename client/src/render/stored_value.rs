//! Prints a stored value, page by page.
//!
//! Invariant: the whole value is printed. Text, and JSON that is too long to be formatted, need the memory of one page.

use std::io;

use mux_proto::Handle;
use serde_json::Value;

use super::{print_data, print_value, unescape::JsonUnescaper};

/// The maximum length of JSON that is formatted, in bytes. Longer JSON is printed as stored.
const MAX_FORMATTED_BYTES: u64 = 8 << 20;

/// Prints the pages of a stored value, in order.
pub(crate) struct StoredValue(StoredOutput);

enum StoredOutput {
    /// The value is one JSON string.
    Text {
        text: JsonUnescaper,
        ends_line: bool,
    },
    Collect(String),
    AsItIs,
}

impl StoredValue {
    pub(crate) fn new(handle: &Handle) -> Self {
        Self(if handle.preview.trim_start().starts_with('"') {
            StoredOutput::Text {
                text: JsonUnescaper::default(),
                ends_line: false,
            }
        } else if handle.bytes <= MAX_FORMATTED_BYTES {
            StoredOutput::Collect(String::new())
        } else {
            StoredOutput::AsItIs
        })
    }

    pub(crate) fn print_page(&mut self, page: &str) -> io::Result<()> {
        match &mut self.0 {
            StoredOutput::Text { text, ends_line } => {
                let piece = text.unescape_piece(page);
                if let Some(last) = piece.chars().next_back() {
                    *ends_line = last == '\n';
                }
                print_data(&piece)
            }
            StoredOutput::Collect(whole) => {
                whole.push_str(page);
                Ok(())
            }
            StoredOutput::AsItIs => print_data(page),
        }
    }

    /// Prints the rest after the last page.
    pub(crate) fn print_rest(self) -> io::Result<()> {
        match self.0 {
            StoredOutput::Text {
                ends_line: true, ..
            } => Ok(()),
            StoredOutput::Text { .. } | StoredOutput::AsItIs => print_data("\n"),
            StoredOutput::Collect(whole) => match serde_json::from_str::<Value>(&whole) {
                Ok(value) => print_value(&value),
                Err(_) => print_data(&whole).and_then(|()| print_data("\n")),
            },
        }
    }
}
