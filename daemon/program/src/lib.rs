//! JSON step programs: what stands in one, what its references mean, and in which order its steps may go.
//!
//! ```json
//! { "steps": [
//!   { "id": "list", "tool": "files.list", "args": { "path": "{{input.dir}}" } },
//!   { "id": "read", "tool": "files.read", "args": { "path": "{{list.result.0.path}}" } }
//! ] }
//! ```
//!
//! Invariant: nothing here calls a tool. A program that was read refers only to steps before it, so that
//! going through them in their order always comes to an end.

mod explain;
mod mistake;
mod order;
mod path;
mod read;
mod reference;
mod template;

#[cfg(test)]
mod laws;

pub use self::mistake::{short, together};
use std::collections::BTreeSet;

pub use self::{
    explain::{Explained, explain},
    order::Order,
    path::{Missing, pick},
    read::read,
    reference::{Key, Part, Reference, Root},
    template::{Filling, Template, Values},
};

/// What a program is written in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Language {
    /// Or JavaScript.
    #[default]
    TypeScript,
    /// Steps.
    Json,
}

/// A program that can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The result of the program; without it, that of the last step.
    pub returns: Option<Template>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub id: String,
    /// `server.tool`.
    pub tool: String,
    pub args: Template,
    pub on_error: OnError,
    /// Steps that have ended, well or not, before this one begins.
    pub after: Vec<usize>,
    /// For whoever watches.
    pub description: Option<String>,
}

/// What becomes of a program when a step fails.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnError {
    /// No later step begins, and those that have begun are cancelled.
    #[default]
    Abort,
    /// Steps that refer to it are skipped; all others go on.
    Continue,
}

impl Plan {
    /// What it is called in a list.
    pub fn title(&self) -> String {
        let tools: Vec<&str> = self.steps.iter().map(|step| step.tool.as_str()).collect();
        let plural = if tools.len() == 1 { "" } else { "s" };
        format!("{} step{plural}: {}", tools.len(), tools.join(", "))
    }

    /// The steps whose results, or arguments, something in this template is made from.
    pub fn needs(template: &Template) -> Vec<usize> {
        let mut needs = BTreeSet::new();
        template.references(&mut |reference| {
            if let Root::Step { index, .. } = reference.root {
                needs.insert(index);
            }
        });
        needs.into_iter().collect()
    }
}
