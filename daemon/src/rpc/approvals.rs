//! Lists, decides and resumes calls that wait for approval.
//!
//! Invariant: a client finds the calls of the runs that it may access ([`RunAccess`]). Only the user's own clients see
//! grants.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use mux_proto as wire;
use serde_json::Value;
use tokio::time::timeout;

use super::{MAX_LONG_POLL, connection::ConnectionState};
use crate::daemon::Daemon;
use mux_approvals::{
    AnswerStatus, ApprovalSnapshot, ApprovalVerdict, Approvals, Grant, UserAnswer, visible_prefix,
};
use mux_caller::RunAccess;
use mux_runs::{ResumeTarget, ResumedRun, RunSpec};
use mux_settings::projects::WorkspaceContext;
use mux_text::json_depth;

/// The maximum length of a call's arguments in a list, in bytes. A single approval has all arguments.
const MAX_LISTED_ARGUMENT_BYTES: usize = 16 << 10;
const ARGUMENT_PREVIEW_BYTES: usize = 1_000;
/// The approximate maximum length of a list, in bytes.
const MAX_APPROVAL_LIST_BYTES: usize = 8 << 20;

pub(super) async fn list(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::ApprovalsRequest,
) -> wire::Result<wire::ApprovalList> {
    let approvals = daemon.gateway.approvals();
    let access = connection.access();
    let mut edition = approvals.subscribe_changes();
    if let Some(known) = request.known {
        let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
        // Neither a timeout nor the end of the daemon is an error: the list is just unchanged.
        drop(timeout(wait, edition.wait_for(|edition| *edition != known)).await);
    }
    let edition = *edition.borrow_and_update();
    let mut list = wire::ApprovalList {
        edition,
        ..wire::ApprovalList::default()
    };
    if request.granted {
        let granted = approvals.list_grants().into_iter().map(grant_info);
        list.granted = granted.filter(|_| access.is_user()).collect();
    } else if let Some(id) = &request.approval {
        let view = approvals.find(id, &access).await?;
        let info = approval_info(approvals, &access, &view, usize::MAX);
        list.approvals.push(info);
    } else {
        let mut room = MAX_APPROVAL_LIST_BYTES;
        let views = approvals.list().await.into_iter();
        for view in views.filter(|view| access.allows(&view.subject.origin)) {
            let most = MAX_LISTED_ARGUMENT_BYTES.min(room);
            let info = approval_info(approvals, &access, &view, most);
            room = room.saturating_sub(
                info.arguments
                    .as_ref()
                    .map_or(ARGUMENT_PREVIEW_BYTES, |_| info.bytes),
            );
            list.approvals.push(info);
        }
    }
    Ok(list)
}

pub(super) async fn decide(
    daemon: &Daemon,
    connection: &ConnectionState,
    request: wire::DecideRequest,
) -> wire::Result<wire::Decided> {
    let approvals = daemon.gateway.approvals();
    let said = UserAnswer {
        decision: request.decision,
        reason: request.reason,
        shown: request.shown,
    };
    let access = connection.access();
    let decided = approvals.decide(&request.approval, &access, said).await?;
    approvals.audit_answer(Some(&decided), request.decision, &connection.origin());
    Ok(wire::Decided {
        approval: approval_info(approvals, &access, &decided.view, MAX_LISTED_ARGUMENT_BYTES),
        live: decided.live,
        released: decided.released.len(),
        unshown: decided.unshown,
        warning: decided.warning,
    })
}

pub(super) async fn revoke(
    daemon: &Daemon,
    connection: &ConnectionState,
    name: String,
) -> wire::Result<wire::GrantInfo> {
    let approvals = daemon.gateway.approvals();
    let revoked = approvals.revoke(name.clone(), &connection.access()).await?;
    approvals.audit_revoked(&name, &revoked, &connection.origin());
    Ok(grant_info((name, revoked)))
}

/// Resumes a run with the rights of the client that started it. Questions go to the client that resumes it, if that
/// client may answer for the client that started it, and to no client otherwise.
pub(super) async fn resume(
    daemon: &Arc<Daemon>,
    connection: &ConnectionState,
    request: wire::ResumeRequest,
) -> wire::Result<wire::Resumed> {
    let access = connection.access();
    let found = daemon.runs.find_resumable(&request.id, &access).await?;
    let resumed = match found {
        ResumeTarget::As(run) => {
            let run = if let Ok(run) = daemon.runs.find(&run, &access) {
                run.id.clone()
            } else if let Some(info) = daemon.predecessor.info(&run, &access).await {
                info.run
            } else {
                // The error names the id that was requested, not the run that it stands for.
                let unknown = daemon.runs.unknown_run_fault(&request.id, &access);
                return Err(unknown.into());
            };
            return Ok(wire::Resumed {
                run,
                replayed: false,
            });
        }
        ResumeTarget::Again(resumed) => *resumed,
    };
    let ResumedRun { program, calls } = resumed;
    let origin = Arc::clone(&program.origin);
    let workspace = match &origin.workspace {
        Some(workspace) => {
            daemon.arrived(workspace).await;
            daemon.projects_in_force().await;
            daemon.workplace(workspace)
        }
        None => WorkspaceContext::default(),
    };
    let spec = RunSpec {
        trace: None,
        wall: Some(program.wall),
        program,
        turn: connection.turn_for(&origin),
        scope: daemon.gateway.scope(origin.agent.as_deref(), &workspace),
        mailbox: access
            .may_answer(&origin)
            .then(|| Arc::clone(connection.mailbox())),
        // The program was checked when it was first started.
        check: false,
        record: false,
        replay: None,
        resumed: Some(calls),
        detached: request.detach.then(|| daemon.activity.admit_detached_run()),
    };
    let run = daemon.runs.start(spec);
    if let Some(workspace) = &origin.workspace {
        daemon.left(workspace);
    }
    let run = run?;
    connection.adopt_run(&run);
    Ok(wire::Resumed {
        run: run.id.clone(),
        replayed: true,
    })
}

fn approval_info(
    approvals: &Approvals,
    access: &RunAccess,
    view: &ApprovalSnapshot,
    most: usize,
) -> wire::ApprovalInfo {
    let subject = &view.subject;
    let fits = subject.arguments.len() <= most && json_depth::check(&subject.arguments, "").is_ok();
    let arguments: Option<Value> = if fits {
        serde_json::from_str(&subject.arguments).ok()
    } else {
        None
    };
    let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = approvals
        .settings()
        .wait
        .checked_sub(view.since.elapsed().unwrap_or_default());
    wire::ApprovalInfo {
        approval: if access.is_user() {
            view.id()
        } else {
            view.token_id()
        },
        state: match &view.state {
            AnswerStatus::Waiting => wire::ApprovalState::Waiting,
            AnswerStatus::Pending => wire::ApprovalState::Pending,
            AnswerStatus::Answered(ApprovalVerdict::Approved) => wire::ApprovalState::Approved,
            AnswerStatus::Answered(ApprovalVerdict::Denied { .. }) => wire::ApprovalState::Denied,
        },
        path: subject.path.clone(),
        preview: arguments
            .is_none()
            .then(|| visible_prefix(&subject.arguments, ARGUMENT_PREVIEW_BYTES)),
        arguments,
        bytes: subject.arguments.len(),
        client: subject.origin.client.clone(),
        agent: subject.origin.agent.clone(),
        workspace: subject.origin.workspace.clone(),
        run: view.owner.run().map(str::to_owned),
        rule: subject.rule.clone(),
        reason: subject.reason.clone(),
        cover: subject.cover.hex(),
        since_ms: wire::millis(since),
        left_ms: (view.state == AnswerStatus::Waiting)
            .then(|| wire::millis(left.unwrap_or_default())),
    }
}

fn grant_info((name, grant): (String, Grant)) -> wire::GrantInfo {
    wire::GrantInfo {
        grant: name,
        path: grant.path,
        agent: grant.agent,
        rule: grant.rule,
        digest: grant.cover,
        since_ms: grant.since_ms,
    }
}
