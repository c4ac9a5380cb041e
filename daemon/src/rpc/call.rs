//! One tool call that a client makes itself.

use std::{sync::Arc, time::Duration};

use mux_proto as wire;
use mux_sandbox::Target;
use serde_json::Value;

use super::{convert, door::Door, held::held, offers, told::Told};
use crate::{
    gateway::{Arguments, Call},
    state::Daemon,
    trace::{Context, Kind},
};

pub(super) async fn make(
    daemon: &Daemon,
    door: &Door,
    request: wire::CallRequest,
) -> Result<wire::Held, wire::Error> {
    let context = request
        .traceparent
        .and_then(|parent| Context::parse(&parent, request.tracestate.as_deref()));
    let tracer = daemon.gateway.tracer();
    let mut span = tracer.begin(context, Kind::Server, || "call".into());
    span.set("mux.client", || Some(door.origin().client.clone()));
    span.set("gen_ai.agent.name", || door.origin().agent.clone());
    let mut asking = offers::asking(door, request.token);
    Arc::make_mut(&mut asking.caller).trace = span.trace().clone();
    let call = Call {
        target: Target::Path {
            path: request.path,
            raw: request.raw,
        },
        arguments: match (request.arguments, request.typed) {
            (Value::Null, typed) => Arguments::Typed(typed),
            (object, _) => Arguments::Json(object.to_string().into()),
        },
        within: request.timeout_ms.map(Duration::from_millis),
        asking,
    };
    let told = Told::of(&call.asking.caller);
    let _admitted = daemon.runs.admit().map_err(convert::error)?;
    let _room = door.call().await;
    let text = daemon.gateway.call(call, &told).await;
    span.ended(|| text.as_ref().err().map(|fault| fault.kind.to_string()));
    held(daemon, text.map_err(convert::error)?).await
}
