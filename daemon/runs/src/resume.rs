//! Finds the program and the calls of a run to resume.
//!
//! Invariant: a run is resumed with the rights of the client that started it.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::Value;

use super::{ResumedCalls, Runs};
use mux_approvals::ApprovalSubject;
use mux_caller::RunAccess;
use mux_journal::{Program, history::SavedRun};
use mux_sandbox::ProgramLimits;

/// A run to execute again.
pub struct ResumedRun {
    pub program: Program,
    pub calls: ResumedCalls,
}

/// The target of an ID to resume.
pub enum ResumeTarget {
    /// A program to run again with its calls.
    Again(Box<ResumedRun>),
    /// No approval waits. The run with this ID, if there is one.
    As(String),
}

impl Runs {
    /// Finds what to resume by the ID of a run or an approval that `access` allows.
    pub async fn find_resumable(
        &self,
        id: &str,
        access: &RunAccess,
    ) -> Result<ResumeTarget, Fault> {
        let lives = |run: &str| self.find(run, access).is_ok_and(|run| !run.has_ended());
        let approvals = self.gateway.approvals();
        let view = match approvals.find_resumable(id, access, lives).await? {
            mux_approvals::ResumeTarget::As(run) => return Ok(ResumeTarget::As(run)),
            mux_approvals::ResumeTarget::Again(view) => *view,
        };
        let unreadable = |why: &str| {
            let message = format!("cannot resume `{id}`: its calls cannot be read: {why}");
            Fault::new(FaultKind::Unavailable, message).hint("run the program again")
        };
        let held = self.history.read_held_run(view.owner.stem()).await;
        let held = held.map_err(|error| unreadable(&error.to_string()))?;
        let SavedRun { program, calls } =
            held.ok_or_else(|| unreadable("the record is missing"))?;
        let calls = calls.ok_or_else(|| {
            let message = format!(
                "cannot resume `{id}`: its calls and their results exceeded the log limit (approvals.log)"
            );
            Fault::new(FaultKind::Limit, message)
                .hint("run the program again, with fewer or smaller calls")
        })?;
        Ok(ResumeTarget::Again(Box::new(ResumedRun {
            program: if program.source.is_empty() {
                program_of_call(&view.subject)
            } else {
                program
            },
            calls: ResumedCalls {
                owner: view.owner,
                calls,
            },
        })))
    }
}

/// A program that makes a call outside runs again, with its arguments as the input.
fn program_of_call(subject: &ApprovalSubject) -> Program {
    Program {
        source: source_of_call(subject).into(),
        input: Arc::clone(&subject.arguments),
        wall: ProgramLimits::default().wall,
        origin: Arc::clone(&subject.origin),
        ..Program::default()
    }
}

fn source_of_call(subject: &ApprovalSubject) -> String {
    if subject.is_offer
        && let Some((server, method)) = subject.path.split_once('.')
    {
        let server = Value::from(server);
        return match method {
            "prompts/get" => format!(
                "return await mux.prompts[{server}].get(mux.input.name, mux.input.arguments)"
            ),
            _ => format!("return await mux.resources[{server}].read(mux.input.uri)"),
        };
    }
    let function = if subject.is_raw {
        "mux.call.raw"
    } else {
        "mux.call"
    };
    let path = Value::from(subject.path.as_str());
    format!("return await {function}({path}, mux.input)")
}
