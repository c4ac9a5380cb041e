//! The daemon that serves starts the next one, and waits until that one serves.
//!
//! Invariant: an attempt that fails leaves no process and has changed nothing; until the last word of the new daemon
//! this one accepts.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use interprocess::local_socket::tokio::Listener;
use tokio::{
    process::{Child, Command},
    sync::{mpsc, oneshot},
    time::timeout,
};
use tracing::{info, warn};

use super::{
    channel::Channel,
    error::HandoverError,
    frames::{FromNew, FromOld, WIRE},
};
use crate::lifecycle::{InstanceLock, Service, StartupLock};
use mux_cache::Cache;
use mux_catalog::Catalog;
use mux_keeper::wire::WIRE as KEEPER_WIRE;
use mux_process::{core_dumps, descriptors};
use mux_upstream::{HandedPlace, Launcher, Upstreams};

/// Between the start of the new program and its first word.
const HELLO: Duration = Duration::from_secs(10);
/// Until it has read its configuration and started its workers.
const WARM: Duration = Duration::from_secs(30);
/// Until it has opened the cache, and then until it accepts.
const READY: Duration = Duration::from_secs(10);
/// Whoever starts a daemon holds its lock for so long at most while this one serves.
const STARTUP: Duration = Duration::from_secs(10);
/// Until our own use of the cache has ended.
const CACHE: Duration = Duration::from_secs(3);

/// Somebody wants another program to serve.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) binary: PathBuf,
    /// What whoever asks can speak.
    pub(crate) contract: u32,
}

/// The next daemon, which serves.
pub(crate) struct Successor {
    pub(crate) pid: u32,
    pub(crate) build: String,
    pub(crate) contract: u32,
    pub(crate) took: Duration,
    pub(super) channel: Channel,
    pub(super) announced: Vec<HandedPlace>,
}

impl Successor {
    /// It gets a connection to us, on which it reads what runs here.
    pub(crate) async fn let_in(&self, door: OwnedFd) {
        if let Err(error) = self.channel.send(&FromOld::Door {}, &[door]).await {
            warn!(%error, "the next muxd cannot tell of the runs that go on here");
        }
    }
}

/// What came of a wish, for whoever has it: pid, build, contract, and how long it took.
pub(crate) type Answer = Result<(u32, String, u32, Duration), HandoverError>;
pub(crate) type Wish = (Wanted, oneshot::Sender<Answer>);

/// What is handed over, and what has to be let go of for it.
pub(crate) struct Giving<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) lock: &'a InstanceLock,
    pub(crate) startup_lock: &'a Path,
    pub(crate) service: &'a Service,
    pub(crate) socket: &'a Path,
    pub(crate) launcher: &'a Launcher,
    pub(crate) catalog: &'a Arc<Catalog>,
    pub(crate) knowledge: &'a Path,
    pub(crate) upstreams: &'a Upstreams,
}

impl Giving<'_> {
    /// Until one of the wishes has come true.
    pub(crate) async fn fulfil(&self, wishes: &mut mpsc::Receiver<Wish>) -> Successor {
        while let Some((wanted, answer)) = wishes.recv().await {
            info!(binary = %wanted.binary.display(), "another muxd is to serve");
            match self.attempt(&wanted).await {
                Ok(successor) => {
                    let Successor {
                        pid,
                        build,
                        contract,
                        took,
                        ..
                    } = &successor;
                    info!(pid, build, ?took, "the next muxd serves");
                    // Whoever asked may have gone.
                    drop(answer.send(Ok((*pid, build.clone(), *contract, *took))));
                    return successor;
                }
                Err(error) => {
                    warn!(%error, "this muxd goes on");
                    drop(answer.send(Err(error)));
                }
            }
        }
        std::future::pending().await
    }

    async fn attempt(&self, wanted: &Wanted) -> Result<Successor, HandoverError> {
        let began = Instant::now();
        let _nobody_starts = self.startup().await?;
        let (near, far) = UnixStream::pair()?;
        let mut channel = Channel::new(near)?;
        let mut child = launch(&wanted.binary, far)?;
        let outcome = self.talk(&mut channel, wanted).await;
        let (pid, build, contract, announced) = match outcome {
            Ok(said) => said,
            Err(error) => {
                end(&mut child).await;
                // It may have signed in our place.
                if let Err(error) = self.lock.sign(std::process::id(), self.socket) {
                    warn!(%error, "cannot sign the lock");
                }
                return Err(error);
            }
        };
        Ok(Successor {
            pid,
            build,
            contract,
            took: began.elapsed(),
            channel,
            announced,
        })
    }

    /// In turns, until the new daemon serves.
    async fn talk(
        &self,
        channel: &mut Channel,
        wanted: &Wanted,
    ) -> Result<(u32, String, u32, Vec<HandedPlace>), HandoverError> {
        let (build, contract) = match hear(channel, "say hello", HELLO).await? {
            FromNew::Hello {
                wire,
                build,
                contract,
            } => match (wire == WIRE, contract == wanted.contract) {
                (true, true) => (build, contract),
                (false, _) => return Err(HandoverError::OtherWire { build }),
                (true, false) => {
                    return Err(HandoverError::OtherContract {
                        build,
                        theirs: contract,
                        wanted: wanted.contract,
                    });
                }
            },
            _ => return Err(HandoverError::OutOfTurn),
        };
        let mut fds = vec![listening(self.listener)?, self.lock.share()?];
        let keeper = self.launcher.offer_keeper().await.map(|offer| {
            fds.push(offer.socket);
            (KEEPER_WIRE, offer.pid)
        });
        let awaited = self.announced();
        let offer = FromOld::Offer {
            awaited,
            keeper,
            service: self.service.legacy(),
        };
        channel.send(&offer, &fds).await?;
        // Theirs alone, should they end.
        drop::<Vec<OwnedFd>>(fds);
        match hear(channel, "read its configuration", WARM).await? {
            FromNew::Warm {} => {}
            _ => return Err(HandoverError::OutOfTurn),
        }
        self.catalog.let_go(CACHE).await;
        let serving = self.cross(channel).await;
        if serving.is_err() {
            let cache = Cache::open(self.knowledge.to_owned()).await;
            self.catalog.take_up(cache);
        }
        let (pid, announced) = serving?;
        Ok((pid, build, contract, announced))
    }

    /// The cache is theirs.
    async fn cross(&self, channel: &mut Channel) -> Result<(u32, Vec<HandedPlace>), HandoverError> {
        channel.send(&FromOld::CacheFree {}, &[]).await?;
        match hear(channel, "open the cache", READY).await? {
            FromNew::Ready {} => {}
            _ => return Err(HandoverError::OutOfTurn),
        }
        let awaited = self.announced();
        let go = FromOld::Go {
            awaited: awaited.clone(),
        };
        channel.send(&go, &[]).await?;
        match hear(channel, "serve", READY).await? {
            FromNew::Serving { pid } => Ok((pid, awaited)),
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    fn announced(&self) -> Vec<HandedPlace> {
        let going = self.upstreams.going();
        going.into_iter().map(|going| going.place).collect()
    }

    /// Nobody starts a daemon meanwhile.
    async fn startup(&self) -> Result<StartupLock, HandoverError> {
        let path = self.startup_lock.to_owned();
        let taken = tokio::task::spawn_blocking(move || StartupLock::take(&path));
        match timeout(STARTUP, taken).await {
            Ok(Ok(Ok(lock))) => Ok(lock),
            Ok(Ok(Err(error))) => Err(HandoverError::Channel(io::Error::other(error))),
            Ok(Err(_)) | Err(_) => Err(HandoverError::Busy),
        }
    }
}

fn listening(listener: &Listener) -> io::Result<OwnedFd> {
    let Listener::UdSocket(socket) = listener;
    socket.as_fd().try_clone_to_owned()
}

fn launch(binary: &Path, far: UnixStream) -> Result<Child, HandoverError> {
    let mut command = Command::new(binary);
    command
        .arg("successor")
        .stdin(OwnedFd::from(far))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // What its servers inherit are the limits that this daemon was started with.
    descriptors::give_back(&mut command);
    core_dumps::give_back(&mut command);
    let started = command.spawn();
    started.map_err(|source| HandoverError::Start {
        binary: binary.to_owned(),
        source,
    })
}

/// An attempt that has failed leaves nothing.
async fn end(child: &mut Child) {
    // It may have ended by itself.
    if let Err(error) = child.kill().await {
        warn!(%error, "a muxd that was to serve cannot be ended");
    }
}

async fn hear(
    channel: &mut Channel,
    what: &'static str,
    limit: Duration,
) -> Result<FromNew, HandoverError> {
    match timeout(limit, channel.next()).await {
        Ok(Ok(Some(FromNew::Failed { message }))) => Err(HandoverError::Failed(message)),
        Ok(Ok(Some(said))) => Ok(said),
        Ok(Ok(None)) => Err(HandoverError::Ended),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(HandoverError::Silent { what, limit }),
    }
}
