//! Explains policy's decision on a call, without making the call.
//!
//! Invariant: no server is started, and nothing is counted. An explanation may take as long as the arguments require,
//! within limits, so it must not run on the runtime's threads.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallArguments, Gateway,
    graphql_policy::{EquivalentCall, GraphqlFunction},
    permission::{CallerQuestion, PolicyTarget},
};
use mux_caller::ClientOrigin;
use mux_catalog::{Scope, Tool};
use mux_policy::{
    GivenArguments, PolicySet, PolicyVerdict, RuleAction, SERVER_REQUESTS, ToolHints,
    VerdictExplanation,
};
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
    pub origin: Arc<ClientOrigin>,
    /// The agent's view of the tools.
    pub scope: Arc<Scope>,
    /// The view of a caller without an agent in the same workspace.
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
        let listed = server.as_ref().zip(tool.as_ref()).zip(known.as_ref());
        let target = match listed {
            Some(((server, tool), known)) => PolicyTarget::of_tool(server, tool, known),
            None => PolicyTarget::of_path(&path),
        };
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
        let source = server.as_ref().and_then(|server| self.source_of(server));
        let source = source.zip(tool.as_ref());
        let function = listed.and_then(|((server, tool), known)| {
            self.graphql_function(server, tool, known, &supposed.scope)
        });
        let mut question =
            CallerQuestion::of_caller(supposed.policies, supposed.scope, supposed.origin, target);
        question.from_server = from_server;
        question.source = source.map(|(source, tool)| (source, tool.server_name().to_owned()));
        let mut explanation = question.explain_about(&question.target, given);
        if let Some(function) = function {
            let stricter = explain_graphql(&function, &question, given, &explanation, &mut notes);
            explanation = stricter.unwrap_or(explanation);
        }
        let target = question.target;
        Ok(CallExplanation {
            path,
            tool,
            verb: target.verb,
            hints: target.hints,
            explanation,
            notes,
        })
    }
}

/// For a GraphQL call: the explanation of the strictest function that the call reaches, if that decides.
fn explain_graphql(
    function: &GraphqlFunction,
    question: &CallerQuestion,
    given: GivenArguments<'_>,
    own: &VerdictExplanation,
    notes: &mut Vec<String>,
) -> Option<VerdictExplanation> {
    let values = match given {
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
    let (judged, unknown) = match question.judge_fields(function, own.verdict.clone(), values) {
        Ok(judged) => judged,
        Err(fault) => {
            notes.push(format!("the call would fail: {}", fault.message));
            return None;
        }
    };
    if let Some(why) = unknown {
        if function.has_schema() {
            notes.push(format!("it is not known what the call does: {why}"));
            if let Some((rule, _)) = question.find_functions_rule(function) {
                let action = RuleAction::Deny;
                return Some(VerdictExplanation {
                    verdict: PolicyVerdict { action, rule },
                    ..own.clone()
                });
            }
        } else {
            notes.push("what its query reaches is known once the source is open".into());
        }
    }
    let EquivalentCall { target, arguments } = judged.through?;
    if target.path != question.target.path {
        notes.push(format!(
            "its query reaches `{}`, which decides",
            target.path
        ));
    }
    let given = arguments.as_ref();
    let given = given.map_or(GivenArguments::Unread, GivenArguments::Values);
    Some(question.explain_about(&target, given))
}

/// The values that a call of the tool would have. Guessed if the tool is not known.
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
