//! One tool call that a client makes itself.

use std::time::Duration;

use mux_proto as wire;
use mux_sandbox::Target;
use serde_json::Value;

use super::{convert, door::Door, held::held, offers, told::Told};
use crate::{
    gateway::{Arguments, Call},
    state::Daemon,
};

pub(super) async fn make(
    daemon: &Daemon,
    door: &Door,
    request: wire::CallRequest,
) -> Result<wire::Held, wire::Error> {
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
        asking: offers::asking(door, request.token),
    };
    let told = Told::of(&call.asking.caller);
    let _admitted = daemon.runs.admit().map_err(convert::error)?;
    let _room = door.call().await;
    let text = daemon.gateway.call(call, &told).await;
    held(daemon, text.map_err(convert::error)?).await
}
