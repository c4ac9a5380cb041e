//! The sessions of a daemon that leaves go over, each as soon as it can.
//!
//! Invariant: what is on its way over a session ends where it began, and a run keeps the sessions that it has used
//! until it has ended.

use std::{os::fd::OwnedFd, time::Duration};

use futures::future::join_all;
use tokio::{sync::mpsc, time::timeout};
use tracing::warn;

use super::{frames::PredecessorFrame, start_successor::Successor};
use mux_keeper::KeptChild;
use mux_upstream::{OutgoingSession, Upstreams};

/// How long the next daemon's callers wait for a session that is busy. Then they get another one.
const BUSY_SESSION_TIMEOUT: Duration = Duration::from_millis(500);

/// Until all have gone over, or the next daemon has gone. `recorded` is over when what waits for an approval stands on the
/// disk, and says which runs go on. To be dropped when this daemon ends them instead.
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
                .send(&PredecessorFrame::Withheld(place), &[])
                .await
                .is_err()
        {
            return;
        }
    }
    // One at a time goes through the socket.
    let (words, mut said) = mpsc::unbounded_channel();
    let all: Vec<_> = going.iter().map(|going| go(going, &words)).collect();
    let recorded = async {
        let going_on = recorded.await;
        // Without it the next daemon looks when we have left.
        drop(words.send((PredecessorFrame::Records { going_on }, None)));
    };
    let saying = async {
        while let Some((frame, session)) = said.recv().await {
            let is_last = matches!(frame, PredecessorFrame::Left {});
            let (child, fds) = session.unzip();
            let fds: &[OwnedFd] = fds.as_ref().map_or(&[], |fds: &[OwnedFd; 3]| fds);
            if let Err(error) = channel.send(&frame, fds).await {
                warn!(%error, "the next muxd hears no more");
                return;
            }
            if let Some(child) = child {
                // From here on it ends with the next daemon.
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
        // Nobody hears it any more if the next daemon has gone, here and below.
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
