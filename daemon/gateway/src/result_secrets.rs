//! Looks for secrets in what a server answers, before anyone reads it.
//!
//! Invariant: with `secrets = "mask"` no result is passed on that was not searched as a whole: one that is too long is an
//! error.

use mux_process::blocking_pool;
use mux_secrets::{Masker, mask_value, value_has_secret};
use mux_settings::{SecretSearch, ServerEndpoint};
use mux_text::json_weight::{self, is_light};
use mux_upstream::{CallError, Server};
use mux_wire::{Fault, FaultKind};
use serde_json::Value;
use tracing::{debug, warn};

use super::call_fault::fault_of_call_error;

/// The most text and values of one result that are searched.
const MAX_SEARCHED_BYTES: usize = 4 << 20;
const MAX_SEARCHED_VALUES: usize = json_weight::MAX_JSON_WEIGHT;

/// The answer with its secrets reported or masked, as the server's entry says. A large one is searched off the runtime's
/// threads.
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
            let fault = fault_of_call_error(path, error).await;
            return Err(match search {
                SecretSearch::Mask => {
                    let length = fault.details.as_ref().map_or(0, String::len);
                    let is_large = length > json_weight::MIN_OFFLOAD_BYTES;
                    blocking_pool::run_if(is_large, move || masked_fault(fault)).await
                }
                SecretSearch::Warn | SecretSearch::Off => fault,
            });
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
        SearchVerdict::HasSecret => {
            if server.record_secret_result(path) {
                let masked = search == SecretSearch::Mask;
                warn!(
                    tool = path,
                    masked, "a result held what looks like a secret"
                );
            }
        }
        SearchVerdict::TooMuch if search == SecretSearch::Mask => {
            return Err(too_long_fault(server, path));
        }
        SearchVerdict::TooMuch => debug!(tool = path, "a result is too long to be searched"),
    }
    Ok(result)
}

enum SearchVerdict {
    Clean,
    HasSecret,
    TooMuch,
}

fn search_result(mut result: Value, search: SecretSearch) -> (Value, SearchVerdict) {
    if !json_weight::is_within(&result, MAX_SEARCHED_VALUES, MAX_SEARCHED_BYTES) {
        return (result, SearchVerdict::TooMuch);
    }
    if !value_has_secret(&result) {
        return (result, SearchVerdict::Clean);
    }
    if search == SecretSearch::Mask {
        mask_value(&mut result);
    }
    (result, SearchVerdict::HasSecret)
}

fn masked_fault(mut fault: Fault) -> Fault {
    let masker = Masker::default();
    fault.message = masker.text(&fault.message);
    fault.details = fault.details.map(|details| masker.json(&details));
    fault
}

fn too_long_fault(server: &Server, path: &str) -> Fault {
    let section = match server.definition().as_ref().map(|it| &it.link) {
        Ok(ServerEndpoint::Source(_)) => "sources",
        _ => "servers",
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
