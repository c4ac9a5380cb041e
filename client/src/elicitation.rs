//! A server's question to the user (MCP's elicitation) as a dialog: prompts, and the meaning of typed lines.
//!
//! Invariants: an answer consists of values that the user typed or accepted as a default, and an accepted form has a
//! valid value for each required field. A page is only ever http or https.

mod field;

use std::mem;

use serde_json::{Map, Value, json};
use url::Url;

pub(crate) use self::field::{
    EnumChoice, FieldKind, FormField, SKIP_ANSWER, TextFormat, is_numbered,
};
use crate::web_url::parse_web_url;
use mux_typegen::normal_form::SchemaView;

/// The maximum number of fields that a user is asked for.
const MAX_FORM_FIELDS: usize = 64;
/// The maximum length of the address of a page, which is shown in full.
const MAX_PAGE_URL_BYTES: usize = 2_000;
/// Typed instead of the answer to a field, they end the form.
pub(crate) const DECLINE_COMMAND: &str = "/decline";
pub(crate) const CANCEL_COMMAND: &str = "/cancel";

/// One question of a server.
#[derive(Debug)]
pub(crate) struct ElicitationDialog {
    message: String,
    content: ElicitationContent,
}

#[derive(Debug)]
enum ElicitationContent {
    Form {
        fields: Vec<FormField>,
        /// The index of the current field. If there is no such field, all were answered.
        current: usize,
        values: Map<String, Value>,
    },
    Page(Url),
}

/// The question to the user.
#[derive(Debug)]
pub(crate) enum DialogPrompt<'a> {
    Field {
        field: &'a FormField,
        /// Counted from 1.
        number: usize,
        count: usize,
    },
    /// Asks whether to send the answers.
    Submit,
    /// Asks whether to open the page.
    OpenPage,
}

/// The effect of a typed line.
#[derive(Debug, PartialEq)]
pub(crate) enum DialogStep {
    /// The line is not an answer, for this reason. The prompt is shown again.
    Retry(String),
    /// The user wants to know the meaning of the answers. The prompt is shown again.
    Explain,
    /// The next prompt.
    Next,
    Finished(ElicitationAnswer),
}

/// MCP's actions, with the content of an accepted form.
#[derive(Debug, PartialEq)]
pub(crate) enum ElicitationAnswer {
    Accept(Option<Map<String, Value>>),
    Decline,
    Cancel,
}

impl ElicitationAnswer {
    /// The `ElicitResult` of MCP.
    pub(crate) fn into_result(self) -> Value {
        match self {
            Self::Accept(Some(content)) => json!({ "action": "accept", "content": content }),
            Self::Accept(None) => json!({ "action": "accept" }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        }
    }
}

impl ElicitationDialog {
    /// A dialog for the `params` of `elicitation/create`. The error says why the user cannot be asked.
    pub(crate) fn parse(params: &Value) -> Result<Self, String> {
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        let content = if params["mode"] == "url" {
            ElicitationContent::Page(parse_page(params["url"].as_str())?)
        } else {
            ElicitationContent::Form {
                fields: parse_form(&params["requestedSchema"])?,
                current: 0,
                values: Map::new(),
            }
        };
        Ok(Self { message, content })
    }

    /// The server's message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The page that the server wants the user to open.
    pub(crate) fn page(&self) -> Option<&Url> {
        match &self.content {
            ElicitationContent::Page(url) => Some(url),
            ElicitationContent::Form { .. } => None,
        }
    }

    pub(crate) fn has_fields(&self) -> bool {
        matches!(&self.content, ElicitationContent::Form { fields, .. } if !fields.is_empty())
    }

    pub(crate) fn prompt(&self) -> DialogPrompt<'_> {
        match &self.content {
            ElicitationContent::Page(_) => DialogPrompt::OpenPage,
            ElicitationContent::Form {
                fields, current, ..
            } => match fields.get(*current) {
                Some(field) => DialogPrompt::Field {
                    field,
                    number: current + 1,
                    count: fields.len(),
                },
                None => DialogPrompt::Submit,
            },
        }
    }

    /// Returns true if the line that answers the prompt must not be shown.
    pub(crate) fn is_hidden(&self) -> bool {
        matches!(self.prompt(), DialogPrompt::Field { field, .. } if field.is_secret)
    }

    /// Handles a typed line.
    pub(crate) fn handle_line(&mut self, line: &str) -> DialogStep {
        match &mut self.content {
            ElicitationContent::Form {
                fields,
                current,
                values,
            } => match fields.get(*current) {
                Some(field) => {
                    match line.trim() {
                        DECLINE_COMMAND => {
                            return DialogStep::Finished(ElicitationAnswer::Decline);
                        }
                        CANCEL_COMMAND => return DialogStep::Finished(ElicitationAnswer::Cancel),
                        _ => {}
                    }
                    match field.parse_line(line) {
                        Ok(value) => {
                            values.extend(value.map(|value| (field.name.clone(), value)));
                            *current += 1;
                            DialogStep::Next
                        }
                        Err(why) => DialogStep::Retry(why),
                    }
                }
                None => read_verdict(line, "accept", || Some(mem::take(values))),
            },
            ElicitationContent::Page(_) => read_verdict(line, "yes", || None),
        }
    }
}

/// Reads the last answer. `accept` is its word besides "yes".
fn read_verdict(
    line: &str,
    accept: &str,
    content: impl FnOnce() -> Option<Map<String, Value>>,
) -> DialogStep {
    let answer = line.trim().to_lowercase();
    let is = |full: &str| answer == full || answer == full[..1];
    DialogStep::Finished(match answer.as_str() {
        "?" => return DialogStep::Explain,
        _ if is(accept) || is("yes") => ElicitationAnswer::Accept(content()),
        _ if is("decline") || is("no") => ElicitationAnswer::Decline,
        _ if is("cancel") => ElicitationAnswer::Cancel,
        _ => {
            let why = format!("type {accept}, decline or cancel, or its first letter");
            return DialogStep::Retry(why);
        }
    })
}

fn parse_form(schema: &Value) -> Result<Vec<FormField>, String> {
    let view = SchemaView::new(schema);
    let schema = view.flattened(view.root());
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    if properties.len() > MAX_FORM_FIELDS {
        return Err(format!("its form has more than {MAX_FORM_FIELDS} fields"));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = properties.iter().map(|(name, field)| {
        let field = Value::Object(view.flattened(field));
        FormField::parse(name, &field, required.contains(&name.as_str()))
    });
    Ok(fields.collect())
}

fn parse_page(address: Option<&str>) -> Result<Url, String> {
    let page = address
        .and_then(parse_web_url)
        .ok_or_else(|| "its page has no http or https address".to_owned())?;
    // The user agrees to the whole address, so it must fit on the screen.
    if page.as_str().len() > MAX_PAGE_URL_BYTES {
        Err(format!(
            "the address of its page is longer than {MAX_PAGE_URL_BYTES} bytes"
        ))
    } else {
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Value {
        json!({
            "mode": "form",
            "message": "who?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "age": { "type": "integer", "minimum": 0 },
                },
                "required": ["name"],
            },
        })
    }

    #[test]
    fn fields_are_found_through_references_and_alternatives() {
        let params = json!({
            "message": "who?",
            "requestedSchema": {
                "$ref": "#/$defs/Form",
                "$defs": {
                    "Form": { "type": "object", "properties": {
                        "age": { "anyOf": [{ "type": "integer" }, { "type": "null" }], "title": "Age" },
                        "size": { "$ref": "#/$defs/Size" },
                        "name": { "type": "string", "nullable": true },
                    }, "required": "size" },
                    "Size": { "type": "string", "enum": ["S", "L"] },
                },
            },
        });
        let mut dialog = ElicitationDialog::parse(&params).unwrap();
        for line in ["7", "L", "Ada"] {
            assert_eq!(dialog.handle_line(line), DialogStep::Next, "{line}");
        }
        let DialogStep::Finished(answer) = dialog.handle_line("accept") else {
            panic!("not finished");
        };
        let content = json!({ "age": 7, "size": "L", "name": "Ada" });
        assert_eq!(answer.into_result()["content"], content);
    }

    #[test]
    fn form_is_asked_field_by_field_and_sent_only_if_accepted() {
        let mut dialog = ElicitationDialog::parse(&form()).unwrap();
        assert!(matches!(
            dialog.prompt(),
            DialogPrompt::Field {
                number: 1,
                count: 2,
                ..
            }
        ));
        assert!(matches!(dialog.handle_line(""), DialogStep::Retry(_)));
        assert_eq!(dialog.handle_line("Ada"), DialogStep::Next);
        assert!(matches!(dialog.handle_line("-1"), DialogStep::Retry(_)));
        assert_eq!(dialog.handle_line(""), DialogStep::Next);
        assert!(matches!(dialog.prompt(), DialogPrompt::Submit));
        for no_answer in ["", "Ada", "ac", "/decline"] {
            assert!(matches!(
                dialog.handle_line(no_answer),
                DialogStep::Retry(_)
            ));
        }
        assert_eq!(dialog.handle_line("?"), DialogStep::Explain);
        let DialogStep::Finished(answer) = dialog.handle_line(" A ") else {
            panic!("it is not over");
        };
        let expected = json!({ "action": "accept", "content": { "name": "Ada" } });
        assert_eq!(answer.into_result(), expected);
    }

    #[test]
    fn form_can_be_declined_or_cancelled_at_any_time() {
        for (lines, action) in [
            (&["/decline"][..], "decline"),
            (&["Ada", " /cancel "], "cancel"),
            (&["Ada", "7", "n"], "decline"),
            (&["Ada", "7", "Cancel"], "cancel"),
        ] {
            let mut dialog = ElicitationDialog::parse(&form()).unwrap();
            let mut steps: Vec<_> = lines.iter().map(|line| dialog.handle_line(line)).collect();
            let Some(DialogStep::Finished(answer)) = steps.pop() else {
                panic!("it is not over after {lines:?}");
            };
            assert_eq!(answer.into_result(), json!({ "action": action }));
        }
    }

    #[test]
    fn page_is_opened_only_after_a_yes() {
        let page = |url: &str| json!({ "mode": "url", "message": "log in", "url": url });
        assert!(ElicitationDialog::parse(&page("file:///etc/passwd")).is_err());
        let long = format!("https://x.test/{}", "a".repeat(MAX_PAGE_URL_BYTES));
        assert!(ElicitationDialog::parse(&page(&long)).is_err());
        let mut dialog = ElicitationDialog::parse(&page("https://x.test/1")).unwrap();
        assert!(matches!(dialog.handle_line(""), DialogStep::Retry(_)));
        assert_eq!(
            dialog.handle_line("d"),
            DialogStep::Finished(ElicitationAnswer::Decline)
        );
        assert_eq!(
            dialog.handle_line("yes"),
            DialogStep::Finished(ElicitationAnswer::Accept(None))
        );
    }

    #[test]
    fn too_long_form_is_refused_and_a_form_without_fields_is_only_confirmed() {
        let fields = |count: usize| -> Value {
            let fields = (0..count).map(|n| (n.to_string(), json!({ "type": "string" })));
            let fields: Map<String, Value> = fields.collect();
            json!({ "message": "", "requestedSchema": { "type": "object", "properties": fields } })
        };
        assert!(ElicitationDialog::parse(&fields(MAX_FORM_FIELDS)).is_ok());
        assert!(ElicitationDialog::parse(&fields(MAX_FORM_FIELDS + 1)).is_err());
        let dialog = ElicitationDialog::parse(&fields(0)).unwrap();
        assert!(matches!(dialog.prompt(), DialogPrompt::Submit) && !dialog.has_fields());
    }
}
