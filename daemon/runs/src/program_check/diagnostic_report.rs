//! Turns compiler diagnostics into faults, with hints about the tools.
//!
//! Invariant: lines and columns refer to the program as its author wrote it.

use mux_wire::{Fault, FaultKind};
use serde_json::{Value, json};

use super::{CheckFindings, ToolViewer};
use mux_typecheck::{Diagnostic, Severity};
use mux_upstream::Upstreams;

/// The hints that the faults of a program get.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum HintScope {
    All,
    /// Only hints that name members with a similar spelling, with the known facts about the tool.
    Spelling,
}

pub(super) fn add(
    inspection: &mut CheckFindings,
    diagnostic: &Diagnostic,
    upstreams: &Upstreams,
    viewer: &ToolViewer,
    hint_scope: HintScope,
) {
    let mut fault = Fault::new(FaultKind::Type, diagnostic.message.clone());
    fault.line = Some(diagnostic.line);
    fault.column = Some(diagnostic.column);
    let advice = diagnostic
        .tool
        .as_ref()
        .and_then(|(server, tool)| advice(upstreams, viewer, server, tool));
    // A tool's former program name still resolves at run time.
    let is_found = diagnostic.is_unknown && matches!(advice, Some(ToolAdvice::Found { .. }));
    let hint = diagnostic.hint.as_ref().filter(|_| !is_found);
    let advised = advice.map(|advice| advice.words(is_found));
    let is_wanted = match hint_scope {
        HintScope::All => true,
        HintScope::Spelling => hint.is_some_and(|hint| hint.is_spelling),
    };
    let text = hint.map(|hint| hint.text.clone());
    let hints: Vec<String> = text.into_iter().chain(advised).collect();
    if is_wanted && !hints.is_empty() {
        fault = fault.hint(hints.join("\n"));
    }
    fault.details = Some(json!({ "code": format!("TS{}", diagnostic.code) }).to_string());
    match diagnostic.severity {
        Severity::Error if is_found => inspection.warnings.push(fault),
        Severity::Error => inspection.errors.push(fault),
        Severity::Warning => inspection.warnings.push(fault),
        // The sandbox's parser decides syntax questions.
        Severity::Syntax => {}
    }
}

/// Advice about a tool, or about a name that no tool has.
enum ToolAdvice {
    /// The tool exists.
    Found {
        path: String,
        signature: String,
    },
    Missing(String),
}

impl ToolAdvice {
    fn words(self, with_path: bool) -> String {
        match self {
            Self::Found { path, signature } if with_path => {
                format!("the call works under this name, too; write `mux.{path}`\n{signature}")
            }
            Self::Found { signature, .. } => signature,
            Self::Missing(hint) => hint,
        }
    }
}

/// The tool's signature, or a suggestion of similar names.
fn advice(
    upstreams: &Upstreams,
    viewer: &ToolViewer,
    server: &str,
    tool: &str,
) -> Option<ToolAdvice> {
    let found = match upstreams.find_visible(server, &viewer.scope) {
        Ok(server) => server,
        Err(fault) => return fault.hint.map(ToolAdvice::Missing),
    };
    let tools = viewer.scope.offered(&found.tools()?);
    let Some(tool) = tools.find(tool) else {
        let missing = mux_gateway::no_such_tool(&tools, found.name(), tool);
        return missing.hint.map(ToolAdvice::Missing);
    };
    Some(ToolAdvice::Found {
        path: tools.path(tool),
        signature: upstreams.catalog().signature(tool, &viewer.reader),
    })
}

/// The first error as a fault, with the others as JSON in its details.
pub(super) fn refusal(errors: &[Fault]) -> Option<Fault> {
    let (first, rest) = errors.split_first()?;
    let mut fault = first.clone();
    if !rest.is_empty() {
        let others: Vec<Value> = rest.iter().map(shown).collect();
        fault.details = Some(json!({ "others": others }).to_string());
    }
    Some(fault)
}

fn shown(fault: &Fault) -> Value {
    let mut shown = json!({ "message": fault.message, "line": fault.line, "column": fault.column });
    if let Some(hint) = &fault.hint {
        shown["hint"] = hint.clone().into();
    }
    shown
}
