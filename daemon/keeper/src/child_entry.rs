//! One child in the daemon's table, from the request to its last event.
//!
//! Invariant: the exit is sent before the entry is dropped. The drop means that the whole tree has
//! ended.

use std::path::PathBuf;

use tokio::sync::{oneshot, watch};

use super::{
    error::SpawnError,
    kept_child::{ChildExit, SpawnSpec, StartedChild},
    wire::SpawnFailure,
};

pub(super) struct ChildEntry {
    program: PathBuf,
    cwd: PathBuf,
    exit: watch::Sender<Option<ChildExit>>,
    stage: ChildStage,
}

enum ChildStage {
    Starting(oneshot::Sender<Result<StartedChild, SpawnError>>),
    Running {
        pid: u32,
    },
    /// Received from another daemon and not claimed yet. `gone` means that no more events will follow.
    Given {
        pid: u32,
        gone: bool,
    },
}

impl ChildEntry {
    pub(super) fn new(
        spec: &SpawnSpec,
        exit: watch::Sender<Option<ChildExit>>,
        reply: oneshot::Sender<Result<StartedChild, SpawnError>>,
    ) -> Self {
        ChildEntry {
            program: spec.program.clone(),
            cwd: spec.cwd.clone(),
            exit,
            stage: ChildStage::Starting(reply),
        }
    }

    /// An unclaimed child that another daemon has given to this one.
    pub(super) fn given(pid: u32) -> Self {
        ChildEntry {
            program: PathBuf::new(),
            cwd: PathBuf::new(),
            exit: watch::Sender::new(None),
            stage: ChildStage::Given { pid, gone: false },
        }
    }

    /// Claims a child of another daemon, whose pipes the caller has. `None` if the child has ended.
    pub(super) fn claimed(
        before: Option<Self>,
        pid: u32,
        exit: watch::Sender<Option<ChildExit>>,
    ) -> Option<Self> {
        let mut gone = false;
        if let Some(before) = before {
            gone = matches!(before.stage, ChildStage::Given { gone: true, .. });
            let known = *before.exit.borrow();
            exit.send_replace(known.or(gone.then_some(ChildExit::LOST)));
        }
        (!gone).then(|| ChildEntry {
            exit,
            stage: ChildStage::Running { pid },
            ..Self::given(pid)
        })
    }

    pub(super) fn is_unclaimed(&self) -> bool {
        matches!(self.stage, ChildStage::Given { .. })
    }

    /// Records that the whole tree has ended. Returns whether the entry can be removed.
    pub(super) fn is_over(&mut self) -> bool {
        match &mut self.stage {
            ChildStage::Given { gone, .. } => {
                *gone = true;
                false
            }
            ChildStage::Starting(_) | ChildStage::Running { .. } => true,
        }
    }

    pub(super) fn started(&mut self, pipes: StartedChild) {
        let running = ChildStage::Running { pid: pipes.pid };
        if let ChildStage::Starting(reply) = std::mem::replace(&mut self.stage, running) {
            // The caller no longer exists and has dropped its leash, so the kill is already requested.
            reply.send(Ok(pipes)).ok();
        }
    }

    pub(super) fn fail(self, kind: SpawnFailure, reason: String, errno: Option<i32>) {
        let ChildStage::Starting(reply) = self.stage else {
            return;
        };
        let program = self.program;
        let cwd = self.cwd;
        let error = match kind {
            // The file itself was found before the request was sent.
            SpawnFailure::NotFound => SpawnError::NoInterpreter { program },
            SpawnFailure::NotExecutable => SpawnError::NotExecutable { program },
            SpawnFailure::BadCwd => SpawnError::BadCwd { cwd, reason },
            SpawnFailure::Other => SpawnError::Other {
                program,
                reason,
                errno,
            },
        };
        reply.send(Err(error)).ok();
    }

    pub(super) fn ended(&self, exit: ChildExit) {
        self.exit.send_replace(Some(exit));
    }

    /// Reports the exit as unknown, unless it is known, because the keeper has exited.
    pub(super) fn lost(&self) {
        self.exit.send_if_modified(|exit| {
            let unknown = exit.is_none();
            exit.get_or_insert(ChildExit::LOST);
            unknown
        });
    }

    pub(super) fn pid(&self) -> Option<u32> {
        match self.stage {
            ChildStage::Starting(_) | ChildStage::Given { gone: true, .. } => None,
            ChildStage::Running { pid } | ChildStage::Given { pid, .. } => Some(pid),
        }
    }
}
