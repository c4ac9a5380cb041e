//! `mux mcp`, as agents use it.

mod asks;
mod crowd;
mod direct;
mod fence;
mod life;
mod lists;
mod meta;
mod offers;
mod profiles;
mod programs;
mod words;

use serde_json::Value;

/// All texts of a tool's result, one after the other.
pub(crate) fn text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = content.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}
