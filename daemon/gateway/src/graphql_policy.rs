//! Policy for calls whose arguments determine their effect: a GraphQL document, or the `$select` of a function. Each is
//! decided like calls of the functions with the same effect.
//!
//! Invariant: a field counts as the tool that its function is in the session's list, with the user's override: rules,
//! visibility and pins are the same as for a call of that tool. A field whose tool a call could not reach cannot be
//! selected. If the effect of a call is not known, a rule or an `exclude` on functions of its source denies the call.
//! Of several verdicts the strictest counts. A default verdict on a function does not override a rule on `graphql`
//! itself. No document is examined on the runtime's threads, or if its call is denied anyway.

use std::{
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_typegen::names::{spell, tool_paths};
use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    Gateway,
    permission::{CallerQuestion, PolicyTarget},
};
use mux_catalog::{Scope, Tool, ToolSet};
use mux_policy::{
    DECISION_TIMEOUT, GivenArguments, PolicyDecision, PolicyVerdict, RuleAction, ToolHints,
    spellings,
};
use mux_process::blocking_pool;
use mux_settings::SourceKind;
use mux_sources::{
    CallEffects, DocumentError, EquivalentField, FieldJudge, Source, graphql_depends_on_arguments,
    graphql_fields_without_schema, takes_any_graphql,
};
use mux_text::glob::may_match_below;
use mux_upstream::Server;

/// The number of documents that are examined at the same time.
const MAX_CONCURRENT_JUDGES: usize = 2;
/// The longest wait for a free slot.
const JUDGE_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);
/// The prefixes of function names of a GraphQL source.
const GRAPHQL_FUNCTION_PREFIXES: [&str; 3] = ["query", "mutation", "subscription"];

/// A GraphQL source's function to call, with the tools that its fields may be.
#[derive(Clone, Debug)]
pub(super) struct GraphqlFunction {
    name: String,
    /// The source as described now. `None` if its schema is not known.
    source: Option<Arc<dyn Source>>,
    /// All tools of the session.
    tools: Arc<ToolSet>,
    /// The tools of the session that the caller sees.
    visible: Arc<ToolSet>,
    /// Globs of the functions that the entry excludes.
    exclude: Vec<String>,
    /// The names of the functions that the entry overrides.
    overridden: Vec<String>,
}

/// The tool behind a field of a root type, for one caller.
enum FieldTool<'a> {
    Offered(&'a Arc<Tool>),
    /// The session does not list the function.
    Unlisted,
    /// No call could reach the function as the document does.
    Unreachable,
}

impl Gateway {
    /// The GraphQL function behind one of these tools, if it is such a function, for a caller with this scope.
    pub(super) fn graphql_function(
        &self,
        server: &Server,
        tool: &Tool,
        tools: &Arc<ToolSet>,
        scope: &Scope,
    ) -> Option<GraphqlFunction> {
        let definition = server.definition().as_ref().ok()?;
        let overridden = definition.overrides.iter();
        is_graphql(server).then(|| GraphqlFunction {
            name: tool.server_name().to_owned(),
            source: self.upstreams.sources().current(server.name()),
            visible: scope.view(tools),
            tools: Arc::clone(tools),
            exclude: definition.exclude.clone(),
            overridden: overridden.map(|(name, _)| name.to_owned()).collect(),
        })
    }
}

pub(super) fn is_graphql(server: &Server) -> bool {
    let source = server.source();
    source.is_some_and(|source| source.kind == SourceKind::Graphql)
}

impl GraphqlFunction {
    /// True if the function accepts any document.
    pub(super) fn takes_any_document(&self) -> bool {
        takes_any_graphql(&self.name)
    }

    pub(super) fn is_decided_by_arguments(&self, arguments: &Map<String, Value>) -> bool {
        graphql_depends_on_arguments(&self.name, arguments)
    }

    pub(super) fn has_schema(&self) -> bool {
        self.source.is_some()
    }

    fn equivalent_fields(
        &self,
        arguments: &Map<String, Value>,
        judge: &mut FieldJudge<'_>,
    ) -> Result<CallEffects, DocumentError> {
        match &self.source {
            Some(source) => source.equivalent_fields(&self.name, arguments, judge),
            None => graphql_fields_without_schema(&self.name, arguments, judge),
        }
    }

    /// The tool of a field's function. An override of an unlisted function, or an override that cannot be applied, may
    /// be all that keeps callers from the function, and a document bypasses arguments that an override fixes.
    fn field_tool(&self, scope: &Scope, server: &str, function: &str) -> FieldTool<'_> {
        if let Some(listed) = self.tools.find_by_server_name(function) {
            return if self.is_reachable(listed) {
                FieldTool::Offered(listed)
            } else {
                FieldTool::Unreachable
            };
        }
        let mut overridden = self.overridden.iter();
        let is_overridden = overridden.any(|name| spell(name) == spell(function));
        if is_overridden || scope.hides_tool(server, function, &self.exclude) {
            FieldTool::Unreachable
        } else {
            FieldTool::Unlisted
        }
    }

    /// A document may reach this tool, if its pin does not refuse it.
    fn is_reachable(&self, tool: &Tool) -> bool {
        let visible = self.visible.find_by_server_name(tool.server_name());
        visible.is_some() && !tool.has_fixed_arguments()
    }

    /// The reason some functions of the source cannot be reached, if any.
    fn withheld_functions(&self, scope: &Scope, server: &str) -> Option<&'static str> {
        let is_of_functions = |glob: &String| {
            let mut prefixes = GRAPHQL_FUNCTION_PREFIXES.iter();
            prefixes.any(|prefix| may_match_below(glob, prefix))
        };
        let mut prefixes = GRAPHQL_FUNCTION_PREFIXES.iter();
        if self.exclude.iter().any(is_of_functions)
            || prefixes.any(|prefix| scope.may_hide_below(server, prefix))
        {
            return Some("`exclude` hides");
        }
        let functions = self.tools.iter();
        let mut functions = functions.filter(|tool| !takes_any_graphql(tool.server_name()));
        let is_unlisted = |name: &String| self.tools.find_by_server_name(name).is_none();
        let mut overridden = self.overridden.iter();
        let is_withheld =
            |tool: &Arc<Tool>| !self.is_reachable(tool) || tool.check_standing().is_err();
        (functions.any(is_withheld) || overridden.any(is_unlisted))
            .then_some("`exclude`, an override or a pin withholds")
    }

    /// The prefixes of the source's function paths, and the paths from the user's overrides.
    fn function_paths(&self, server: &str) -> Vec<String> {
        let prefixes = GRAPHQL_FUNCTION_PREFIXES.iter();
        let prefixes = prefixes.flat_map(|name| tool_paths(server, name));
        let renamed = self.tools.iter();
        let renamed = renamed.filter(|tool| tool.name != tool.server_name());
        let renamed = renamed.flat_map(|tool| tool_paths(server, &tool.name));
        prefixes.chain(renamed).collect()
    }
}

/// The target of a field's function that the session does not list.
fn unlisted_target(server: &str, field: &EquivalentField<'_, '_>) -> PolicyTarget {
    PolicyTarget {
        path: format!("{server}.{}", field.function),
        program_path: None,
        spellings: spellings(server, field.function, field.function),
        hints: ToolHints::of_annotations(field.annotations),
        verb: None,
    }
}

/// A verdict, and its subject.
#[derive(Clone, Debug)]
pub(super) struct PolicyJudgment {
    pub(super) verdict: PolicyVerdict,
    /// The call that decided, if it is not the call itself as its tool declares it.
    pub(super) through: Option<EquivalentCall>,
    /// The reason the call's effect is not known, if the call is denied for that reason.
    pub(super) undecided: Option<String>,
    /// The paths of all functions that the call reaches.
    pub(super) reaches: Vec<String>,
    /// Identifies the rules that require approval and everything that the call reaches: the cover of an approval.
    pub(super) identity: String,
}

impl PolicyJudgment {
    pub(super) fn of(verdict: PolicyVerdict) -> Self {
        Self {
            identity: match verdict.action {
                RuleAction::Ask => verdict_identity(&verdict),
                RuleAction::Allow | RuleAction::Deny => String::new(),
            },
            verdict,
            through: None,
            undecided: None,
            reaches: Vec::new(),
        }
    }
}

/// The call to which a field of a document amounts.
#[derive(Clone, Debug)]
pub(super) struct EquivalentCall {
    /// The field's tool, with the hints that count.
    pub(super) target: PolicyTarget,
    /// `None` if they were not needed.
    pub(super) arguments: Option<Value>,
}

/// Decides on documents, a few at a time.
#[derive(Debug)]
pub(super) struct DocumentJudges(Arc<Semaphore>);

impl DocumentJudges {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CONCURRENT_JUDGES)))
    }

    /// Decides on the document of a call that `own` does not deny.
    pub(super) async fn judge(
        &self,
        asked: CallerQuestion,
        function: GraphqlFunction,
        own: PolicyVerdict,
        arguments: Map<String, Value>,
    ) -> Result<PolicyJudgment, Fault> {
        let path = asked.target.path.clone();
        let turn = timeout(JUDGE_QUEUE_TIMEOUT, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            let message = format!(
                "too many GraphQL documents wait for a policy decision: `documents_at_once` is {MAX_CONCURRENT_JUDGES}, \
                 and none was done within {JUDGE_QUEUE_TIMEOUT:?}"
            );
            return Err(Fault::new(FaultKind::Busy, message)
                .hint("call it again, with fewer calls at the same time")
                .path(path));
        };
        blocking_pool::run(move || {
            // A cancelled caller keeps its slot until the work is done.
            let _turn = turn;
            asked.judge_document(&function, own, &arguments)
        })
        .await
    }
}

impl CallerQuestion {
    /// Takes time in proportion to the document, within its limits.
    fn judge_document(
        &self,
        function: &GraphqlFunction,
        own: PolicyVerdict,
        arguments: &Map<String, Value>,
    ) -> Result<PolicyJudgment, Fault> {
        let (mut judged, unknown) = self.judge_fields(function, own, arguments)?;
        if let Some(why) = unknown
            && let Some((rule, named)) = self.find_functions_rule(function)
        {
            judged.verdict = PolicyVerdict {
                action: RuleAction::Deny,
                rule,
            };
            judged.undecided = Some(format!("{why}, and {named} functions of its source"));
        }
        Ok(judged)
    }

    /// The judgment of the known fields. With the reason the other effects of a call that they allow are not known, if
    /// there may be any.
    pub(super) fn judge_fields(
        &self,
        function: &GraphqlFunction,
        own: PolicyVerdict,
        arguments: &Map<String, Value>,
    ) -> Result<(PolicyJudgment, Option<String>), Fault> {
        // A rule that names `graphql` takes into account that it accepts any document.
        let defaults_count = !function.takes_any_document() || own.is_default();
        let mut judged = PolicyJudgment::of(own);
        let mut identities = BTreeSet::new();
        let mut known = HashSet::new();
        let mut reached = Vec::new();
        let mut fault = None;
        let began = Instant::now();
        let mut judge = |field: &mut EquivalentField<'_, '_>| {
            if began.elapsed() > DECISION_TIMEOUT {
                fault =
                    Some(policy_timeout_fault("fields of the document").path(&self.target.path));
                return ControlFlow::Break(());
            }
            let FieldJudgment {
                verdict,
                call,
                definition,
            } = match self.field_verdict(function, field) {
                Ok(judgment) => judgment,
                Err(wrong) => {
                    fault = Some(wrong);
                    return ControlFlow::Break(());
                }
            };
            let path = &call.target.path;
            if known.insert(path.clone()) {
                judged.reaches.push(path.clone());
                reached.push(format!("reaches {path} {definition}"));
            }
            if verdict.is_default() && !defaults_count {
                return ControlFlow::Continue(());
            }
            if verdict.action == RuleAction::Ask {
                identities.insert(verdict_identity(&verdict));
            }
            if strictness(&verdict) > strictness(&judged.verdict) {
                (judged.verdict, judged.through) = (verdict, Some(call));
            }
            match judged.verdict.action {
                RuleAction::Deny => ControlFlow::Break(()),
                RuleAction::Allow | RuleAction::Ask => ControlFlow::Continue(()),
            }
        };
        let effects = function.equivalent_fields(arguments, &mut judge);
        if let Some(fault) = fault {
            return Err(fault);
        }
        let effects = match effects {
            Ok(effects) => effects,
            Err(DocumentError::Stopped) => CallEffects::default(),
            Err(error) => return Err(document_fault(&error).path(&self.target.path)),
        };
        if effects.may_destroy {
            let arguments = Value::Object(arguments.clone());
            let target = self.target.as_destructive();
            let own =
                final_verdict(self.decide_about(&target, GivenArguments::Values(&arguments)))?;
            if strictness(&own) > strictness(&judged.verdict) {
                let arguments = Some(arguments);
                judged.verdict = own;
                judged.through = Some(EquivalentCall { target, arguments });
            }
        }
        if judged.verdict.action == RuleAction::Ask {
            identities.insert(verdict_identity(&judged.verdict));
            identities.extend(reached);
            judged.identity = identities.into_iter().collect::<Vec<_>>().join("\n");
        }
        let is_denied = judged.verdict.action == RuleAction::Deny;
        Ok((judged, effects.undecided.filter(|_| !is_denied)))
    }

    /// The verdict on a field's tool with its arguments in this document. An error if no call could reach the tool.
    fn field_verdict(
        &self,
        function: &GraphqlFunction,
        field: &mut EquivalentField<'_, '_>,
    ) -> Result<FieldJudgment, Fault> {
        let server = self.server_name();
        let (mut target, tool) = match function.field_tool(&self.scope, server, field.function) {
            FieldTool::Offered(tool) => (
                PolicyTarget::of_listed_tool(tool, &function.tools),
                Some(tool),
            ),
            FieldTool::Unlisted => (unlisted_target(server, field), None),
            FieldTool::Unreachable => {
                let message = format!(
                    "the query reaches `{server}.{}`, which does not exist",
                    field.function
                );
                return Err(Fault::new(FaultKind::NotFound, message).path(&self.target.path));
            }
        };
        let mut arguments = None;
        let mut decide = |target: &PolicyTarget, field: &mut EquivalentField<'_, '_>| {
            let unread = self.decide_about(target, GivenArguments::Unread);
            if let PolicyDecision::Made(verdict) = unread {
                return Ok(verdict);
            }
            let values = if let Some(values) = &arguments {
                values
            } else {
                let read = field.arguments();
                let read = read.map_err(|error| document_fault(&error).path(&self.target.path))?;
                arguments.insert(read)
            };
            final_verdict(self.decide_about(target, GivenArguments::Values(values)))
        };
        let mut verdict = decide(&target, field)?;
        if field.may_destroy && target.hints.destructive != Some(true) {
            let destructive = target.as_destructive();
            let other = decide(&destructive, field)?;
            if strictness(&other) > strictness(&verdict) {
                (verdict, target) = (other, destructive);
            }
        }
        if let Some(tool) = tool
            && verdict.action != RuleAction::Deny
        {
            tool.check_standing()?;
        }
        let definition = tool.map(|tool| blake3::Hash::from(tool.definition_key).to_hex());
        Ok(FieldJudgment {
            verdict,
            call: EquivalentCall { target, arguments },
            definition: definition.map(|hex| hex.to_string()).unwrap_or_default(),
        })
    }

    /// The first rule that may stop any function of this source, or `None` with the reason if functions are withheld.
    pub(super) fn find_functions_rule(
        &self,
        function: &GraphqlFunction,
    ) -> Option<(Option<Arc<mux_policy::Rule>>, String)> {
        let question = self.question(&self.target, GivenArguments::Unread);
        let paths = function.function_paths(self.server_name());
        if let Some(rule) = self.ruling().strict_rule_below(&question, &paths) {
            let named = format!("the policy \"{}\" names", rule.text());
            return Some((Some(Arc::clone(rule)), named));
        }
        let withheld = function.withheld_functions(&self.scope, self.server_name())?;
        Some((None, withheld.to_owned()))
    }

    fn server_name(&self) -> &str {
        let path = &self.target.path;
        path.split_once('.').map_or("", |(server, _)| server)
    }
}

/// The verdict on one field of a document.
struct FieldJudgment {
    verdict: PolicyVerdict,
    call: EquivalentCall,
    /// The digest of the tool's definition. Empty if the tool is not listed.
    definition: String,
}

fn document_fault(error: &DocumentError) -> Fault {
    match error {
        DocumentError::Limit { remedy, .. } => {
            Fault::new(FaultKind::Limit, error.to_string()).hint(*remedy)
        }
        DocumentError::Invalid(_) | DocumentError::Stopped => {
            Fault::new(FaultKind::Validation, error.to_string())
        }
    }
}

/// The verdict of a decision that had all arguments.
pub(super) fn final_verdict(decision: PolicyDecision) -> Result<PolicyVerdict, Fault> {
    match decision {
        PolicyDecision::Made(verdict) => Ok(verdict),
        PolicyDecision::NeedsArguments => Err(Fault::new(
            FaultKind::Internal,
            "policy asked for arguments that it already had",
        )),
        PolicyDecision::TimedOut => Err(policy_timeout_fault("arguments")),
    }
}

/// The rules took too long on `what`.
fn policy_timeout_fault(what: &str) -> Fault {
    let message = format!(
        "the rules of [[policy]] did not finish with the {what} within `policy_time`, {DECISION_TIMEOUT:?}"
    );
    Fault::new(FaultKind::Limit, message).hints(
        "this limit is fixed: use fewer rules that inspect arguments, or send less with each call",
        "this limit is fixed: send less with each call",
    )
}

fn verdict_identity(verdict: &PolicyVerdict) -> String {
    let rule = verdict.rule.as_ref();
    rule.map_or_else(|| "the default".into(), |rule| rule.identity())
}

/// Orders verdicts by strictness. The default asks only if a user can answer immediately. A rule always asks.
fn strictness(verdict: &PolicyVerdict) -> u8 {
    match verdict.action {
        RuleAction::Allow => 0,
        RuleAction::Ask if verdict.is_default() => 1,
        RuleAction::Ask => 2,
        RuleAction::Deny => 3,
    }
}

#[cfg(test)]
mod tests;
