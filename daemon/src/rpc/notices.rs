//! Notices and questions that the daemon sends to a connection by long poll.

use std::time::Duration;

use mux_proto as wire;

use super::{MAX_LONG_POLL, connection::ConnectionState};

pub(super) async fn read(
    connection: &ConnectionState,
    request: wire::NoticesRequest,
) -> wire::NoticePage {
    let wait = Duration::from_millis(request.wait_ms).min(MAX_LONG_POLL);
    let mailbox = connection.mailbox();
    let notices = mailbox.read_after(request.after, wait, request.answers);
    wire::NoticePage {
        notices: notices.await,
    }
}

pub(super) fn answer(
    connection: &ConnectionState,
    request: wire::AnswerRequest,
) -> wire::Result<()> {
    connection
        .mailbox()
        .answer(request.ask, request.answer)
        .map_err(|wrong| {
            let message = format!("the answer does not fit the question: {wrong}");
            wire::Error::new(wire::Kind::Validation, message).hint("the question is still open")
        })
}
