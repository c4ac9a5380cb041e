//! Why an agent's file is not read or edited.

use std::path::PathBuf;

use mux_proto::Error;

/// A file that is not edited.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct ConfigFileError {
    /// Empty for content that is in no file.
    pub(crate) file: PathBuf,
    pub(crate) error: ConfigDocumentError,
}

impl ConfigFileError {
    /// The failure with the line and column of a syntax error.
    pub(crate) fn locate(&self, mut failure: Error) -> Error {
        if let ConfigDocumentError::Syntax { line, column, .. } = self.error {
            (failure.line, failure.column) = (Some(line), Some(column));
        }
        failure
    }
}

/// Why a file is not edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigDocumentError {
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        line: u32,
        column: u32,
        message: String,
    },
    #[error("`{0}` is not a table of servers")]
    Shape(String),
    #[error("`{0}` is not a table")]
    NoTable(String),
    #[error("the entry cannot be written without changing something else")]
    Entangled,
}

/// The line and column of a byte offset, counted from 1. Columns count UTF-16 units, as in all our positions.
pub(super) fn utf16_position(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].encode_utf16().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(line), number(column))
}
