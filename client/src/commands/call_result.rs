//! Prints the result of `mux call`, and saves its parts.

use std::path::Path;

use mux_client::Session;
use mux_proto::{Handle, Held};

use super::{CommandResult, part_files, stored_value};
use crate::{content_part::result_parts, render};

/// A stored value that may have parts is read as a whole up to this size, in bytes. Longer values are printed page
/// by page.
const MAX_PARTS_BYTES: u64 = 8 << 20;

pub(super) async fn print_call_result(
    session: &Session,
    held: Held,
    folder: Option<&Path>,
    raw: bool,
    json: bool,
) -> CommandResult {
    let value = match &held {
        Held::Value(value) => value.to_value(),
        Held::Stored(handle) if folder.is_some() || (!json && !raw && may_have_parts(handle)) => {
            part_files::load_held_value(session, &held).await?
        }
        Held::Stored(_) if json => return Ok(render::call_document(&held, None)),
        Held::Stored(handle) => return stored_value::print_stored_value(session, handle).await,
    };
    let found = if raw {
        result_parts(&value["content"])
    } else {
        result_parts(&value)
    };
    let saved = match folder {
        Some(folder) => Some(part_files::save_parts(session, folder, &found).await),
        None => None,
    };
    if json {
        return Ok(render::call_document(&held, saved.as_ref()));
    }
    // A raw result is printed as the server returned it.
    let shown = if raw { &[] } else { &found[..] };
    Ok(render::call_result(&value, shown, saved.as_ref()))
}

/// Returns true if the value is JSON of a size that is read as a whole.
fn may_have_parts(handle: &Handle) -> bool {
    handle.bytes <= MAX_PARTS_BYTES && handle.preview.trim_start().starts_with(['{', '['])
}
