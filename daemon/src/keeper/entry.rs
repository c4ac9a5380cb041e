//! One child in the daemon's table: from the request to the last event about it.
//!
//! Invariant: the exit is sent before the entry is dropped, and the drop tells that the whole tree
//! is gone.

use std::path::PathBuf;

use tokio::sync::{oneshot, watch};

use super::{
    child::{ChildExit, SpawnSpec, Started},
    error::SpawnError,
    wire::SpawnFailure,
};

pub(super) struct Entry {
    program: PathBuf,
    cwd: PathBuf,
    exit: watch::Sender<Option<ChildExit>>,
    stage: Stage,
}

enum Stage {
    Starting(oneshot::Sender<Result<Started, SpawnError>>),
    Running { pid: u32 },
}

impl Entry {
    pub(super) fn new(
        spec: &SpawnSpec,
        exit: watch::Sender<Option<ChildExit>>,
        reply: oneshot::Sender<Result<Started, SpawnError>>,
    ) -> Self {
        Entry {
            program: spec.program.clone(),
            cwd: spec.cwd.clone(),
            exit,
            stage: Stage::Starting(reply),
        }
    }

    pub(super) fn started(&mut self, pipes: Started) {
        let running = Stage::Running { pid: pipes.pid };
        if let Stage::Starting(reply) = std::mem::replace(&mut self.stage, running) {
            // A caller that went away has dropped its leash, so the kill is on its way.
            reply.send(Ok(pipes)).ok();
        }
    }

    pub(super) fn fail(self, kind: SpawnFailure, reason: String, errno: Option<i32>) {
        let Stage::Starting(reply) = self.stage else {
            return;
        };
        let (program, cwd) = (self.program, self.cwd);
        let error = match kind {
            // The file itself was found before the keeper was asked.
            SpawnFailure::NotFound => SpawnError::NotFound {
                program,
                reason: "the interpreter that it names does not exist".to_owned(),
            },
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

    /// The keeper has gone, so nobody will tell how the child ended, if nobody has.
    pub(super) fn lost(&self) {
        self.exit.send_if_modified(|exit| {
            let unknown = exit.is_none();
            exit.get_or_insert(ChildExit::LOST);
            unknown
        });
    }

    pub(super) fn pid(&self) -> Option<u32> {
        match self.stage {
            Stage::Starting(_) => None,
            Stage::Running { pid } => Some(pid),
        }
    }
}
