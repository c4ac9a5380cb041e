//! An entry as written, with its secrets masked.

use mux_config::environment::literals_in;
use mux_secrets::{MASK, arguments, is_secret, may_be_generated, url};
use toml::{Table, Value};

/// Tables and keys whose literal values are secrets, regardless of their form.
const CREDENTIAL_KEYS: [&str; 3] = ["auth", "client_secret", "password"];
/// Tables whose values are secrets if they look generated.
const VARIABLE_KEYS: [&str; 3] = ["env", "headers", "variables"];
/// Beside a reference, a shorter string is a word such as `Bearer`, not a secret.
const MIN_MIXED_SECRET_BYTES: usize = 8;

/// Where a literal value is.
#[derive(Clone, Copy, Eq, PartialEq)]
enum LiteralKind {
    Setting,
    Variable,
    Credential,
}

impl LiteralKind {
    /// The kind of the values of `key` in `table`.
    fn below(self, table: &str, key: &str) -> Self {
        match key {
            "username" => Self::Setting,
            // How a secret is sent, which is none.
            "auth" if table == "oauth" && self == Self::Setting => Self::Setting,
            key if CREDENTIAL_KEYS.contains(&key) => Self::Credential,
            key if self == Self::Setting && VARIABLE_KEYS.contains(&key) => Self::Variable,
            _ => self,
        }
    }
}

/// The entry with secrets masked, and whether it has any.
pub(super) fn without_secrets(entry: &Table) -> (Table, bool) {
    let mut masked = entry.clone();
    mask_arguments(&mut masked);
    for (key, value) in &mut masked {
        mask(key, value, LiteralKind::Setting.below("", key));
    }
    let has_secrets = masked != *entry;
    (masked, has_secrets)
}

/// The program and its arguments: an option may announce the next one as a secret.
fn mask_arguments(entry: &mut Table) {
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    let command = entry.get("command").and_then(texts);
    let args = entry.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(texts);
    let words: Vec<String> = command.iter().cloned().chain(args).collect();
    let masked = arguments::masked(&words);
    if masked == words {
        return;
    }
    let mut masked = masked.into_iter();
    if command.is_some() {
        entry.insert("command".into(), masked.next().unwrap_or_default().into());
    }
    entry.insert(
        "args".into(),
        Value::Array(masked.map(Value::from).collect()),
    );
}

fn mask(name: &str, value: &mut Value, kind: LiteralKind) {
    match value {
        Value::String(text) => {
            let address = text.contains("://").then(|| url::shown(text));
            // The string also differs if it has a fragment, which is not sent.
            match address.filter(|shown| shown != text) {
                Some(shown) => *text = shown,
                None if is_hidden(name, text, kind) => MASK.clone_into(text),
                None => {}
            }
        }
        Value::Array(values) if name != "args" => {
            for value in values {
                mask(name, value, kind);
            }
        }
        Value::Table(values) => {
            for (key, value) in values {
                mask(key, value, kind.below(name, key));
            }
        }
        _ => {}
    }
}

fn is_hidden(name: &str, text: &str, kind: LiteralKind) -> bool {
    let is_mixed = text.contains("${");
    literals_in(text).into_iter().any(|literal| {
        let literal = literal.trim();
        if literal.is_empty() || (is_mixed && literal.len() < MIN_MIXED_SECRET_BYTES) {
            return false;
        }
        match kind {
            LiteralKind::Setting => is_secret(name, literal),
            LiteralKind::Variable => is_secret(name, literal) || may_be_generated(literal),
            LiteralKind::Credential => true,
        }
    })
}
