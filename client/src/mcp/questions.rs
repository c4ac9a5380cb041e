//! A server's question in the words of the protocol: as a request to the agent, or as input that a
//! request needs.
//!
//! Invariant: an agent is asked only for what it said it can answer.

use mux_proto::AskKind;
use rmcp::{
    ErrorData, RoleServer,
    model::{ClientCapabilities, InputRequest, ServerRequest},
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Value, json};

use super::desk::Question;

/// Whether an agent can show its user a form. One that names no mode of elicitation means forms.
pub(super) fn shows_forms(able: &ClientCapabilities) -> bool {
    let modes = able.elicitation.as_ref();
    modes.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Fails in words for the server.
pub(super) fn can_answer(able: &ClientCapabilities, question: &Question) -> Result<(), String> {
    let (can, what) = match question.kind {
        AskKind::Elicitation => match (&able.elicitation, question.params["mode"] == "url") {
            (Some(modes), true) => (modes.url.is_some(), "open a page for its user"),
            (Some(_), false) => (shows_forms(able), "show its user a form"),
            (None, _) => (false, "ask its user anything"),
        },
        AskKind::Sampling => (able.sampling.is_some(), "have its model write anything"),
        AskKind::Roots => (able.roots.is_some(), "tell its roots"),
        // The daemon asks for approvals with a form.
        AskKind::Approval => (false, "say whether a call may be made"),
    };
    if can {
        return Ok(());
    }
    Err(format!("the agent that calls cannot {what}"))
}

/// What an agent must be able to do in order to answer.
pub(super) fn needs(question: &Question) -> ClientCapabilities {
    let needed = match question.kind {
        AskKind::Elicitation if question.params["mode"] == "url" => {
            json!({ "elicitation": { "url": {} } })
        }
        AskKind::Elicitation | AskKind::Approval => json!({ "elicitation": { "form": {} } }),
        AskKind::Sampling => json!({ "sampling": {} }),
        AskKind::Roots => json!({ "roots": {} }),
    };
    serde_json::from_value(needed).unwrap_or_default()
}

fn method(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Elicitation | AskKind::Approval => "elicitation/create",
        AskKind::Sampling => "sampling/createMessage",
        AskKind::Roots => "roots/list",
    }
}

fn message(question: &Question) -> Value {
    match question.kind {
        AskKind::Roots => json!({ "method": method(question.kind) }),
        kind => json!({ "method": method(kind), "params": question.params }),
    }
}

/// As input that a request of the second era needs.
pub(super) fn input_request(question: &Question) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(message(question)).map_err(|error| {
        let text = format!("a server asks for something that MCP does not have: {error}");
        ErrorData::internal_error(text, None)
    })
}

/// As a request of its own, in the first era.
pub(super) async fn ask(peer: Peer<RoleServer>, question: Question) {
    let request: ServerRequest = match serde_json::from_value(message(&question)) {
        Ok(request) => request,
        Err(error) => return question.refuse(&error.to_string()).await,
    };
    let options = PeerRequestOptions::no_options();
    let handle = match peer.send_cancellable_request(request, options).await {
        Ok(handle) => handle,
        Err(error) => return question.refuse(&error.to_string()).await,
    };
    let id = handle.id.clone();
    let answer = tokio::select! {
        answer = handle.await_response() => answer,
        () = question.withdrawn.cancelled() => {
            let reason = Some("the server no longer waits".to_owned());
            let params = rmcp::model::CancelledNotificationParam::new(Some(id), reason);
            return drop(peer.notify_cancelled(params).await);
        }
    };
    let answered = match answer {
        Ok(result) => {
            // What serde has just read, it can write.
            let result = serde_json::to_value(result).unwrap_or_default();
            question.answer(result).await.map_err(|wrong| wrong.message)
        }
        Err(ServiceError::McpError(error)) => Err(error.message.into_owned()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(why) = answered {
        question.refuse(&why).await;
    }
}
