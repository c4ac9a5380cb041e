//! Decides if a call may be made. The only module that asks policy.
//!
//! Invariant: a decision on arguments applies to the arguments that are sent. Their text never changes, and every parse
//! gives the same values. If the tool has changed meanwhile, policy is asked again.

use std::sync::Arc;

use mux_typegen::names::{spell, tool_paths};
use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{
    CallArguments, CallContext, Gateway,
    arguments::ArgumentReaders,
    graphql_policy::{PolicyJudgment, final_verdict},
    is_source,
};
use mux_audit::CallAuditGuard;
use mux_caller::ClientOrigin;
use mux_catalog::{Scope, Tool, ToolSet};
use mux_policy::{
    EffectivePolicy, GivenArguments, PolicyDecision, PolicyQuestion, PolicySet, PolicyVerdict,
    RuleAction, RuleList, ToolHints, VerdictExplanation, spellings,
};
use mux_sources::Source;
use mux_upstream::{DENIED_BY_DEFAULT, Server};

/// The reason for an approval request without a rule.
const DEFAULT_ASK_REASON: &str = "the default, because it calls itself destructive";

/// The request of the caller.
pub(super) struct PermissionRequest<'a> {
    /// The canonical path.
    pub(super) path: &'a str,
    pub(super) server: &'a Server,
    pub(super) what: PermissionSubject<'a>,
    pub(super) context: &'a CallContext,
}

pub(super) enum PermissionSubject<'a> {
    /// A call of a tool, with all tools of the session that lists it.
    Tool(&'a Arc<Tool>, &'a Arc<ToolSet>, &'a CallArguments),
    /// A request other than a tool call, with its arguments.
    Offer(Value),
    /// A request of the server to the caller, with its params.
    Request(&'a Value),
}

/// The reason approval is required.
#[derive(Clone, Debug)]
pub(super) struct ApprovalReason {
    pub(super) rule: String,
    pub(super) reason: Option<String>,
    /// Distinguishes rules whose texts look alike.
    pub(super) identity: String,
}

impl ApprovalReason {
    /// A rule always asks, because its author can know what it stops. The default asks only if the client that makes
    /// the call can ask its user immediately, or could when its run began.
    fn of(judged: &PolicyJudgment, context: &CallContext) -> Option<Self> {
        let verdict = &judged.verdict;
        let identity = judged.identity.clone();
        match &verdict.rule {
            Some(rule) => Some(Self {
                rule: format!("\"{}\"", rule.text()),
                reason: verdict.reason().map(str::to_owned),
                identity,
            }),
            None => (context.asks || context.caller.can_approve()).then(|| Self {
                rule: DEFAULT_ASK_REASON.into(),
                reason: None,
                identity,
            }),
        }
    }
}

/// Denies requests that are never sent for approval: clients read lists, and complete input, constantly and without
/// their user.
pub(super) fn deny_if_ask(path: &str, ask: Option<ApprovalReason>) -> Result<(), Fault> {
    let Some(ApprovalReason { rule, .. }) = ask else {
        return Ok(());
    };
    let message = format!(
        "{path} must be approved by the policy {rule}, but lists and completions cannot be approved"
    );
    Err(Fault::new(FaultKind::Denied, message)
        .hint("let the rule allow or deny it; calls, resource reads and prompts can be approved")
        .path(path))
}

/// A tool or another method as seen by rules, however a call reaches it.
#[derive(Clone, Debug)]
pub(super) struct PolicyTarget {
    /// The canonical path.
    pub(super) path: String,
    /// The path as programs write it, if that differs.
    pub(super) program_path: Option<String>,
    pub(super) spellings: Vec<String>,
    pub(super) hints: ToolHints,
    /// The HTTP method, if the tool is an API operation.
    pub(super) verb: Option<String>,
}

impl PolicyTarget {
    /// A tool of `server`, among all tools of the session that lists it.
    pub(super) fn of_tool(server: &Server, tool: &Tool, tools: &ToolSet) -> Self {
        Self {
            verb: http_method(server, tool).map(str::to_owned),
            ..Self::of_listed_tool(tool, tools)
        }
    }

    /// A tool that is not an API operation with an HTTP method.
    pub(super) fn of_listed_tool(tool: &Tool, tools: &ToolSet) -> Self {
        let path = tool.path();
        Self {
            program_path: program_path(&path, Some((tool, tools))),
            spellings: other_spellings(&path, Some(tool)),
            hints: tool.hints(),
            verb: None,
            path,
        }
    }

    /// The same tool, as if it declared itself destructive.
    pub(super) fn as_destructive(&self) -> Self {
        Self {
            hints: ToolHints::DESTRUCTIVE,
            ..self.clone()
        }
    }

    /// A method other than a tool call, or an unknown tool.
    pub(super) fn of_path(path: &str) -> Self {
        Self {
            program_path: program_path(path, None),
            spellings: other_spellings(path, None),
            hints: ToolHints::default(),
            verb: None,
            path: path.to_owned(),
        }
    }
}

/// An owned policy question, independent of the request.
pub(super) struct CallerQuestion {
    policies: Arc<PolicySet>,
    pub(super) scope: Arc<Scope>,
    origin: Arc<ClientOrigin>,
    pub(super) from_server: bool,
    pub(super) target: PolicyTarget,
    /// The source that makes a request from the arguments, and its name for the tool.
    pub(super) source: Option<(Arc<dyn Source>, String)>,
}

impl Gateway {
    /// Returns `None` if allowed, the reason if approval is required, or an error if denied. Nothing about the
    /// arguments is revealed before this call. The arguments are validated after it.
    pub(super) async fn permit(
        &self,
        wanted: &PermissionRequest<'_>,
        entry: &mut CallAuditGuard,
    ) -> Result<Option<ApprovalReason>, Fault> {
        let judged = self.judge_request(wanted).await?;
        let verdict = &judged.verdict;
        let rule = judged.verdict.rule.as_ref();
        self.policies().count_verdict(verdict);
        entry.set_reached(&judged.reaches);
        entry.set_decision(
            verdict.action.as_str(),
            &rule.map_or_else(|| "default".into(), |rule| rule.text()),
        );
        match verdict.action {
            RuleAction::Allow => Ok(None),
            RuleAction::Deny => Err(denied_fault(wanted.path, &judged)),
            RuleAction::Ask => {
                let ask = ApprovalReason::of(&judged, wanted.context);
                if ask.is_none() {
                    entry.set_decision(RuleAction::Allow.as_str(), "default");
                }
                Ok(ask)
            }
        }
    }

    async fn judge_request(&self, wanted: &PermissionRequest<'_>) -> Result<PolicyJudgment, Fault> {
        let asked = self.caller_question(wanted);
        let (tool, tools, arguments) = match &wanted.what {
            PermissionSubject::Offer(given) => return asked.judge_value(given).await,
            PermissionSubject::Request(params) => return asked.judge_value(params).await,
            PermissionSubject::Tool(tool, tools, arguments) => (tool, *tools, arguments),
        };
        let function = self.graphql_function(wanted.server, tool, tools, &asked.scope);
        if let PolicyDecision::Made(verdict) = asked.decide(GivenArguments::Unread)
            && (function.is_none() || verdict.action == RuleAction::Deny)
        {
            return Ok(PolicyJudgment::of(verdict));
        }
        if arguments.check_depth_off_thread().await.is_err() {
            return asked.judge(GivenArguments::Unreadable);
        }
        let Some(function) = function else {
            let judge = move |read: Result<_, Fault>| match read {
                Ok(values) => asked.judge(GivenArguments::Values(&Value::Object(values))),
                Err(_) => asked.judge(GivenArguments::Unreadable),
            };
            return self.readers.judge_arguments(tool, arguments, judge).await?;
        };
        let read = move |read: Result<_, Fault>| -> Result<_, Fault> {
            let (own, values) = match read {
                Ok(values) => {
                    let values = Value::Object(values);
                    (
                        final_verdict(asked.decide(GivenArguments::Values(&values)))?,
                        values,
                    )
                }
                Err(_) => (
                    final_verdict(asked.decide(GivenArguments::Unreadable))?,
                    Value::Null,
                ),
            };
            Ok((asked, own, values))
        };
        let (asked, own, values) = self
            .readers
            .judge_arguments(tool, arguments, read)
            .await??;
        match values {
            Value::Object(values)
                if own.action != RuleAction::Deny && function.is_decided_by_arguments(&values) =>
            {
                self.documents.judge(asked, function, own, values).await
            }
            _ => Ok(PolicyJudgment::of(own)),
        }
    }

    fn caller_question(&self, wanted: &PermissionRequest<'_>) -> CallerQuestion {
        CallerQuestion {
            from_server: matches!(wanted.what, PermissionSubject::Request(_)),
            policies: self.policies(),
            scope: self.scope_now(wanted.context),
            origin: Arc::clone(&wanted.context.caller.origin),
            target: match &wanted.what {
                PermissionSubject::Tool(tool, tools, _) => {
                    PolicyTarget::of_tool(wanted.server, tool, tools)
                }
                PermissionSubject::Offer(_) | PermissionSubject::Request(_) => {
                    PolicyTarget::of_path(wanted.path)
                }
            },
            source: match &wanted.what {
                PermissionSubject::Tool(tool, ..) => self
                    .source_of(wanted.server)
                    .map(|source| (source, tool.server_name().to_owned())),
                PermissionSubject::Offer(_) | PermissionSubject::Request(_) => None,
            },
        }
    }

    /// The source behind a server, as described now.
    pub(super) fn source_of(&self, server: &Server) -> Option<Arc<dyn Source>> {
        is_source(server).then(|| self.upstreams.sources().current(server.name()))?
    }
}

impl CallerQuestion {
    async fn judge_value(self, value: &Value) -> Result<PolicyJudgment, Fault> {
        match self.decide(GivenArguments::Unread) {
            PolicyDecision::Made(verdict) => Ok(PolicyJudgment::of(verdict)),
            PolicyDecision::NeedsArguments | PolicyDecision::TimedOut => {
                let judge = move |value: &Value| self.judge(GivenArguments::Values(value));
                ArgumentReaders::judge_value_off_thread(value, judge).await
            }
        }
    }

    fn judge(&self, given: GivenArguments<'_>) -> Result<PolicyJudgment, Fault> {
        final_verdict(self.decide(given)).map(PolicyJudgment::of)
    }

    /// A question of a caller on this target.
    pub(super) fn of_caller(
        policies: Arc<PolicySet>,
        scope: Arc<Scope>,
        origin: Arc<ClientOrigin>,
        target: PolicyTarget,
    ) -> Self {
        Self {
            policies,
            scope,
            origin,
            from_server: false,
            target,
            source: None,
        }
    }

    pub(super) fn decide(&self, given: GivenArguments<'_>) -> PolicyDecision {
        self.decide_about(&self.target, given)
    }

    /// Decides for the same caller on a call of `target`.
    pub(super) fn decide_about(
        &self,
        target: &PolicyTarget,
        given: GivenArguments<'_>,
    ) -> PolicyDecision {
        self.ask(target, given, |rules, question| rules.decide(question))
    }

    /// Explains what [`decide_about`](Self::decide_about) decides.
    pub(super) fn explain_about(
        &self,
        target: &PolicyTarget,
        given: GivenArguments<'_>,
    ) -> VerdictExplanation {
        self.ask(target, given, |rules, question| rules.explain(question))
    }

    fn ask<T>(
        &self,
        target: &PolicyTarget,
        given: GivenArguments<'_>,
        ask: impl FnOnce(EffectivePolicy<'_>, &PolicyQuestion<'_>) -> T,
    ) -> T {
        let also_given: Vec<Value> = match (given, &self.source) {
            (GivenArguments::Values(Value::Object(given)), Some((source, tool))) => {
                let members = source.members_as_arguments(tool, given).into_iter();
                members.map(Value::Object).collect()
            }
            _ => Vec::new(),
        };
        let question = PolicyQuestion {
            also_given: &also_given,
            ..self.question(target, given)
        };
        ask(self.ruling(), &question)
    }

    pub(super) fn question<'a>(
        &'a self,
        target: &'a PolicyTarget,
        given: GivenArguments<'a>,
    ) -> PolicyQuestion<'a> {
        PolicyQuestion {
            path: &target.path,
            from_server: self.from_server,
            program_path: target.program_path.as_deref(),
            spellings: &target.spellings,
            hints: target.hints,
            verb: target.verb.as_deref(),
            agent: self.origin.agent.as_deref(),
            client: &self.origin.client,
            workspace: self.origin.workspace.as_deref(),
            given,
            also_given: &[],
        }
    }

    /// The active rules for the caller.
    pub(super) fn ruling(&self) -> EffectivePolicy<'_> {
        self.policies
            .of(self.origin.agent.as_deref(), self.scope.denied())
    }
}

#[cfg(test)]
impl CallerQuestion {
    /// A question by `mux` on this target.
    pub(super) fn by_mux(policies: PolicySet, scope: Arc<Scope>, target: PolicyTarget) -> Self {
        let mux = Arc::new(ClientOrigin::new("mux", None, None));
        Self::of_caller(Arc::new(policies), scope, mux, target)
    }
}

/// The path of a tool, or of another method, as programs write it, if that differs. No two servers share a program
/// name. If two tools share one, neither is called by it.
fn program_path(path: &str, listed: Option<(&Tool, &ToolSet)>) -> Option<String> {
    let (server, method) = path.split_once('.')?;
    let spelled_server = spell(server);
    let spelled = listed.map_or(method.into(), |(tool, tools)| tools.spelled(tool));
    (spelled_server != server || spelled != method).then(|| format!("{spelled_server}.{spelled}"))
}

/// The other forms of the path of a tool or another method.
fn other_spellings(path: &str, tool: Option<&Tool>) -> Vec<String> {
    let (server, method) = path.split_once('.').unwrap_or((path, ""));
    match tool {
        Some(tool) => {
            let mut all = spellings(&tool.server, &tool.name, &tool.shown_name());
            if tool.server_name() != tool.name {
                // A tool that the user denied by the server's name stays denied.
                all.extend(tool_paths(&tool.server, tool.server_name()));
            }
            all
        }
        None => match spell(server) {
            spelled if spelled != server => vec![format!("{spelled}.{method}")],
            _ => Vec::new(),
        },
    }
}

/// The HTTP method of a tool that an API source provides.
fn http_method<'a>(server: &Server, tool: &'a Tool) -> Option<&'a str> {
    tool.verb.as_deref().filter(|_| is_source(server))
}

fn denied_fault(called: &str, judged: &PolicyJudgment) -> Fault {
    let verdict = &judged.verdict;
    if let Some(why) = &judged.undecided {
        let server = called.split('.').next().unwrap_or(called);
        let message = format!("{called} is denied: it is not known what the call does: {why}");
        return Fault::new(FaultKind::Denied, message).path(called).hint(format!(
            "`mux sources refresh {server}`, if its schema has changed; or select what the schema has, or call functions"
        ));
    }
    let through = judged.through.as_ref();
    let path = through.map_or(called, |field| &field.target.path);
    denied_by_rule_fault(path, verdict).path(called)
}

fn denied_by_rule_fault(path: &str, verdict: &PolicyVerdict) -> Fault {
    let Some(rule) = &verdict.rule else {
        // By default only sampling is denied.
        let hint = format!("`[[policy]]` with match = \"{path}\" and action = \"allow\" allows it");
        let message = format!("{path} is denied unless a rule allows it");
        let fault = Fault::new(FaultKind::Denied, message).hint(hint).path(path);
        return Fault {
            details: Some(DENIED_BY_DEFAULT.into()),
            ..fault
        };
    };
    let text = rule.text();
    let because = reason_suffix(verdict);
    let message = match &*rule.list {
        RuleList::Project(root, _) => format!(
            "{path} is denied by the policy \"{text}\" of the project in {}{because}",
            root.display()
        ),
        _ => format!("{path} is denied by the policy \"{text}\"{because}"),
    };
    let origin = verdict.origin().unwrap_or_default();
    let fault = Fault::new(FaultKind::Denied, message).path(path);
    match rule.mistake() {
        Some(mistake) => fault.hint(format!(
            "{origin} cannot be understood and therefore denies: {mistake}"
        )),
        None => fault.hints(
            format!("it is {origin}; see `mux policy explain {path}`"),
            format!("it is {origin}, the user's decision: do not look for a way around it"),
        ),
    }
}

fn reason_suffix(verdict: &PolicyVerdict) -> String {
    let reason = verdict.reason();
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}
