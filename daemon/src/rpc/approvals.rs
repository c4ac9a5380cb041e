//! Calls that wait for somebody: listed, answered, gone on with.
//!
//! Invariant: a client finds the calls of runs that it may reach ([`RunAccess`]), and what was allowed for ever if it is the
//! user's own.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use mux_proto as wire;
use serde_json::Value;
use tokio::time::timeout;

use super::{POLL, convert, door::Door};
use crate::state::Daemon;
use mux_approvals::{Approvals, Decision, GoesOn, Grant, Said, State, Verdict, View, beginning};
use mux_caller::{Ending, Request, RunAccess};
use mux_runs::Program;
use mux_settings::projects::Workplace;
use mux_text::json_depth;

/// Arguments in a list, in bytes; of one alone there are all.
const LISTED: usize = 16 << 10;
const PREVIEW: usize = 1_000;
/// About how much a list takes at most.
const LONGEST: usize = 8 << 20;

pub(super) async fn list(
    daemon: &Daemon,
    door: &Door,
    request: wire::ApprovalsRequest,
) -> Result<wire::ApprovalList, wire::Error> {
    let (approvals, access) = (daemon.gateway.approvals(), door.access());
    let mut edition = approvals.watch();
    if let Some(known) = request.known {
        let wait = Duration::from_millis(request.wait_ms).min(POLL);
        // Neither the end of the time nor of the daemon is an error: there is just nothing new.
        drop(timeout(wait, edition.wait_for(|edition| *edition != known)).await);
    }
    let edition = *edition.borrow_and_update();
    let mut list = wire::ApprovalList {
        edition,
        ..wire::ApprovalList::default()
    };
    if request.granted {
        let granted = approvals.granted().into_iter().map(grant);
        list.granted = granted.filter(|_| access.is_user()).collect();
    } else if let Some(id) = &request.approval {
        let view = approvals.find(id, &access).await.map_err(convert::error)?;
        let info = info(approvals, &access, &view, usize::MAX);
        list.approvals.push(info);
    } else {
        let mut room = LONGEST;
        let views = approvals.list().await.into_iter();
        for view in views.filter(|view| access.allows(&view.subject.origin)) {
            let most = LISTED.min(room);
            let info = info(approvals, &access, &view, most);
            room = room.saturating_sub(info.arguments.as_ref().map_or(PREVIEW, |_| info.bytes));
            list.approvals.push(info);
        }
    }
    Ok(list)
}

pub(super) async fn decide(
    daemon: &Daemon,
    door: &Door,
    request: wire::DecideRequest,
) -> Result<wire::Decided, wire::Error> {
    let approvals = daemon.gateway.approvals();
    let decision = match request.decision {
        wire::Decision::Once => Decision::Once,
        wire::Decision::Session => Decision::Session,
        wire::Decision::Always => Decision::Always,
        wire::Decision::Deny => Decision::Deny,
    };
    let said = Said {
        decision,
        reason: request.reason,
        shown: request.shown,
    };
    let access = door.access();
    let decided = approvals.decide(&request.approval, &access, said).await;
    let decided = decided.map_err(convert::error)?;
    approvals.note_answer(Some(&decided), decision, &door.origin());
    Ok(wire::Decided {
        approval: info(approvals, &access, &decided.view, LISTED),
        live: decided.live,
        released: decided.released.len(),
        unshown: decided.unshown,
        warning: decided.warning,
    })
}

pub(super) async fn revoke(
    daemon: &Daemon,
    door: &Door,
    name: String,
) -> Result<wire::GrantInfo, wire::Error> {
    let approvals = daemon.gateway.approvals();
    let revoked = approvals.revoke(name.clone(), &door.access()).await;
    let revoked = revoked.map_err(convert::error)?;
    approvals.note_revoked(&name, &revoked, &door.origin());
    Ok(grant((name, revoked)))
}

/// The run has the rights of whoever began it, whoever goes on with it. Questions go to the client that goes on with it if
/// that may answer for whoever began it, and to nobody otherwise.
pub(super) async fn resume(
    daemon: &Arc<Daemon>,
    door: &Door,
    request: wire::ResumeRequest,
) -> Result<wire::Resumed, wire::Error> {
    let (approvals, access) = (daemon.gateway.approvals(), door.access());
    let lives = |run: &str| {
        let run = daemon.runs.find(run, &access);
        run.is_ok_and(|run| !run.has_ended())
    };
    let found = approvals.resumable(&request.id, &access, lives);
    let resumed = match found.await.map_err(convert::error)? {
        GoesOn::As(run) => {
            let run = match daemon.runs.find(&run, &access) {
                Ok(run) => run.id.clone(),
                // It names what was asked for, and not what that has become.
                Err(_) => match daemon.former.info(&run, &access).await {
                    Some(info) => info.run,
                    None => return Err(convert::error(daemon.runs.unknown(&request.id, &access))),
                },
            };
            return Ok(wire::Resumed {
                run,
                replayed: false,
            });
        }
        GoesOn::Anew(resumed) => *resumed,
    };
    let origin = Arc::clone(&resumed.began.origin);
    let place = match &origin.workspace {
        Some(workspace) => {
            daemon.arrived(workspace).await;
            daemon.projects_in_force().await;
            daemon.workplace(workspace)
        }
        None => Workplace::default(),
    };
    let program = Program {
        trace: None,
        source: resumed.began.source.as_ref().to_owned(),
        language: resumed.began.language,
        input: resumed.began.input.as_ref().to_owned(),
        wall: Some(resumed.began.wall),
        turn: door.turn_for(&origin),
        scope: daemon.gateway.scope(origin.agent.as_deref(), &place),
        mailbox: access
            .may_answer(&origin)
            .then(|| Arc::clone(door.mailbox())),
        // It was, before it began for the first time.
        check: false,
        record: false,
        replay: None,
        resumed: Some(resumed),
        detached: request.detach.then(|| daemon.activity.detached()),
        origin: Arc::clone(&origin),
    };
    let run = daemon.runs.start(program);
    if let Some(workspace) = &origin.workspace {
        daemon.left(workspace);
    }
    let run = run.map_err(convert::error)?;
    door.owns(&run);
    Ok(wire::Resumed {
        run: run.id.clone(),
        replayed: true,
    })
}

fn info(approvals: &Approvals, access: &RunAccess, view: &View, most: usize) -> wire::ApprovalInfo {
    let subject = &view.subject;
    let fits = subject.arguments.len() <= most && json_depth::check(&subject.arguments, "").is_ok();
    let arguments: Option<Value> = match fits {
        true => serde_json::from_str(&subject.arguments).ok(),
        false => None,
    };
    let since = view.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = approvals
        .terms()
        .wait
        .checked_sub(view.since.elapsed().unwrap_or_default());
    wire::ApprovalInfo {
        approval: match access.is_user() {
            true => view.id(),
            false => view.whole_id(),
        },
        state: match &view.state {
            State::Waiting => wire::ApprovalState::Waiting,
            State::Pending => wire::ApprovalState::Pending,
            State::Answered(Verdict::Approved) => wire::ApprovalState::Approved,
            State::Answered(Verdict::Denied { .. }) => wire::ApprovalState::Denied,
        },
        path: subject.path.clone(),
        preview: arguments
            .is_none()
            .then(|| beginning(&subject.arguments, PREVIEW)),
        arguments,
        bytes: subject.arguments.len(),
        client: subject.origin.client.clone(),
        agent: subject.origin.agent.clone(),
        workspace: subject.origin.workspace.clone(),
        run: view.owner.run().map(str::to_owned),
        rule: subject.rule.clone(),
        reason: subject.reason.clone(),
        cover: subject.cover.hex(),
        since_ms: convert::millis(since),
        left_ms: (view.state == State::Waiting).then(|| convert::millis(left.unwrap_or_default())),
    }
}

fn grant((name, grant): (String, Grant)) -> wire::GrantInfo {
    wire::GrantInfo {
        grant: name,
        path: grant.path,
        agent: grant.agent,
        rule: grant.rule,
        digest: grant.cover,
        since_ms: grant.since_ms,
    }
}

pub(super) fn asked(request: Request) -> wire::ApprovalAsked {
    wire::ApprovalAsked {
        approval: request.approval,
        path: request.path,
        arguments: request.arguments,
        bytes: request.bytes,
        rule: request.rule,
        reason: request.reason,
        cover: request.cover,
        wait_ms: convert::millis(request.wait),
    }
}

pub(super) fn over(approval: String, path: String, ending: Ending) -> wire::ApprovalOver {
    wire::ApprovalOver {
        approval,
        path,
        ending: match ending {
            Ending::Approved => wire::ApprovalEnding::Approved,
            Ending::Denied => wire::ApprovalEnding::Denied,
            Ending::Pending => wire::ApprovalEnding::Pending,
        },
    }
}
