//! Recognizes a call when its program runs again.
//!
//! Invariant: two calls are the same if they spell the tool the same and their arguments are equal as JSON values.

use mux_wire::CallTarget;
use serde_json::Value;

use mux_text::{
    canonical_json,
    digest::{Digest, DigestKey},
};

/// The tool as the program spelled it, functions of `mux` as `mux.NAME`, and whether the call wants the raw result.
pub fn spelled_tool(target: &CallTarget) -> (String, bool) {
    match target {
        CallTarget::Named { server, tool } => (format!("{server}.{tool}"), false),
        CallTarget::Path { path, raw } => (path.clone(), *raw),
        CallTarget::Own { name } => (format!("mux.{name}"), false),
    }
}

pub fn call_key(tool: &str, raw: bool, arguments: &str) -> DigestKey {
    let digest = Digest::new().text(tool).bytes(&[u8::from(raw)]);
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => digest.bytes(&canonical_json::digest(&value)).key(),
        Err(_) => digest.text(arguments).key(),
    }
}
