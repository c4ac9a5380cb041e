//! `mux approvals`, `mux approve`, `mux deny`, `mux resume`.

use std::process::ExitCode;

use mux_client::{Session, within_seconds};
use mux_proto::{
    ApprovalList, ApprovalsRequest, DecideRequest, Decision, ResumeRequest, transport,
};

use super::{
    Failure, Outcome,
    approver::Approver,
    interrupted,
    run::{AtEnd, finish},
    session, usage,
};
use crate::{
    args::{self, ApprovalsCommand},
    render::{self, RunView},
};

/// Milliseconds that the daemon holds a request before it answers with nothing new.
const POLL: u64 = 25_000;

pub(super) async fn approvals(args: args::Approvals, json: bool) -> Outcome {
    let session = session().await?;
    if let Some(ApprovalsCommand::Revoke { grant }) = args.command {
        session.require("revoke_approval")?;
        let revoked = session.client.revoke_approval(within_seconds(10), grant);
        let revoked = revoked.await?.map_err(Failure::from)?;
        return Ok(render::revoked_approval(&revoked, json));
    }
    let one = args.approval.is_some();
    let request = ApprovalsRequest {
        approval: args.approval,
        granted: args.granted,
        ..ApprovalsRequest::default()
    };
    let list = list(&session, request).await?;
    if args.watch {
        return watch(&session, list, json).await;
    }
    Ok(match (one, args.granted) {
        (true, _) => render::approval(&list, json),
        (false, true) => render::granted(&list, json),
        (false, false) => render::approvals(&list, json),
    })
}

async fn list(session: &Session, request: ApprovalsRequest) -> Result<ApprovalList, Failure> {
    session.require("approvals")?;
    let context = transport::within(std::time::Duration::from_millis(2 * POLL));
    let list = session.client.approvals(context, request).await?;
    list.map_err(Failure::from)
}

/// Shows the pending approvals now and after each change, until Ctrl-C.
async fn watch(session: &Session, mut list: ApprovalList, json: bool) -> Outcome {
    render::approvals_now(&list, json);
    loop {
        let request = ApprovalsRequest {
            known: Some(list.edition),
            wait_ms: POLL,
            ..ApprovalsRequest::default()
        };
        let next = tokio::select! {
            next = self::list(session, request) => next?,
            () = interrupted() => return Ok(std::process::ExitCode::SUCCESS),
        };
        if next.edition != list.edition {
            list = next;
            render::approvals_now(&list, json);
        }
    }
}

pub(super) async fn approve(args: args::Approve, json: bool) -> Outcome {
    let decision = match (args.always, args.session) {
        (true, _) => Decision::Always,
        (_, true) => Decision::Session,
        _ => Decision::Once,
    };
    decide(args.approvals, decision, None, json).await
}

pub(super) async fn deny(args: args::Deny, json: bool) -> Outcome {
    decide(args.approvals, Decision::Deny, args.reason, json).await
}

/// Decides each approval. A failure is reported, and the others are still decided.
async fn decide(
    approvals: Vec<String>,
    decision: Decision,
    reason: Option<String>,
    json: bool,
) -> Outcome {
    let session = session().await?;
    session.require("decide")?;
    let mut ended = ExitCode::SUCCESS;
    for (place, approval) in approvals.iter().enumerate() {
        let request = DecideRequest {
            approval: approval.clone(),
            decision,
            reason: reason.clone(),
            shown: Vec::new(),
        };
        let decided = session.client.decide(within_seconds(10), request).await?;
        match decided {
            Ok(mut decided) => {
                // These are decided later in this loop.
                decided
                    .unshown
                    .retain(|id| !approvals[place..].contains(id));
                render::decided(&decided, decision, json);
            }
            Err(error) => ended = render::failure(&error, json, None),
        }
    }
    Ok(ended)
}

pub(super) async fn resume(args: args::Resume, json: bool) -> Outcome {
    let at_end = AtEnd::saving(args.parts);
    if let Err((message, hint)) = at_end.prepare() {
        return usage(message, hint, json);
    }
    let session = session().await?;
    session.require("resume_run")?;
    let mut view = RunView::new(json, at_end.parts.is_some(), None);
    let approver = Approver::of(json || args.detach, &mut view);
    approver.listen(&session).await;
    let request = ResumeRequest {
        id: args.id,
        detach: args.detach,
    };
    let resumed = session
        .client
        .resume_run(within_seconds(30), request)
        .await?;
    let resumed = resumed.map_err(Failure::from)?;
    if args.detach {
        return Ok(render::detached(&resumed.run, json));
    }
    view.accepted(&resumed.run);
    let watched = mux_client::watch(&session, &resumed.run, 0, |event| view.show(event));
    let finished = tokio::select! {
        finished = watched => finished,
        never = approver.answer(&session) => match never {},
        // The daemon cancels the run with this connection, and keeps its pending approvals.
        () = interrupted() => return Ok(view.interrupted("pending approvals are kept: see `mux approvals`")),
    };
    match finished {
        Ok(finished) => finish(&session, view, finished.outcome, &at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}
