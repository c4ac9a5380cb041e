//! Calls that wait for an approval, and their outcomes.

use mux_proto::{
    ApprovalAsked, ApprovalEnding, ApprovalInfo, ApprovalList, ApprovalOver, ApprovalState,
    AskKind, Cause, Decided, Event, EventKind, EventPage, GrantInfo, Notice, NoticeKind,
    NoticePage, Resumed, service::MuxResponse,
};
use serde_json::json;

pub(super) fn all() -> Vec<(&'static str, MuxResponse)> {
    let states = [
        ApprovalState::Waiting,
        ApprovalState::Pending,
        ApprovalState::Approved,
        ApprovalState::Denied,
    ];
    let mut approvals: Vec<ApprovalInfo> = states.map(info).into();
    (approvals[1].arguments, approvals[1].preview) = (None, Some("{\"owner".into()));
    let list = ApprovalList {
        edition: 3,
        approvals,
        granted: vec![grant()],
    };
    let decided = Decided {
        approval: info(ApprovalState::Approved),
        live: true,
        released: 2,
        unshown: vec!["A9".into()],
        warning: Some("no session".into()),
    };
    let resumed = Resumed {
        run: "r-2".into(),
        replayed: true,
    };
    vec![
        ("approvals", MuxResponse::Approvals(Ok(list))),
        ("decide", MuxResponse::Decide(Ok(decided))),
        ("revoke_approval", MuxResponse::RevokeApproval(Ok(grant()))),
        ("resume_run", MuxResponse::ResumeRun(Ok(resumed))),
        ("events_approvals", MuxResponse::Events(Ok(events()))),
        ("notices_approvals", MuxResponse::Notices(Ok(notices()))),
    ]
}

fn info(state: ApprovalState) -> ApprovalInfo {
    ApprovalInfo {
        approval: "A7".into(),
        state,
        path: "github.delete_repo".into(),
        arguments: Some(json!({ "owner": "me", "repo": "old" })),
        preview: None,
        bytes: 29,
        client: "claude-code".into(),
        agent: Some("small-model".into()),
        workspace: Some("/home/me/notes".into()),
        run: Some("r-1".into()),
        rule: "github.delete_*".into(),
        reason: Some("it cannot be undone".into()),
        cover: "c0de".into(),
        since_ms: 1_795_300_000_000,
        left_ms: Some(239_000),
    }
}

fn grant() -> GrantInfo {
    GrantInfo {
        grant: "g5f0c93a1".into(),
        path: "github.delete_repo".into(),
        agent: Some("small-model".into()),
        rule: "github.delete_*".into(),
        digest: "00ff".into(),
        since_ms: 1_795_300_000_000,
    }
}

fn asked() -> ApprovalAsked {
    ApprovalAsked {
        approval: "A7".into(),
        path: "github.delete_repo".into(),
        arguments: "{\"owner\":\"me\"}".into(),
        bytes: 14,
        rule: "github.delete_*".into(),
        reason: Some("it cannot be undone".into()),
        cover: "c0de".into(),
        wait_ms: 240_000,
    }
}

fn over(ending: ApprovalEnding) -> ApprovalOver {
    ApprovalOver {
        approval: "A7".into(),
        path: "github.delete_repo".into(),
        ending,
    }
}

fn events() -> EventPage {
    let run = "r-1".into();
    let all = [
        EventKind::Resumed { run, calls: 3 },
        EventKind::ApprovalAsked(asked()),
        EventKind::ApprovalOver(over(ApprovalEnding::Approved)),
        EventKind::ApprovalOver(over(ApprovalEnding::Denied)),
        EventKind::ApprovalOver(over(ApprovalEnding::Pending)),
    ];
    let events = all.into_iter().zip(1..).map(|(event, seq)| Event {
        seq,
        at_ms: 10 * seq,
        event,
    });
    EventPage {
        events: events.collect(),
    }
}

fn notices() -> NoticePage {
    let cause = || Cause::Call("c-1".into());
    let all = [
        NoticeKind::ApprovalAsked {
            cause: cause(),
            asked: asked(),
        },
        NoticeKind::Ask {
            ask: 1,
            server: "mux".into(),
            own: true,
            cause: cause(),
            tool: None,
            kind: AskKind::Approval,
            key: None,
            params: json!(asked()),
        },
        NoticeKind::ApprovalOver {
            cause: cause(),
            over: over(ApprovalEnding::Approved),
        },
    ];
    let notices = all
        .into_iter()
        .zip(1..)
        .map(|(notice, seq)| Notice { seq, notice });
    NoticePage {
        notices: notices.collect(),
    }
}
