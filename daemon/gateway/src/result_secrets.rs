//! Searches a server's answers for secrets before anyone reads them.
//!
//! Invariant: with `secrets = "mask"`, only results that were searched completely are passed on. A result that is too
//! long is an error.

use mux_process::blocking_pool;
use mux_secrets::{is_searchable_within, mask_value, value_has_secret};
use mux_settings::SecretSearch;
use mux_text::json_weight::{self, is_light};
use mux_upstream::{CallError, NoBackChannel, Server};
use mux_wire::{Fault, FaultKind};
use serde_json::Value;
use tracing::warn;

use super::call_fault::fault_of_call_error;

/// The maximum amount of text, without Base64, and of values that are searched in one result.
const MAX_SEARCHED_BYTES: usize = 4 << 20;
const MAX_SEARCHED_VALUES: usize = json_weight::MAX_JSON_WEIGHT;

/// The answer with its secrets reported or masked, as the server's entry says. A large answer is searched off the
/// runtime's threads.
pub(super) async fn search_answer(
    server: &Server,
    path: &str,
    answer: Result<Value, CallError>,
) -> Result<Value, Fault> {
    let search = server.definition().as_ref();
    let search = search.map_or_else(|_| SecretSearch::default(), |it| it.results.secrets);
    let result = match answer {
        Ok(result) => result,
        Err(error) => {
            let error = search_error(server, path, error, search).await;
            return Err(fault_of_call_error(path, error).await);
        }
    };
    if search == SecretSearch::Off {
        return Ok(result);
    }
    let is_large = !is_light(&result);
    let searched = blocking_pool::run_if(is_large, move || search_result(result, search));
    let (result, verdict) = searched.await;
    match verdict {
        SearchVerdict::Clean => {}
        SearchVerdict::HasSecret => report_secret(server, path, search),
        SearchVerdict::TooMuch if search == SecretSearch::Mask => {
            return Err(too_long_fault(server, path));
        }
        SearchVerdict::TooMuch => warn!(
            tool = path,
            max_bytes = MAX_SEARCHED_BYTES,
            max_values = MAX_SEARCHED_VALUES,
            "a result is too long to be searched for secrets, and was passed on"
        ),
    }
    Ok(result)
}

/// Counts the result, and logs the first result of the path.
fn report_secret(server: &Server, path: &str, search: SecretSearch) {
    if server.record_secret_result(path) {
        let masked = search == SecretSearch::Mask;
        warn!(tool = path, masked, "a result seems to contain a secret");
    }
}

enum SearchVerdict {
    Clean,
    HasSecret,
    TooMuch,
}

fn search_result(mut result: Value, search: SecretSearch) -> (Value, SearchVerdict) {
    if !is_searchable_within(&result, MAX_SEARCHED_VALUES, MAX_SEARCHED_BYTES) {
        return (result, SearchVerdict::TooMuch);
    }
    if search_value(&mut result, search) {
        (result, SearchVerdict::HasSecret)
    } else {
        (result, SearchVerdict::Clean)
    }
}

/// Searches the server's words in an error, and masks them if the entry says so. Runs before the message is truncated,
/// because half a secret is not recognized as a secret.
async fn search_error(
    server: &Server,
    path: &str,
    mut error: CallError,
    search: SecretSearch,
) -> CallError {
    if search == SecretSearch::Off {
        return error;
    }
    let (text, data) = server_words(&mut error);
    let is_large = text.is_some_and(|text| text.len() > json_weight::MIN_OFFLOAD_BYTES)
        || data.is_some_and(|data| !is_light(data));
    let searched = blocking_pool::run_if(is_large, move || {
        let (text, data) = server_words(&mut error);
        let in_text = text.is_some_and(|text| search_text(text, search));
        let in_data = data.is_some_and(|data| search_value(data, search));
        (error, in_text || in_data)
    });
    let (error, has_secret) = searched.await;
    if has_secret {
        report_secret(server, path, search);
    }
    error
}

/// The text and the data of an error that a server may have written.
fn server_words(error: &mut CallError) -> (Option<&mut String>, Option<&mut Value>) {
    match error {
        CallError::NotSent | CallError::TimedOut(_) | CallError::TooLong(_) => (None, None),
        CallError::Unknown(text)
        | CallError::Unfit(text)
        | CallError::Declined(text)
        | CallError::TooMuch(text)
        | CallError::Protocol(text)
        | CallError::Credential { why: text, .. }
        | CallError::Forbidden { why: text, .. } => (Some(text), None),
        CallError::SignIn(challenge) => (challenge.why.as_mut(), None),
        CallError::Refused { message, data, .. } => (Some(message), data.as_mut()),
        CallError::NoBackChannel(it) => {
            let NoBackChannel {
                message, details, ..
            } = &mut **it;
            (Some(message), Some(details))
        }
    }
}

/// Returns true if the text contains a secret, which is masked if the entry says so.
fn search_text(text: &mut String, search: SecretSearch) -> bool {
    let mut value = Value::String(std::mem::take(text));
    let has_secret = search_value(&mut value, search);
    if let Value::String(searched) = value {
        *text = searched;
    }
    has_secret
}

/// Returns true if the value contains a secret, which is masked if the entry says so.
fn search_value(value: &mut Value, search: SecretSearch) -> bool {
    let has_secret = value_has_secret(value);
    if has_secret && search == SecretSearch::Mask {
        mask_value(value);
    }
    has_secret
}

fn too_long_fault(server: &Server, path: &str) -> Fault {
    let section = if server.source().is_some() {
        "sources"
    } else {
        "servers"
    };
    let name = server.name();
    let message = format!(
        "the result of {path} is too long to be searched for secrets: more than {MAX_SEARCHED_BYTES} bytes of text or \
         {MAX_SEARCHED_VALUES} values"
    );
    Fault::new(FaultKind::Limit, message)
        .hint(format!(
            "the call has happened; ask for less, or secrets = \"warn\" in [{section}.{name}] lets such results pass"
        ))
        .path(path)
}
