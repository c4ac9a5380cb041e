//! Prints a value that the daemon stores.

use std::{io, process::ExitCode};

use mux_client::{Session, ValuePages};
use mux_proto::Handle;

use super::CommandResult;
use crate::render::{self, StoredValue};

/// Prints the whole value, in the format of a value that fits into a message.
pub(super) async fn print_stored_value(session: &Session, handle: &Handle) -> CommandResult {
    let mut pages = ValuePages::new(session, &handle.handle, 0, None);
    let mut value = StoredValue::new(handle);
    while let Some(page) = pages.next().await? {
        if let Err(error) = value.print_page(&page.text) {
            return Ok(render::output_exit_code(Err(error)));
        }
    }
    Ok(render::output_exit_code(value.print_rest()))
}

/// Prints the JSON of a value or a part of it, byte for byte.
pub(super) async fn print_stored_text(mut pages: ValuePages<'_>) -> CommandResult {
    let mut printed: io::Result<()> = Ok(());
    while printed.is_ok()
        && let Some(page) = pages.next().await?
    {
        printed = render::print_data(&page.text);
    }
    Ok(match printed {
        Ok(()) => ExitCode::SUCCESS,
        error => render::output_exit_code(error),
    })
}
