//! `mux approvals`, `mux approve`, `mux deny`, `mux resume`.

use std::process::ExitCode;

use mux_client::{Session, within_seconds};
use mux_proto::{
    ApprovalList, ApprovalsRequest, DecideRequest, Decision, ResumeRequest, transport,
};

use super::{
    CommandFailure, CommandResult, connect_or_start,
    run::{RunEndActions, finish_run},
    terminal_questions::TerminalQuestions,
    wait_for_ctrl_c,
};
use crate::{
    args::{self, ApprovalsCommand},
    render::{self, RunView},
};

/// Milliseconds that the daemon holds a request before it answers without news.
const APPROVALS_POLL_MS: u64 = 25_000;

pub(super) async fn approvals(args: args::ApprovalsArgs, json: bool) -> CommandResult {
    let session = connect_or_start().await?;
    if let Some(ApprovalsCommand::Revoke { grant }) = args.command {
        let revoked = session.client.revoke_approval(within_seconds(10), grant);
        let revoked = revoked.await??;
        return Ok(render::show(&revoked, json, render::revoked_approval));
    }
    let one = args.approval.is_some();
    let request = ApprovalsRequest {
        approval: args.approval,
        granted: args.granted,
        ..ApprovalsRequest::default()
    };
    let list = list_approvals(&session, request).await?;
    if args.watch {
        return watch_approvals(&session, list, json).await;
    }
    Ok(
        match (list.approvals.first().filter(|_| one), args.granted) {
            (Some(approval), _) => render::show(approval, json, render::approval),
            (None, true) => render::show(&list, json, render::granted),
            (None, false) => render::show(&list, json, render::approvals),
        },
    )
}

async fn list_approvals(
    session: &Session,
    request: ApprovalsRequest,
) -> Result<ApprovalList, CommandFailure> {
    let context = transport::within(std::time::Duration::from_millis(2 * APPROVALS_POLL_MS));
    Ok(session.client.approvals(context, request).await??)
}

/// Shows the pending approvals now and after each change, until Ctrl-C.
async fn watch_approvals(session: &Session, mut list: ApprovalList, json: bool) -> CommandResult {
    render::approvals_now(&list, json);
    loop {
        let request = ApprovalsRequest {
            known: Some(list.edition),
            wait_ms: APPROVALS_POLL_MS,
            ..ApprovalsRequest::default()
        };
        let next = tokio::select! {
            next = self::list_approvals(session, request) => next?,
            () = wait_for_ctrl_c() => return Ok(std::process::ExitCode::SUCCESS),
        };
        if next.edition != list.edition {
            list = next;
            render::approvals_now(&list, json);
        }
    }
}

pub(super) async fn approve(args: args::ApproveArgs, json: bool) -> CommandResult {
    let decision = match (args.always, args.session) {
        (true, _) => Decision::Always,
        (_, true) => Decision::Session,
        _ => Decision::Once,
    };
    decide_approvals(args.approvals, decision, None, json).await
}

pub(super) async fn deny(args: args::DenyArgs, json: bool) -> CommandResult {
    decide_approvals(args.approvals, Decision::Deny, args.reason, json).await
}

/// Decides each approval. A failure is reported, and the others are still decided.
async fn decide_approvals(
    approvals: Vec<String>,
    decision: Decision,
    reason: Option<String>,
    json: bool,
) -> CommandResult {
    let session = connect_or_start().await?;
    let mut ended = ExitCode::SUCCESS;
    for (index, approval) in approvals.iter().enumerate() {
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
                    .retain(|id| !approvals[index..].contains(id));
                render::show(&decided, json, |decided| render::decided(decided, decision));
            }
            Err(error) => ended = render::failure(&error, json, None),
        }
    }
    Ok(ended)
}

pub(super) async fn resume(args: args::ResumeArgs, json: bool) -> CommandResult {
    let at_end = RunEndActions::with_saved_parts(args.parts);
    at_end.check_paths()?;
    let session = connect_or_start().await?;
    let mut view = RunView::new(
        json,
        at_end.parts.is_some(),
        render::ProgramListing::without_source(),
    );
    let questions = TerminalQuestions::for_run(json || args.detach, &mut view);
    questions.announce(&session).await;
    let request = ResumeRequest {
        id: args.id,
        detach: args.detach,
    };
    let resumed = session.client.resume_run(within_seconds(30), request);
    let resumed = resumed.await??;
    if args.detach {
        return Ok(render::detached(&resumed.run, json));
    }
    view.accepted(&resumed.run);
    let watched = mux_client::watch(&session, &resumed.run, 0, |event| view.show(event));
    let finished = tokio::select! {
        finished = watched => finished,
        never = questions.answer_all(&session) => match never {},
        // The daemon cancels the run with this connection, and keeps its pending approvals.
        () = wait_for_ctrl_c() => return Ok(view.interrupted("pending approvals are kept: see `mux approvals`")),
    };
    match finished {
        Ok(finished) => finish_run(&session, view, finished.outcome, &at_end, json).await,
        Err(error) => Ok(view.failed(&error)),
    }
}
