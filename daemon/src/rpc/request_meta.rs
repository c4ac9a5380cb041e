//! The part of a client request's `_meta` that the server gets.
//!
//! Invariant: a client cannot set muxd's own statements about a request, and an agent's statements about itself to
//! muxd, in reserved keys, do not reach a server.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value};

use mux_text::json_length;

/// The maximum length as JSON, in bytes.
const MAX_META_BYTES: usize = 64 << 10;
/// Keys that muxd sets itself.
const OWN_KEYS: &[&str] = &["progressToken", "traceparent", "tracestate"];
/// The prefixes of keys that muxd, or MCP within a single connection, uses.
const OWN_PREFIXES: &[&str] = &["muxd/", "io.modelcontextprotocol/"];

/// The members that the server gets; `None` if there are none.
pub(super) fn for_server(
    mut meta: Map<String, Value>,
) -> Result<Option<Arc<Map<String, Value>>>, Fault> {
    meta.retain(|key, _| {
        !OWN_KEYS.contains(&key.as_str())
            && !OWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
    });
    if meta.is_empty() {
        return Ok(None);
    }
    if json_length::of(&meta, MAX_META_BYTES).is_none() {
        let message = format!("`_meta` of the request is longer than {MAX_META_BYTES} bytes");
        return Err(Fault::new(FaultKind::Validation, message)
            .hint("pass less in `_meta`, or use arguments; the limit is fixed"));
    }
    Ok(Some(Arc::new(meta)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passed(meta: Value) -> Result<Value, Fault> {
        let Value::Object(meta) = meta else {
            panic!("not an object");
        };
        Ok(for_server(meta)?.map_or(Value::Null, |meta| json!(*meta)))
    }

    #[test]
    fn keys_of_muxd_and_of_the_connection_are_left_out() {
        let meta = json!({
            "progressToken": 7,
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tracestate": "a=b",
            "muxd/untrusted": ["a"],
            "io.modelcontextprotocol/clientInfo": { "name": "agent" },
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "com.example/own": { "n": 1 },
            "tenant": "acme",
        });
        let expected = json!({ "com.example/own": { "n": 1 }, "tenant": "acme" });
        assert_eq!(passed(meta).unwrap(), expected);
        assert_eq!(passed(json!({ "progressToken": 7 })).unwrap(), Value::Null);
    }

    #[test]
    fn length_is_limited() {
        let meta = |length: usize| json!({ "a": "x".repeat(length) });
        assert!(passed(meta(MAX_META_BYTES - 8)).is_ok());
        let fault = passed(meta(MAX_META_BYTES)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Validation);
        assert!(fault.message.contains("65536 bytes"), "{}", fault.message);
    }
}
