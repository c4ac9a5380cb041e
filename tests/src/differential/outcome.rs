//! The results of a client with a server, and whether one client reached less than another.
//!
//! Invariant: more is never worse: additional tools or blocks, or an answer where the other client has an error.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{case::Minimum, messages::QUOTA};

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Outcome {
    /// The names of the listed tools. `None` if the list failed.
    pub(super) tools: Option<Vec<String>>,
    /// The input schema of `echo`.
    pub(super) schema: Option<Value>,
    /// The answer of `echo`. `None` if the call failed.
    pub(super) answer: Option<Answer>,
    pub(super) error: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) content: Vec<Block>,
    pub(super) structured: Option<Value>,
    pub(super) is_error: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The text of a block of type `text`.
    pub(super) text: Option<String>,
}

impl Outcome {
    /// The results that only the other client has.
    pub(super) fn shortfalls(&self, other: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        if let Some(tools) = &other.tools {
            match &self.tools {
                None => missing.push("no tools".to_owned()),
                Some(mine) => {
                    let absent = tools
                        .iter()
                        .filter(|name| is_good(name) && !mine.contains(name));
                    missing.extend(absent.map(|name| format!("no tool {name}")));
                }
            }
        }
        match (&self.answer, &other.answer) {
            (None, Some(_)) => missing.push("no answer".to_owned()),
            (Some(mine), Some(theirs)) => missing.extend(mine.shortfalls(theirs)),
            // An answer is more than the text of an error.
            (Some(_), None) => {}
            (None, None) => {
                let has_words =
                    |outcome: &Self| outcome.error.as_deref().is_some_and(|e| e.contains(QUOTA));
                if has_words(other) && !has_words(self) {
                    missing.push("no words of the server's error".to_owned());
                }
            }
        }
        missing
    }

    /// Returns true if muxd rightly sends no call: the tool is not in the list, or its schema rejects the arguments. An
    /// SDK checks neither.
    pub(super) fn forbids_call(&self) -> bool {
        let is_listed = self.tools.iter().flatten().any(|name| name == "echo");
        let schema = self.schema.as_ref();
        let validator = schema.and_then(|schema| jsonschema::validator_for(schema).ok());
        let arguments = json!({ "text": "hi" });
        !is_listed || validator.is_some_and(|validator| !validator.is_valid(&arguments))
    }

    /// The required results of a case that are missing.
    pub(super) fn shortfalls_of_minimum(&self, minimum: &Minimum) -> Vec<String> {
        let mut missing = Vec::new();
        let tools = self.tools.as_deref().unwrap_or_default();
        let absent = minimum.tools.iter().filter(|name| !tools.contains(name));
        missing.extend(absent.map(|name| format!("no tool {name}")));
        if let Some(wanted) = &minimum.text {
            let texts = self.answer.as_ref().map(Answer::texts);
            if texts.as_ref() != Some(wanted) {
                missing.push(format!("the text is {texts:?} instead of {wanted:?}"));
            }
        }
        if let Some(wanted) = &minimum.structured {
            let structured = self.answer.as_ref().and_then(|a| a.structured.as_ref());
            if !structured.is_some_and(|mine| is_same(mine, wanted)) {
                missing.push(format!(
                    "the structured content is {structured:?} instead of {wanted}"
                ));
            }
        }
        if let Some(wanted) = &minimum.error {
            let error = self.error.as_deref().unwrap_or_default();
            if !error.contains(wanted) {
                missing.push(format!("the error lacks {wanted:?}"));
            }
        }
        missing
    }
}

impl Answer {
    /// The parts that only the other answer has.
    pub(super) fn shortfalls(&self, other: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut mine = self.content.iter();
        for block in &other.content {
            if !mine.any(|own| own == block) {
                missing.push(format!("no block {}", shortened(&format!("{block:?}"))));
            }
        }
        if let Some(theirs) = &other.structured
            && !self
                .structured
                .as_ref()
                .is_some_and(|mine| is_same(mine, theirs))
        {
            let mine = shortened(&format!("{:?}", self.structured));
            missing.push(format!(
                "structured content {mine} instead of {}",
                shortened(&theirs.to_string())
            ));
        }
        if self.is_error != other.is_error {
            missing.push(format!("isError is {}", self.is_error));
        }
        missing
    }

    fn texts(&self) -> Vec<String> {
        self.content
            .iter()
            .filter_map(|block| block.text.clone())
            .collect()
    }
}

/// Returns true if a tool has a name that the specification allows.
fn is_good(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    (1..=128).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Returns true if two values are equal where all numbers are doubles, as in TypeScript.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|o| is_same(value, o))
            };
            one.len() == other.len() && one.iter().all(has_same)
        }
        _ => one == other,
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(200)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Outcome, QUOTA};

    fn outcome(value: Value) -> Outcome {
        serde_json::from_value(value).unwrap()
    }

    fn answered(text: &str, structured: Value) -> Outcome {
        let content = json!([{ "type": "text", "text": text }, { "type": "image", "text": null }]);
        outcome(json!({
            "tools": ["echo", "first"],
            "answer": { "content": content, "structured": structured, "isError": false },
        }))
    }

    #[test]
    fn less_of_anything_is_a_shortfall() {
        let full = answered("hi", json!({ "n": 1.0 }));
        assert_eq!(full.shortfalls(&full), Vec::<String>::new());
        for less in [
            outcome(json!({})),
            outcome(json!({ "tools": ["first"] })),
            outcome(json!({ "tools": ["echo", "first"] })),
            answered("", json!({ "n": 1 })),
            answered("hi", json!(null)),
            answered("hi", json!({ "n": 2 })),
            answered("hi", json!({ "n": 1, "m": 1 })),
        ] {
            assert_ne!(less.shortfalls(&full), Vec::<String>::new(), "{less:?}");
        }
    }

    #[test]
    fn more_of_anything_is_no_shortfall() {
        let full = answered("hi", json!({ "n": 1 }));
        for less in [
            outcome(json!({})),
            outcome(json!({ "tools": ["echo", "", "a b"] })),
            outcome(json!({ "tools": ["echo"], "error": QUOTA })),
            answered("hi", json!({ "n": 1.0 })),
        ] {
            assert_eq!(full.shortfalls(&less), Vec::<String>::new(), "{less:?}");
        }
    }

    #[test]
    fn lost_words_of_an_error_are_a_shortfall() {
        let told = outcome(json!({ "tools": ["echo"], "error": format!("failed: {QUOTA}") }));
        let silent = outcome(json!({ "tools": ["echo"], "error": "timeout" }));
        assert_eq!(silent.shortfalls(&told).len(), 1);
        assert_eq!(told.shortfalls(&silent).len(), 0);
    }
}
