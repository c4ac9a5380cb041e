//! What is wrong with a program that is known before its first call: tools that there are not, arguments
//! that do not fit, and references that lead where no result was ever seen to lead.
//!
//! Invariant: what refuses a program would have made one of its calls fail. What may be right is a warning.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use mux_wire::{Fault, Kind};
use tokio::time::timeout;

use crate::{Happening, inspect::Inspector, reach::Reach};
use mux_catalog::{Scope, Tool};
use mux_program::{Order, Plan, Step};
use mux_upstream::Upstreams;

/// A server that is not ready by then is not waited for: its steps do so themselves.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// What is known of a program that may run.
pub(super) struct Ahead {
    /// Of each step, whether its tool says that it changes something.
    pub(super) changes: Vec<bool>,
}

pub(super) async fn look(
    plan: &Plan,
    reach: &Reach,
    checks: Option<(&Inspector, Option<String>)>,
) -> Result<Ahead, Fault> {
    if reach.is_played() {
        // Nobody is there to be asked, and the order in which calls are answered changes nothing.
        let changes = vec![false; plan.steps.len()];
        return Ok(Ahead { changes });
    }
    // One step for each server, so that all of them start at once.
    let mut seen = HashSet::new();
    let first_of_each = plan.steps.iter().filter(|step| seen.insert(server(step)));
    let met = first_of_each.map(|step| async {
        let tool = timeout(FIRST_LIST, tool(step, reach)).await;
        (server(step), matches!(tool, Ok(Ok(Some(_)) | Err(_))))
    });
    let answers: HashMap<&str, bool> = join_all(met).await.into_iter().collect();
    let mut mistakes = Vec::new();
    let mut changes = Vec::with_capacity(plan.steps.len());
    for (index, step) in plan.steps.iter().enumerate() {
        let found = match answers[server(step)] {
            true => tool(step, reach).await,
            // Its steps will say why.
            false => Ok(None),
        };
        let found = found.unwrap_or_else(|fault| {
            mistakes.push(of_step(index, step, fault));
            None
        });
        changes.push(found.as_ref().is_some_and(|tool| changes_something(tool)));
        let wrong = match (found, &step.args) {
            (Some(tool), mux_program::Template::Fixed(args)) => {
                match tool.read_arguments(&args.to_string()) {
                    Ok(read) => tool.check_arguments(read).await.err(),
                    Err(fault) => Some(fault),
                }
            }
            _ => None,
        };
        mistakes.extend(wrong.map(|fault| of_step(index, step, fault)));
    }
    if let Some(fault) = mux_program::together(mistakes) {
        return Err(fault);
    }
    if let Some((inspector, agent)) = checks {
        let warnings = doubts(plan, &changes, reach, (inspector, agent.as_deref())).await;
        if !warnings.is_empty() {
            let unchecked = None;
            let checked = Happening::Checked {
                warnings,
                unchecked,
            };
            reach.observer.recorder().push(checked);
        }
    }
    Ok(Ahead { changes })
}

/// The same of what is known without asking anybody.
pub(crate) fn known_changes(plan: &Plan, upstreams: &Upstreams, scope: &Scope) -> Vec<bool> {
    let known = |step: &Step| {
        let (server, name) = step.tool.split_once('.')?;
        let server = upstreams.find_seen(server, scope).ok()?;
        let tools = scope.view(&server.tools()?);
        let tool = mux_gateway::find(&tools, server.name(), name).ok()?;
        Some(changes_something(&tool))
    };
    let steps = plan.steps.iter();
    steps.map(|step| known(step).unwrap_or(false)).collect()
}

/// A tool that says nothing of itself is thought to keep to itself: most only read.
fn changes_something(tool: &Tool) -> bool {
    tool.read_only == Some(false) || tool.destructive == Some(true)
}

async fn tool(step: &Step, reach: &Reach) -> Result<Option<Arc<Tool>>, Fault> {
    let observer = reach.observer.as_ref();
    reach
        .gateway
        .reached(&step.tool, &reach.asking, observer)
        .await
}

fn server(step: &Step) -> &str {
    step.tool.split('.').next().unwrap_or_default()
}

/// Nothing has happened yet, which the kind tells.
fn of_step(index: usize, step: &Step, fault: Fault) -> Fault {
    Fault {
        kind: Kind::Type,
        message: format!("step `{}` (steps[{index}]): {}", step.id, fault.message),
        details: None,
        ..fault
    }
}

/// What the type checker says of the program that this one stands for. A step cannot ask whether something
/// is there, as a program can, so that nothing of it is an error.
async fn doubts(
    plan: &Plan,
    changes: &[bool],
    reach: &Reach,
    (inspector, agent): (&Inspector, Option<&str>),
) -> Vec<Fault> {
    let explained = mux_program::explain(plan, &Order::of(plan, changes));
    let (scope, whose) = (&*reach.asking.scope, &reach.whose);
    let turn = &reach.asking.turn;
    let found = inspector
        .before_run(&explained.source, agent, (scope, whose), turn)
        .await;
    let all = found.errors.into_iter().chain(found.warnings);
    let of_its_step = |fault: Fault| {
        let line = fault.line? as usize;
        let index = explained.lines.iter().position(|own| *own == line)?;
        let step = &plan.steps[index];
        Some(Fault {
            message: format!("step `{}`: {}", step.id, fault.message),
            // It is about the tool of this step, and the mistake about that of another.
            hint: fault.hint.filter(|hint| hint.starts_with("did you mean")),
            line: None,
            column: None,
            ..fault
        })
    };
    all.filter_map(of_its_step).collect()
}
