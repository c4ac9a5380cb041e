//! The documentation of a value in a schema, as one JSDoc block.
//!
//! Invariant: a `ValueDoc` contains only text that `sanitize` has sanitized, and can be written unchanged.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::sanitize;

/// The documentation of one value: a description, and tags for limits that a type cannot express.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ValueDoc {
    /// The schema's title, until `settle` decides whether it is used.
    title: String,
    /// The description, one or more lines.
    pub(super) text: String,
    /// Each `@name value`, in a fixed order.
    pub(super) tags: Vec<String>,
}

/// Keywords that become tags when their value is a number, a string or `true`, in order.
const TAG_KEYWORDS: &[(&str, &str)] = &[
    ("format", "format"),
    ("pattern", "pattern"),
    ("contentEncoding", "encoding"),
    ("contentMediaType", "mediaType"),
    ("minimum", "minimum"),
    ("exclusiveMinimum", "exclusiveMinimum"),
    ("maximum", "maximum"),
    ("exclusiveMaximum", "exclusiveMaximum"),
    ("multipleOf", "multipleOf"),
    ("minLength", "minLength"),
    ("maxLength", "maxLength"),
    ("minItems", "minItems"),
    ("maxItems", "maxItems"),
    ("uniqueItems", "uniqueItems"),
    ("minProperties", "minProperties"),
    ("maxProperties", "maxProperties"),
    ("deprecated", "deprecated"),
];

/// The maximum number of examples that are shown.
const MAX_EXAMPLES: usize = 3;

impl ValueDoc {
    pub(super) fn of(schema: &Map<String, Value>) -> Self {
        let word = |keyword| schema.get(keyword).and_then(Value::as_str);
        let mut tags = Vec::new();
        for (keyword, tag) in TAG_KEYWORDS {
            match schema.get(*keyword) {
                Some(Value::Number(n)) if is_safe_integer_bound(n) => {}
                Some(Value::Number(n)) => tags.push(format!("@{tag} {n}")),
                Some(Value::String(s)) => {
                    tags.push(format!("@{tag} {}", sanitize::sanitize_line(s)));
                }
                Some(Value::Bool(true)) => tags.push(format!("@{tag}")),
                _ => {}
            }
        }
        if let Some(default) = schema.get("default") {
            tags.push(format!(
                "@default {}",
                sanitize::sanitize_line(&default.to_string())
            ));
        }
        let examples = schema.get("examples").and_then(Value::as_array);
        let examples = examples.into_iter().flatten().chain(schema.get("example"));
        for example in examples.take(MAX_EXAMPLES) {
            tags.push(format!(
                "@example {}",
                sanitize::sanitize_line(&example.to_string())
            ));
        }
        Self {
            title: word("title")
                .map(sanitize::sanitize_line)
                .unwrap_or_default(),
            text: word("description")
                .map(sanitize::sanitize_description)
                .unwrap_or_default(),
            tags,
        }
    }

    /// Documentation from a text and tags, both sanitized by the `sanitize` module.
    pub(super) fn from_sanitized(text: String, tags: Vec<String>) -> Self {
        Self {
            title: String::new(),
            text,
            tags,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tags.is_empty()
    }

    /// Uses the title for a missing description, unless it only repeats `name`.
    pub(super) fn resolve_title(mut self, name: &str) -> Self {
        let title = std::mem::take(&mut self.title);
        if self.text.is_empty() && !sanitize::equal_ignoring_punctuation(&title, name) {
            self.text = title;
        }
        self
    }

    pub(super) fn untitled(mut self) -> Self {
        self.title.clear();
        self
    }

    /// Adds the description and the tags of `inner` that are missing here.
    pub(super) fn absorb(&mut self, inner: ValueDoc) {
        if self.text.is_empty() {
            self.text = inner.text;
        }
        for tag in inner.tags {
            if !self.tags.contains(&tag) {
                self.tags.push(tag);
            }
        }
    }

    /// The documentation on one line, for a note inside another block.
    pub(super) fn one_line(&self) -> String {
        let words = std::iter::once(self.text.as_str()).chain(self.tags.iter().map(String::as_str));
        sanitize::sanitize_line(
            &words
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" "),
        )
    }

    /// The whole comment, each line indented by `pad` blanks and terminated; empty if there is no documentation.
    pub(super) fn block(&self, pad: usize) -> String {
        let tags = self.tags.join(" ");
        let pad = " ".repeat(pad);
        match (self.text.as_str(), tags.as_str()) {
            ("", "") => String::new(),
            ("", tags) => format!("{pad}/** {tags} */\n"),
            (text, "") if !text.contains('\n') => format!("{pad}/** {text} */\n"),
            (text, tags) if !text.contains('\n') => format!("{pad}/** {text} {tags} */\n"),
            (text, tags) => {
                let mut block = format!("{pad}/**\n");
                for line in text
                    .lines()
                    .chain(Some(tags).filter(|tags| !tags.is_empty()))
                {
                    let line = format!("{pad} * {line}");
                    block.push_str(line.trim_end());
                    block.push('\n');
                }
                _ = writeln!(block, "{pad} */");
                block
            }
        }
    }
}

/// Returns true for a bound of the exactly representable integers, which generators write for every integer and
/// which is noise to a reader.
fn is_safe_integer_bound(n: &serde_json::Number) -> bool {
    n.as_f64()
        .is_some_and(|n| n.abs() >= 9_007_199_254_740_991.0)
}
