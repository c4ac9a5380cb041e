//! One connection to the daemon for all tabs, reopened when a daemon is running again.
//!
//! Invariant: a request is sent once. Nothing here starts a daemon: after the user has stopped it, an open tab must not
//! restart it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use mux_client::{ClientIdentity, Session, connect, rpc_error, within_seconds};
use mux_proto::{Error, MuxClient, endpoint::Dirs};
use serde::Serialize;
use tarpc::{client::RpcError, context::Context};
use tokio::{sync::watch, time::sleep};

use crate::exit;

/// The interval between attempts to connect.
const RECONNECT_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct SharedConnection {
    dirs: Dirs,
    me: ClientIdentity,
    state: watch::Sender<ConnectionState>,
    /// The number of the last connection that was found broken.
    broken: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) enum ConnectionState {
    Up {
        /// A number that is unique among the connections of this process.
        number: u64,
        session: Session,
    },
    /// The reason why there is no connection.
    Down(String),
}

/// The state of the connection, as JSON for the page.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LinkInfo {
    pub(super) up: bool,
    /// The daemon's build.
    pub(super) build: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) reason: Option<String>,
}

impl ConnectionState {
    pub(super) fn link_info(&self) -> LinkInfo {
        match self {
            Self::Up { session, .. } => LinkInfo {
                up: true,
                build: Some(session.welcome.build.clone()),
                pid: Some(session.welcome.pid),
                reason: None,
            },
            Self::Down(reason) => LinkInfo {
                up: false,
                build: None,
                pid: None,
                reason: Some(reason.clone()),
            },
        }
    }
}

impl SharedConnection {
    pub(super) fn new(dirs: Dirs, me: ClientIdentity, session: Session) -> Arc<Self> {
        let (state, _) = watch::channel(ConnectionState::Up { number: 1, session });
        Arc::new(Self {
            dirs,
            me,
            state,
            broken: watch::Sender::new(0),
        })
    }

    pub(super) fn watch_state(&self) -> watch::Receiver<ConnectionState> {
        self.state.subscribe()
    }

    /// Waits for a connection; returns its number.
    pub(super) async fn wait_until_connected(&self) -> u64 {
        let mut state = self.state.subscribe();
        loop {
            if let ConnectionState::Up { number, .. } = *state.borrow_and_update() {
                return number;
            }
            if state.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Whether the connection with this number broke.
    pub(super) fn is_lost(&self, number: u64) -> bool {
        let now = match *self.state.borrow() {
            ConnectionState::Up { number, .. } => Some(number),
            ConnectionState::Down(_) => None,
        };
        now != Some(number) || *self.broken.borrow() >= number
    }

    /// Sends one request; returns the response.
    pub(super) async fn request<R, T>(
        &self,
        timeout_seconds: u64,
        request: R,
        method: impl AsyncFnOnce(&MuxClient, Context, R) -> Result<Result<T, Error>, RpcError>,
    ) -> Result<T, Error> {
        let (number, session) = match &*self.state.borrow() {
            ConnectionState::Up { number, session } => (*number, session.clone()),
            ConnectionState::Down(reason) => return Err(exit::unavailable_error(reason.clone())),
        };
        let context = within_seconds(timeout_seconds);
        let answer = method(&session.client, context, request).await;
        if answer.as_ref().is_err_and(is_connection_error) {
            self.broken.send_replace(number);
        }
        answer.map_err(rpc_error)?
    }

    /// Sends a request without parameters.
    pub(super) async fn ask<T>(
        &self,
        timeout_seconds: u64,
        method: impl AsyncFnOnce(&MuxClient, Context) -> Result<Result<T, Error>, RpcError>,
    ) -> Result<T, Error> {
        let call = async |client: &MuxClient, context, ()| method(client, context).await;
        self.request(timeout_seconds, (), call).await
    }

    /// Reopens the connection whenever it breaks.
    pub(super) async fn reconnect_forever(&self) -> Infallible {
        let mut broken = self.broken.subscribe();
        let mut number = 1;
        loop {
            // Cannot fail: `self` owns the sender.
            drop(broken.wait_for(|last| *last >= number).await);
            self.set_disconnected("muxd has ended".into());
            let session = self.wait_for_daemon().await;
            number += 1;
            self.state
                .send_replace(ConnectionState::Up { number, session });
        }
    }

    async fn wait_for_daemon(&self) -> Session {
        loop {
            match connect(&self.dirs, &self.me).await {
                Ok(session) => return session,
                Err(error) => self.set_disconnected(error.to_string()),
            }
            sleep(RECONNECT_INTERVAL).await;
        }
    }

    fn set_disconnected(&self, reason: String) {
        self.state.send_if_modified(|state| {
            let known = matches!(state, ConnectionState::Down(known) if *known == reason);
            if !known {
                *state = ConnectionState::Down(reason);
            }
            !known
        });
    }
}

/// Whether the error means that the connection is broken.
fn is_connection_error(error: &RpcError) -> bool {
    !matches!(error, RpcError::DeadlineExceeded | RpcError::Server(_))
}
