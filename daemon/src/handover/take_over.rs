//! The successor's part of a handover, from its start to the predecessor's last frame.
//!
//! Invariant: until the predecessor has sent `Go`, this daemon serves nothing, does not write into the lock, and starts
//! nothing in the predecessor's place.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};

use interprocess::local_socket::tokio::Listener;
use tracing::{info, warn};

use super::{
    channel::HandoverChannel,
    error::HandoverError,
    frames::{HANDOVER_PROTOCOL_VERSION, PredecessorFrame, SuccessorFrame},
};
use crate::lifecycle::{InstanceLock, PredecessorRuns, ServiceManager};
use mux_approvals::Approvals;
use mux_keeper::{Keeper, KeeperOffer, wire::KEEPER_PROTOCOL_VERSION as KEEPER_WIRE};
use mux_upstream::{HandedSession, HandoverKey, IncomingSessions, Upstreams};

/// How long the predecessor may take to send its next frame. Its own limits are shorter.
const PREDECESSOR_FRAME_TIMEOUT: Duration = Duration::from_mins(1);

/// The daemon from which this daemon takes over.
#[derive(Debug)]
pub struct Predecessor {
    channel: HandoverChannel,
    keeper: Option<Keeper>,
    awaited: Vec<HandoverKey>,
}

/// The parts that the predecessor hands over at the start.
#[derive(Debug)]
pub struct TakenOver {
    pub predecessor: Predecessor,
    pub listener: Listener,
    pub lock: InstanceLock,
    pub service: ServiceManager,
}

impl Predecessor {
    /// Sends `Hello` to the predecessor, and takes its offer.
    pub async fn greet(
        stream: UnixStream,
        build: &str,
        contract: u32,
    ) -> Result<TakenOver, HandoverError> {
        let mut channel = HandoverChannel::new(stream)?;
        let hello = SuccessorFrame::Hello {
            wire: HANDOVER_PROTOCOL_VERSION,
            build: build.to_owned(),
            contract,
        };
        channel.send(&hello).await?;
        let PredecessorFrame::Offer {
            awaited,
            keeper,
            service: legacy,
        } = hear(&mut channel).await?
        else {
            return Err(HandoverError::OutOfTurn);
        };
        let [listener, lock] = channel.take()?;
        let keeper = match keeper {
            Some((wire, pid)) => take_keeper(wire, pid, channel.take::<1>()?).await,
            None => None,
        };
        // Without the keeper, a session's process could not be ended.
        let awaited = match keeper {
            Some(_) => awaited,
            None => Vec::new(),
        };
        let service = ServiceManager::inherited(legacy, listener.try_clone()?);
        Ok(TakenOver {
            predecessor: Self {
                channel,
                keeper,
                awaited,
            },
            listener: Listener::UdSocket(listener.try_into()?),
            lock: InstanceLock::inherited(lock.into()),
            service: service.map_err(io::Error::other)?,
        })
    }

    pub(crate) fn keeper(&self) -> Option<Keeper> {
        self.keeper.clone()
    }

    pub(crate) fn expected(&self) -> Vec<HandoverKey> {
        self.awaited.clone()
    }

    /// Reports that this daemon could serve, except for the cache. Returns when it can open the cache.
    pub(crate) async fn warm(&mut self) -> Result<(), HandoverError> {
        self.channel.send(&SuccessorFrame::Warm {}).await?;
        match hear(&mut self.channel).await? {
            PredecessorFrame::CacheFree {} => Ok(()),
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    /// Reports that this daemon could serve. Returns the number of its first run when it may.
    pub(crate) async fn ready(&mut self, awaited: &IncomingSessions) -> Result<u64, HandoverError> {
        self.channel.send(&SuccessorFrame::Ready {}).await?;
        match hear(&mut self.channel).await? {
            PredecessorFrame::Go {
                awaited: sessions,
                next_run,
            } => {
                if self.keeper.is_some() {
                    awaited.expect_sessions(sessions);
                }
                Ok(next_run)
            }
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    pub(crate) async fn serving(&self) -> Result<(), HandoverError> {
        let pid = std::process::id();
        Ok(self.channel.send(&SuccessorFrame::Serving { pid }).await?)
    }

    /// Reports why this daemon cannot serve.
    pub async fn fail(&self, message: String) {
        // The predecessor may have exited.
        drop(self.channel.send(&SuccessorFrame::Failed { message }).await);
    }

    /// Receives the predecessor's sessions, until it has no more.
    pub(crate) async fn receive(
        mut self,
        awaited: IncomingSessions,
        upstreams: Arc<Upstreams>,
        approvals: Arc<Approvals>,
        runs: Arc<PredecessorRuns>,
    ) {
        // If so, `PredecessorRuns::follow` ends the wait for its runs.
        let mut is_followed = false;
        loop {
            match self.channel.next().await {
                Ok(Some(PredecessorFrame::Door {})) => match self.connection() {
                    Ok(stream) => {
                        is_followed = true;
                        let runs = Arc::clone(&runs);
                        tokio::spawn(async move { runs.follow(stream).await });
                    }
                    Err(error) => warn!(%error, "cannot follow the runs of the predecessor"),
                },
                Ok(Some(PredecessorFrame::Session(state))) => match self.claim(*state) {
                    Ok(handed) => {
                        let server = &handed.state.place.server;
                        let pid = handed.state.pid;
                        info!(server, pid, "received a session of the predecessor");
                        upstreams.receive_session(handed);
                    }
                    Err(error) => warn!(%error, "a session of the predecessor is lost"),
                },
                Ok(Some(PredecessorFrame::Withheld(place))) => awaited.withdraw_session(&place),
                Ok(Some(PredecessorFrame::Records { going_on })) => {
                    approvals.read_left_by_predecessor(going_on).await;
                }
                Ok(Some(PredecessorFrame::Left {}) | None) => break,
                Ok(Some(_)) => warn!("unexpected frame from the predecessor"),
                Err(error) => {
                    warn!(%error, "cannot read from the predecessor");
                    break;
                }
            }
        }
        awaited.end_announcements();
        if let Some(keeper) = &self.keeper {
            keeper.end_unclaimed();
        }
        if !is_followed {
            runs.come();
        }
        approvals.read_left_by_predecessor(Vec::new()).await;
    }

    fn connection(&mut self) -> io::Result<tokio::net::UnixStream> {
        let [socket] = self.channel.take()?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(stream)
    }

    fn claim(&mut self, state: mux_upstream::HandoverState) -> io::Result<HandedSession> {
        let fds: [OwnedFd; 3] = self.channel.take()?;
        let keeper = self.keeper.as_ref();
        let keeper = keeper.ok_or_else(|| io::Error::other("its keeper was not taken over"))?;
        let child = keeper.claim(state.id, state.pid, fds)?;
        Ok(HandedSession { state, child })
    }
}

/// Takes over the keeper. Returns `None` if the keeper speaks another protocol or does not answer, and then this daemon
/// starts its own.
async fn take_keeper(wire: u32, pid: u32, [socket]: [OwnedFd; 1]) -> Option<Keeper> {
    if wire != KEEPER_WIRE {
        info!(wire, "the predecessor's keeper is of another version");
        return None;
    }
    let taken = Keeper::take_over(KeeperOffer { pid, socket }).await;
    taken
        .inspect_err(|error| warn!(%error, "cannot take over the keeper of the predecessor"))
        .ok()
}

async fn hear(channel: &mut HandoverChannel) -> Result<PredecessorFrame, HandoverError> {
    let said = channel.hear("old", "continue", PREDECESSOR_FRAME_TIMEOUT);
    said.await?.ok_or(HandoverError::GivenUp)
}
