//! JSON step programs: what one holds, what its references mean, and in which order its steps may go. Pure.
//!
//! ```json
//! { "steps": [
//!   { "id": "list", "tool": "files.list", "args": { "path": "{{input.dir}}" } },
//!   { "id": "read", "tool": "files.read", "args": { "path": "{{list.result.0.path}}" } }
//! ] }
//! ```
//!
//! It knows `mux-text`, `mux-typegen` and `mux-wire` for bounded text, spellings and faults. It knows no server or
//! tool.
//!
//! - `program_parser` makes of JSON text a program, or a failure that names every mistake (`program_mistake`, with `read/ahead` and
//!   `read/texts`); `reference` is what is written between `{{` and `}}`, `template` arguments with references in them,
//!   `json_path` the way from a value to one inside it; `step_order` says which steps wait for which; `explain` the TypeScript
//!   that a program amounts to.
//!
//! Invariant: nothing here calls a tool. A program that was read refers only to steps before it, so that going through
//! them in their order always ends.

mod explain;
mod json_path;
mod program_mistake;
mod program_parser;
mod reference;
mod step_order;
mod template;

#[cfg(test)]
mod proptests;

pub use self::program_mistake::{combine_faults, short_text};
use std::collections::BTreeSet;

pub use self::{
    explain::{ExplainedProgram, explain_as_typescript},
    json_path::{MissingValue, value_at_path},
    program_parser::parse_program,
    reference::{PathKey, ReferenceRoot, StepPart, ValueReference},
    step_order::StepOrder,
    template::{FillError, ReferenceValues, Template},
};

/// What a program is written in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ProgramLanguage {
    /// Or JavaScript.
    #[default]
    TypeScript,
    /// Steps.
    Json,
}

/// A program that can run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    pub steps: Vec<PlanStep>,
    /// The result of the program; without it, that of the last step.
    pub returns: Option<Template>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
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

impl StepPlan {
    /// What it is called in a list.
    pub fn title(&self) -> String {
        let tools: Vec<&str> = self.steps.iter().map(|step| step.tool.as_str()).collect();
        let plural = if tools.len() == 1 { "" } else { "s" };
        format!("{} step{plural}: {}", tools.len(), tools.join(", "))
    }

    /// The steps whose results, or arguments, something in this template is made from.
    pub fn needed_steps(template: &Template) -> Vec<usize> {
        let mut needs = BTreeSet::new();
        template.references(&mut |reference| {
            if let ReferenceRoot::Step { index, .. } = reference.root {
                needs.insert(index);
            }
        });
        needs.into_iter().collect()
    }
}
