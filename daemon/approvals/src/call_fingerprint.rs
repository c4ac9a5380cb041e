//! How a call is known again, when its program runs a second time.
//!
//! Invariant: the same tool, spelled the same, with the same arguments, however these were written.

use mux_wire::Target;
use serde_json::Value;

use mux_text::{
    canonical_json,
    digest::{Digest, DigestKey},
};

/// As the program spelled it, functions of `mux` as `mux.NAME`; and whether it wants the whole result.
pub fn spelled_tool(target: &Target) -> (String, bool) {
    match target {
        Target::Named { server, tool } => (format!("{server}.{tool}"), false),
        Target::Path { path, raw } => (path.clone(), *raw),
        Target::Own { name } => (format!("mux.{name}"), false),
    }
}

pub fn call_key(tool: &str, raw: bool, arguments: &str) -> DigestKey {
    let digest = Digest::new().text(tool).bytes(&[u8::from(raw)]);
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => digest.bytes(&canonical_json::digest(&value)).key(),
        Err(_) => digest.text(arguments).key(),
    }
}
