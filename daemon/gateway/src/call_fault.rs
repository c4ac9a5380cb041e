//! The errors of calls.
//!
//! Invariant: an error says whether the call may have happened, and what to do. An error is short, regardless of the
//! server's message.

use mux_wire::{Fault, FaultKind};
use serde_json::{Value, json};

use mux_catalog::MAX_ERROR_MESSAGE_BYTES;
use mux_text::json_weight;
use mux_upstream::{BackChannelRemedy, CallError};

/// The hint for a tool whose request this session's era does not support.
fn era_remedy_hint(path: &str, remedy: BackChannelRemedy) -> String {
    let server = path.split('.').next().unwrap_or(path);
    let asks = "the tool asks its caller for something, which this server cannot do over a session of MCP 2026-07-28";
    match remedy {
        BackChannelRemedy::Reopened => format!(
            "{asks}; from now on its sessions are opened in 2025-11-25: call it again. era = \"2025-11-25\" in \
             [servers.{server}] of config.toml opens them this way from the start"
        ),
        BackChannelRemedy::WhenIdle => format!(
            "{asks}; a session of 2025-11-25 is opened as soon as the other calls on this one have ended: call it \
             again then. era = \"2025-11-25\" in [servers.{server}] of config.toml opens them this way from the start"
        ),
        BackChannelRemedy::Configured => format!(
            "{asks}, and era = \"2026-07-28\" in [servers.{server}] of config.toml allows no other; \"auto\" or \
             \"2025-11-25\" would let it ask"
        ),
        BackChannelRemedy::NoOther => format!(
            "{asks}, and it does not speak 2025-11-25: only a server version that returns its questions as \
             results can work"
        ),
    }
}

/// The limit of a server's error details, as JSON. Longer details are left out, because half of them would be useless.
const MAX_FAULT_DETAIL_BYTES: usize = 1 << 20;

/// The kind of a failed call.
pub(super) fn fault_kind(error: &CallError) -> FaultKind {
    match error {
        CallError::NotSent | CallError::Declined(_) => FaultKind::Unavailable,
        CallError::Unknown(_) => FaultKind::UnknownOutcome,
        CallError::TimedOut(_) | CallError::TooLong(_) => FaultKind::Timeout,
        CallError::SignIn(_) | CallError::Credential { .. } => FaultKind::AuthRequired,
        CallError::Unfit(_) => FaultKind::Validation,
        CallError::Refused { .. } | CallError::NoBackChannel(_) => FaultKind::Tool,
        CallError::Forbidden { .. } => FaultKind::Denied,
        CallError::TooMuch(_) => FaultKind::Limit,
        CallError::Protocol(_) => FaultKind::Internal,
    }
}

pub(super) async fn fault_of_call_error(path: &str, error: CallError) -> Fault {
    let kind = fault_kind(&error);
    let new_fault = |message: String| Fault::new(kind, message);
    let mut fault = match error {
        CallError::NotSent => {
            new_fault(format!("{path} was not called: {error}")).hint("try again")
        }
        CallError::Unknown(cause) => {
            new_fault(format!("{path} was sent, but no answer came: {cause}"))
                .hint("it may or may not have happened; check before you call it again")
        }
        CallError::TimedOut(within) => new_fault(format!(
            "{path} did not answer within {within:?} and was cancelled"
        ))
        .hint("call_timeout in the server's entry allows more"),
        CallError::SignIn(challenge) => {
            let server = path.split('.').next().unwrap_or(path);
            let fix = challenge.fix(server);
            new_fault(format!("{path} was not called: {challenge}"))
                .user_hint(format!("{fix}; then call it again"))
        }
        CallError::Credential { why, fix } => {
            new_fault(format!("{path} was not called: {why}")).user_hint(fix)
        }
        CallError::Forbidden { why, fix } => {
            new_fault(format!("{path} was not called: {why}")).hint(fix)
        }
        CallError::Unfit(why) => new_fault(format!("{path} was not called: {why}")),
        CallError::Declined(why) => new_fault(format!("the server declined {path}: {why}")),
        CallError::TooLong(whole) => new_fault(format!(
            "{path} took longer than {whole:?} in all and was cancelled"
        ))
        .hint("it may have reported progress; total_timeout in the server's entry allows more"),
        CallError::Refused {
            code,
            message,
            data,
        } => {
            let mut details = json!({ "code": code, "data": data });
            if message.len() > MAX_ERROR_MESSAGE_BYTES {
                details["message"] = Value::String(message.clone());
            }
            let mut fault = new_fault(message);
            fault.details = Some(bounded_details(code, details).await);
            fault
        }
        CallError::NoBackChannel(it) => {
            let mut fault = new_fault(it.message).hint(era_remedy_hint(path, it.remedy));
            fault.details = Some(bounded_details(0, it.details).await);
            fault
        }
        CallError::TooMuch(message) => new_fault(format!("{path}: {message}")),
        CallError::Protocol(message) => {
            new_fault(format!("{path}: {message}")).user_hint("see `mux logs`")
        }
    };
    truncate_message(&mut fault.message);
    fault.hint.as_mut().map(truncate_message);
    fault.path(path)
}

/// The details as a string, or a note on their size if they are too long.
async fn bounded_details(code: i32, details: Value) -> String {
    let text = json_weight::to_text(details).await;
    if text.len() <= MAX_FAULT_DETAIL_BYTES {
        text
    } else {
        let omitted = format!(
            "{} bytes, over the limit of {MAX_FAULT_DETAIL_BYTES}: this limit is fixed",
            text.len()
        );
        json!({ "code": code, "omitted": omitted }).to_string()
    }
}

fn truncate_message(text: &mut String) {
    if text.len() > MAX_ERROR_MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_ERROR_MESSAGE_BYTES));
        text.push_str(" …");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn error_message_and_details_are_bounded() {
        for (bytes, whole) in [
            (100, true),
            (MAX_ERROR_MESSAGE_BYTES + 1, true),
            (8 << 20, false),
        ] {
            let error = CallError::Refused {
                code: -1,
                message: "é".repeat(bytes / 2),
                data: Some(json!(7)),
            };
            let fault = fault_of_call_error("s.t", error).await;
            assert!(
                fault.message.len() <= MAX_ERROR_MESSAGE_BYTES + 4,
                "{bytes}"
            );
            let details = fault.details.unwrap();
            assert!(details.len() <= MAX_FAULT_DETAIL_BYTES, "{bytes}");
            let details: Value = serde_json::from_str(&details).unwrap();
            assert_eq!(details["code"], -1);
            if whole {
                assert_eq!(details["data"], 7);
            } else {
                assert!(details["omitted"].as_str().unwrap().contains("limit"));
            }
        }
        let lost = CallError::Unknown("x".repeat(1 << 20));
        assert!(
            fault_of_call_error("s.t", lost).await.message.len() <= MAX_ERROR_MESSAGE_BYTES + 4
        );
    }
}
