//! Handover on systems without a keeper: requests for an upgrade are refused.
//!
//! Invariant: neither a [`Predecessor`] nor a [`Successor`] can be constructed.

use std::convert::Infallible;

use interprocess::local_socket::tokio::Listener;
use tokio::{io::DuplexStream, sync::mpsc};

use super::{
    error::HandoverError,
    upgrade_request::{NextDaemon, PendingUpgrade},
};
use crate::lifecycle::{InstanceLock, ServiceManager};
use mux_catalog::Catalog;
use mux_keeper::Keeper;
use mux_upstream::{HandoverKey, IncomingSessions, ProcessLauncher, Upstreams};

#[derive(Debug)]
pub enum Predecessor {}

impl Predecessor {
    pub(crate) fn keeper(&self) -> Option<Keeper> {
        match *self {}
    }

    pub(crate) fn expected(&self) -> Vec<HandoverKey> {
        match *self {}
    }

    pub(crate) async fn warm(&mut self) -> Result<(), HandoverError> {
        match *self {}
    }

    pub(crate) async fn ready(&mut self, _: &IncomingSessions) -> Result<u64, HandoverError> {
        match *self {}
    }

    pub(crate) async fn serving(&self) -> Result<(), HandoverError> {
        match *self {}
    }

    pub(crate) async fn receive(
        self,
        _: IncomingSessions,
        _: std::sync::Arc<Upstreams>,
        _: std::sync::Arc<mux_approvals::Approvals>,
        _: std::sync::Arc<crate::lifecycle::PredecessorRuns>,
    ) {
        match self {}
    }
}

pub(crate) struct Successor {
    pub(crate) daemon: NextDaemon,
    never: Infallible,
}

impl Successor {
    pub(crate) async fn let_in(&self, _: impl FnOnce(DuplexStream)) {
        match self.never {}
    }
}

#[expect(dead_code, reason = "nothing is handed over")]
pub(crate) struct HandoverSource<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) lock: &'a InstanceLock,
    pub(crate) startup_lock: &'a std::path::Path,
    pub(crate) service: &'a ServiceManager,
    pub(crate) socket: &'a std::path::Path,
    pub(crate) launcher: &'a ProcessLauncher,
    pub(crate) catalog: &'a std::sync::Arc<Catalog>,
    pub(crate) knowledge: &'a std::path::Path,
    pub(crate) upstreams: &'a Upstreams,
    pub(crate) runs: &'a mux_runs::Runs,
}

impl HandoverSource<'_> {
    pub(crate) async fn fulfil(&self, wishes: &mut mpsc::Receiver<PendingUpgrade>) -> Successor {
        while let Some((_, answer)) = wishes.recv().await {
            // Fails if the client has disconnected.
            drop(answer.send(Err(HandoverError::NotHere)));
        }
        std::future::pending().await
    }
}

pub(crate) async fn hand_over(
    successor: Successor,
    _: &Upstreams,
    _: impl Future<Output = Vec<String>>,
) {
    match successor.never {}
}
