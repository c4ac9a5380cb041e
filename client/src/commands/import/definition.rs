//! One server as our configuration has it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The keys that say what a server is. The others say how we treat it, and are the user's.
pub(super) const IDENTITY: &[&str] = &["command", "args", "env", "cwd", "url", "headers"];

/// `[servers.NAME]`; all texts in our syntax, where `${NAME}` is a variable and `$$` a dollar sign.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Definition {
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    /// Tools that are not offered.
    pub(super) exclude: Vec<String>,
    pub(super) disabled: bool,
    pub(super) start_timeout: Option<String>,
    pub(super) call_timeout: Option<String>,
}

impl Definition {
    /// As it is written, without what is as it would be anyway.
    pub(super) fn entry(&self) -> Map<String, Value> {
        let mut entry = Map::new();
        let texts = |texts: &BTreeMap<String, String>| {
            let pairs = texts.iter();
            Value::Object(pairs.map(|(k, v)| (k.clone(), v.as_str().into())).collect())
        };
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                entry.insert(key.into(), value);
            }
        };
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        set("command", text(&self.command));
        set("args", (!self.args.is_empty()).then(|| json!(self.args)));
        set("env", (!self.env.is_empty()).then(|| texts(&self.env)));
        set("cwd", text(&self.cwd));
        set("url", text(&self.url));
        set(
            "headers",
            (!self.headers.is_empty()).then(|| texts(&self.headers)),
        );
        set(
            "tools",
            (!self.exclude.is_empty()).then(|| json!({ "exclude": self.exclude })),
        );
        set("start_timeout", text(&self.start_timeout));
        set("call_timeout", text(&self.call_timeout));
        set("enabled", self.disabled.then_some(Value::Bool(false)));
        entry
    }
}

/// Whether an entry of ours is this server, whatever else the user has said of it.
pub(super) fn same(ours: &Value, entry: &Map<String, Value>) -> bool {
    IDENTITY.iter().all(|key| ours.get(key) == entry.get(*key))
}
