//! Where there is no keeper, no daemon takes over from another: whoever asks is told so.
//!
//! Invariant: there is never a [`Predecessor`].

use std::{path::PathBuf, time::Duration};

use interprocess::local_socket::tokio::Listener;
use tokio::sync::{mpsc, oneshot};

use super::error::HandoverError;
use crate::lifecycle::{InstanceLock, Service};
use mux_catalog::Catalog;
use mux_keeper::Keeper;
use mux_upstream::{Awaited, HandedPlace, Launcher, Upstreams};

#[derive(Debug)]
pub enum Predecessor {}

impl Predecessor {
    pub(crate) fn keeper(&self) -> Option<Keeper> {
        match *self {}
    }

    pub(crate) fn expected(&self) -> Vec<HandedPlace> {
        match *self {}
    }

    pub(crate) async fn warm(&mut self) -> Result<(), HandoverError> {
        match *self {}
    }

    pub(crate) async fn ready(&mut self, _: &Awaited) -> Result<(), HandoverError> {
        match *self {}
    }

    pub(crate) async fn serving(&self) -> Result<(), HandoverError> {
        match *self {}
    }

    pub(crate) async fn receive(
        self,
        _: Awaited,
        _: std::sync::Arc<Upstreams>,
        _: std::sync::Arc<mux_approvals::Approvals>,
        _: std::sync::Arc<crate::lifecycle::Former>,
    ) {
        match self {}
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) binary: PathBuf,
    pub(crate) contract: u32,
}

pub(crate) enum Successor {}

impl Successor {
    pub(crate) async fn let_in(&self, _: std::os::fd::OwnedFd) {
        match *self {}
    }
}

pub(crate) type Answer = Result<(u32, String, u32, Duration), HandoverError>;
pub(crate) type Wish = (Wanted, oneshot::Sender<Answer>);

pub(crate) struct Giving<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) lock: &'a InstanceLock,
    pub(crate) startup_lock: &'a std::path::Path,
    pub(crate) service: &'a Service,
    pub(crate) socket: &'a std::path::Path,
    pub(crate) launcher: &'a Launcher,
    pub(crate) catalog: &'a std::sync::Arc<Catalog>,
    pub(crate) knowledge: &'a std::path::Path,
    pub(crate) upstreams: &'a Upstreams,
}

impl Giving<'_> {
    pub(crate) async fn fulfil(&self, wishes: &mut mpsc::Receiver<Wish>) -> Successor {
        while let Some((_, answer)) = wishes.recv().await {
            // Whoever asked may have gone.
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
    match successor {}
}
