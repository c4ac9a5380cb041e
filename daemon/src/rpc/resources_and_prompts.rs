//! Resources, prompts and completions of servers, as shown to clients.

use std::{sync::Arc, time::Duration};

use mux_proto as wire;
use mux_wire::Fault;
use serde_json::{Map, Value};

use super::{
    answer_budget::AnswerBudget, connection::ConnectionState, convert, long_value::held,
    progress_observer::ProgressObserver, request_meta,
};
use crate::daemon::Daemon;
use mux_gateway::{CallContext, OfferLists};
use mux_text::sanitize::clean_schema;
use mux_upstream::{ContentRequest, ListKind};

pub(super) async fn list(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::OffersRequest,
) -> wire::Result<wire::OfferList> {
    let kind = match request.kind {
        wire::OfferKind::Resources => ListKind::Resources,
        wire::OfferKind::ResourceTemplates => ListKind::ResourceTemplates,
        wire::OfferKind::Prompts => ListKind::Prompts,
    };
    let context = call_context(connection, None);
    let wait = request.wait_ms.map(Duration::from_millis);
    let server = request.server.as_deref();
    let found = daemon
        .gateway
        .list_offers(kind, server, wait, &context)
        .await?;
    Ok(listed(found))
}

/// Converts the lists. A server whose list does not fit after those before it is listed as missing.
fn listed(found: OfferLists) -> wire::OfferList {
    let mut budget = AnswerBudget::new();
    let mut answer = wire::OfferList::default();
    for (server, list) in found.lists {
        let mut left = budget;
        let mut offered = Vec::with_capacity(list.len());
        let full = list.iter().find_map(|offer| {
            let mut offer = offer.clone();
            clean_schema(&mut offer);
            offered.push(wire::Offered {
                server: server.clone(),
                offer,
            });
            left.take(&offered.last()).err()
        });
        match full {
            None => {
                answer.offers.append(&mut offered);
                budget = left;
            }
            Some(fault) => answer.missing.push(budget.missing(&server, fault)),
        }
    }
    let missing = found.missing.into_iter();
    answer
        .missing
        .extend(missing.map(|(server, fault)| budget.missing(&server, fault)));
    answer
}

pub(super) async fn read_resource(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::ResourceRequest,
) -> wire::Result<wire::Held> {
    let wanted = ContentRequest::Resource { uri: request.uri };
    let asked = AskedContent {
        wanted,
        token: request.token,
        meta: request.meta,
    };
    ask_held(daemon, connection, &request.server, asked).await
}

pub(super) async fn get_prompt(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::PromptRequest,
) -> wire::Result<wire::Held> {
    let wanted = ContentRequest::Prompt {
        name: request.name,
        arguments: request.arguments,
    };
    let asked = AskedContent {
        wanted,
        token: request.token,
        meta: request.meta,
    };
    ask_held(daemon, connection, &request.server, asked).await
}

pub(super) async fn complete(
    daemon: &Daemon,
    connection: &ConnectionState,
    mut request: wire::CompleteRequest,
) -> wire::Result<Value> {
    let params = request.params.as_object_mut();
    let meta = match params.and_then(|params| params.shift_remove("_meta")) {
        Some(Value::Object(meta)) => meta,
        _ => Map::new(),
    };
    let wanted = ContentRequest::completion(request.params).map_err(|_| {
        let message = "invalid params of completion/complete: `ref` must be a prompt or a resource, and `argument` must \
                       have `name` and `value`";
        wire::Error::new(wire::Kind::Validation, message)
    })?;
    let asked = AskedContent {
        wanted,
        token: None,
        meta,
    };
    let completion = ask(daemon, connection, &request.server, asked).await?;
    convert::check_fits_frame(&completion.to_string())?;
    Ok(completion)
}

pub(super) async fn subscribe(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::SubscribeRequest,
) -> wire::Result<()> {
    let gateway = &daemon.gateway;
    let mailbox = connection.mailbox();
    let server = request.server.as_str();
    let uri = request.uri.as_str();
    if !request.subscribe {
        let scope = connection.scope();
        let connection = mailbox.connection();
        return Ok(gateway
            .unsubscribe_resource(server, uri, &scope, connection)
            .await?);
    }
    let _admitted = daemon.runs.admit()?;
    Ok(gateway
        .subscribe_resource(server, uri, mailbox, &call_context(connection, None))
        .await?)
}

/// Content that a client requests from a server, besides tool calls.
struct AskedContent {
    wanted: ContentRequest,
    token: Option<String>,
    meta: Map<String, Value>,
}

/// Like [`ask`], but a long answer is stored.
async fn ask_held(
    daemon: &Daemon,
    connection: &ConnectionState,
    server: &str,
    asked: AskedContent,
) -> wire::Result<wire::Held> {
    let found = ask(daemon, connection, server, asked).await?;
    held(daemon, connection, found.to_string()).await
}

async fn ask(
    daemon: &Daemon,
    connection: &ConnectionState,
    server: &str,
    asked: AskedContent,
) -> Result<Value, Fault> {
    let mut context = call_context(connection, asked.token);
    Arc::make_mut(&mut context.caller).meta = request_meta::for_server(asked.meta)?;
    let observer = ProgressObserver::of(&context.caller);
    let _admitted = daemon.runs.admit()?;
    daemon
        .gateway
        .request_offer(server, &asked.wanted, &context, &observer)
        .await
}

pub(super) fn call_context(connection: &ConnectionState, token: Option<String>) -> CallContext {
    CallContext {
        turn: connection.turn(),
        scope: connection.scope(),
        caller: connection.caller(token),
        run: None,
        call: None,
        asks: false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mux_wire::FaultKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn list_that_exceeds_an_answer_is_reported_as_missing() {
        let list = |megabytes: usize| {
            let text = "x".repeat(1 << 20);
            let offer = |n| json!({ "uri": format!("a://{n}/{text}") });
            Arc::new((0..megabytes).map(offer).collect::<Vec<_>>())
        };
        let found = OfferLists {
            lists: vec![
                ("a".into(), list(1)),
                ("much".into(), list(14)),
                ("b".into(), list(1)),
            ],
            missing: vec![("dead".into(), Fault::new(FaultKind::Unavailable, "gone"))],
        };
        let answer = listed(found);
        let servers: Vec<&str> = answer.offers.iter().map(|o| o.server.as_str()).collect();
        assert_eq!(servers, ["a", "b"]);
        let missing = answer.missing.iter();
        let missing: Vec<_> = missing
            .map(|m| (m.server.as_str(), m.error.kind.known()))
            .collect();
        assert_eq!(
            missing,
            [
                ("much", Some(wire::Kind::Limit)),
                ("dead", Some(wire::Kind::Unavailable))
            ]
        );
        assert!(answer.missing[0].error.message.contains("one answer"));
    }
}
