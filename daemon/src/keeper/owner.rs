//! The task that owns the keeper process and the table of its children, in the daemon.
//!
//! Invariant: when this task ends, every child of its keeper has been reported as ended, and no
//! process of theirs is left.

use std::{
    collections::HashMap,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::Stdio,
    time::Duration,
};

use nix::{errno::Errno, sys::prctl};
use tokio::{
    process::{Child, Command},
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tracing::warn;

use super::{
    child::{Call, ChildExit, Ending, SpawnSpec, Started},
    entry::Entry,
    error::{KeeperError, SpawnError},
    link::Link,
    sweep::sweep,
    wire::{Event, Request, SpawnFailure, SpawnRequest, WIRE},
};
use crate::descriptors;

/// How long a new keeper may take to say hello; it does so before it waits for its lock.
const START_LIMIT: Duration = Duration::from_secs(5);

/// How long a keeper may take to end its trees and itself.  It promises 2 s.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

struct Owner {
    process: Child,
    pid: u32,
    link: Link,
    calls: mpsc::UnboundedReceiver<Call>,
    children: HashMap<u64, Entry>,
}

/// Starts the keeper process and its owner; answers the keeper's pid once it is ready.
pub(super) async fn start(
    exe: &Path,
    lock: &Path,
    calls: mpsc::UnboundedReceiver<Call>,
    alive: watch::Sender<()>,
) -> Result<u32, KeeperError> {
    prctl::set_child_subreaper(true).map_err(|errno| KeeperError::Socket(errno.into()))?;
    let (near, far) = UnixStream::pair().map_err(KeeperError::Socket)?;
    let link = Link::new(near).map_err(KeeperError::Socket)?;
    let process = launch(exe, lock, far).map_err(|source| KeeperError::Start {
        exe: exe.to_owned(),
        source,
    })?;
    let mut owner = Owner {
        // Known until it is waited for.
        pid: process.id().unwrap_or_default(),
        process,
        link,
        calls,
        children: HashMap::new(),
    };
    let hello = timeout(START_LIMIT, owner.hear_hello()).await;
    if let Err(error) = hello.unwrap_or(Err(KeeperError::Silent(START_LIMIT))) {
        // It has no children yet, so killing it leaves nothing behind.
        owner.process.kill().await.ok();
        return Err(error);
    }
    let pid = owner.pid;
    tokio::spawn(owner.run(alive));
    Ok(pid)
}

/// Returns with our copy of the keeper's end closed, so that its death is seen as end of file.
fn launch(exe: &Path, lock: &Path, far: UnixStream) -> io::Result<Child> {
    let mut command = Command::new(exe);
    command
        .arg0("muxd")
        .arg("keeper")
        .arg(std::path::absolute(lock)?)
        .stdin(OwnedFd::from(far))
        .stdout(Stdio::null());
    // What servers inherit is the limit that we were started with.
    descriptors::give_back(&mut command);
    command.spawn()
}

impl Owner {
    async fn hear_hello(&mut self) -> Result<(), KeeperError> {
        loop {
            let event = self.link.next_event().map_err(io::Error::other);
            match event.map_err(KeeperError::Socket)? {
                Some(Event::Hello { wire: WIRE }) => return Ok(()),
                Some(Event::Hello { wire: theirs }) => {
                    return Err(KeeperError::OtherVersion { ours: WIRE, theirs });
                }
                Some(_) => return Err(KeeperError::Gone),
                None if !self.link.is_open() => {
                    let ended = self.process.wait().await;
                    return Err(ended.map_or_else(KeeperError::Socket, KeeperError::Stillborn));
                }
                None => self.link.turn().await.map_err(KeeperError::Socket)?,
            }
        }
    }

    /// Until somebody closes the keeper, nobody holds a handle any more, or the keeper is lost.
    async fn run(mut self, alive: watch::Sender<()>) {
        while self.link.is_open() {
            tokio::select! {
                call = self.calls.recv() => match call {
                    Some(Call::Spawn { id, spec, exit, reply }) => {
                        self.request_spawn(id, spec, exit, reply);
                    }
                    Some(Call::Signal { id, signal }) if self.children.contains_key(&id) => {
                        self.link.queue(&Request::Signal { id, signal }).ok();
                    }
                    Some(Call::Signal { .. }) => {}
                    Some(Call::Close) | None => break,
                },
                turned = self.link.turn() => if let Err(error) = turned.and_then(|()| self.hear()) {
                    warn!(%error, "the keeper cannot be understood; another one is needed");
                    break;
                },
                // Of its guard, to be exact: without one it is asked to end what it has.
                _ = self.process.wait() => {
                    warn!(pid = self.pid, "the keeper has lost its guard; another one is needed");
                    break;
                }
            }
        }
        // Whoever asks from here on, or waits in line, hears that the keeper has gone.
        self.calls.close();
        while self.calls.try_recv().is_ok() {}
        self.finish().await;
        drop(alive);
    }

    fn request_spawn(
        &mut self,
        id: u64,
        spec: SpawnSpec,
        exit: watch::Sender<Option<ChildExit>>,
        reply: oneshot::Sender<Result<Started, SpawnError>>,
    ) {
        let entry = Entry::new(&spec, exit, reply);
        let request = Request::Spawn(SpawnRequest::new(id, spec));
        match self.link.queue(&request) {
            Ok(()) => drop(self.children.insert(id, entry)),
            Err(error) => entry.fail(SpawnFailure::Other, error.to_string(), None),
        }
    }

    /// Handles every event that has arrived whole.
    fn hear(&mut self) -> io::Result<()> {
        while let Some(event) = self.link.next_event().map_err(io::Error::other)? {
            match event {
                Event::Hello { .. } => {}
                Event::Spawned { id, pid } => {
                    let pipes = self.link.take_pipes(pid);
                    match pipes.ok_or_else(|| io::Error::other("a child without pipes"))? {
                        Some(pipes) => {
                            if let Some(entry) = self.children.get_mut(&id) {
                                entry.started(pipes);
                            }
                        }
                        // Nobody could speak to it.
                        None => self.give_up(id),
                    }
                }
                Event::SpawnFailed {
                    id,
                    kind,
                    message,
                    errno,
                } => {
                    if let Some(entry) = self.children.remove(&id) {
                        entry.fail(kind, message, errno);
                    }
                }
                Event::Exited { id, code, signal } => {
                    if let Some(entry) = self.children.get(&id) {
                        entry.ended(ChildExit { code, signal });
                    }
                }
                Event::Gone { id } => drop(self.children.remove(&id)),
            }
        }
        Ok(())
    }

    /// Has a child ended for whose pipes there are no descriptors. The others go on.
    fn give_up(&mut self, id: u64) {
        let signal = Ending::Kill;
        self.link.queue(&Request::Signal { id, signal }).ok();
        if let Some(entry) = self.children.remove(&id) {
            let error = io::Error::from(Errno::EMFILE);
            entry.fail(SpawnFailure::Other, error.to_string(), error.raw_os_error());
        }
    }

    async fn finish(mut self) {
        self.link.half_close().await;
        let last_words = async {
            while self.link.is_open() {
                if self.link.turn().await.and_then(|()| self.hear()).is_err() {
                    break;
                }
            }
            self.process.wait().await
        };
        let clean = match timeout(CLOSE_LIMIT, last_words).await {
            Ok(Ok(status)) => status.success(),
            Ok(Err(_)) | Err(_) => {
                self.process.kill().await.ok();
                false
            }
        };
        if !clean {
            warn!(
                pid = self.pid,
                children = self.children.len(),
                "the keeper ended without ending its servers: the daemon kills what is left"
            );
            sweep(self.pid, self.children.values().filter_map(Entry::pid)).await;
        }
        self.children.values().for_each(Entry::lost);
    }
}
