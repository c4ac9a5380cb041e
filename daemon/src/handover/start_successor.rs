//! The predecessor's part of a handover: starts the successor, and waits until it serves.
//!
//! Invariant: a failed attempt leaves no process and changes nothing. This daemon accepts connections until the
//! successor has sent `Serving`.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use interprocess::local_socket::tokio::Listener;
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};
use tracing::{info, warn};

use super::{
    channel::HandoverChannel,
    error::HandoverError,
    frames::{HANDOVER_PROTOCOL_VERSION, PredecessorFrame, SuccessorFrame},
    upgrade_request::{NextDaemon, PendingUpgrade, UpgradeTarget},
};
use crate::lifecycle::{InstanceLock, ServiceManager, StartupLock};
use mux_cache::Cache;
use mux_catalog::Catalog;
use mux_keeper::wire::KEEPER_PROTOCOL_VERSION as KEEPER_WIRE;
use mux_process::{core_dumps, descriptor_limits};
use mux_runs::Runs;
use mux_upstream::{HandoverKey, ProcessLauncher, Upstreams};

/// How long the successor may take from its start to its `Hello`.
const SUCCESSOR_HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the successor may take to read its configuration and start its workers.
const SUCCESSOR_WARM_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the successor may take to open the cache, and again to accept connections.
const SUCCESSOR_READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long another process may hold the startup lock: while this daemon serves, others hold it only briefly.
const STARTUP_LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long this daemon may take to stop using the cache.
const CACHE_RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// The next daemon, once it serves.
pub(crate) struct Successor {
    pub(crate) daemon: NextDaemon,
    pub(super) channel: HandoverChannel,
    pub(super) announced: Vec<HandoverKey>,
}

impl Successor {
    /// Sends the successor a connection to this daemon, on which it reads the runs that continue here. `serve` serves
    /// this daemon's end.
    pub(crate) async fn let_in(&self, serve: impl FnOnce(tokio::net::UnixStream)) {
        let paired =
            tokio::net::UnixStream::pair().and_then(|(near, far)| Ok((near, far.into_std()?)));
        let connection: OwnedFd = match paired {
            Ok((near, far)) => {
                serve(near);
                far.into()
            }
            Err(error) => {
                warn!(%error, "cannot open a connection for the successor: its clients do not find the runs of this muxd");
                return;
            }
        };
        if let Err(error) = self
            .channel
            .send_with(&PredecessorFrame::Door {}, vec![connection])
            .await
        {
            warn!(%error, "cannot send the successor a connection: its clients do not find the runs of this muxd");
        }
    }
}

/// Everything that is handed over or must be released first.
pub(crate) struct HandoverSource<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) lock: &'a InstanceLock,
    pub(crate) startup_lock: &'a Path,
    pub(crate) service: &'a ServiceManager,
    pub(crate) socket: &'a Path,
    pub(crate) launcher: &'a ProcessLauncher,
    pub(crate) catalog: &'a Arc<Catalog>,
    pub(crate) knowledge: &'a Path,
    pub(crate) upstreams: &'a Upstreams,
    pub(crate) runs: &'a Runs,
}

impl HandoverSource<'_> {
    /// Attempts a handover for each request, until one succeeds.
    pub(crate) async fn fulfil(&self, wishes: &mut mpsc::Receiver<PendingUpgrade>) -> Successor {
        while let Some((wanted, answer)) = wishes.recv().await {
            info!(binary = %wanted.binary.display(), "upgrade requested");
            match self.attempt(&wanted).await {
                Ok(successor) => {
                    let daemon = successor.daemon.clone();
                    let NextDaemon {
                        pid, build, took, ..
                    } = &daemon;
                    info!(pid, build, ?took, "successor is serving");
                    // A client that is told of the successor must reach it with its next request, not this daemon,
                    // whose sessions are about to be handed over. The client may have disconnected.
                    self.runs.stop_admission();
                    drop(answer.send(Ok(daemon)));
                    return successor;
                }
                Err(error) => {
                    warn!(%error, "upgrade failed, this muxd continues");
                    drop(answer.send(Err(error)));
                }
            }
        }
        std::future::pending().await
    }

    async fn attempt(&self, wanted: &UpgradeTarget) -> Result<Successor, HandoverError> {
        let began = Instant::now();
        let _nobody_starts = self.startup().await?;
        let (near, far) = UnixStream::pair()?;
        let mut channel = HandoverChannel::new(near)?;
        let mut child = launch(&wanted.binary, far)?;
        let (daemon, announced) = match self.talk(&mut channel, wanted, began).await {
            Ok(said) => said,
            Err(error) => {
                end(&mut child).await;
                // The successor may have written its own pid into the lock.
                if let Err(error) = self.lock.write_owner(std::process::id(), self.socket) {
                    warn!(%error, "cannot write the pid into the instance lock");
                }
                return Err(error);
            }
        };
        Ok(Successor {
            daemon,
            channel,
            announced,
        })
    }

    /// Exchanges frames in turns, until the successor serves.
    async fn talk(
        &self,
        channel: &mut HandoverChannel,
        wanted: &UpgradeTarget,
        began: Instant,
    ) -> Result<(NextDaemon, Vec<HandoverKey>), HandoverError> {
        let (build, contract) = match hear(channel, "say hello", SUCCESSOR_HELLO_TIMEOUT).await? {
            SuccessorFrame::Hello {
                wire,
                build,
                contract,
            } => {
                if wire != HANDOVER_PROTOCOL_VERSION {
                    return Err(HandoverError::OtherWire { build });
                }
                if contract != wanted.contract {
                    return Err(HandoverError::OtherContract {
                        build,
                        theirs: contract,
                        wanted: wanted.contract,
                    });
                }
                (build, contract)
            }
            _ => return Err(HandoverError::OutOfTurn),
        };
        let mut fds = vec![listening(self.listener)?, self.lock.share()?];
        let keeper = self.launcher.offer_keeper().await.map(|offer| {
            fds.push(offer.socket);
            (KEEPER_WIRE, offer.pid)
        });
        let awaited = self.announced();
        let offer = PredecessorFrame::Offer {
            awaited,
            keeper,
            service: self.service.legacy(),
        };
        // If the successor exits, no copy of its descriptors stays here.
        channel.send_with(&offer, fds).await?;
        match hear(channel, "read its configuration", SUCCESSOR_WARM_TIMEOUT).await? {
            SuccessorFrame::Warm {} => {}
            _ => return Err(HandoverError::OutOfTurn),
        }
        self.catalog.release_cache(CACHE_RELEASE_TIMEOUT).await;
        let serving = self.cross(channel).await;
        if serving.is_err() {
            let cache = Cache::open(self.knowledge.to_owned()).await;
            self.catalog.attach_cache(cache);
        }
        let (pid, announced) = serving?;
        let daemon = NextDaemon {
            pid,
            build,
            contract,
            took: began.elapsed(),
        };
        Ok((daemon, announced))
    }

    /// Lets the successor open the cache, and then serve.
    async fn cross(
        &self,
        channel: &mut HandoverChannel,
    ) -> Result<(u32, Vec<HandoverKey>), HandoverError> {
        channel.send(&PredecessorFrame::CacheFree {}).await?;
        match hear(channel, "open the cache", SUCCESSOR_READY_TIMEOUT).await? {
            SuccessorFrame::Ready {} => {}
            _ => return Err(HandoverError::OutOfTurn),
        }
        let awaited = self.announced();
        let go = PredecessorFrame::Go {
            awaited: awaited.clone(),
            next_run: self.runs.next_number_of_successor(),
        };
        channel.send(&go).await?;
        match hear(channel, "serve", SUCCESSOR_READY_TIMEOUT).await? {
            SuccessorFrame::Serving { pid } => Ok((pid, awaited)),
            _ => Err(HandoverError::OutOfTurn),
        }
    }

    fn announced(&self) -> Vec<HandoverKey> {
        let going = self.upstreams.outgoing_sessions();
        going.into_iter().map(|going| going.place).collect()
    }

    /// Takes the startup lock, to keep other daemons from starting meanwhile.
    async fn startup(&self) -> Result<StartupLock, HandoverError> {
        let path = self.startup_lock.to_owned();
        let taken = tokio::task::spawn_blocking(move || StartupLock::take(&path));
        match timeout(STARTUP_LOCK_TIMEOUT, taken).await {
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
    // Servers inherit the limits with which this daemon was started.
    descriptor_limits::give_back(&mut command);
    core_dumps::restore_for_child(&mut command);
    let started = command.spawn();
    started.map_err(|source| HandoverError::Start {
        binary: binary.to_owned(),
        source,
    })
}

/// Kills the process of a failed attempt.
async fn end(child: &mut Child) {
    // The process may have exited already.
    if let Err(error) = child.kill().await {
        warn!(%error, "cannot kill the muxd of a failed upgrade");
    }
}

async fn hear(
    channel: &mut HandoverChannel,
    what: &'static str,
    limit: Duration,
) -> Result<SuccessorFrame, HandoverError> {
    match channel.hear("new", what, limit).await? {
        Some(SuccessorFrame::Failed { message }) => Err(HandoverError::Failed(message)),
        said => said.ok_or(HandoverError::Ended),
    }
}
