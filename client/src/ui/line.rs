//! One connection to the daemon for all tabs, reopened when a daemon is running again.
//!
//! Invariant: a request is sent once. Nothing here starts a daemon: after the user has stopped it, an open tab must not
//! restart it.

use std::{convert::Infallible, sync::Arc, time::Duration};

use mux_client::{Identity, Session, connect, lost};
use mux_proto::{Error, MuxClient, endpoint::Dirs};
use serde::Serialize;
use tarpc::client::RpcError;
use tokio::{sync::watch, time::sleep};

use crate::exit;

/// The interval between attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Line {
    dirs: Dirs,
    me: Identity,
    standing: watch::Sender<Standing>,
    /// The number of the last connection that was found broken.
    broken: watch::Sender<u64>,
}

#[derive(Clone)]
pub(super) enum Standing {
    Up {
        /// A number that is unique among the connections of this process.
        number: u64,
        session: Session,
    },
    /// The reason why there is no connection.
    Down(String),
}

/// The state of the connection, as JSON for the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Link {
    pub(super) up: bool,
    /// The daemon's build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl Standing {
    pub(super) fn link(&self) -> Link {
        match self {
            Self::Up { session, .. } => Link {
                up: true,
                build: Some(session.welcome.build.clone()),
                pid: Some(session.welcome.pid),
                reason: None,
            },
            Self::Down(reason) => Link {
                up: false,
                build: None,
                pid: None,
                reason: Some(reason.clone()),
            },
        }
    }
}

impl Line {
    pub(super) fn new(dirs: Dirs, me: Identity, session: Session) -> Arc<Self> {
        let (standing, _) = watch::channel(Standing::Up { number: 1, session });
        Arc::new(Self {
            dirs,
            me,
            standing,
            broken: watch::Sender::new(0),
        })
    }

    pub(super) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Waits for a connection; returns its number.
    pub(super) async fn up(&self) -> u64 {
        let mut standing = self.standing.subscribe();
        loop {
            if let Standing::Up { number, .. } = *standing.borrow_and_update() {
                return number;
            }
            if standing.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Whether the connection with this number broke.
    pub(super) fn is_lost(&self, number: u64) -> bool {
        let now = match *self.standing.borrow() {
            Standing::Up { number, .. } => Some(number),
            Standing::Down(_) => None,
        };
        now != Some(number) || *self.broken.borrow() >= number
    }

    /// Sends one request; returns the response.
    pub(super) async fn request<T, F>(
        &self,
        feature: &str,
        method: impl FnOnce(MuxClient) -> F + Send,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<Result<T, Error>, RpcError>> + Send,
    {
        let (number, session) = match &*self.standing.borrow() {
            Standing::Up { number, session } => (*number, session.clone()),
            Standing::Down(reason) => return Err(exit::machinery(reason.clone())),
        };
        session.require(feature)?;
        let answer = method(session.client).await;
        if answer.as_ref().is_err_and(is_broken) {
            self.broken.send_replace(number);
        }
        answer.map_err(lost)?
    }

    /// Reopens the connection whenever it breaks.
    pub(super) async fn keep(&self) -> Infallible {
        let mut broken = self.broken.subscribe();
        let mut number = 1;
        loop {
            // Cannot fail: `self` owns the sender.
            drop(broken.wait_for(|last| *last >= number).await);
            self.tell("muxd has ended".into());
            let session = self.found().await;
            number += 1;
            self.standing.send_replace(Standing::Up { number, session });
        }
    }

    async fn found(&self) -> Session {
        loop {
            match connect(&self.dirs, &self.me).await {
                Ok(session) => return session,
                Err(error) => self.tell(error.to_string()),
            }
            sleep(PAUSE).await;
        }
    }

    fn tell(&self, reason: String) {
        self.standing.send_if_modified(|standing| {
            let known = matches!(standing, Standing::Down(known) if *known == reason);
            if !known {
                *standing = Standing::Down(reason);
            }
            !known
        });
    }
}

/// Whether the error means that the connection is broken.
fn is_broken(error: &RpcError) -> bool {
    !matches!(error, RpcError::DeadlineExceeded | RpcError::Server(_))
}
