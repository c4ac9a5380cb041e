//! A value for a client: itself, or where it is kept if it is too long for a message.

use mux_proto as wire;
use tracing::warn;

use super::{convert, door::Door};
use crate::state::Daemon;

pub(super) async fn held(
    daemon: &Daemon,
    door: &Door,
    text: String,
) -> Result<wire::Held, wire::Error> {
    let held = daemon.handles.of(&door.origin());
    let held = held.hold(text, "the result").await;
    let (held, word) = held.map_err(convert::error)?;
    if let Some(word) = word {
        warn!(word, "a result is sent as it is");
    }
    convert::held(held)
}
