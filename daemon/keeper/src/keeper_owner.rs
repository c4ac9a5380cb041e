//! The daemon's task that owns the keeper process and the table of its children.
//!
//! Invariant: when this task ends, every child of its keeper has been reported as ended, and none of their processes is
//! left.

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
    child_entry::ChildEntry,
    error::{KeeperError, SpawnError},
    keeper_link::KeeperLink,
    kept_child::{ChildExit, KeeperCall, ShareCall, SpawnSpec, StartedChild, StopSignal},
    sweep_dead_keeper::sweep,
    wire::{KEEPER_PROTOCOL_VERSION, KeeperEvent, KeeperRequest, SpawnFailure, SpawnRequest},
};
use mux_process::{core_dumps, descriptor_limits};

/// How long the handshake of a new keeper may take. The handshake comes before the wait for the lock.
const KEEPER_START_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a keeper may take to end its trees and itself. The keeper promises 2 s.
const KEEPER_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long to wait for a shared keeper to exit.
const SHARED_KEEPER_EXIT_TIMEOUT: Duration = Duration::from_millis(50);

struct KeeperOwner {
    /// `None` if the keeper is not our child, because another daemon started it.
    process: Option<Child>,
    pid: u32,
    /// True if the keeper may also serve another daemon, and then outlives this one.
    shared: bool,
    link: KeeperLink,
    calls: mpsc::UnboundedReceiver<KeeperCall>,
    children: HashMap<u64, ChildEntry>,
}

/// Starts the keeper process and its owner. Returns the keeper's pid once it is ready.
pub(super) async fn start(
    exe: &Path,
    lock: &Path,
    calls: mpsc::UnboundedReceiver<KeeperCall>,
    alive: watch::Sender<()>,
) -> Result<u32, KeeperError> {
    prctl::set_child_subreaper(true).map_err(|errno| KeeperError::Socket(errno.into()))?;
    let (near, far) = UnixStream::pair().map_err(KeeperError::Socket)?;
    let mut owner = KeeperOwner::new(near, calls)?;
    let process = launch(exe, lock, far).map_err(|source| KeeperError::Start {
        exe: exe.to_owned(),
        source,
    })?;
    // The pid is known until the process is waited for.
    owner.pid = process.id().unwrap_or_default();
    owner.process = Some(process);
    if let Err(error) = owner.hear_hello().await {
        // The keeper has no children yet, so killing it leaves no process behind.
        if let Some(process) = &mut owner.process {
            process.kill().await.ok();
        }
        return Err(error);
    }
    let pid = owner.pid;
    tokio::spawn(owner.run(alive));
    Ok(pid)
}

/// Connects to the keeper of another daemon, which has announced this one. Returns the base of the child ids to use.
pub(super) async fn take_over(
    pid: u32,
    socket: OwnedFd,
    calls: mpsc::UnboundedReceiver<KeeperCall>,
    alive: watch::Sender<()>,
) -> Result<u64, KeeperError> {
    let mut owner = KeeperOwner::new(UnixStream::from(socket), calls)?;
    owner.pid = pid;
    owner.shared = true;
    let base = owner.hear_hello().await?;
    tokio::spawn(owner.run(alive));
    Ok(base)
}

/// Starts the process. Our copy of the keeper's socket end is closed on return: the keeper's death then shows as end of
/// file.
fn launch(exe: &Path, lock: &Path, far: UnixStream) -> io::Result<Child> {
    let mut command = Command::new(exe);
    command
        .arg0("muxd")
        .arg("keeper")
        .arg(std::path::absolute(lock)?)
        .stdin(OwnedFd::from(far))
        .stdout(Stdio::null());
    // Servers must inherit the limits that muxd was started with.
    descriptor_limits::give_back(&mut command);
    core_dumps::restore_for_child(&mut command);
    command.spawn()
}

impl KeeperOwner {
    fn new(
        socket: UnixStream,
        calls: mpsc::UnboundedReceiver<KeeperCall>,
    ) -> Result<Self, KeeperError> {
        Ok(Self {
            process: None,
            pid: 0,
            shared: false,
            link: KeeperLink::new(socket).map_err(KeeperError::Socket)?,
            calls,
            children: HashMap::new(),
        })
    }

    /// Waits for the first event, which tells the base of the child ids.
    async fn hear_hello(&mut self) -> Result<u64, KeeperError> {
        let hello = timeout(KEEPER_START_TIMEOUT, self.next_hello()).await;
        hello.unwrap_or(Err(KeeperError::Silent(KEEPER_START_TIMEOUT)))
    }

    async fn next_hello(&mut self) -> Result<u64, KeeperError> {
        loop {
            let event = self.link.next_event().map_err(io::Error::other);
            match event.map_err(KeeperError::Socket)? {
                Some(KeeperEvent::Hello {
                    wire: KEEPER_PROTOCOL_VERSION,
                    base,
                }) => return Ok(base),
                Some(KeeperEvent::Hello { wire: theirs, .. }) => {
                    return Err(KeeperError::OtherVersion {
                        ours: KEEPER_PROTOCOL_VERSION,
                        theirs,
                    });
                }
                Some(_) => return Err(KeeperError::Gone),
                None if !self.link.is_open() => {
                    let Some(process) = &mut self.process else {
                        return Err(KeeperError::Gone);
                    };
                    let ended = process.wait().await;
                    return Err(ended.map_or_else(KeeperError::Socket, KeeperError::Stillborn));
                }
                None => self.link.turn().await.map_err(KeeperError::Socket)?,
            }
        }
    }

    /// Runs until the keeper is closed, no handle is left, or the keeper is lost.
    async fn run(mut self, alive: watch::Sender<()>) {
        while self.link.is_open() {
            tokio::select! {
                call = self.calls.recv() => match call {
                    Some(KeeperCall::Spawn { id, spec, exit, reply }) => {
                        self.request_spawn(id, spec, exit, reply);
                    }
                    Some(KeeperCall::Signal { id, signal }) if self.children.contains_key(&id) => {
                        self.link.queue(&KeeperRequest::Signal { id, signal }).ok();
                    }
                    Some(KeeperCall::Signal { .. }) => {}
                    Some(KeeperCall::Share(ShareCall::Admit { socket, done })) => {
                        if self.link.queue_with(&KeeperRequest::Admit {}, vec![socket]).is_ok() {
                            self.shared = true;
                            // The receiver may have been dropped.
                            done.send(()).ok();
                        }
                    }
                    Some(KeeperCall::Give { id }) => {
                        self.link.queue(&KeeperRequest::Give { id }).ok();
                        // This daemon gets no more events of the child.
                        if let Some(entry) = self.children.remove(&id) {
                            entry.lost();
                        }
                    }
                    Some(KeeperCall::Share(ShareCall::Claim { id, pid, exit })) => {
                        let before = self.children.remove(&id);
                        if let Some(entry) = ChildEntry::claimed(before, pid, exit) {
                            self.children.insert(id, entry);
                        }
                    }
                    Some(KeeperCall::Share(ShareCall::EndUnclaimed)) => self.end_unclaimed(),
                    Some(KeeperCall::Close) | None => break,
                },
                turned = self.link.turn() => if let Err(error) = turned.and_then(|()| self.hear()) {
                    warn!(%error, "the keeper's messages cannot be parsed; a new keeper is needed");
                    break;
                },
                // `process` is the guard; if it exits, the keeper is asked to end its children.
                () = ended(&mut self.process) => {
                    warn!(pid = self.pid, "the keeper's guard has exited; a new keeper is needed");
                    break;
                }
            }
        }
        // Pending and later calls fail, because the keeper has exited.
        self.calls.close();
        while self.calls.try_recv().is_ok() {}
        self.finish().await;
        drop(alive);
    }

    fn end_unclaimed(&mut self) {
        let signal = StopSignal::Kill;
        for (id, _) in self.children.extract_if(|_, entry| entry.is_unclaimed()) {
            self.link.queue(&KeeperRequest::Signal { id, signal }).ok();
        }
    }

    fn request_spawn(
        &mut self,
        id: u64,
        spec: SpawnSpec,
        exit: watch::Sender<Option<ChildExit>>,
        reply: oneshot::Sender<Result<StartedChild, SpawnError>>,
    ) {
        let entry = ChildEntry::new(&spec, exit, reply);
        let request = KeeperRequest::Spawn(SpawnRequest::new(id, spec));
        match self.link.queue(&request) {
            Ok(()) => drop(self.children.insert(id, entry)),
            Err(error) => entry.fail(SpawnFailure::Other, error.to_string(), None),
        }
    }

    /// Handles every complete event.
    fn hear(&mut self) -> io::Result<()> {
        while let Some(event) = self.link.next_event().map_err(io::Error::other)? {
            match event {
                KeeperEvent::Hello { .. } => {}
                KeeperEvent::Spawned { id, pid } => {
                    let pipes = self.link.take_pipes(pid);
                    match pipes.ok_or_else(|| io::Error::other("a child without pipes"))? {
                        Some(pipes) => {
                            if let Some(entry) = self.children.get_mut(&id) {
                                entry.started(pipes);
                            }
                        }
                        // The child is unusable without its pipes.
                        None => self.give_up(id),
                    }
                }
                KeeperEvent::SpawnFailed {
                    id,
                    kind,
                    message,
                    errno,
                } => {
                    if let Some(entry) = self.children.remove(&id) {
                        entry.fail(kind, message, errno);
                    }
                }
                KeeperEvent::Exited { id, exit } => {
                    if let Some(entry) = self.children.get(&id) {
                        entry.ended(exit);
                    }
                }
                KeeperEvent::Gone { id } => {
                    if self.children.get_mut(&id).is_none_or(ChildEntry::is_over) {
                        self.children.remove(&id);
                    }
                }
                KeeperEvent::Given { id, pid } => {
                    let entry = self.children.entry(id);
                    entry.or_insert_with(|| ChildEntry::given(pid));
                }
            }
        }
        Ok(())
    }

    /// Ends a child whose pipes could not be received. The other children are not affected.
    fn give_up(&mut self, id: u64) {
        let signal = StopSignal::Kill;
        self.link.queue(&KeeperRequest::Signal { id, signal }).ok();
        if let Some(entry) = self.children.remove(&id) {
            let error = io::Error::from(Errno::EMFILE);
            entry.fail(SpawnFailure::Other, error.to_string(), error.raw_os_error());
        }
    }

    async fn finish(mut self) {
        // The keeper must learn which children were given away.
        timeout(KEEPER_CLOSE_TIMEOUT, self.link.flush()).await.ok();
        self.link.half_close().await;
        let shared = self.shared;
        let last_words = async {
            while self.link.is_open() {
                if self.link.turn().await.and_then(|()| self.hear()).is_err() {
                    break;
                }
            }
            match &mut self.process {
                // The keeper closes its end once our children have ended, and may continue for the other daemon.
                Some(process) if shared => {
                    match timeout(SHARED_KEEPER_EXIT_TIMEOUT, process.wait()).await {
                        Ok(ended) => ended.is_ok_and(|status| status.success()),
                        Err(_) => true,
                    }
                }
                Some(process) => process.wait().await.is_ok_and(|status| status.success()),
                None => true,
            }
        };
        let clean = match timeout(KEEPER_CLOSE_TIMEOUT, last_words).await {
            Ok(clean) => clean,
            // The keeper serves another daemon, and ends our children meanwhile.
            Err(_) if shared => true,
            Err(_) => {
                if let Some(process) = &mut self.process {
                    process.kill().await.ok();
                }
                false
            }
        };
        if !clean {
            warn!(
                pid = self.pid,
                children = self.children.len(),
                "the keeper exited without ending its servers; the daemon kills the rest"
            );
            sweep(self.pid, self.children.values().filter_map(ChildEntry::pid)).await;
        }
        self.children.values().for_each(ChildEntry::lost);
    }
}

/// Resolves when the keeper exits, if it is our child.
async fn ended(process: &mut Option<Child>) {
    match process {
        // If waiting fails, no process is left to wait for.
        Some(process) => drop(process.wait().await),
        None => std::future::pending().await,
    }
}
