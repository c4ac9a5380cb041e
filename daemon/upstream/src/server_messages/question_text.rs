//! Sanitizes the text of a server's question before a user reads it.
//!
//! Names and constants of a form stay unchanged, because an answer has to use them exactly. A name or constant that
//! would display misleadingly gets a sanitized title.
//!
//! Invariant: displayed text has no invisible characters, titles have one line, and a message is short enough to keep
//! the line above it, which names the server, in view.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use mux_caller::QuestionKind;
use mux_text::sanitize::{self, is_unseen};

/// The maximum number of lines shown of a message.
const MAX_MESSAGE_LINES: usize = 40;
/// The maximum number of bytes shown of a message.
const MAX_SHOWN_MESSAGE_BYTES: usize = 4 << 10;
/// The maximum number of characters shown of a title.
const MAX_TITLE_CHARS: usize = 200;
/// Members of a form that are displayed on one line.
const ONE_LINE_FIELDS: &[&str] = &["title", "description"];

/// Sanitizes the `params` of an MCP request in place.
pub(super) fn sanitize_question(kind: QuestionKind, params: &mut Value) {
    let Some(params) = params.as_object_mut() else {
        return;
    };
    match kind {
        QuestionKind::Elicitation => {
            sanitize_member(params, "message", sanitize_message);
            sanitize_member(params, "url", |url| sanitize_title(url, usize::MAX));
            if let Some(form) = params.get_mut("requestedSchema") {
                sanitize_form(form);
            }
        }
        // The messages for a model are data. The system prompt is shown above them to a user who reviews them.
        QuestionKind::Sampling => sanitize_member(params, "systemPrompt", sanitize_message),
        QuestionKind::Roots | QuestionKind::Approval => {}
    }
}

fn sanitize_member(members: &mut Map<String, Value>, name: &str, clean: impl Fn(&str) -> String) {
    if let Some(Value::String(text)) = members.get_mut(name) {
        *text = clean(text);
    }
}

/// Keeps paragraphs, removes other blank lines.
fn sanitize_message(text: &str) -> String {
    let text = sanitize::clean(text);
    let mut shown = String::with_capacity(text.len().min(MAX_SHOWN_MESSAGE_BYTES));
    let mut lines = 0;
    let mut blank = false;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            blank = lines > 0;
            continue;
        }
        let needed = line.len() + 2;
        if lines == MAX_MESSAGE_LINES || shown.len() + needed > MAX_SHOWN_MESSAGE_BYTES {
            let room = if lines == MAX_MESSAGE_LINES {
                0
            } else {
                line.floor_char_boundary(MAX_SHOWN_MESSAGE_BYTES.saturating_sub(shown.len() + 2))
            };
            if room > 0 {
                begin_line(&mut shown, blank);
                shown.push_str(&line[..room]);
            }
            let bytes = text.len();
            _ = write!(
                shown,
                "\n… (the message has {bytes} bytes; muxd shows {MAX_MESSAGE_LINES} lines, {MAX_SHOWN_MESSAGE_BYTES} bytes)"
            );
            return shown;
        }
        begin_line(&mut shown, blank);
        shown.push_str(line);
        lines += 1;
        blank = false;
    }
    shown
}

fn begin_line(shown: &mut String, blank: bool) {
    if !shown.is_empty() {
        shown.push('\n');
        if blank {
            shown.push('\n');
        }
    }
}

/// Puts the text on one line of at most `most` characters.
fn sanitize_title(text: &str, most: usize) -> String {
    let text = sanitize::clean(text);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if let Some((cut, _)) = line.char_indices().nth(most) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

fn is_plain(text: &str) -> bool {
    text.chars().nth(MAX_TITLE_CHARS).is_none()
        && !text.contains(|letter: char| is_unseen(letter) || "\n\t".contains(letter))
}

/// Sanitizes any part of a form: an object with titles, or a container of such objects.
fn sanitize_form(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(sanitize_form),
        Value::Object(members) => {
            for name in ONE_LINE_FIELDS {
                sanitize_member(members, name, |text| sanitize_title(text, MAX_TITLE_CHARS));
            }
            if let Some(Value::Array(names)) = members.get_mut("enumNames") {
                for name in names {
                    if let Value::String(text) = name {
                        *text = sanitize_title(text, MAX_TITLE_CHARS);
                    }
                }
            } else if let Some(names) = names_of_values(members) {
                members.insert("enumNames".into(), names);
            }
            add_constant_title(members);
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("properties", Value::Object(fields)) => sanitize_fields(fields),
                    // Answers repeat these values exactly.
                    ("const" | "enum" | "enumNames" | "default" | "required", _) => {}
                    (_, member) => sanitize_form(member),
                }
            }
        }
        _ => {}
    }
}

/// Sanitizes the fields of a form. A client shows the name of a field without a title, so an unsafe name gets one.
fn sanitize_fields(fields: &mut Map<String, Value>) {
    for (name, field) in fields {
        sanitize_form(field);
        if let Value::Object(field) = field
            && !field.contains_key("title")
            && !is_plain(name)
        {
            field.insert("title".into(), sanitize_title(name, MAX_TITLE_CHARS).into());
        }
    }
}

/// Display names for `enum` values if one of them is unsafe to display.
fn names_of_values(members: &Map<String, Value>) -> Option<Value> {
    let values = members.get("enum")?.as_array()?;
    let texts: Vec<&str> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
    if texts.iter().all(|text| is_plain(text)) {
        return None;
    }
    let names = texts
        .iter()
        .map(|text| sanitize_title(text, MAX_TITLE_CHARS));
    Some(Value::from(names.collect::<Vec<_>>()))
}

/// Adds a title to a `const` that is unsafe to display.
fn add_constant_title(members: &mut Map<String, Value>) {
    let Some(text) = members.get("const").and_then(Value::as_str) else {
        return;
    };
    if !members.contains_key("title") && !is_plain(text) {
        let title = sanitize_title(text, MAX_TITLE_CHARS);
        members.insert("title".into(), title.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(mut params: Value) -> Value {
        sanitize_question(QuestionKind::Elicitation, &mut params);
        params
    }

    #[test]
    fn message_loses_invisible_characters_and_blank_lines() {
        let text =
            "\n\n \n Your\u{202e} name?\u{1b}[2A\u{200b}\r\n\n\n\n  \nIt is for the log.\n\n\n";
        let params = cleaned(json!({ "message": text }));
        assert_eq!(params["message"], " Your name?[2A\n\nIt is for the log.");
    }

    #[test]
    fn long_message_is_truncated() {
        for text in [
            "x\n".repeat(5_000),
            "y".repeat(50_000),
            "é\n\n".repeat(3_000),
        ] {
            let params = cleaned(json!({ "message": text }));
            let shown = params["message"].as_str().unwrap();
            assert!(
                shown.lines().count() <= 2 * MAX_MESSAGE_LINES + 1,
                "{shown}"
            );
            assert!(
                shown.len() < MAX_SHOWN_MESSAGE_BYTES + 200,
                "{}",
                shown.len()
            );
            let end = format!("… (the message has {} bytes;", text.len());
            assert!(shown.lines().last().unwrap().starts_with(&end), "{shown}");
        }
        let short = "a line\n".repeat(MAX_MESSAGE_LINES);
        let params = cleaned(json!({ "message": short }));
        assert_eq!(params["message"], short.trim_end());
    }

    #[test]
    fn titles_become_one_line_and_answer_values_stay_unchanged() {
        let params = cleaned(json!({
            "message": "m",
            "requestedSchema": { "type": "object", "properties": {
                "plain": { "type": "string", "title": "A\nmuxd: approve?", "description": "d\u{200b}\n\ne" },
                "k\nMay x be called?": { "type": "string", "default": "v\u{200b}" },
                "list": { "type": "string", "enum": ["a", "b\u{202e}c"] },
                "named": { "type": "string", "enum": ["a\n"], "enumNames": ["A\n\u{feff}B"] },
                "one": { "oneOf": [{ "const": "x", "title": "X\tY" }, { "const": "z\n" }] },
                "title": { "type": "string", "title": "a field of that name" },
            } },
        }));
        assert_eq!(
            params["requestedSchema"]["properties"],
            json!({
                "plain": { "type": "string", "title": "A muxd: approve?", "description": "d e" },
                "k\nMay x be called?": {
                    "type": "string", "title": "k May x be called?", "default": "v\u{200b}",
                },
                "list": {
                    "type": "string", "enum": ["a", "b\u{202e}c"], "enumNames": ["a", "bc"],
                },
                "named": { "type": "string", "enum": ["a\n"], "enumNames": ["A B"] },
                "one": { "oneOf": [{ "const": "x", "title": "X Y" }, { "const": "z\n", "title": "z" }] },
                "title": { "type": "string", "title": "a field of that name" },
            })
        );
    }

    #[test]
    fn url_and_system_prompt_are_sanitized() {
        let params = cleaned(json!({
            "mode": "url", "message": "log\u{200b} in", "url": "https://x.test/\u{202e}a",
        }));
        assert_eq!(params["url"], "https://x.test/a");
        assert_eq!(params["message"], "log in");
        let mut params =
            json!({ "systemPrompt": "be\u{e0041} kind", "messages": [{ "content": "\u{200d}" }] });
        sanitize_question(QuestionKind::Sampling, &mut params);
        assert_eq!(
            params,
            json!({ "systemPrompt": "be kind", "messages": [{ "content": "\u{200d}" }] })
        );
    }
}
