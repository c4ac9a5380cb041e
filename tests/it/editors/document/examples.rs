//! The examples of the document: JSON code blocks that name the frame they show.

use std::{fmt::Write as _, fs};

use mux_tests::editors::source;
use serde_json::Value;

const MAX_LINE_CHARS: usize = 118;

/// A code block that begins with "json request NAME" or "json response NAME".
pub(super) struct Example {
    /// The name of the recorded frame.
    pub(super) name: String,
    /// `request` or `response`.
    pub(super) what: String,
    pub(super) message: Value,
}

impl Example {
    pub(super) fn method(&self) -> String {
        method(self.message.as_object().unwrap().keys().next().unwrap())
    }

    /// The message with the id of an existing run.
    pub(super) fn with_run(&self, run: &str) -> Value {
        let text = self
            .message
            .to_string()
            .replace("\"r-1\"", &Value::from(run).to_string());
        serde_json::from_str(&text).unwrap()
    }
}

/// Converts `StartRun` to `start_run`.
pub(super) fn method(name: &str) -> String {
    let mut method = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !method.is_empty() {
            method.push('_');
        }
        method.extend(letter.to_lowercase());
    }
    method
}

pub(super) fn document() -> String {
    fs::read_to_string(source("proto/PROTOCOL.md")).unwrap()
}

/// All examples, in the order of the document.
pub(super) fn examples() -> Vec<Example> {
    let all = blocks();
    let of_methods = all.into_iter().filter(|(what, ..)| what != "envelope");
    of_methods
        .map(|(what, name, message)| Example {
            name,
            what,
            message,
        })
        .collect()
}

/// The document with the recorded frame in each example.
pub(super) fn with_recorded_frames() -> String {
    let text = document();
    let mut parts = text.split("\n```json ");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (head, rest) = part.split_once('\n').unwrap();
        let (json, after) = rest.split_once("\n```").unwrap();
        let json = match head.split_once(' ').unwrap() {
            ("envelope", _) => json.to_owned(),
            (what, name) => laid_out(&recorded(what, name), 0, 0),
        };
        write!(written, "\n```json {head}\n{json}\n```{after}").unwrap();
    }
    written
}

/// The message of a recorded frame.
pub(super) fn recorded(what: &str, name: &str) -> Value {
    let frame = source(&format!("tests/data/frames/{name}.{what}.json"));
    let frame = fs::read_to_string(frame).unwrap_or_else(|_| "null".into());
    let mut frame: Value = serde_json::from_str(&frame).unwrap();
    match what {
        "request" => frame["Request"]["message"].take(),
        _ => frame["message"]["Ok"].take(),
    }
}

/// JSON in lines that are as full as `MAX_LINE_CHARS` allows. `taken` characters precede it in its first line.
fn laid_out(value: &Value, indent: usize, taken: usize) -> String {
    let compact = compact(value);
    // A comma may follow.
    if taken + compact.chars().count() < MAX_LINE_CHARS {
        return compact;
    }
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let key = Value::from(key.as_str());
                let key = key.to_string();
                let taken = indent + 2 + key.chars().count() + 2;
                format!("{key}: {}", laid_out(value, indent + 2, taken))
            });
            ('{', '}', members.collect())
        }
        Value::Array(items) => {
            let items = items
                .iter()
                .map(|item| laid_out(item, indent + 2, indent + 2));
            ('[', ']', items.collect())
        }
        _ => return compact,
    };
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line)
                if !line.contains('\n')
                    && !item.contains('\n')
                    && indent + line.chars().count() + item.chars().count() + 5
                        <= MAX_LINE_CHARS =>
            {
                _ = write!(line, ", {item}");
            }
            _ => lines.push(item),
        }
    }
    let inner = " ".repeat(indent + 2);
    let lines = lines.join(&format!(",\n{inner}"));
    format!("{open}\n{inner}{lines}\n{}{close}", " ".repeat(indent))
}

/// JSON in one line, with a space after each comma and colon.
fn compact(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter();
            let members = members
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), compact(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(compact).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// A documented envelope.
pub(super) fn envelope(name: &str) -> Value {
    let found = blocks()
        .into_iter()
        .find(|(what, of, _)| what == "envelope" && of == name);
    found.unwrap_or_else(|| panic!("no envelope {name}")).2
}

/// The kind, the name and the JSON of each code block.
fn blocks() -> Vec<(String, String, Value)> {
    let text = document();
    let blocks = text.split("\n```json ").skip(1);
    blocks
        .map(|block| {
            let (head, rest) = block.split_once('\n').unwrap();
            let (what, name) = head.split_once(' ').unwrap();
            let json = rest.split("\n```").next().unwrap();
            let value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{head}: {e}"));
            (what.to_owned(), name.to_owned(), value)
        })
        .collect()
}

/// A template for the section of a method.
pub(super) fn section(method: &str) -> String {
    let mut section = format!("### `{method}`\n\n");
    for what in ["request", "response"] {
        let message = laid_out(&recorded(what, method), 0, 0);
        writeln!(section, "```json {what} {method}\n{message}\n```\n").unwrap();
    }
    section
}
