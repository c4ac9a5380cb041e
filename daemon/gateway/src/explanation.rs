//! Explains what policy would answer to a call, without making it.
//!
//! Invariant: no server is started, and nothing is counted. It may take as long as the arguments require, within
//! limits, so it must not run on the runtime's threads.

use std::{ops::ControlFlow, sync::Arc};

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallArguments, Gateway,
    graphql_policy::{GraphqlFunction, functions_rule, strictness},
    permission::{http_method, other_spellings, program_path},
};
use mux_caller::ClientOrigin;
use mux_catalog::{Scope, Tool};
use mux_policy::{
    EffectivePolicy, GivenArguments, PolicyQuestion, PolicySet, PolicyVerdict, RuleAction,
    SERVER_REQUESTS, ToolHints, VerdictExplanation, spellings,
};
use mux_sources::EquivalentField;
use mux_text::tool_path::read_tool_path;

/// The MCP requests to a server other than tool calls.
const OFFER_METHODS: &[&str] = &[
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// A call that is only considered.
pub struct HypotheticalCall<'a> {
    pub path: &'a str,
    pub arguments: Option<CallArguments>,
    /// The rules that decide.
    pub policies: Arc<PolicySet>,
    pub origin: &'a ClientOrigin,
    /// What the agent sees of the tools.
    pub scope: &'a Scope,
    /// What a caller without an agent sees in the same workspace.
    pub sight: &'a Scope,
}

/// The explanation of a hypothetical call.
#[derive(Debug)]
pub struct CallExplanation {
    /// The canonical path, if the tool is known.
    pub path: String,
    pub tool: Option<Arc<Tool>>,
    pub verb: Option<String>,
    pub hints: ToolHints,
    pub explanation: VerdictExplanation,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

impl Gateway {
    pub async fn explain(&self, supposed: HypotheticalCall<'_>) -> Result<CallExplanation, Fault> {
        let is_visible = |server: &str| self.upstreams.find_visible(server, supposed.sight).is_ok();
        let written = read_tool_path(supposed.path, is_visible);
        let written = written.as_ref();
        let Some((name, method)) = written.split_once('.') else {
            let message = format!("{written:?} is not the path of a tool");
            return Err(Fault::new(FaultKind::Validation, message).hint("a path is `server.tool`"));
        };
        let mut notes = Vec::new();
        let server = self.upstreams.find_visible(name, supposed.sight).ok();
        let known = server.as_ref().and_then(|server| server.tools());
        let tool = known.as_ref().and_then(|tools| tools.find(method)).cloned();
        let server_name = server.as_ref().map_or(name, |server| server.name());
        let path = tool
            .as_ref()
            .map_or_else(|| format!("{server_name}.{method}"), |tool| tool.path());
        match (&server, &known, &tool) {
            (None, ..) => notes.push(format!("there is no server `{name}`")),
            (_, _, Some(_)) => {}
            _ if OFFER_METHODS.contains(&method) || SERVER_REQUESTS.contains(&method) => {}
            (_, None, _) => notes.push(format!(
                "the tools of `{server_name}` are not known yet: `mux tools --server {server_name}` fetches them"
            )),
            _ => notes.push(format!("`{server_name}` has no tool `{method}`")),
        }
        let from_server = tool.is_none() && SERVER_REQUESTS.contains(&method);
        let hidden = match (&known, &tool) {
            (Some(known), Some(tool)) => supposed.scope.view(known).find(&tool.name).is_none(),
            _ => supposed.scope.hides_path(server_name, method),
        };
        if hidden && !from_server {
            notes.push("this agent does not see it (exclude): a call ends as not_found".into());
        }
        let hints = tool.as_deref().map(Tool::hints).unwrap_or_default();
        let both = server.as_ref().zip(tool.as_deref());
        let verb = both.and_then(|(server, tool)| http_method(server, tool));
        let values = match supposed.arguments {
            Some(arguments) => {
                Some(hypothetical_values(tool.as_deref(), &arguments, &mut notes).await)
            }
            None => None,
        };
        let given = match &values {
            None => GivenArguments::Unread,
            Some(None) => GivenArguments::Unreadable,
            Some(Some(values)) => GivenArguments::Values(values),
        };
        let others = other_spellings(&path, tool.as_deref());
        let listed = tool.as_deref().zip(known.as_deref());
        let spelled = program_path(&path, listed);
        let question = PolicyQuestion {
            path: &path,
            from_server,
            program_path: spelled.as_deref(),
            spellings: &others,
            hints,
            verb,
            agent: supposed.origin.agent.as_deref(),
            client: &supposed.origin.client,
            workspace: supposed.origin.workspace.as_deref(),
            given,
        };
        let ruling = supposed
            .policies
            .of(question.agent, supposed.sight.denied());
        let mut explanation = ruling.explain(&question);
        let function = both.and_then(|(server, tool)| self.graphql_function(server, tool));
        if let Some(function) = function {
            let stricter = explain_graphql(&function, &question, ruling, &explanation, &mut notes);
            explanation = stricter.unwrap_or(explanation);
        }
        let verb = verb.map(str::to_owned);
        Ok(CallExplanation {
            path,
            tool,
            verb,
            hints,
            explanation,
            notes,
        })
    }
}

/// For a GraphQL call: the explanation of the strictest function that the call reaches, if that decides.
fn explain_graphql(
    function: &GraphqlFunction,
    question: &PolicyQuestion<'_>,
    ruling: EffectivePolicy<'_>,
    own: &VerdictExplanation,
    notes: &mut Vec<String>,
) -> Option<VerdictExplanation> {
    let values = match question.given {
        // A call that is denied anyway is not examined.
        GivenArguments::Values(_) if own.verdict.action == RuleAction::Deny => return None,
        GivenArguments::Values(Value::Object(values))
            if function.is_decided_by_arguments(values) =>
        {
            values
        }
        GivenArguments::Unread if function.takes_any_document() => {
            let note = "rules apply to the functions that its query reaches, too: give `query=…`";
            notes.push(note.into());
            return None;
        }
        GivenArguments::Unread | GivenArguments::Unreadable | GivenArguments::Values(_) => {
            return None;
        }
    };
    let defaults_count = !function.takes_any_document() || own.verdict.is_default();
    let mut strictest = (strictness(&own.verdict), None);
    let mut consider = |path: &str, explanation: VerdictExplanation| {
        let strict = strictness(&explanation.verdict);
        if strict > strictest.0 && (defaults_count || !explanation.verdict.is_default()) {
            strictest = (strict, Some((path.to_owned(), explanation)));
        }
    };
    let mut mistake = None;
    let mut judge = |field: &mut EquivalentField<'_, '_>| {
        let arguments = match field.arguments() {
            Ok(arguments) => arguments,
            Err(error) => {
                mistake = Some(error);
                return ControlFlow::Break(());
            }
        };
        let path = format!("{}.{}", question.server(), field.function);
        let other = spellings(question.server(), field.function, field.function);
        let hints = ToolHints::of_annotations(field.annotations);
        let destructive = field.may_destroy.then_some(ToolHints::DESTRUCTIVE);
        for hints in [Some(hints), destructive].into_iter().flatten() {
            let asked = PolicyQuestion {
                path: &path,
                program_path: question.program_path.filter(|_| path == question.path),
                spellings: &other,
                hints,
                verb: None,
                given: GivenArguments::Values(&arguments),
                ..*question
            };
            consider(&path, ruling.explain(&asked));
        }
        ControlFlow::Continue(())
    };
    let reach = function.equivalent_fields(values, &mut judge);
    let reach = match (reach, mistake) {
        (_, Some(error)) | (Err(error), None) => {
            notes.push(format!("the call would fail: {error}"));
            return None;
        }
        (Ok(reach), None) => reach,
    };
    if reach.may_destroy {
        let hints = ToolHints::DESTRUCTIVE;
        consider(
            question.path,
            ruling.explain(&PolicyQuestion { hints, ..*question }),
        );
    }
    if let Some(why) = reach.undecided {
        notes.push(match function.has_schema() {
            true => format!("it is not known what the call does: {why}"),
            false => "what its query reaches is known once the source is open".into(),
        });
        if let Some(rule) = functions_rule(ruling, question).filter(|_| function.has_schema()) {
            let verdict = PolicyVerdict {
                action: RuleAction::Deny,
                rule: Some(Arc::clone(rule)),
            };
            let own = own.clone();
            return Some(VerdictExplanation { verdict, ..own });
        }
    }
    let (path, explanation) = strictest.1?;
    if path != question.path {
        notes.push(format!("its query reaches `{path}`, which decides"));
    }
    Some(explanation)
}

/// The values as a call of the tool would have them; guessed if the tool is not known.
async fn hypothetical_values(
    tool: Option<&Tool>,
    arguments: &CallArguments,
    notes: &mut Vec<String>,
) -> Option<Value> {
    let read = arguments
        .check_depth_off_thread()
        .await
        .and_then(|()| match tool {
            Some(tool) => arguments.as_values(tool),
            None => arguments.as_guessed_values(),
        });
    match read {
        Ok(values) => {
            if let Some(tool) = tool
                && let Err(fault) = tool.check_arguments(values.clone()).await
            {
                notes.push(format!("the call would fail: {}", fault.message));
            }
            Some(Value::Object(values))
        }
        Err(fault) => {
            notes.push(format!("the call would fail: {}", fault.message));
            None
        }
    }
}
