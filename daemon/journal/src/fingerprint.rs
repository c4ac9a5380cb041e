//! Recognizes a call when its program runs again.
//!
//! Invariant: two calls are the same if they write the tool's name the same way and their arguments are equal as JSON
//! values. Of calls that are the same, the first one made is taken first.

use std::collections::{HashMap, VecDeque, hash_map::Entry};

use mux_wire::CallTarget;
use serde_json::Value;

use mux_text::{
    canonical_json,
    digest::{Digest, DigestKey},
};

/// The tool as the program wrote it, with functions of `mux` as `mux.NAME`, and whether the call wants the raw result.
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

/// Calls that a program has made before, and not yet again.
#[derive(Debug)]
pub struct PastCalls<T>(HashMap<DigestKey, VecDeque<T>>);

impl<T> Default for PastCalls<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> FromIterator<(DigestKey, T)> for PastCalls<T> {
    fn from_iter<I: IntoIterator<Item = (DigestKey, T)>>(calls: I) -> Self {
        let mut by_key: HashMap<_, VecDeque<T>> = HashMap::new();
        for (key, call) in calls {
            by_key.entry(key).or_default().push_back(call);
        }
        Self(by_key)
    }
}

impl<T> PastCalls<T> {
    pub fn take(&mut self, tool: &str, raw: bool, arguments: &str) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        let Entry::Occupied(mut calls) = self.0.entry(call_key(tool, raw, arguments)) else {
            return None;
        };
        let call = calls.get_mut().pop_front();
        if calls.get().is_empty() {
            calls.remove();
        }
        call
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.values().flatten()
    }
}
