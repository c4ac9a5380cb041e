//! Prints a value that the daemon stores.

use std::{io, process::ExitCode};

use mux_client::{Pages, Session};
use mux_proto::Handle;

use super::Outcome;
use crate::render::{self, StoredValue};

/// Prints the whole value, in the format of a value that fits into a message.
pub(super) async fn print(session: &Session, handle: &Handle) -> Outcome {
    let mut pages = Pages::new(session, &handle.handle, 0, None);
    let mut value = StoredValue::new(handle);
    while let Some(page) = pages.next().await? {
        if let Err(error) = value.page(&page.text) {
            return Ok(render::printed(Err(error)));
        }
    }
    Ok(render::printed(value.end()))
}

/// Prints the JSON text of a value or a part of it, byte for byte.
pub(super) async fn print_text(mut pages: Pages<'_>) -> Outcome {
    let mut printed: io::Result<()> = Ok(());
    while printed.is_ok()
        && let Some(page) = pages.next().await?
    {
        printed = render::data(&page.text);
    }
    Ok(match printed {
        Ok(()) => ExitCode::SUCCESS,
        error => render::printed(error),
    })
}
