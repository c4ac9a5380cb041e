//! Prints a value that the daemon stores.

use std::io;

use mux_client::{Session, ValuePages};
use mux_proto::{Error, Handle};
use serde_json::Value;

use super::CommandResult;
use crate::render;

/// Longer values that are not strings are printed as JSON without formatting.
const MAX_FORMATTED_BYTES: u64 = 8 << 20;

/// Prints the whole value, in the format of a value that fits into a message.
pub(super) async fn print_stored_value(session: &Session, handle: &Handle) -> CommandResult {
    let pages = ValuePages::new(session, &handle.handle, 0, None);
    let is_text = handle.preview.trim_start().starts_with('"');
    let printed = if is_text || handle.bytes <= MAX_FORMATTED_BYTES {
        let text = pages.read_to_end_of_value().await?;
        // A string with half of a surrogate pair is no value of Rust, and is printed as JSON.
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        render::print_value(&value)
    } else {
        print_pages(pages)
            .await?
            .and_then(|()| render::print_data("\n"))
    };
    Ok(render::output_exit_code(printed))
}

/// Prints the JSON of a value or a part of it, byte for byte.
pub(super) async fn print_stored_text(pages: ValuePages<'_>) -> CommandResult {
    Ok(render::output_exit_code(print_pages(pages).await?))
}

async fn print_pages(mut pages: ValuePages<'_>) -> Result<io::Result<()>, Error> {
    while let Some(page) = pages.next().await? {
        if let Err(error) = render::print_data(&page.text) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}
