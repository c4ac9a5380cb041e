//! A value that the daemon keeps, on standard output.

use std::{io, process::ExitCode};

use mux_client::{Pages, Session};
use mux_proto::Handle;

use super::Outcome;
use crate::render::{self, StoredValue};

/// All of it, as a value that was short enough for a message is printed.
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

/// Its JSON text or a part of it, to the byte.
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
