//! `[limits]`, as the user wrote it.

use serde::Deserialize;

/// `[limits]`. Times are texts such as `"30s"`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsEntry {
    pub wall: Option<String>,
    pub cpu: Option<String>,
    pub heap: Option<SizeEntry>,
    pub buffers: Option<SizeEntry>,
    pub calls: Option<u32>,
    pub calls_at_once: Option<usize>,
    pub calls_per_server: Option<usize>,
    pub starts: Option<usize>,
    pub ask: Option<String>,
    pub ask_total: Option<String>,
    pub argument: Option<SizeEntry>,
    pub console: Option<SizeEntry>,
    pub source: Option<SizeEntry>,
    pub emitted: Option<SizeEntry>,
    pub timers: Option<u32>,
    pub inline: Option<SizeEntry>,
    pub kept: Option<SizeEntry>,
    pub kept_for: Option<String>,
    pub workers: Option<usize>,
    pub queue: Option<usize>,
}

impl LimitsEntry {
    pub(super) const KEYS: &[&str] = &[
        "wall",
        "cpu",
        "heap",
        "buffers",
        "calls",
        "calls_at_once",
        "calls_per_server",
        "starts",
        "ask",
        "ask_total",
        "argument",
        "console",
        "source",
        "emitted",
        "timers",
        "inline",
        "kept",
        "kept_for",
        "workers",
        "queue",
    ];
}

/// Bytes: a number, or a text such as `"64MiB"`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum SizeEntry {
    Bytes(u64),
    Text(String),
}
