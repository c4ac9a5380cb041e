//! Explains policy's decision on a call, without making the call.
//!
//! Invariant: no server is started, and nothing is counted. An explanation may take as long as the arguments require,
//! within limits, so it must not run on the runtime's threads.

use std::{ops::ControlFlow, sync::Arc};

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallArguments, Gateway,
    graphql_policy::{FieldTool, GraphqlFunction, strictness, unlisted_target},
    permission::{PolicyTarget, members_as_arguments},
};
use mux_caller::ClientOrigin;
use mux_catalog::{Scope, Tool};
use mux_policy::{
    EffectivePolicy, GivenArguments, PolicyQuestion, PolicySet, PolicyVerdict, RuleAction,
    SERVER_REQUESTS, ToolHints, VerdictExplanation,
};
use mux_sources::{CallEffects, DocumentError, EquivalentField};
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
    /// The agent's view of the tools.
    pub scope: &'a Scope,
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
        let also_given = match (given, &source, &tool) {
            (GivenArguments::Values(values), Some(source), Some(tool)) => {
                members_as_arguments(&**source, tool.server_name(), values)
            }
            _ => Vec::new(),
        };
        let question = PolicyQuestion {
            path: &target.path,
            from_server,
            program_path: target.program_path.as_deref(),
            spellings: &target.spellings,
            hints: target.hints,
            verb: target.verb.as_deref(),
            agent: supposed.origin.agent.as_deref(),
            client: &supposed.origin.client,
            workspace: supposed.origin.workspace.as_deref(),
            given,
            also_given: &also_given,
        };
        let ruling = supposed
            .policies
            .of(question.agent, supposed.sight.denied());
        let mut explanation = ruling.explain(&question);
        let function = listed.and_then(|((server, tool), known)| {
            self.graphql_function(server, tool, known, supposed.scope)
        });
        if let Some(function) = function {
            let asked = GraphqlQuestion {
                question: &question,
                scope: supposed.scope,
                ruling,
            };
            let stricter = explain_graphql(&function, &asked, &explanation, &mut notes);
            explanation = stricter.unwrap_or(explanation);
        }
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

/// The question on a GraphQL call, with everything that decides on the functions that it reaches.
struct GraphqlQuestion<'a> {
    question: &'a PolicyQuestion<'a>,
    scope: &'a Scope,
    ruling: EffectivePolicy<'a>,
}

/// For a GraphQL call: the explanation of the strictest function that the call reaches, if that decides.
fn explain_graphql(
    function: &GraphqlFunction,
    asked: &GraphqlQuestion<'_>,
    own: &VerdictExplanation,
    notes: &mut Vec<String>,
) -> Option<VerdictExplanation> {
    let &GraphqlQuestion {
        question,
        scope,
        ruling,
    } = asked;
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
        let strictest = strictest.1.as_ref();
        strictest.is_some_and(|(_, it)| it.verdict.action == RuleAction::Deny)
    };
    let mut mistake = None;
    let mut judge = |field: &mut EquivalentField<'_, '_>| {
        let tool = function.field_tool(scope, question.server(), field.function);
        let (target, fault) = match tool {
            FieldTool::Offered(tool) => (
                PolicyTarget::of_listed_tool(tool, function.tools()),
                tool.check_standing().err(),
            ),
            FieldTool::Unlisted => (unlisted_target(question.server(), field), None),
            FieldTool::Unreachable => {
                mistake = Some(format!(
                    "its query reaches `{}.{}`, which cannot be reached",
                    question.server(),
                    field.function
                ));
                return ControlFlow::Break(());
            }
        };
        if let Some(fault) = fault {
            mistake = Some(fault.message);
            return ControlFlow::Break(());
        }
        let arguments = match field.arguments() {
            Ok(arguments) => arguments,
            Err(error) => {
                mistake = Some(error.to_string());
                return ControlFlow::Break(());
            }
        };
        let destructive = field.may_destroy.then_some(ToolHints::DESTRUCTIVE);
        for hints in [Some(target.hints), destructive].into_iter().flatten() {
            let asked = PolicyQuestion {
                path: &target.path,
                program_path: target.program_path.as_deref(),
                spellings: &target.spellings,
                hints,
                verb: None,
                given: GivenArguments::Values(&arguments),
                also_given: &[],
                ..*question
            };
            if consider(&target.path, ruling.explain(&asked)) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let reach = function.equivalent_fields(values, &mut judge);
    let reach = match (reach, mistake) {
        (_, Some(error)) => Err(error),
        // Denied, as the gateway stops there.
        (Err(DocumentError::Stopped), None) => Ok(CallEffects::default()),
        (reach, None) => reach.map_err(|error| error.to_string()),
    };
    let reach = match reach {
        Ok(reach) => reach,
        Err(error) => {
            notes.push(format!("the call would fail: {error}"));
            return None;
        }
    };
    if reach.may_destroy {
        let hints = ToolHints::DESTRUCTIVE;
        consider(
            question.path,
            ruling.explain(&PolicyQuestion { hints, ..*question }),
        );
    }
    if let Some(why) = reach.undecided {
        notes.push(if function.has_schema() {
            format!("it is not known what the call does: {why}")
        } else {
            "what its query reaches is known once the source is open".into()
        });
        // Like the gateway: a call that may reach a denied or withheld function is denied.
        let rule = function.functions_rule(ruling, question);
        let is_withheld = || {
            function
                .withheld_functions(scope, question.server())
                .is_some()
        };
        if function.has_schema() && (rule.is_some() || is_withheld()) {
            let verdict = PolicyVerdict {
                action: RuleAction::Deny,
                rule: rule.map(Arc::clone),
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
