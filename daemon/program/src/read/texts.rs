//! Texts with references in them.

use serde_json::Value;

use super::Reader;
use crate::{
    mistake::short,
    reference::{self, INPUT, Key, Parsed, Part, Reference, Root},
    template::{Piece, Template},
};

const ESCAPE: &str = "write `\\{{` (in JSON `\\\\{{`) for `{{` itself";

impl Reader {
    /// A value with all references in it. `at` is how its place is spoken of.
    pub(super) fn template(&mut self, value: Value, at: &str) -> Template {
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                let items: Vec<Template> = items
                    .into_iter()
                    .map(|item| self.template(item, at))
                    .collect();
                match items.iter().all(Template::is_fixed) {
                    true => Template::Fixed(items.into_iter().filter_map(fixed).collect()),
                    false => Template::Array(items),
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
                match members.iter().all(|(_, member)| member.is_fixed()) {
                    true => {
                        let members = members.into_iter();
                        let members =
                            members.filter_map(|(name, member)| Some((name, fixed(member)?)));
                        Template::Fixed(Value::Object(members.collect()))
                    }
                    false => Template::Object(members),
                }
            }
            plain => Template::Fixed(plain),
        }
    }

    fn text(&mut self, text: String, at: &str) -> Template {
        if !text.contains("{{") {
            return Template::Fixed(Value::String(text));
        }
        let mut pieces: Vec<Piece> = Vec::new();
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
            match reference::parse(rest) {
                Ok(parsed) => {
                    let written = rest[..parsed.length.saturating_sub(2)].trim().to_owned();
                    rest = &rest[parsed.length..];
                    match self.resolved(parsed, written) {
                        Some(Resolved::Tool(tool)) => plain.push_str(&tool),
                        Some(Resolved::Value(reference)) => {
                            if !plain.is_empty() {
                                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                            }
                            pieces.push(Piece::Value(reference));
                        }
                        None => {}
                    }
                }
                Err(said) => {
                    let place = self.place();
                    let shown = short(&format!("{{{{{rest}"));
                    self.wrong(format!("{place}: {said}, in `{at}`: {shown}"), ESCAPE);
                    return Template::Fixed(Value::Null);
                }
            }
        }
        plain.push_str(rest);
        if pieces.is_empty() {
            return Template::Fixed(Value::String(plain));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        match &pieces[..] {
            [Piece::Value(reference)] => Template::Whole(reference.clone()),
            _ => Template::Text(pieces),
        }
    }

    /// What a reference means here.
    fn resolved(&mut self, parsed: Parsed, text: String) -> Option<Resolved> {
        let Parsed { name, mut path, .. } = parsed;
        if name == INPUT {
            return Some(Resolved::Value(Reference {
                root: Root::Input,
                path,
                text,
            }));
        }
        let index = self.earlier(&name, &format!("{{{{{text}}}}}"))?;
        let part = match path.first() {
            Some(Key::Name(part)) if part == "result" => Some(Part::Result),
            Some(Key::Name(part)) if part == "args" => Some(Part::Args),
            Some(Key::Name(part)) if part == "tool" && path.len() == 1 => {
                return Some(Resolved::Tool(self.tools.get(index)?.clone()));
            }
            _ => None,
        };
        if part.is_some() {
            path.remove(0);
        }
        let part = part.unwrap_or(Part::Result);
        Some(Resolved::Value(Reference {
            root: Root::Step { index, part },
            path,
            text,
        }))
    }
}

enum Resolved {
    /// It is known from the beginning.
    Tool(String),
    Value(Reference),
}

fn fixed(template: Template) -> Option<Value> {
    match template {
        Template::Fixed(value) => Some(value),
        _ => None,
    }
}
