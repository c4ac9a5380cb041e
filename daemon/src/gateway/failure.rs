//! What a caller is told of a call that has no result.
//!
//! Invariant: it says whether the call may have happened, and what to do.

use mux_sandbox::{Fault, Kind};

use crate::upstream::CallError;

pub(super) fn failure(path: &str, error: CallError) -> Fault {
    let fault = match error {
        CallError::NotSent => {
            Fault::new(Kind::Unavailable, format!("{path} was not called: {error}"))
                .hint("try again")
        }
        CallError::Unknown(cause) => Fault::new(
            Kind::UnknownOutcome,
            format!("{path} was sent, and no answer came: {cause}"),
        )
        .hint("it may or may not have happened; look before you call it again"),
        CallError::TimedOut(within) => Fault::new(
            Kind::Timeout,
            format!("{path} did not answer within {within:?} and was cancelled"),
        )
        .hint("call_timeout in the server's entry allows more"),
        CallError::SignIn(challenge) => {
            let server = path.split('.').next().unwrap_or(path);
            Fault::new(
                Kind::AuthRequired,
                format!("{path} was not called: {challenge}"),
            )
            .hint(format!(
                "`mux servers login {server}`, or give a token in its `headers`; then call it again"
            ))
        }
        CallError::Credential { why, fix } => {
            Fault::new(Kind::AuthRequired, format!("{path} was not called: {why}")).hint(fix)
        }
        CallError::Unfit(why) => {
            Fault::new(Kind::Validation, format!("{path} was not called: {why}"))
        }
        CallError::Declined(why) => Fault::new(
            Kind::Unavailable,
            format!("{path} was not taken by the server: {why}"),
        ),
        CallError::TooLong(whole) => Fault::new(
            Kind::Timeout,
            format!("{path} took longer than {whole:?} in all and was cancelled"),
        )
        .hint("it may have told of progress; total_timeout in the server's entry allows more"),
        CallError::Refused {
            code,
            message,
            data,
        } => {
            let mut fault = Fault::new(Kind::Tool, message);
            fault.details = Some(serde_json::json!({ "code": code, "data": data }).to_string());
            fault
        }
        CallError::TooMuch(message) => Fault::new(Kind::Limit, format!("{path}: {message}")),
        CallError::Protocol(message) => {
            Fault::new(Kind::Internal, format!("{path}: {message}")).hint("see `mux logs`")
        }
    };
    fault.path(path)
}
