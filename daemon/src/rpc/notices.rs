//! What a connection is told, and asked, without having asked.

use std::time::Duration;

use mux_proto as wire;

use super::{POLL, approvals, door::Door};
use mux_caller::{Answer, AskKind, Cause, Notice};

pub(super) async fn read(door: &Door, request: wire::NoticesRequest) -> wire::NoticePage {
    let wait = Duration::from_millis(request.wait_ms).min(POLL);
    let answers = request.answers.into_iter().map(known).collect();
    let notices = door.mailbox().read(request.after, wait, answers).await;
    let notices = notices.into_iter().map(|(seq, notice)| wire::Notice {
        seq,
        notice: outward(notice),
    });
    wire::NoticePage {
        notices: notices.collect(),
    }
}

pub(super) fn answer(door: &Door, request: wire::AnswerRequest) -> Result<(), wire::Error> {
    let answer = match request.answer {
        wire::Answer::Result(value) => Answer::Result(value),
        wire::Answer::Refused(why) => Answer::Refused(why),
    };
    door.mailbox().answer(request.ask, answer).map_err(|wrong| {
        let message = format!("this is no answer to what was asked: {wrong}");
        wire::Error::new(wire::Kind::Validation, message).hint("the question is still open")
    })
}

fn known(kind: wire::AskKind) -> AskKind {
    match kind {
        wire::AskKind::Elicitation => AskKind::Elicitation,
        wire::AskKind::Sampling => AskKind::Sampling,
        wire::AskKind::Roots => AskKind::Roots,
        wire::AskKind::Approval => AskKind::Approval,
    }
}

fn outward(notice: Notice) -> wire::NoticeKind {
    match notice {
        Notice::Changed(changed) => wire::NoticeKind::Changed {
            tools: changed.tools,
            resources: changed.resources,
            prompts: changed.prompts,
        },
        Notice::ResourceUpdated { server, uri } => {
            wire::NoticeKind::ResourceUpdated { server, uri }
        }
        Notice::Progress {
            cause: of,
            progress,
        } => wire::NoticeKind::Progress {
            cause: cause(of),
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
        },
        Notice::Log {
            server,
            level,
            logger,
            data,
            cause: of,
        } => wire::NoticeKind::Log {
            server,
            level,
            logger,
            data,
            cause: cause(of),
        },
        Notice::Ask {
            ask,
            server,
            cause: of,
            kind,
            key,
            params,
        } => wire::NoticeKind::Ask {
            ask,
            own: server.is_none(),
            server: server.unwrap_or_else(|| "mux".into()),
            cause: cause(of),
            kind: match kind {
                AskKind::Elicitation => wire::AskKind::Elicitation,
                AskKind::Sampling => wire::AskKind::Sampling,
                AskKind::Roots => wire::AskKind::Roots,
                AskKind::Approval => wire::AskKind::Approval,
            },
            key,
            params,
        },
        Notice::ElicitationComplete {
            server,
            id,
            cause: of,
        } => wire::NoticeKind::ElicitationComplete {
            server,
            id,
            cause: cause(of),
        },
        Notice::ApprovalAsked { cause: of, asked } => wire::NoticeKind::ApprovalAsked {
            cause: cause(of),
            asked: approvals::asked(asked),
        },
        Notice::ApprovalOver {
            cause: of,
            approval,
            path,
            ending,
        } => wire::NoticeKind::ApprovalOver {
            cause: cause(of),
            over: approvals::over(approval, path, ending),
        },
        Notice::Withdrawn { ask } => wire::NoticeKind::Withdrawn { ask },
        Notice::Leaving => wire::NoticeKind::Leaving {},
    }
}

fn cause(cause: Cause) -> wire::Cause {
    match cause {
        Cause::Run(run) => wire::Cause::Run(run),
        Cause::Call(token) => wire::Cause::Call(token),
    }
}
