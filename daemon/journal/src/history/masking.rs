//! Masks and withholds parts of a run before they are written.
//!
//! Invariant: a credential that the daemon knows, a published token format, and the value of a member whose name
//! announces a secret never reach the disk in the rows that the history shows.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use mux_messages::{Event, EventKind, Held, Outcome};
use mux_secrets::{KnownSecrets, Masker};
use serde_json::Value;

use super::stored_entry::StoredText;
use crate::call_log::{CallState, LoggedCall};

/// The replacement of a value that is not kept.
const WITHHELD: &str = "(not kept: history = false)";

/// The secrets that arguments, results and inputs of one run announce.
pub(super) fn add_announced_secrets<'a>(
    known: &mut KnownSecrets,
    texts: impl IntoIterator<Item = &'a str>,
) {
    for text in texts {
        // Most texts announce none, and parsing is what costs.
        if text.contains('"')
            && let Ok(value) = serde_json::from_str(text)
        {
            known.add_members_of(&value);
        }
    }
}

/// The arguments and the result of a call.
pub(super) fn texts_of(call: &LoggedCall) -> impl Iterator<Item = &str> {
    let result = match &call.state {
        CallState::Ended(Ok(text)) => Some(&**text),
        CallState::Ended(Err(_)) | CallState::Open | CallState::Asked => None,
    };
    [&*call.arguments].into_iter().chain(result)
}

/// The value that an event shows.
pub(super) fn shown_value(event: &Event) -> Option<&str> {
    match &event.event {
        EventKind::Emitted {
            part: Held::Value(value),
        }
        | EventKind::Ended {
            outcome: Outcome::Result(value),
        } => Some(value.as_str()),
        _ => None,
    }
}

/// True if arguments and results of this call are not kept.
pub(super) fn is_bare(call: &LoggedCall, bare_servers: &BTreeSet<String>) -> bool {
    if bare_servers.is_empty() {
        return false;
    }
    let server = match call.tool.strip_prefix("mux.") {
        Some(_) => server_of_arguments(&call.arguments),
        None => call
            .tool
            .split_once('.')
            .map(|(server, _)| Cow::Borrowed(server)),
    };
    server.is_some_and(|server| bare_servers.contains(&*server))
}

/// The server of a call of `mux.resources` or `mux.prompts`.
fn server_of_arguments(arguments: &str) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct OfServer<'a> {
        #[serde(borrow)]
        server: Cow<'a, str>,
    }
    serde_json::from_str::<OfServer<'_>>(arguments)
        .ok()
        .map(|arguments| arguments.server)
}

/// Removes what an event shows of values.
pub(super) fn withhold_values(event: &mut Event) {
    let withheld = Value::from(WITHHELD);
    match &mut event.event {
        EventKind::Console { text, .. } => WITHHELD.clone_into(text),
        EventKind::Emitted { part } => *part = Held::Value(withheld.into()),
        EventKind::Ended { outcome } if !matches!(outcome, Outcome::Error(_)) => {
            *outcome = Outcome::Result(withheld.into());
        }
        EventKind::ApprovalAsked(request) => request.arguments = withheld.to_string(),
        _ => {}
    }
}

/// Masks a text that is JSON or prose.
pub(super) fn masked(masker: &Masker, text: &str) -> String {
    if text.starts_with(['{', '[', '"']) {
        masker.json(text)
    } else {
        masker.text(text)
    }
}

/// The stored form of a text that is withheld.
pub(super) fn withheld_text(text: &Arc<str>) -> StoredText {
    StoredText::Withheld(text.len())
}
