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
    channel::Channel,
    error::HandoverError,
    frames::{FromNew, FromOld, WIRE},
};
use crate::lifecycle::{Former, InstanceLock, Service};
use mux_approvals::Approvals;
use mux_keeper::{Keeper, KeeperOffer, wire::WIRE as KEEPER_WIRE};
use mux_upstream::{Awaited, Handed, HandedPlace, Upstreams};

/// How long the old daemon may take to its next word. It has limits of its own, which are shorter.
const TURN: Duration = Duration::from_secs(60);

/// The daemon from which this one takes over.
#[derive(Debug)]
pub struct Predecessor {
    channel: Channel,
    keeper: Option<Keeper>,
    awaited: Vec<HandedPlace>,
}

/// What it has handed over.
#[derive(Debug)]
pub struct Taken {
    pub predecessor: Predecessor,
    pub listener: Listener,
    pub lock: InstanceLock,
    pub service: Service,
}

impl Predecessor {
    /// Speaks to the daemon that has started us, and takes what it offers.
    pub async fn greet(
        stream: UnixStream,
        build: &str,
        contract: u32,
    ) -> Result<Taken, HandoverError> {
        let mut channel = Channel::new(stream)?;
        let hello = FromNew::Hello {
            wire: WIRE,
            build: build.to_owned(),
            contract,
        };
        channel.send(&hello, &[]).await?;
        let (awaited, keeper, legacy) = match hear(&mut channel).await? {
            FromOld::Offer {
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
        let service = Service::inherited(legacy, listener.try_clone()?);
        Ok(Taken {
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

    pub(crate) fn expected(&self) -> Vec<HandedPlace> {
        self.awaited.clone()
    }

    /// We could serve, but for the cache; returns when that is ours.
    pub(crate) async fn warm(&mut self) -> Result<(), HandoverError> {
        self.channel.send(&FromNew::Warm {}, &[]).await?;
        match hear(&mut self.channel).await? {
            FromOld::CacheFree {} => Ok(()),
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    /// We could serve; returns when we are to.
    pub(crate) async fn ready(&mut self, awaited: &Awaited) -> Result<(), HandoverError> {
        self.channel.send(&FromNew::Ready {}, &[]).await?;
        match hear(&mut self.channel).await? {
            FromOld::Go { awaited: places } => {
                if self.keeper.is_some() {
                    awaited.expect(places);
                }
                Ok(())
            }
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    pub(crate) async fn serving(&self) -> Result<(), HandoverError> {
        let pid = std::process::id();
        Ok(self.channel.send(&FromNew::Serving { pid }, &[]).await?)
    }

    /// Tells why we do not serve.
    pub async fn fail(&self, message: String) {
        // A daemon that has gone needs no reason.
        drop(self.channel.send(&FromNew::Failed { message }, &[]).await);
    }

    /// Takes the sessions that it hands over, until it has no more.
    pub(crate) async fn receive(
        mut self,
        awaited: Awaited,
        upstreams: Arc<Upstreams>,
        approvals: Arc<Approvals>,
        former: Arc<Former>,
    ) {
        // Then it says itself when it has come.
        let mut is_followed = false;
        loop {
            match self.channel.next().await {
                Ok(Some(FromOld::Door {})) => match self.door() {
                    Ok(stream) => {
                        is_followed = true;
                        let former = Arc::clone(&former);
                        tokio::spawn(async move { former.follow(stream).await });
                    }
                    Err(error) => warn!(%error, "the runs of the last muxd cannot be followed"),
                },
                Ok(Some(FromOld::Session(state))) => match self.claim(*state) {
                    Ok(handed) => {
                        let (server, pid) = (&handed.state.place.server, handed.state.pid);
                        info!(server, pid, "a session of the last muxd has come");
                        upstreams.receive(handed);
                    }
                    Err(error) => warn!(%error, "a session of the last muxd is lost"),
                },
                Ok(Some(FromOld::Withheld(place))) => awaited.withdraw(&place),
                Ok(Some(FromOld::Records { going_on })) => {
                    approvals.read_again(going_on).await;
                }
                Ok(Some(FromOld::Left {}) | None) => break,
                Ok(Some(_)) => warn!("the last muxd says what it has said before"),
                Err(error) => {
                    warn!(%error, "the last muxd cannot be understood any more");
                    break;
                }
            }
        }
        awaited.end();
        if let Some(keeper) = &self.keeper {
            keeper.end_unclaimed();
        }
        if !is_followed {
            former.come();
        }
        approvals.read_again(Vec::new()).await;
    }

    fn door(&mut self) -> io::Result<tokio::net::UnixStream> {
        let [socket] = self.channel.take()?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(stream)
    }

    fn claim(&mut self, state: mux_upstream::HandedState) -> io::Result<Handed> {
        let fds: [OwnedFd; 3] = self.channel.take()?;
        let keeper = self.keeper.as_ref();
        let keeper = keeper.ok_or_else(|| io::Error::other("there is no keeper for it"))?;
        let child = keeper.claim(state.id, state.pid, fds)?;
        Ok(Handed { state, child })
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

async fn hear(channel: &mut Channel) -> Result<FromOld, HandoverError> {
    match timeout(TURN, channel.next()).await {
        Ok(Ok(Some(said))) => Ok(said),
        Ok(Ok(None)) => Err(HandoverError::GivenUp),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(HandoverError::Silent {
            what: "go on",
            limit: TURN,
        }),
    }
}
