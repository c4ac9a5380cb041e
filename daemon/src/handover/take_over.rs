//! The new daemon, from its start to the last word of the one before it.
//!
//! Invariant: nothing is served, signed or started in the old daemon's place before that one has said `Go`.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};

use interprocess::local_socket::tokio::Listener;
use tokio::time::timeout;
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

/// How long the old daemon may take to its next word. It has limits of its own, which are shorter.
const PREDECESSOR_FRAME_TIMEOUT: Duration = Duration::from_secs(60);

/// The daemon from which this one takes over.
#[derive(Debug)]
pub struct Predecessor {
    channel: HandoverChannel,
    keeper: Option<Keeper>,
    awaited: Vec<HandoverKey>,
}

/// What it has handed over.
#[derive(Debug)]
pub struct TakenOver {
    pub predecessor: Predecessor,
    pub listener: Listener,
    pub lock: InstanceLock,
    pub service: ServiceManager,
}

impl Predecessor {
    /// Speaks to the daemon that has started us, and takes what it offers.
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
        channel.send(&hello, &[]).await?;
        let (awaited, keeper, legacy) = match hear(&mut channel).await? {
            PredecessorFrame::Offer {
                awaited,
                keeper,
                service,
            } => (awaited, keeper, service),
            _ => return Err(HandoverError::OutOfTurn),
        };
        let [listener, lock] = channel.take()?;
        let keeper = match keeper {
            Some((wire, pid)) => take_keeper(wire, pid, channel.take::<1>()?).await,
            None => None,
        };
        // Without its keeper nobody could end a session's process.
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

    /// We could serve, but for the cache; returns when that is ours.
    pub(crate) async fn warm(&mut self) -> Result<(), HandoverError> {
        self.channel.send(&SuccessorFrame::Warm {}, &[]).await?;
        match hear(&mut self.channel).await? {
            PredecessorFrame::CacheFree {} => Ok(()),
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    /// We could serve; returns when we are to.
    pub(crate) async fn ready(&mut self, awaited: &IncomingSessions) -> Result<(), HandoverError> {
        self.channel.send(&SuccessorFrame::Ready {}, &[]).await?;
        match hear(&mut self.channel).await? {
            PredecessorFrame::Go { awaited: places } => {
                if self.keeper.is_some() {
                    awaited.expect_sessions(places);
                }
                Ok(())
            }
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    pub(crate) async fn serving(&self) -> Result<(), HandoverError> {
        let pid = std::process::id();
        Ok(self
            .channel
            .send(&SuccessorFrame::Serving { pid }, &[])
            .await?)
    }

    /// Tells why we do not serve.
    pub async fn fail(&self, message: String) {
        // A daemon that has gone needs no reason.
        drop(
            self.channel
                .send(&SuccessorFrame::Failed { message }, &[])
                .await,
        );
    }

    /// Takes the sessions that it hands over, until it has no more.
    pub(crate) async fn receive(
        mut self,
        awaited: IncomingSessions,
        upstreams: Arc<Upstreams>,
        approvals: Arc<Approvals>,
        former: Arc<PredecessorRuns>,
    ) {
        // Then it says itself when it has come.
        let mut is_followed = false;
        loop {
            match self.channel.next().await {
                Ok(Some(PredecessorFrame::Door {})) => match self.door() {
                    Ok(stream) => {
                        is_followed = true;
                        let former = Arc::clone(&former);
                        tokio::spawn(async move { former.follow(stream).await });
                    }
                    Err(error) => warn!(%error, "the runs of the last muxd cannot be followed"),
                },
                Ok(Some(PredecessorFrame::Session(state))) => match self.claim(*state) {
                    Ok(handed) => {
                        let (server, pid) = (&handed.state.place.server, handed.state.pid);
                        info!(server, pid, "a session of the last muxd has come");
                        upstreams.receive_session(handed);
                    }
                    Err(error) => warn!(%error, "a session of the last muxd is lost"),
                },
                Ok(Some(PredecessorFrame::Withheld(place))) => awaited.withdraw_session(&place),
                Ok(Some(PredecessorFrame::Records { going_on })) => {
                    approvals.read_left_by_predecessor(going_on).await;
                }
                Ok(Some(PredecessorFrame::Left {}) | None) => break,
                Ok(Some(_)) => warn!("the last muxd says what it has said before"),
                Err(error) => {
                    warn!(%error, "the last muxd cannot be understood any more");
                    break;
                }
            }
        }
        awaited.end_announcements();
        if let Some(keeper) = &self.keeper {
            keeper.end_unclaimed();
        }
        if !is_followed {
            former.come();
        }
        approvals.read_left_by_predecessor(Vec::new()).await;
    }

    fn door(&mut self) -> io::Result<tokio::net::UnixStream> {
        let [socket] = self.channel.take()?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(stream)
    }

    fn claim(&mut self, state: mux_upstream::HandoverState) -> io::Result<HandedSession> {
        let fds: [OwnedFd; 3] = self.channel.take()?;
        let keeper = self.keeper.as_ref();
        let keeper = keeper.ok_or_else(|| io::Error::other("there is no keeper for it"))?;
        let child = keeper.claim(state.id, state.pid, fds)?;
        Ok(HandedSession { state, child })
    }
}

/// The keeper goes on, if it can be spoken to. If not, we start our own.
async fn take_keeper(wire: u32, pid: u32, [socket]: [OwnedFd; 1]) -> Option<Keeper> {
    if wire != KEEPER_WIRE {
        info!(wire, "the keeper of the last muxd speaks in another way");
        return None;
    }
    let taken = Keeper::take_over(KeeperOffer { pid, socket }).await;
    taken
        .inspect_err(|error| warn!(%error, "the keeper of the last muxd cannot be had"))
        .ok()
}

async fn hear(channel: &mut HandoverChannel) -> Result<PredecessorFrame, HandoverError> {
    match timeout(PREDECESSOR_FRAME_TIMEOUT, channel.next()).await {
        Ok(Ok(Some(said))) => Ok(said),
        Ok(Ok(None)) => Err(HandoverError::GivenUp),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(HandoverError::Silent {
            who: "old",
            what: "go on",
            limit: PREDECESSOR_FRAME_TIMEOUT,
        }),
    }
}
