//! The rules that are in force, and which of them would decide a call.

use std::sync::Arc;

use mux_proto as wire;
use mux_wire::Fault;

use super::{budget::Budget, door::Door};
use crate::state::Daemon;
use mux_caller::Origin;
use mux_gateway::{Arguments, Supposed, Told};
use mux_policy::{Action, Hints, List, Outcome, ProjectText, Rule, Step};

pub(super) fn list(
    daemon: &Daemon,
    door: &Door,
    request: &wire::PolicyRequest,
) -> Result<wire::PolicyList, Fault> {
    let policies = daemon.gateway.policies();
    let sight = door.sight();
    let ruling = policies.of(request.agent.as_deref(), sight.denied());
    let mut budget = Budget::new();
    let rules = ruling.rules().map(|rule| {
        let rule = of_rule(rule);
        budget.take(&rule).map(|()| rule)
    });
    let (allowed_by_default, destructive_by_default) = policies.by_default();
    Ok(wire::PolicyList {
        rules: rules.collect::<Result<_, _>>()?,
        own: policies.has_own(request.agent.as_deref()),
        allowed_by_default,
        destructive_by_default,
    })
}

pub(super) async fn explain(
    daemon: &Arc<Daemon>,
    door: &Door,
    request: wire::ExplainPolicyRequest,
) -> Result<wire::PolicyExplanation, Fault> {
    let own = door.origin();
    let place = match &request.workspace {
        None => door.workplace(),
        Some(dir) => daemon.workplace_at(dir).await,
    };
    let workspace = request.workspace.or_else(|| own.workspace.clone());
    let client = request.client.as_deref().unwrap_or(&own.client);
    let agent = request.agent.as_deref();
    let origin = Origin::new(client, agent, workspace);
    let scopes = |agent| daemon.gateway.scope(agent, &place);
    let (scope, sight) = (scopes(agent), scopes(None));
    let arguments = match (request.arguments, request.typed) {
        (Some(object), _) => Some(Arguments::of_value(object).await),
        (None, typed) if typed.is_empty() => None,
        (None, typed) => Some(Arguments::Typed(typed)),
    };
    let told = daemon.gateway.explain(Supposed {
        path: &request.path,
        arguments,
        origin: &origin,
        scope: &scope,
        sight: &sight,
    });
    explanation(told.await?)
}

fn explanation(told: Told) -> Result<wire::PolicyExplanation, Fault> {
    let mut budget = Budget::new();
    let steps = told.explanation.steps.iter().map(|step| {
        let step = of_step(step);
        budget.take(&step).map(|()| step)
    });
    Ok(wire::PolicyExplanation {
        known: told.tool.is_some(),
        action: of_action(told.explanation.verdict.action),
        rule: told.explanation.verdict.rule.as_deref().map(of_rule),
        depends: told.explanation.depends,
        steps: steps.collect::<Result<_, _>>()?,
        hints: of_hints(told.hints),
        verb: told.verb,
        notes: told.notes,
        path: told.path,
    })
}

fn of_step(step: &Step) -> wire::PolicyStep {
    wire::PolicyStep {
        rule: of_rule(&step.rule),
        outcome: match step.outcome {
            Outcome::Decides => wire::PolicyOutcome::Decides,
            Outcome::Elsewhere => wire::PolicyOutcome::Elsewhere,
            Outcome::Unmet => wire::PolicyOutcome::Unmet,
            Outcome::Depends => wire::PolicyOutcome::Depends,
        },
        because: step.because.clone(),
    }
}

fn of_rule(rule: &Rule) -> wire::PolicyRule {
    let (agent, project, project_text) = match &*rule.list {
        List::Everybody => (None, None, None),
        List::Agent(name) => (Some(name.clone()), None, None),
        List::Project(root, text) => (None, Some(root.to_path_buf()), Some(of_text(*text))),
    };
    wire::PolicyRule {
        number: rule.number,
        action: of_action(rule.action),
        matches: rule.matches(),
        conditions: rule.conditions(),
        reason: rule.reason().map(str::to_owned),
        mistake: rule.mistake(),
        agent,
        project,
        project_text,
        decided: rule.decided(),
    }
}

fn of_text(text: ProjectText) -> wire::ProjectText {
    match text {
        ProjectText::Current => wire::ProjectText::Current,
        ProjectText::Approved => wire::ProjectText::Approved,
        ProjectText::Unapproved => wire::ProjectText::Unapproved,
    }
}

fn of_action(action: Action) -> wire::PolicyAction {
    match action {
        Action::Allow => wire::PolicyAction::Allow,
        Action::Ask => wire::PolicyAction::Ask,
        Action::Deny => wire::PolicyAction::Deny,
    }
}

fn of_hints(hints: Hints) -> Vec<(String, bool)> {
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
