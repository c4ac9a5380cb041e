//! JSON step programs: parsing, references between steps, and the order of the steps. No I/O.
//!
//! ```json
//! { "steps": [
//!   { "id": "list", "tool": "files.list", "args": { "path": "{{input.dir}}" } },
//!   { "id": "read", "tool": "files.read", "args": { "path": "{{list.result.0.path}}" } }
//! ] }
//! ```
//!
//! Depends on `mux-text`, `mux-typegen` and `mux-wire` for bounded text, tool names and faults. Knows no server or
//! tool.
//!
//! - `program_parser` parses JSON, with `template_parser` for references in arguments and `forward_references` for
//!   references to later steps. `program_mistake` reports all errors together.
//! - `reference` parses the text between `{{` and `}}`, `template` contains arguments with references, `json_path`
//!   looks up a path in JSON.
//! - `step_order` decides which steps wait for which. `explain` translates a program to TypeScript.
//!
//! Invariant: no code here calls a tool. Each step of a parsed program refers only to earlier steps, so executing them
//! in order always ends.

mod explain;
mod json_path;
mod program_mistake;
mod program_parser;
mod reference;
mod step_order;
mod template;

#[cfg(test)]
mod fuzz;

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

/// A parsed step program.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    pub steps: Vec<PlanStep>,
    /// The result of the program. If it is `None`, the result is that of the last step.
    pub returns: Option<Template>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    pub id: String,
    /// `server.tool`.
    pub tool: String,
    pub args: Template,
    pub on_error: OnError,
    /// Steps that must have ended, successfully or not, before this one begins.
    pub after: Vec<usize>,
    /// Shown to clients that follow the run.
    pub description: Option<String>,
}

/// The effect of a failed step on the program.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnError {
    /// No later step begins, and those that have begun are cancelled.
    #[default]
    Abort,
    /// Steps that refer to the failed one are skipped; all others continue.
    Continue,
}

impl StepPlan {
    /// The title of the program in run lists.
    pub fn title(&self) -> String {
        let tools: Vec<&str> = self.steps.iter().map(|step| step.tool.as_str()).collect();
        let plural = if tools.len() == 1 { "" } else { "s" };
        format!("{} step{plural}: {}", tools.len(), tools.join(", "))
    }

    /// Indices of the steps whose result or arguments `template` refers to.
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
