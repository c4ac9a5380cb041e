//! Messages about errors in a file.
//!
//! Invariant: a message contains no value of the file, which may be part of a secret: messages are logged and shown in
//! `status`.

use std::fmt::Display;

use serde::de::{self, DeserializeOwned};
use serde_json::{Map, Value};

use super::unknown_key_message;

/// The line and the column of an error in a file that is not TOML.
pub(super) fn position(error: &toml::de::Error, text: &str) -> Option<(usize, usize)> {
    let before = text.get(..error.span()?.start)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Some((line, column))
}

/// Begins the message for a value that its key does not allow: `= "soon" is not a duration`.
const WRONG_VALUE: &str = "= ";
/// Begins the message for an item of a list that its key does not allow.
pub(super) const HAS: &str = "has";

/// The error for a value that has the right type, and that its key does not allow. Only types whose values are never
/// secrets may use it.
pub(super) fn wrong_value<E: de::Error>(value: impl Display, why: impl Display) -> E {
    E::custom(format!("{WRONG_VALUE}{value} {why}"))
}

/// The message of a [`wrong_value`] with its key: `call_timeout = "soon" is not a duration`.
pub(super) fn of_value(error: &toml::de::Error) -> Option<String> {
    let message = error.message();
    let key = key_of(error)?;
    let is_wrong_value = [WRONG_VALUE, HAS]
        .iter()
        .any(|start| message.starts_with(start));
    is_wrong_value.then(|| format!("{key} {message}"))
}

/// The message for a key that does not exist, with the most similar key.
pub(super) fn of_unknown_key(error: &toml::de::Error) -> Option<String> {
    let message = error.message().strip_prefix("unknown field `")?;
    let (key, expected) = message.rsplit_once("`, expected ")?;
    let above = key_of(error).map_or_else(String::new, |above| format!("{above}."));
    let known = expected.split('`').skip(1).step_by(2);
    let known: Vec<String> = known.map(|known| format!("{above}{known}")).collect();
    Some(unknown_key_message(&format!("{above}{key}"), &known))
}

/// The message for an unknown key, or for a value of the wrong type: the expected type and the key.
pub(super) fn shape(error: &toml::de::Error) -> String {
    if let Some(message) = of_unknown_key(error) {
        return message;
    }
    let message = without_value(error.message());
    match key_of(error) {
        Some(key) => format!("{message} in `{key}`"),
        None => message,
    }
}

/// The key of a wrong value, if known. It is on the last line of an error: "in `args`".
fn key_of(error: &toml::de::Error) -> Option<String> {
    let shown = error.to_string();
    let line = shown.trim_end().lines().next_back()?;
    let key = line.strip_prefix("in `")?.strip_suffix('`')?;
    Some(key.to_owned())
}

/// The message for a document that is not JSON or has the wrong shape.
pub fn in_json(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // The position is at the end. A value could contain the same string before it.
    let place = match error.line() {
        0 => String::new(),
        line => format!(" at line {line} column {}", error.column()),
    };
    let message = message.strip_suffix(&place).unwrap_or(&message);
    format!("{}{place}", without_value(message))
}

/// The message for an entry of a document that has the wrong shape, with the key.
pub fn in_entry<T: DeserializeOwned>(entry: &Value, error: &serde_json::Error) -> String {
    let message = in_json(error);
    let mut members = entry.as_object().into_iter().flatten();
    // The key that is wrong even on its own.
    let wrong = members.find(|(key, value)| {
        let alone = Map::from_iter([((*key).clone(), (*value).clone())]);
        serde_json::from_value::<T>(Value::Object(alone)).is_err()
    });
    match wrong {
        Some((key, _)) => format!("{message} in `{key}`"),
        None => message,
    }
}

/// Removes the value from a message of serde, such as `invalid type: string "…", expected a sequence`.
pub(super) fn without_value(message: &str) -> String {
    let quotes = ["invalid ", "unknown variant "]
        .iter()
        .any(|words| message.starts_with(words));
    match message.rsplit_once(", expected ") {
        Some((_, expected)) if quotes && expected.starts_with("struct ") => {
            "must be a table".into()
        }
        Some((_, "i64")) if quotes => "must be a whole number".into(),
        Some((_, expected)) if quotes => format!("must be {expected}"),
        None if quotes && message.contains(['"', '`']) => "has an invalid value".into(),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    #[test]
    fn errors_contain_no_values() {
        for (text, expected) in [
            (
                "[servers.a]\nurl = \"x\"\nTOKEN sk-live-7\n",
                "line 3, column ",
            ),
            ("[servers.a]\nurl = \"sk-live-7\n", "line 2, column "),
            ("limits = \"sk-live-7\"", "must be"),
        ] {
            let error = Config::parse(text, "c.toml").unwrap_err().to_string();
            assert!(
                error.contains(expected) && !error.contains("sk-live"),
                "{error}"
            );
        }
        for (entry, expected) in [
            (
                "args = \"sk-live-7, expected sk-live-8\"",
                "must be a sequence in `args`",
            ),
            (
                "headers = { A = 'x', B = [\"sk-live-7\"] }",
                "in `headers.B`",
            ),
            ("env = \"sk-live-7\"", "must be a map in `env`"),
        ] {
            let config = Config::parse(&format!("[servers.a]\n{entry}\n"), "c.toml").unwrap();
            let error = config.servers["a"].as_ref().unwrap_err();
            assert!(
                error.contains(expected) && !error.contains("sk-live"),
                "{error}"
            );
        }
    }
}
