//! The examples of the document: JSON code blocks that name the frame they show.

use std::{fmt::Write as _, fs};

use mux_tests::editors::source;
use serde_json::Value;

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
        let frame = source(&format!("tests/data/frames/{method}.{what}.json"));
        let frame = fs::read_to_string(frame).unwrap_or_else(|_| "null".into());
        let frame: Value = serde_json::from_str(&frame).unwrap();
        let message = match what {
            "request" => &frame["Request"]["message"],
            _ => &frame["message"]["Ok"],
        };
        writeln!(section, "```json {what} {method}\n{message:#}\n```\n").unwrap();
    }
    section
}
