//! What a mistake in a file is called.
//!
//! Invariant: no word of it is a value of the file, which may be half of a secret and would stand in the
//! log and in `status`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A text that is not TOML: what is wrong and where.
pub(super) fn syntax(error: &toml::de::Error, text: &str) -> String {
    let message = without_value(error.message());
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return message;
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: {message}")
}

/// A value of another shape: what is expected and of which key.
pub(super) fn shape(error: &toml::de::Error) -> String {
    let message = without_value(error.message());
    // The key, where it is known, stands below the message: "in `args`".
    let shown = error.to_string();
    let key = shown.trim_end().lines().next_back();
    match key.filter(|line| line.starts_with("in `")) {
        Some(key) => format!("{message} {key}"),
        None => message,
    }
}

/// A document that is not JSON, or of another shape.
pub fn in_json(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // Behind it stands where it is, and a value may say the same before it.
    let place = match error.line() {
        0 => String::new(),
        line => format!(" at line {line} column {}", error.column()),
    };
    let message = message.strip_suffix(&place).unwrap_or(&message);
    format!("{}{place}", without_value(message))
}

/// One entry of a document that is of another shape, and which key it is.
pub fn in_entry<T: DeserializeOwned>(entry: &Value, error: &serde_json::Error) -> String {
    let message = in_json(error);
    let mut members = entry.as_object().into_iter().flatten();
    // The one that is wrong by itself, too.
    let wrong = members.find(|(key, value)| {
        let alone = Map::from_iter([((*key).clone(), (*value).clone())]);
        serde_json::from_value::<T>(Value::Object(alone)).is_err()
    });
    match wrong {
        Some((key, _)) => format!("{message} in `{key}`"),
        None => message,
    }
}

/// serde's words are "invalid type: string "…", expected a sequence".
fn without_value(message: &str) -> String {
    let quotes = ["invalid ", "unknown variant "]
        .iter()
        .any(|words| message.starts_with(words));
    match message.rsplit_once(", expected ") {
        Some((_, expected)) if quotes && expected.starts_with("struct ") => {
            "must be a table".into()
        }
        Some((_, expected)) if quotes => format!("must be {expected}"),
        None if quotes && message.contains(['"', '`']) => "is not as it must be".into(),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    #[test]
    fn a_secret_stands_in_no_error() {
        for (text, told) in [
            (
                "[servers.a]\nurl = \"x\"\nTOKEN sk-live-7\n",
                "line 3, column ",
            ),
            ("[servers.a]\nurl = \"sk-live-7\n", "line 2, column "),
            ("limits = \"sk-live-7\"", "must be"),
        ] {
            let error = Config::parse(text, "c.toml").unwrap_err().to_string();
            assert!(
                error.contains(told) && !error.contains("sk-live"),
                "{error}"
            );
        }
        for (entry, told) in [
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
                error.contains(told) && !error.contains("sk-live"),
                "{error}"
            );
        }
    }
}
