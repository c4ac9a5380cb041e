//! Notices and questions that the daemon sends to a connection by long poll.

use std::time::Duration;

use mux_proto as wire;

use super::{MAX_LONG_POLL, approvals, connection::ConnectionState};
use mux_caller::{CallCause, ClientAnswer, ClientNotice, QuestionKind};

pub(super) async fn read(
    connection: &ConnectionState,
    request: wire::NoticesRequest,
) -> wire::NoticePage {
    let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
    let answers = request.answers.into_iter().map(ask_kind).collect();
    let mailbox = connection.mailbox();
    let notices = mailbox.read_after(request.after, wait, answers).await;
    let notices = notices.into_iter().map(|(seq, notice)| wire::Notice {
        seq,
        notice: notice_kind(notice),
    });
    wire::NoticePage {
        notices: notices.collect(),
    }
}

pub(super) fn answer(
    connection: &ConnectionState,
    request: wire::AnswerRequest,
) -> wire::Result<()> {
    let answer = match request.answer {
        wire::Answer::Result(value) => ClientAnswer::Result(value),
        wire::Answer::Refused(why) => ClientAnswer::Refused(why),
    };
    connection
        .mailbox()
        .answer(request.ask, answer)
        .map_err(|wrong| {
            let message = format!("the answer does not fit the question: {wrong}");
            wire::Error::new(wire::Kind::Validation, message).hint("the question is still open")
        })
}

fn ask_kind(kind: wire::AskKind) -> QuestionKind {
    match kind {
        wire::AskKind::Elicitation => QuestionKind::Elicitation,
        wire::AskKind::Sampling => QuestionKind::Sampling,
        wire::AskKind::Roots => QuestionKind::Roots,
        wire::AskKind::Approval => QuestionKind::Approval,
    }
}

fn wire_ask_kind(kind: QuestionKind) -> wire::AskKind {
    match kind {
        QuestionKind::Elicitation => wire::AskKind::Elicitation,
        QuestionKind::Sampling => wire::AskKind::Sampling,
        QuestionKind::Roots => wire::AskKind::Roots,
        QuestionKind::Approval => wire::AskKind::Approval,
    }
}

fn notice_kind(notice: ClientNotice) -> wire::NoticeKind {
    match notice {
        ClientNotice::Changed(changed) => wire::NoticeKind::Changed {
            tools: changed.tools,
            resources: changed.resources,
            prompts: changed.prompts,
        },
        ClientNotice::ResourceUpdated { server, uri } => {
            wire::NoticeKind::ResourceUpdated { server, uri }
        }
        ClientNotice::Progress {
            cause: of,
            progress,
        } => wire::NoticeKind::Progress {
            cause: cause(of),
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
        },
        ClientNotice::Log {
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
        ClientNotice::Ask {
            ask,
            server,
            cause: of,
            tool,
            kind,
            key,
            params,
        } => wire::NoticeKind::Ask {
            ask,
            own: server.is_none(),
            server: server.unwrap_or_else(|| "mux".into()),
            cause: cause(of),
            tool: tool.map(|tool| tool.to_string()),
            kind: wire_ask_kind(kind),
            key,
            params,
        },
        ClientNotice::ElicitationComplete {
            server,
            id,
            cause: of,
        } => wire::NoticeKind::ElicitationComplete {
            server,
            id,
            cause: cause(of),
        },
        ClientNotice::ApprovalAsked { cause: of, asked } => wire::NoticeKind::ApprovalAsked {
            cause: cause(of),
            asked: approvals::approval_asked(asked),
        },
        ClientNotice::ApprovalOver {
            cause: of,
            approval,
            path,
            ending,
        } => wire::NoticeKind::ApprovalOver {
            cause: cause(of),
            over: approvals::approval_over(approval, path, ending),
        },
        ClientNotice::Withdrawn { ask } => wire::NoticeKind::Withdrawn { ask },
        ClientNotice::Declined {
            server,
            kind,
            cause: of,
            why,
        } => wire::NoticeKind::Declined {
            server,
            kind: wire_ask_kind(kind),
            cause: cause(of),
            why,
        },
        ClientNotice::Leaving => wire::NoticeKind::Leaving {},
    }
}

fn cause(cause: CallCause) -> wire::Cause {
    match cause {
        CallCause::Run(run) => wire::Cause::Run(run),
        CallCause::Call(token) => wire::Cause::Call(token),
    }
}
