//! Checks a step program before its first call: unknown tools, invalid arguments, and references that do not match the
//! known result types.
//!
//! Invariant: an error is something that would have made a call fail. Anything that may be right is a warning.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use mux_wire::{Fault, FaultKind};
use tokio::time::timeout;

use crate::{
    program_check::{HintScope, ProgramChecker},
    run_context::RunContext,
};
use mux_catalog::{Scope, Tool};
use mux_messages::{Error, EventKind};
use mux_program::{PlanStep, StepOrder, StepPlan};
use mux_upstream::Upstreams;

/// How long the check waits for each server. Steps of a server that is not ready by then wait for it themselves.
const STEP_LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(5);

/// The findings about a program that may run.
pub(super) struct PreflightReport {
    /// For each step, true if its tool declares that it changes something.
    pub(super) changes: Vec<bool>,
}

pub(super) async fn run_preflight(
    plan: &StepPlan,
    context: &RunContext,
    checks: Option<(&ProgramChecker, Option<String>)>,
) -> Result<PreflightReport, Fault> {
    if context.is_replay {
        // A replay contacts no server, and the order of its calls does not matter.
        let changes = vec![false; plan.steps.len()];
        return Ok(PreflightReport { changes });
    }
    // One step for each server, which starts all servers at the same time.
    let mut seen = HashSet::new();
    let first_of_each = plan
        .steps
        .iter()
        .filter(|step| seen.insert(step_server(step)));
    let met = first_of_each.map(|step| async {
        let tool = timeout(STEP_LIST_TOOLS_TIMEOUT, resolve_step_tool(step, context)).await;
        (step_server(step), matches!(tool, Ok(Ok(Some(_)) | Err(_))))
    });
    let answers: HashMap<&str, bool> = join_all(met).await.into_iter().collect();
    let mut mistakes = Vec::new();
    let mut changes = Vec::with_capacity(plan.steps.len());
    for (index, step) in plan.steps.iter().enumerate() {
        let found = if answers[step_server(step)] {
            resolve_step_tool(step, context).await
        } else {
            Ok(None)
        };
        let found = found.unwrap_or_else(|fault| {
            mistakes.push(step_fault(index, step, fault));
            None
        });
        changes.push(found.as_ref().is_some_and(|tool| is_mutating(tool)));
        let wrong = match (found, &step.args) {
            (Some(tool), mux_program::Template::Fixed(args)) => {
                match tool.read_arguments(&args.to_string()) {
                    Ok(read) => tool.check_arguments(read).await.err(),
                    Err(fault) => Some(fault),
                }
            }
            _ => None,
        };
        mistakes.extend(wrong.map(|fault| step_fault(index, step, fault)));
    }
    if let Some(fault) = mux_program::combine_faults(mistakes) {
        return Err(fault);
    }
    if let Some((inspector, agent)) = checks {
        let warnings = type_warnings(plan, &changes, context, (inspector, agent.as_deref())).await;
        if !warnings.is_empty() {
            let unchecked = None;
            let warnings = warnings.into_iter().map(Error::from).collect();
            let checked = EventKind::Checked {
                warnings,
                unchecked,
            };
            context.observer.writer().push(checked);
        }
    }
    Ok(PreflightReport { changes })
}

/// For each step, true if its tool is known to change something. Contacts no server.
pub(crate) fn known_changes(plan: &StepPlan, upstreams: &Upstreams, scope: &Scope) -> Vec<bool> {
    let known = |step: &PlanStep| {
        let (server, name) = step.tool.split_once('.')?;
        let server = upstreams.find_visible(server, scope).ok()?;
        let tools = scope.view(&server.tools()?);
        let tool = mux_gateway::find_tool(&tools, server.name(), name).ok()?;
        Some(is_mutating(&tool))
    };
    let steps = plan.steps.iter();
    steps.map(|step| known(step).unwrap_or(false)).collect()
}

/// True if a tool declares that it changes something. A tool without annotations counts as read-only, as most tools
/// are.
fn is_mutating(tool: &Tool) -> bool {
    tool.read_only == Some(false) || tool.destructive == Some(true)
}

async fn resolve_step_tool(
    step: &PlanStep,
    context: &RunContext,
) -> Result<Option<Arc<Tool>>, Fault> {
    let observer = &context.observer;
    context
        .gateway
        .find_current_tool(&step.tool, &context.call_context, observer)
        .await
}

fn step_server(step: &PlanStep) -> &str {
    step.tool.split('.').next().unwrap_or_default()
}

/// The fault of a step before the program runs. Its kind is [`Kind::Type`]: nothing has been sent.
fn step_fault(index: usize, step: &PlanStep, fault: Fault) -> Fault {
    Fault {
        kind: FaultKind::Type,
        message: format!("step `{}` (steps[{index}]): {}", step.id, fault.message),
        details: None,
        ..fault
    }
}

/// The type checker's findings about the equivalent TypeScript program. All of them are warnings, because a step cannot
/// test for the existence of a value, as a TypeScript program can.
async fn type_warnings(
    plan: &StepPlan,
    changes: &[bool],
    context: &RunContext,
    (inspector, agent): (&ProgramChecker, Option<&str>),
) -> Vec<Fault> {
    let explained = mux_program::explain_as_typescript(plan, &StepOrder::of(plan, changes));
    let viewer = context.first_viewer();
    let turn = &context.call_context.turn;
    // Other hints describe the tool of a step, while its error concerns the result of another.
    let hints = HintScope::Spelling;
    let found = inspector
        .check_before_run(&explained.source, agent, hints, &viewer, turn)
        .await;
    let all = found.errors.into_iter().chain(found.warnings);
    let of_its_step = |fault: Fault| {
        let line = fault.line? as usize;
        let index = explained.lines.iter().position(|own| *own == line)?;
        let step = &plan.steps[index];
        Some(Fault {
            message: format!("step `{}`: {}", step.id, fault.message),
            line: None,
            column: None,
            ..fault
        })
    };
    all.filter_map(of_its_step).collect()
}
