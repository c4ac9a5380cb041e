//! How a program gets the text of a tool without an output schema: as null, parsed, or unchanged.
//!
//! The first conclusive text of a tool decides permanently: a JSON object or array with content means that the tool
//! answers in JSON, any other text that it answers in text. From then on a tool that answers in text gives each text
//! unchanged, even `[]`. `[]`, `{}` and JSON numbers, strings and booleans are inconclusive, and so is a void text:
//! empty, `null`, or `None` as Python prints it. A void text is null, unless the tool answered in text before.
//!
//! Invariant: a text that was a string once is a string in each later result of the tool, and a null stays null.

use mux_typegen::{TextForm, TextKind};
use mux_wire::{Fault, FaultKind};
use serde::de::IgnoredAny;
use serde_json::Value;

use mux_text::json_weight::{self, MAX_JSON_WEIGHT};

/// The value of a text, and what the text reveals about the form of the tool's texts.
pub(super) fn read_text(text: &str, form: TextForm) -> Result<(Value, TextForm), Fault> {
    let content = text.trim();
    let as_it_is = || Value::String(text.to_owned());
    let is_void = matches!(content, "" | "null" | "None");
    if is_void && (form.has_void || !form.is_text()) {
        let told = TextForm {
            has_void: true,
            ..TextForm::default()
        };
        return Ok((Value::Null, told));
    }
    if form.is_text() {
        return Ok((as_it_is(), TextForm::default()));
    }
    let told = |kind| TextForm {
        kind: Some(kind),
        ..TextForm::default()
    };
    match parse_collection(text)? {
        Some(value) if is_empty(&value) => Ok((value, TextForm::default())),
        Some(value) => Ok((value, told(TextKind::Json))),
        None if serde_json::from_str::<IgnoredAny>(content).is_ok() => {
            Ok((as_it_is(), TextForm::default()))
        }
        None => Ok((as_it_is(), told(TextKind::Text))),
    }
}

/// Parses text that is a JSON object or array.
pub(super) fn parse_collection(text: &str) -> Result<Option<Value>, Fault> {
    if !text.trim_start().starts_with(['{', '[']) {
        return Ok(None);
    }
    if json_weight::of(text.as_bytes(), MAX_JSON_WEIGHT).is_none() {
        return Err(too_heavy());
    }
    Ok(serde_json::from_str(text).ok())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn too_heavy() -> Fault {
    let message = format!(
        "the text of the result holds more than {MAX_JSON_WEIGHT} JSON values, {}",
        json_weight::WEIGHT_RULE_TEXT
    );
    Fault::new(FaultKind::Limit, message).hint(
        "this limit is fixed: ask for less, such as a smaller page, a range or fewer fields; `mux.call.raw` gives the \
         text as it is",
    )
}

#[cfg(test)]
mod tests {
    use mux_typegen::ResultShape;
    use serde_json::json;

    use super::*;

    /// The values that a program gets for the texts of one tool, one after the other.
    fn read(texts: &[&str]) -> Vec<Value> {
        let mut tool = ResultShape::new();
        let mut values = Vec::new();
        for text in texts {
            let (value, told) = read_text(text, tool.texts()).unwrap();
            tool.add_text_form(told);
            // The next daemon reads on in the same way.
            tool = ResultShape::from_bytes(&tool.to_bytes()).unwrap();
            values.push(value);
        }
        values
    }

    #[test]
    fn tool_that_answers_in_text_goes_on_doing_so() {
        for texts in [
            vec!["- a: 1", "[]", "{}", "[1]", "None", "null", "", "12"],
            vec!["{'a': None}", "[]", "{\"a\": 1}"],
            vec!["{\"a\": 1}\n{\"a\": 2}", "{\"a\": 1}"],
            vec!["12", "true", "\"x\"", "No results.", "[]"],
        ] {
            let as_they_are: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
            assert_eq!(read(&texts), as_they_are);
        }
    }

    #[test]
    fn tool_that_answers_in_json_goes_on_being_parsed() {
        let values = read(&[
            "[]",
            "{\"a\": 1}",
            "No results.",
            "[]",
            " [2]",
            "null",
            "{}",
        ]);
        let expected = json!([[], { "a": 1 }, "No results.", [], [2], null, {}]);
        assert_eq!(Value::from(values), expected);
    }

    #[test]
    fn void_text_is_null_until_the_tool_answers_in_text() {
        assert_eq!(
            read(&["None", "null", "", " \n", "None\n"]),
            vec![Value::Null; 5]
        );
        let values = read(&["None", "Ann", "[]", "None", "nothing"]);
        assert_eq!(
            Value::from(values),
            json!([null, "Ann", "[]", null, "nothing"])
        );
        let values = read(&["Ann", "None", ""]);
        assert_eq!(Value::from(values), json!(["Ann", "None", ""]));
        assert_eq!(
            Value::from(read(&["{\"a\": 1}", "None"])),
            json!([{ "a": 1 }, null])
        );
    }
}
