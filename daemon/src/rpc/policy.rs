//! The active rules, and the rule that would decide a call.

use std::sync::Arc;

use mux_proto as wire;
use mux_wire::{Fault, FaultKind};

use super::{answer_budget::AnswerBudget, connection::ConnectionState};
use crate::daemon::Daemon;
use mux_caller::ClientOrigin;
use mux_gateway::{CallArguments, CallExplanation, HypotheticalCall};
use mux_policy::{ExplanationStep, Rule, RuleList, ToolHints};

pub(super) fn list(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: &wire::PolicyRequest,
) -> wire::Result<wire::PolicyList> {
    let policies = daemon.gateway.policies();
    let sight = connection.sight();
    let ruling = policies.of(request.agent.as_deref(), sight.denied());
    let mut budget = AnswerBudget::new();
    let rules = ruling.rules().map(|rule| budget.take(of_rule(rule)));
    let (allowed_by_default, destructive_by_default) = policies.by_default();
    Ok(wire::PolicyList {
        rules: rules.collect::<Result<_, Fault>>()?,
        own: policies.has_own(request.agent.as_deref()),
        allowed_by_default,
        destructive_by_default,
    })
}

pub(super) async fn explain(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    request: wire::ExplainPolicyRequest,
) -> wire::Result<wire::PolicyExplanation> {
    let own = connection.origin();
    let workplace = match &request.workspace {
        None => connection.workplace(),
        Some(dir) => daemon.workplace_at(dir).await,
    };
    let workspace = request.workspace.or_else(|| own.workspace.clone());
    let client = request.client.as_deref().unwrap_or(&own.client);
    let agent = request.agent.as_deref();
    let origin = ClientOrigin::new(client, agent, workspace);
    let scopes = |agent| daemon.gateway.scope(agent, &workplace);
    let scope = scopes(agent);
    let sight = scopes(None);
    let arguments = match (request.arguments, request.typed) {
        (Some(object), _) => Some(CallArguments::of_value(object).await),
        (None, typed) if typed.is_empty() => None,
        (None, typed) => Some(CallArguments::Typed(typed)),
    };
    let policies = match request.config {
        None => daemon.gateway.policies(),
        Some(text) => {
            let policies = daemon.policies_of(text).await;
            Arc::new(policies.map_err(|why| Fault::new(FaultKind::Validation, why))?)
        }
    };
    let explained = daemon.gateway.explain(HypotheticalCall {
        path: &request.path,
        arguments,
        policies,
        origin: Arc::new(origin),
        scope,
        sight: &sight,
    });
    explanation(explained.await?)
}

fn explanation(explained: CallExplanation) -> wire::Result<wire::PolicyExplanation> {
    let mut budget = AnswerBudget::new();
    let steps = explained.explanation.steps.iter();
    let steps = steps.map(|step| budget.take(of_step(step)));
    Ok(wire::PolicyExplanation {
        known: explained.tool.is_some(),
        action: explained.explanation.verdict.action,
        rule: explained.explanation.verdict.rule.as_deref().map(of_rule),
        depends: explained.explanation.depends,
        steps: steps.collect::<Result<_, Fault>>()?,
        hints: of_hints(explained.hints),
        verb: explained.verb,
        notes: explained.notes,
        path: explained.path,
    })
}

fn of_step(step: &ExplanationStep) -> wire::PolicyStep {
    wire::PolicyStep {
        rule: of_rule(&step.rule),
        outcome: step.outcome,
        because: step.because.clone(),
    }
}

fn of_rule(rule: &Rule) -> wire::PolicyRule {
    let (agent, project, project_text) = match &*rule.list {
        RuleList::Everybody => (None, None, None),
        RuleList::Agent(name) => (Some(name.clone()), None, None),
        RuleList::Project(root, text) => (None, Some(root.to_path_buf()), Some(*text)),
    };
    wire::PolicyRule {
        number: rule.number,
        action: rule.action,
        matches: rule.matches(),
        conditions: rule.conditions(),
        reason: rule.reason().map(str::to_owned),
        mistake: rule.mistake(),
        agent,
        project,
        project_text,
        decided: rule.decision_count(),
    }
}

fn of_hints(hints: ToolHints) -> Vec<(String, bool)> {
    let all = [
        ("read_only", hints.read_only),
        ("destructive", hints.destructive),
        ("idempotent", hints.idempotent),
        ("open_world", hints.open_world),
    ];
    let said = all.into_iter();
    said.filter_map(|(name, said)| Some((name.to_owned(), said?)))
        .collect()
}
