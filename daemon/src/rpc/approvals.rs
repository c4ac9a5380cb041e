//! Calls that wait for somebody: listed, answered, gone on with.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use mux_proto as wire;
use serde_json::Value;
use tokio::time::timeout;

use super::{POLL, convert, door::Door};
use crate::{
    approvals::{Approvals, Decision, GoesOn, Grant, State, Verdict, View, beginning},
    nesting,
    notices::{Ending, Request},
    runs::Program,
    state::Daemon,
};

/// Arguments in a list, in bytes; of one alone there are all.
const LISTED: usize = 16 << 10;
const PREVIEW: usize = 1_000;
/// About how much a list takes at most.
const LONGEST: usize = 8 << 20;

pub(super) async fn list(
    daemon: &Daemon,
    request: wire::ApprovalsRequest,
) -> Result<wire::ApprovalList, wire::Error> {
    let approvals = daemon.gateway.approvals();
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
        list.granted = approvals.granted().into_iter().map(grant).collect();
    } else if let Some(id) = &request.approval {
        let view = approvals.find(id).await.map_err(convert::error)?;
        list.approvals.push(info(approvals, &view, usize::MAX));
    } else {
        let mut room = LONGEST;
        for view in approvals.list().await {
            let most = LISTED.min(room);
            let info = info(approvals, &view, most);
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
    let decided = approvals.decide(&request.approval, decision, request.reason);
    let decided = decided.await.map_err(convert::error)?;
    approvals.note_answer(Some(&decided), decision, &door.origin());
    Ok(wire::Decided {
        approval: info(approvals, &decided.view, LISTED),
        live: decided.live,
        released: decided.released,
        warning: decided.warning,
    })
}

pub(super) async fn revoke(
    daemon: &Daemon,
    door: &Door,
    name: String,
) -> Result<wire::GrantInfo, wire::Error> {
    let approvals = daemon.gateway.approvals();
    let revoked = approvals.revoke(name.clone()).await;
    let revoked = revoked.map_err(convert::error)?;
    approvals.note_revoked(&name, &revoked, &door.origin());
    Ok(grant((name, revoked)))
}

/// The run has the rights of whoever began it, whoever goes on with it.
pub(super) async fn resume(
    daemon: &Arc<Daemon>,
    door: &Door,
    request: wire::ResumeRequest,
) -> Result<wire::Resumed, wire::Error> {
    let approvals = daemon.gateway.approvals();
    let lives = |run: &str| daemon.runs.find(run).is_ok_and(|run| !run.has_ended());
    let found = approvals.resumable(&request.id, lives);
    let resumed = match found.await.map_err(convert::error)? {
        GoesOn::As(run) => {
            let run = daemon.runs.find(&run).map_err(convert::error)?;
            return Ok(wire::Resumed {
                run: run.id.clone(),
                replayed: false,
            });
        }
        GoesOn::Anew(resumed) => *resumed,
    };
    let origin = Arc::clone(&resumed.began.origin);
    let project = match &origin.workspace {
        Some(workspace) => {
            daemon.arrived(workspace).await;
            daemon.projects_in_force().await;
            daemon.project_of(workspace)
        }
        None => None,
    };
    let program = Program {
        trace: None,
        source: resumed.began.source.as_ref().to_owned(),
        language: resumed.began.language,
        input: resumed.began.input.as_ref().to_owned(),
        wall: Some(resumed.began.wall),
        turn: door.turn(),
        scope: daemon
            .gateway
            .scope(origin.agent.as_deref(), project.as_deref()),
        mailbox: Some(Arc::clone(door.mailbox())),
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

fn info(approvals: &Approvals, view: &View, most: usize) -> wire::ApprovalInfo {
    let subject = &view.subject;
    let fits = subject.arguments.len() <= most && nesting::check(&subject.arguments, "").is_ok();
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
        approval: view.id(),
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
