//! Messages about errors in a file.
//!
//! Invariant: a message contains no value of the file, which may be part of a secret: messages are logged and shown in
//! `status`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The line and the column of an error in a file that is not TOML.
pub(super) fn position(error: &toml::de::Error, text: &str) -> Option<(usize, usize)> {
    let before = text.get(..error.span()?.start)?;
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    Some((line, column))
}

/// The message for a value of the wrong type: the expected type and the key.
pub(super) fn shape(error: &toml::de::Error) -> String {
    let message = without_value(error.message());
    // The key, if known, is on the line below the message: "in `args`".
    let shown = error.to_string();
    let key = shown.trim_end().lines().next_back();
    match key.filter(|line| line.starts_with("in `")) {
        Some(key) => format!("{message} {key}"),
        None => message,
    }
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
