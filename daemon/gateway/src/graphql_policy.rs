//! Policy for calls whose arguments determine what they do: a GraphQL document, or the `$select` of a function. They
//! are decided like calls of each function that does the same.
//!
//! Invariant: a rule on a function applies to every way to reach it, and where it is not known what a call does, a rule
//! or an `exclude` on functions of its source denies it. Of several verdicts the strictest counts; a default verdict on
//! a function does not override a rule on `graphql` itself. No document is examined on the runtime's threads, nor is
//! one of a call that is denied anyway.

use std::{
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use mux_typegen::names::spell;
use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, time::timeout};

use super::{Gateway, permission::CallerQuestion};
use mux_catalog::Tool;
use mux_policy::{
    DECISION_TIMEOUT, EffectivePolicy, GivenArguments, PolicyDecision, PolicyQuestion,
    PolicyVerdict, RuleAction, ToolHints, spellings,
};
use mux_process::blocking_pool;
use mux_settings::{ServerDefinition, ServerEndpoint, SourceKind};
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

/// A function of a GraphQL source that is to be called.
#[derive(Clone, Debug)]
pub(super) struct GraphqlFunction {
    name: String,
    /// The source as described now; `None` if its schema is not known.
    source: Option<Arc<dyn Source>>,
    /// Globs of the functions that no document may reach.
    exclude: Vec<String>,
}

impl Gateway {
    /// The GraphQL function behind a tool, if it is one.
    pub(super) fn graphql_function(&self, server: &Server, tool: &Tool) -> Option<GraphqlFunction> {
        let definition = server.definition().as_ref().ok()?;
        match &definition.link {
            ServerEndpoint::Source(source) if source.kind == SourceKind::Graphql => {
                Some(GraphqlFunction {
                    name: tool.server_name().to_owned(),
                    source: self.upstreams.sources().current(server.name()),
                    exclude: unreachable_functions(definition, tool.server_name()),
                })
            }
            _ => None,
        }
    }
}

/// Globs of the functions that a document may not reach: those that the entry excludes, and those whose override has
/// fixed arguments or a mistake, which a document would bypass.
fn unreachable_functions(definition: &ServerDefinition, called: &str) -> Vec<String> {
    let bypassed = definition.overrides.iter().filter(|(name, read)| {
        spell(name) != spell(called) && read.map_or(true, |read| !read.fixed.is_empty())
    });
    let names = bypassed.map(|(name, _)| name.to_owned());
    definition.exclude.iter().cloned().chain(names).collect()
}

impl GraphqlFunction {
    /// Whether the function accepts any document.
    pub(super) fn takes_any_document(&self) -> bool {
        takes_any_graphql(&self.name)
    }

    pub(super) fn is_decided_by_arguments(&self, arguments: &Map<String, Value>) -> bool {
        graphql_depends_on_arguments(&self.name, arguments)
    }

    pub(super) fn has_schema(&self) -> bool {
        self.source.is_some()
    }

    pub(super) fn equivalent_fields(
        &self,
        arguments: &Map<String, Value>,
        judge: &mut FieldJudge<'_>,
    ) -> Result<CallEffects, DocumentError> {
        match &self.source {
            Some(source) => source.equivalent_fields(&self.name, arguments, judge),
            None => graphql_fields_without_schema(&self.name, arguments, judge),
        }
    }

    /// Whether the server's entry excludes any functions.
    fn leaves_out_functions(&self) -> bool {
        let mut exclude = self.exclude.iter();
        exclude.any(|glob| {
            GRAPHQL_FUNCTION_PREFIXES
                .iter()
                .any(|name| may_match_below(glob, name))
        })
    }
}

/// A verdict, and what it applies to.
#[derive(Clone, Debug)]
pub(super) struct PolicyJudgment {
    pub(super) verdict: PolicyVerdict,
    /// The path that decided, if it is not the path of the call.
    pub(super) through: Option<String>,
    /// Why it is not known what the call does, if that is why it is denied.
    pub(super) undecided: Option<String>,
    /// The paths of all functions that the call reaches.
    pub(super) reaches: Vec<String>,
    /// Identifies the rules that require approval and what the call reaches: what an approval covers.
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
        let path = asked.path.clone();
        let turn = timeout(JUDGE_QUEUE_TIMEOUT, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            let message = format!(
                "too many GraphQL documents wait for a policy decision: `documents_at_once` is {MAX_CONCURRENT_JUDGES}, \
                 and none was done within {JUDGE_QUEUE_TIMEOUT:?}"
            );
            return Err(Fault::new(FaultKind::Busy, message)
                .hint("call it again, and fewer at once")
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
        // A rule that names `graphql` accounts for its accepting any document.
        let defaults_count = !function.takes_any_document() || own.is_default();
        let mut judged = PolicyJudgment::of(own);
        let mut asking = BTreeSet::new();
        let mut known = HashSet::new();
        let mut fault = None;
        let began = Instant::now();
        let mut judge = |field: &mut EquivalentField<'_, '_>| {
            let path = format!("{}.{}", self.server_name(), field.function);
            if began.elapsed() > DECISION_TIMEOUT {
                fault = Some(policy_timeout_fault("fields of the document").path(&self.path));
                return ControlFlow::Break(());
            }
            let verdict = match self.field_verdict(function, &path, field) {
                Ok(verdict) => verdict,
                Err(wrong) => {
                    fault = Some(wrong);
                    return ControlFlow::Break(());
                }
            };
            if known.insert(path.clone()) {
                judged.reaches.push(path.clone());
            }
            if verdict.is_default() && !defaults_count {
                return ControlFlow::Continue(());
            }
            if verdict.action == RuleAction::Ask {
                asking.insert(verdict_identity(&verdict));
            }
            if strictness(&verdict) > strictness(&judged.verdict) {
                (judged.verdict, judged.through) = (verdict, Some(path));
            }
            match judged.verdict.action {
                RuleAction::Deny => ControlFlow::Break(()),
                RuleAction::Allow | RuleAction::Ask => ControlFlow::Continue(()),
            }
        };
        let reach = function.equivalent_fields(arguments, &mut judge);
        if let Some(fault) = fault {
            return Err(fault);
        }
        let reach = match reach {
            Ok(reach) => reach,
            Err(DocumentError::Stopped) => CallEffects::default(),
            Err(error) => return Err(document_fault(&error).path(&self.path)),
        };
        if reach.may_destroy {
            let own = self.decide_as_destructive(arguments)?;
            if strictness(&own) > strictness(&judged.verdict) {
                (judged.verdict, judged.through) = (own, None);
            }
        }
        if let Some(why) = reach
            .undecided
            .filter(|_| judged.verdict.action != RuleAction::Deny)
            && let Some((rule, named)) = self.find_functions_rule(function)
        {
            judged.verdict = PolicyVerdict {
                action: RuleAction::Deny,
                rule,
            };
            judged.undecided = Some(format!("{why}, and {named} functions of its source"));
        }
        if judged.verdict.action == RuleAction::Ask {
            asking.insert(verdict_identity(&judged.verdict));
            asking.extend(judged.reaches.iter().map(|path| format!("reaches {path}")));
            judged.identity = asking.into_iter().collect::<Vec<_>>().join("\n");
        }
        Ok(judged)
    }

    /// The verdict on a field's function with its arguments in this document.
    fn field_verdict(
        &self,
        function: &GraphqlFunction,
        path: &str,
        field: &mut EquivalentField<'_, '_>,
    ) -> Result<PolicyVerdict, Fault> {
        let (server, name) = (self.server_name(), field.function);
        if self.scope.hides_tool(server, name, &function.exclude) {
            let message = format!("the query reaches `{path}`, which does not exist");
            return Err(Fault::new(FaultKind::NotFound, message).path(&self.path));
        }
        let spellings = spellings(server, name, name);
        let hints = ToolHints::of_annotations(field.annotations);
        let mut arguments = None;
        let mut decide = |hints: ToolHints, field: &mut EquivalentField<'_, '_>| {
            let unread = self.decide_of(path, &spellings, hints, None, GivenArguments::Unread);
            if let PolicyDecision::Made(verdict) = unread {
                return Ok(verdict);
            }
            let values = match &arguments {
                Some(values) => values,
                None => {
                    let read = field.arguments();
                    let read = read.map_err(|error| document_fault(&error).path(&self.path))?;
                    arguments.insert(read)
                }
            };
            final_verdict(self.decide_of(
                path,
                &spellings,
                hints,
                None,
                GivenArguments::Values(values),
            ))
        };
        let verdict = decide(hints, field)?;
        if !field.may_destroy || hints.destructive == Some(true) {
            return Ok(verdict);
        }
        let other = decide(ToolHints::DESTRUCTIVE, field)?;
        Ok(stricter_verdict(verdict, other))
    }

    /// The verdict on the call itself, as if its tool declared itself destructive.
    fn decide_as_destructive(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<PolicyVerdict, Fault> {
        let arguments = Value::Object(arguments.clone());
        let (hints, verb) = (ToolHints::DESTRUCTIVE, self.verb.as_deref());
        let given = GivenArguments::Values(&arguments);
        final_verdict(self.decide_of(&self.path, &self.spellings, hints, verb, given))
    }

    /// The first rule that may stop any function of this source, or `None` with the reason if an `exclude` does.
    fn find_functions_rule(
        &self,
        function: &GraphqlFunction,
    ) -> Option<(Option<Arc<mux_policy::Rule>>, String)> {
        let server = self.server_name();
        let ruling = self.ruling();
        let question = self.question(&self.path, &[], self.hints, None, GivenArguments::Unread);
        if let Some(rule) = functions_rule(ruling, &question) {
            let named = format!("the policy \"{}\" names", rule.text());
            return Some((Some(Arc::clone(rule)), named));
        }
        let mut names = GRAPHQL_FUNCTION_PREFIXES.iter();
        let hidden = function.leaves_out_functions()
            || names.any(|name| self.scope.may_hide_below(server, name));
        hidden.then(|| (None, "`exclude` hides".to_owned()))
    }

    fn server_name(&self) -> &str {
        self.path.split_once('.').map_or("", |(server, _)| server)
    }
}

/// The first rule that denies or asks for some functions of the question's source.
pub(super) fn functions_rule<'a>(
    ruling: EffectivePolicy<'a>,
    question: &PolicyQuestion<'_>,
) -> Option<&'a Arc<mux_policy::Rule>> {
    let server = question.server();
    let mut paths: Vec<String> = Vec::new();
    for name in GRAPHQL_FUNCTION_PREFIXES {
        paths.push(format!("{server}.{name}"));
        paths.push(format!("{}.{name}", spell(server)));
    }
    ruling.strict_rule_below(question, &paths)
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
        "this limit is fixed: have fewer rules look at arguments, or send less with each call",
        "this limit is fixed: send less with each call",
    )
}

fn verdict_identity(verdict: &PolicyVerdict) -> String {
    let rule = verdict.rule.as_ref();
    rule.map_or_else(|| "the default".into(), |rule| rule.identity())
}

fn stricter_verdict(one: PolicyVerdict, other: PolicyVerdict) -> PolicyVerdict {
    match strictness(&other) > strictness(&one) {
        true => other,
        false => one,
    }
}

/// Orders verdicts by strictness. The default asks only where a user can answer at once, a rule always.
pub(super) fn strictness(verdict: &PolicyVerdict) -> u8 {
    match verdict.action {
        RuleAction::Allow => 0,
        RuleAction::Ask if verdict.is_default() => 1,
        RuleAction::Ask => 2,
        RuleAction::Deny => 3,
    }
}

#[cfg(test)]
mod tests;
