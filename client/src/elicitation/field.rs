//! One field of a form: its schema, and the values of typed lines.
//!
//! Invariant: a value that is returned fits the schema, and no error repeats typed input, which may be a secret.

use mux_secrets::{Suspicion, suspicion};
use serde::Deserialize;
use serde_json::{Number, Value};
use toml_edit::Datetime;
use url::Url;

/// Leaves out an optional field that has a default.
pub(crate) const SKIP_ANSWER: &str = "-";

#[derive(Debug)]
pub(crate) struct FormField {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) kind: FieldKind,
    pub(crate) is_required: bool,
    pub(crate) is_secret: bool,
    /// Only a default that fits the schema.
    pub(crate) default: Option<Value>,
}

#[derive(Debug)]
pub(crate) enum FieldKind {
    Text {
        /// In characters.
        min: u64,
        max: Option<u64>,
        format: Option<TextFormat>,
    },
    Number {
        is_integer: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
    Boolean,
    OneOf(Vec<EnumChoice>),
    AnyOf {
        choices: Vec<EnumChoice>,
        min: u64,
        max: Option<u64>,
    },
    /// Any JSON: MCP does not allow this schema in forms.
    Json,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TextFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

#[derive(Debug)]
pub(crate) struct EnumChoice {
    pub(crate) value: Value,
    /// The display text of the choice.
    pub(crate) title: String,
}

/// The keywords of a field's schema that MCP allows, of all kinds of fields.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FieldSchema {
    r#type: String,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    format: Option<String>,
    write_only: bool,
    min_length: u64,
    max_length: Option<u64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_items: u64,
    max_items: Option<u64>,
    r#enum: Option<Vec<Value>>,
    enum_names: Vec<String>,
    #[serde(alias = "anyOf")]
    one_of: Option<Vec<TitledConst>>,
    items: Option<Box<FieldSchema>>,
}

#[derive(Deserialize)]
struct TitledConst {
    r#const: Value,
    title: Option<String>,
}

impl FormField {
    pub(super) fn parse(name: &str, schema: &Value, is_required: bool) -> Self {
        let mut read = FieldSchema::deserialize(schema).unwrap_or_default();
        let title = read.title.take();
        let description = read.description.take();
        let default = read.default.take();
        let is_secret = read.write_only
            || read.format.as_deref() == Some("password")
            || suspicion(name) >= Suspicion::Likely
            || title.as_deref().map(suspicion) == Some(Suspicion::Certain);
        let kind = read.into_kind();
        Self {
            name: name.to_owned(),
            title,
            description,
            is_required,
            // A choice from a list is not a secret.
            is_secret: is_secret
                && matches!(
                    kind,
                    FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Json
                ),
            default: default.filter(|value| kind.check(value).is_ok()),
            kind,
        }
    }

    /// Returns true if [`SKIP_ANSWER`] leaves the field out, because an empty line takes the default.
    pub(crate) fn skips_by_dash(&self) -> bool {
        !self.is_required && self.default.is_some()
    }

    /// The value of a typed line, or `None` to leave the field out. The error says what is wrong.
    pub(crate) fn parse_line(&self, line: &str) -> Result<Option<Value>, String> {
        let is_empty = match self.kind {
            FieldKind::Text { .. } => line.is_empty(),
            _ => line.trim().is_empty(),
        };
        match (&self.default, &self.kind) {
            (Some(default), _) if is_empty => Ok(Some(default.clone())),
            (None, _) if is_empty && !self.is_required => Ok(None),
            (None, FieldKind::AnyOf { min: 0, .. }) if is_empty => Ok(Some(Value::Array(vec![]))),
            (None, _) if is_empty => Err("this field is required".into()),
            _ if self.skips_by_dash() && line.trim() == SKIP_ANSWER => Ok(None),
            _ => self.kind.parse_text(line).map(Some),
        }
    }
}

impl FieldSchema {
    fn into_kind(mut self) -> FieldKind {
        let min = self.min_items;
        let max = self.max_items;
        match (self.r#type.as_str(), self.items.take()) {
            ("array", Some(items)) => match items.into_choices() {
                Some(choices) => FieldKind::AnyOf { choices, min, max },
                None => FieldKind::Json,
            },
            ("string", _) if self.r#enum.is_none() && self.one_of.is_none() => FieldKind::Text {
                min: self.min_length,
                max: self.max_length,
                format: self.format.as_deref().and_then(TextFormat::from_name),
            },
            ("number" | "integer", _) if self.r#enum.is_none() => FieldKind::Number {
                is_integer: self.r#type == "integer",
                min: self.minimum,
                max: self.maximum,
            },
            ("boolean", _) => FieldKind::Boolean,
            _ => match self.into_choices() {
                Some(choices) => FieldKind::OneOf(choices),
                None => FieldKind::Json,
            },
        }
    }

    /// The values of an enumeration, or `None` if there are none.
    fn into_choices(self) -> Option<Vec<EnumChoice>> {
        let choices: Vec<EnumChoice> = match (self.r#enum, self.one_of) {
            (Some(values), _) => {
                let mut names = self.enum_names.into_iter();
                let values = values.into_iter();
                values
                    .map(|value| EnumChoice::new(value, names.next()))
                    .collect()
            }
            (None, Some(titled)) => titled
                .into_iter()
                .map(|it| EnumChoice::new(it.r#const, it.title))
                .collect(),
            (None, None) => return None,
        };
        (!choices.is_empty()).then_some(choices)
    }
}

impl EnumChoice {
    fn new(value: Value, title: Option<String>) -> Self {
        let title = title.unwrap_or_else(|| plain_text(&value));
        Self { value, title }
    }
}

/// A string without quotes, or JSON.
fn plain_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if choices can be chosen by their number in the list, unless one of them looks like a number
/// itself.
pub(crate) fn is_numbered(choices: &[EnumChoice]) -> bool {
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    let mut all = choices.iter();
    !all.any(|choice| is_number(&choice.title) || is_number(&plain_text(&choice.value)))
}

/// The choice with this value, title or number.
fn find_choice<'a>(choices: &'a [EnumChoice], text: &str) -> Option<&'a EnumChoice> {
    let text = text.trim();
    let exact = |choice: &&EnumChoice| choice.title == text || plain_text(&choice.value) == text;
    if let Some(choice) = choices.iter().find(exact) {
        return Some(choice);
    }
    if is_numbered(choices)
        && let Ok(number) = text.parse::<usize>()
    {
        return choices.get(number.checked_sub(1)?);
    }
    let folded = text.to_lowercase();
    let mut alike = choices.iter().filter(|choice| {
        choice.title.to_lowercase() == folded || plain_text(&choice.value).to_lowercase() == folded
    });
    alike.next().filter(|_| alike.next().is_none())
}

impl TextFormat {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            _ => return None,
        })
    }

    fn check(self, text: &str) -> Result<(), String> {
        let date = || text.parse::<Datetime>().ok();
        let (fits, expected) = match self {
            Self::Email => {
                let parts = text.rsplit_once('@');
                let fits = parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
                (
                    fits && !text.contains(char::is_whitespace),
                    "an email address",
                )
            }
            Self::Uri => (Url::parse(text).is_ok(), "a URL with its scheme"),
            Self::Date => {
                let fits = date().is_some_and(|it| it.date.is_some() && it.time.is_none());
                (fits, "a date such as 2026-01-31")
            }
            Self::DateTime => {
                let is_full = |it: Datetime| it.date.is_some() && it.offset.is_some();
                let fits = date().is_some_and(is_full) && text.contains(['T', 't']);
                (fits, "a date and time such as 2026-01-31T18:00:00Z")
            }
        };
        if fits {
            Ok(())
        } else {
            Err(format!("this is not {expected}"))
        }
    }
}

impl FieldKind {
    fn parse_text(&self, text: &str) -> Result<Value, String> {
        let answer = text.trim();
        let value = match self {
            Self::Text { format: None, .. } => Value::from(text),
            Self::Text { .. } => Value::from(answer),
            Self::Number { is_integer, .. } => {
                let integer = answer.parse::<i64>().map(Number::from);
                let number = if *is_integer {
                    integer.ok()
                } else {
                    let float = || Number::from_f64(answer.parse().ok()?);
                    integer.ok().or_else(float)
                };
                let missing = if *is_integer {
                    "this is not a whole number"
                } else {
                    "this is not a number"
                };
                Value::Number(number.ok_or(missing)?)
            }
            Self::Boolean => match answer.to_lowercase().as_str() {
                "y" | "yes" | "true" => Value::Bool(true),
                "n" | "no" | "false" => Value::Bool(false),
                _ => return Err("answer yes or no".into()),
            },
            Self::OneOf(choices) => find_choice(choices, answer)
                .ok_or("this is not one of the choices")?
                .value
                .clone(),
            Self::AnyOf { choices, .. } => {
                let mut chosen: Vec<Value> = Vec::new();
                // A choice may contain a comma.
                let parts = match find_choice(choices, answer) {
                    Some(_) => vec![answer],
                    None => answer.split(',').collect(),
                };
                for part in parts.into_iter().filter(|part| !part.trim().is_empty()) {
                    let choice = find_choice(choices, part).ok_or(
                        "not all of these are among the choices; separate them with commas",
                    )?;
                    if !chosen.contains(&choice.value) {
                        chosen.push(choice.value.clone());
                    }
                }
                Value::Array(chosen)
            }
            Self::Json => {
                serde_json::from_str(answer).map_err(|_| "this is not a JSON value".to_owned())?
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks a value against the schema.
    fn check(&self, value: &Value) -> Result<(), String> {
        match self {
            Self::Text { min, max, format } => {
                let text = value.as_str().ok_or("this is not a string")?;
                check_count(text.chars().count(), "character", *min, *max)?;
                format.map_or(Ok(()), |format| format.check(text))
            }
            Self::Number {
                is_integer,
                min,
                max,
            } => {
                let number = value.as_f64().ok_or("this is not a number")?;
                match (min, max) {
                    _ if *is_integer && number.fract() != 0.0 => {
                        Err("this is not a whole number".into())
                    }
                    (Some(min), _) if number < *min => Err(format!("it must be at least {min}")),
                    (_, Some(max)) if number > *max => Err(format!("it must be at most {max}")),
                    _ => Ok(()),
                }
            }
            Self::Boolean => {
                if value.is_boolean() {
                    Ok(())
                } else {
                    Err("answer yes or no".into())
                }
            }
            Self::OneOf(choices) => is_choice(choices, value),
            Self::AnyOf { choices, min, max } => {
                let chosen = value.as_array().ok_or("this is not a list")?;
                chosen.iter().try_for_each(|it| is_choice(choices, it))?;
                check_count(chosen.len(), "choice", *min, *max)
            }
            Self::Json => Ok(()),
        }
    }
}

fn is_choice(choices: &[EnumChoice], value: &Value) -> Result<(), String> {
    let is_it = choices.iter().any(|choice| choice.value == *value);
    is_it
        .then_some(())
        .ok_or_else(|| "this is not one of the choices".into())
}

fn check_count(count: usize, what: &str, min: u64, max: Option<u64>) -> Result<(), String> {
    let count = count as u64;
    let amount = |limit: u64| format!("{limit} {what}{}", if limit == 1 { "" } else { "s" });
    match max {
        _ if count < min => Err(format!("it must have at least {}", amount(min))),
        Some(max) if count > max => Err(format!("it must have at most {}", amount(max))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(schema: &Value) -> FormField {
        FormField::parse("f", schema, true)
    }

    #[test]
    fn typed_line_becomes_a_value_of_the_schema() {
        let titled = json!([{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }]);
        for (schema, line, value) in [
            (json!({ "type": "string" }), " Ada ", json!(" Ada ")),
            (
                json!({ "type": "string", "format": "email" }),
                " a@b.c ",
                json!("a@b.c"),
            ),
            (
                json!({ "type": "string", "format": "uri" }),
                "https://x.test",
                json!("https://x.test"),
            ),
            (
                json!({ "type": "string", "format": "date" }),
                "1960-02-29",
                json!("1960-02-29"),
            ),
            (
                json!({ "type": "string", "format": "date-time" }),
                "2026-01-31T18:00:00+02:00",
                json!("2026-01-31T18:00:00+02:00"),
            ),
            (
                json!({ "type": "string", "format": "password" }),
                "x",
                json!("x"),
            ),
            (
                json!({ "type": "string", "maxLength": 2 }),
                "éé",
                json!("éé"),
            ),
            (json!({ "type": "integer" }), " -7", json!(-7)),
            (json!({ "type": "number", "maximum": 2 }), "1.5", json!(1.5)),
            (json!({ "type": "number" }), "2", json!(2)),
            (json!({ "type": "boolean" }), "Y", json!(true)),
            (json!({ "type": "boolean" }), "false", json!(false)),
            (
                json!({ "type": "string", "enum": ["red", "blue"] }),
                "2",
                json!("blue"),
            ),
            (
                json!({ "type": "string", "enum": ["red", "blue"] }),
                "RED",
                json!("red"),
            ),
            (
                json!({ "type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"] }),
                "Blue",
                json!("b"),
            ),
            (
                json!({ "type": "string", "oneOf": titled }),
                "1",
                json!("r"),
            ),
            // Choices that look like numbers have none.
            (
                json!({ "type": "string", "enum": ["3", "2", "1"] }),
                "1",
                json!("1"),
            ),
            (
                json!({ "type": "integer", "enum": [10, 20] }),
                "20",
                json!(20),
            ),
            (
                json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b, c", "d"] } }),
                "3, a, d",
                json!(["d", "a"]),
            ),
            (
                json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b, c"] } }),
                "b, c",
                json!(["b, c"]),
            ),
            (
                json!({ "type": "array", "items": { "anyOf": titled } }),
                "blue",
                json!(["b"]),
            ),
            (
                json!({ "type": "array", "items": { "anyOf": titled } }),
                "",
                json!([]),
            ),
            (json!({ "type": "object" }), "{\"a\": 1}", json!({ "a": 1 })),
        ] {
            let read = field(&schema).parse_line(line);
            assert_eq!(read, Ok(Some(value)), "{schema} {line:?}");
        }
    }

    #[test]
    fn invalid_line_is_rejected_with_a_reason_that_does_not_repeat_it() {
        for (schema, line, reason) in [
            (json!({ "type": "string" }), "", "required"),
            (
                json!({ "type": "string", "minLength": 12 }),
                "hunter2",
                "at least 12 characters",
            ),
            (
                json!({ "type": "string", "maxLength": 1 }),
                "hunter2",
                "at most 1 character",
            ),
            (
                json!({ "type": "string", "format": "email" }),
                "hunter2",
                "an email address",
            ),
            (
                json!({ "type": "string", "format": "uri" }),
                "hunter2",
                "a URL",
            ),
            (
                json!({ "type": "string", "format": "date" }),
                "2026-02-29",
                "a date such as",
            ),
            (
                json!({ "type": "string", "format": "date" }),
                "2026-02-28T10:00:00Z",
                "a date such as",
            ),
            (
                json!({ "type": "string", "format": "date-time" }),
                "2026-02-28",
                "a date and time",
            ),
            (json!({ "type": "integer" }), "1.5", "a whole number"),
            (
                json!({ "type": "integer", "minimum": 1 }),
                "0",
                "at least 1",
            ),
            (
                json!({ "type": "number", "maximum": 2.5 }),
                "2.6",
                "at most 2.5",
            ),
            (json!({ "type": "number" }), "inf", "a number"),
            (json!({ "type": "boolean" }), "maybe", "yes or no"),
            (
                json!({ "type": "string", "enum": ["a"] }),
                "2",
                "one of the choices",
            ),
            (
                json!({ "type": "string", "enum": ["A", "a"] }),
                "á",
                "one of the choices",
            ),
            (
                json!({ "type": "array", "minItems": 2, "items": { "enum": ["a", "b"] } }),
                "a, a",
                "at least 2 choices",
            ),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b"] } }),
                "a, c",
                "separate",
            ),
            (json!({ "type": "object" }), "hunter2", "a JSON value"),
        ] {
            let why = field(&schema).parse_line(line).unwrap_err();
            assert!(
                why.contains(reason) && !why.contains("hunter2"),
                "{schema}: {why}"
            );
        }
    }

    #[test]
    fn empty_line_takes_the_default_or_skips_an_optional_field() {
        let colors = json!(["red", "blue"]);
        let optional = |schema| FormField::parse("f", &schema, false);
        assert_eq!(
            optional(json!({ "type": "boolean" })).parse_line(" "),
            Ok(None)
        );
        let with_default = json!({ "type": "string", "enum": colors, "default": "blue" });
        assert_eq!(field(&with_default).parse_line(""), Ok(Some(json!("blue"))));
        assert_eq!(optional(with_default.clone()).parse_line("-"), Ok(None));
        assert!(field(&with_default).parse_line("-").is_err());
        // A dash is an answer where an empty line skips.
        let text = optional(json!({ "type": "string" }));
        assert_eq!(text.parse_line("-"), Ok(Some(json!("-"))));
        // A default that does not fit is none.
        let wrong = json!({ "type": "string", "enum": colors, "default": "green" });
        assert!(field(&wrong).parse_line("").is_err());
    }

    #[test]
    fn text_fields_that_look_like_secrets_are_hidden() {
        for (name, schema, hidden) in [
            ("password", json!({ "type": "string" }), true),
            ("apiKey", json!({ "type": "string" }), true),
            ("otp", json!({ "type": "string" }), true),
            (
                "x",
                json!({ "type": "string", "title": "Your access token" }),
                true,
            ),
            ("x", json!({ "type": "string", "format": "password" }), true),
            ("x", json!({ "type": "string", "writeOnly": true }), true),
            ("name", json!({ "type": "string" }), false),
            (
                "auth",
                json!({ "type": "string", "enum": ["oauth", "none"] }),
                false,
            ),
            ("password", json!({ "type": ["string", "null"] }), true),
            ("otp", json!({ "type": "integer" }), true),
        ] {
            let is_secret = FormField::parse(name, &schema, true).is_secret;
            assert_eq!(is_secret, hidden, "{name} {schema}");
        }
    }
}
