//! Hands over the sessions of a daemon to its successor, each once it is idle.
//!
//! Invariant: a request in flight ends in the daemon where it began, and a run keeps the sessions that it has used
//! until it has ended.

use std::{os::fd::OwnedFd, time::Duration};

use futures::future::join_all;
use tokio::{sync::mpsc, time::timeout};
use tracing::warn;

use super::{frames::PredecessorFrame, start_successor::Successor};
use mux_keeper::KeptChild;
use mux_upstream::{OutgoingSession, Upstreams};

/// How long the successor's callers wait for a busy session before they get another session.
const BUSY_SESSION_TIMEOUT: Duration = Duration::from_millis(500);

/// Resolves when all sessions were handed over, or the successor has exited. `recorded` resolves when the pending
/// approvals are on the disk, with the runs that continue. The caller drops this future to end the remaining sessions
/// in this daemon.
pub(crate) async fn hand_over(
    successor: Successor,
    upstreams: &Upstreams,
    recorded: impl Future<Output = Vec<String>>,
) {
    let Successor {
        channel, announced, ..
    } = successor;
    let going = upstreams.outgoing_sessions();
    for place in announced {
        if !going.iter().any(|going| going.place == place)
            && channel
                .send(&PredecessorFrame::Withheld(place))
                .await
                .is_err()
        {
            return;
        }
    }
    // Frames are sent one at a time.
    let (words, mut said) = mpsc::unbounded_channel();
    let all: Vec<_> = going.iter().map(|going| go(going, &words)).collect();
    let recorded = async {
        let going_on = recorded.await;
        // If this frame is not sent, the successor reads the approvals once this daemon has exited.
        drop(words.send((PredecessorFrame::Records { going_on }, None)));
    };
    let saying = async {
        while let Some((frame, session)) = said.recv().await {
            let is_last = matches!(frame, PredecessorFrame::Left {});
            let (child, fds) = session.unzip();
            let fds = fds.map_or_else(Vec::new, Vec::from);
            if let Err(error) = channel.send_with(&frame, fds).await {
                warn!(%error, "successor closed the handover socket");
                return;
            }
            if let Some(child) = child {
                // From here on the process belongs to the successor.
                KeptChild::give(child);
            }
            if is_last {
                return;
            }
        }
    };
    let all = async {
        tokio::join!(join_all(all), recorded);
        drop(words.send((PredecessorFrame::Left {}, None)));
    };
    tokio::join!(all, saying);
}

type SessionFrame = (PredecessorFrame, Option<(KeptChild, [OwnedFd; 3])>);

async fn go(going: &OutgoingSession, words: &mpsc::UnboundedSender<SessionFrame>) {
    let withheld = || (PredecessorFrame::Withheld(going.place.clone()), None);
    if timeout(BUSY_SESSION_TIMEOUT, going.wait_until_free())
        .await
        .is_err()
    {
        // The send fails if the successor has exited, here and below.
        drop(words.send(withheld()));
        going.wait_until_free().await;
    }
    let word = match going.detach().await {
        Some((state, child, fds)) => (
            PredecessorFrame::Session(Box::new(state)),
            Some((child, fds)),
        ),
        None => withheld(),
    };
    drop(words.send(word));
}
