//! Parses the references in arguments and in `return`.

use serde_json::Value;

use super::ProgramReader;
use crate::{
    program_mistake::short_text,
    reference::{
        self, INPUT_NAME, ParsedReference, PathKey, ReferenceRoot, StepPart, ValueReference,
    },
    template::{Template, TextPiece},
};

const ESCAPE_HINT: &str = "write `\\{{` (in JSON `\\\\{{`) for a literal `{{`";

impl ProgramReader {
    /// Parses all references in `value`. `at` names its location in error messages.
    pub(super) fn template(&mut self, value: Value, at: &str) -> Template {
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                let items: Vec<Template> = items
                    .into_iter()
                    .map(|item| self.template(item, at))
                    .collect();
                if items.iter().all(Template::is_fixed) {
                    Template::Fixed(items.into_iter().filter_map(fixed).collect())
                } else {
                    Template::Array(items)
                }
            }
            Value::Object(members) => {
                let members: Vec<(String, Template)> = members
                    .into_iter()
                    .map(|(name, member)| {
                        let member = self.template(member, at);
                        (name, member)
                    })
                    .collect();
                if members.iter().all(|(_, member)| member.is_fixed()) {
                    let members = members.into_iter();
                    let members = members.filter_map(|(name, member)| Some((name, fixed(member)?)));
                    Template::Fixed(Value::Object(members.collect()))
                } else {
                    Template::Object(members)
                }
            }
            plain => Template::Fixed(plain),
        }
    }

    fn text(&mut self, text: String, at: &str) -> Template {
        if !text.contains("{{") {
            return Template::Fixed(Value::String(text));
        }
        let mut pieces: Vec<TextPiece> = Vec::new();
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find("{{") {
            let before = &rest[..start];
            let marks = before.len() - before.trim_end_matches('\\').len();
            plain.push_str(&before[..start - marks]);
            plain.push_str(&"\\".repeat(marks / 2));
            rest = &rest[start + 2..];
            if marks % 2 == 1 {
                plain.push_str("{{");
                continue;
            }
            match reference::parse_reference(rest) {
                Ok(parsed) => {
                    let written = rest[..parsed.length.saturating_sub(2)].trim().to_owned();
                    rest = &rest[parsed.length..];
                    match self.resolved(parsed, written) {
                        Some(ResolvedReference::Tool(tool)) => plain.push_str(&tool),
                        Some(ResolvedReference::Value(reference)) => {
                            if !plain.is_empty() {
                                pieces.push(TextPiece::Text(std::mem::take(&mut plain)));
                            }
                            pieces.push(TextPiece::Value(reference));
                        }
                        None => {}
                    }
                }
                Err(said) => {
                    let place = self.current_place();
                    let shown = short_text(&format!("{{{{{rest}"));
                    self.add_mistake(format!("{place}: {said}, in `{at}`: {shown}"), ESCAPE_HINT);
                    return Template::Fixed(Value::Null);
                }
            }
        }
        plain.push_str(rest);
        if pieces.is_empty() {
            return Template::Fixed(Value::String(plain));
        }
        if !plain.is_empty() {
            pieces.push(TextPiece::Text(plain));
        }
        match &pieces[..] {
            [TextPiece::Value(reference)] => Template::Whole(reference.clone()),
            _ => Template::Text(pieces),
        }
    }

    /// Resolves a reference in the step that is being parsed. Records an error if it has no target.
    fn resolved(&mut self, parsed: ParsedReference, text: String) -> Option<ResolvedReference> {
        let ParsedReference { name, mut path, .. } = parsed;
        if name == INPUT_NAME {
            return Some(ResolvedReference::Value(ValueReference {
                root: ReferenceRoot::Input,
                path,
                text,
            }));
        }
        let index = self.resolve_earlier_step(&name, &format!("{{{{{text}}}}}"))?;
        let part = match path.first() {
            Some(PathKey::Name(part)) if part == "result" => Some(StepPart::Result),
            Some(PathKey::Name(part)) if part == "args" => Some(StepPart::Args),
            Some(PathKey::Name(part)) if part == "tool" && path.len() == 1 => {
                return Some(ResolvedReference::Tool(self.tools.get(index)?.clone()));
            }
            _ => None,
        };
        if part.is_some() {
            path.remove(0);
        }
        let part = part.unwrap_or(StepPart::Result);
        Some(ResolvedReference::Value(ValueReference {
            root: ReferenceRoot::Step { index, part },
            path,
            text,
        }))
    }
}

enum ResolvedReference {
    /// The path of the step's tool, known before the program runs.
    Tool(String),
    Value(ValueReference),
}

fn fixed(template: Template) -> Option<Value> {
    match template {
        Template::Fixed(value) => Some(value),
        _ => None,
    }
}
