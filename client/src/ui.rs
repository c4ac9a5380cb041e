//! `mux ui`: a page in the user's browser.
//!
//! A client like any other, with a small HTTP server towards the browser. `request_guard` authorizes requests, with
//! secrets of `access_token`; `peer_uid` rejects connections of other users. `shared_connection` keeps one connection
//! to the daemon for all tabs, `feed` polls it while a tab is open (with `latencies` of calls), `tab_stream` sends each
//! tab what is new, `api` and `actions` handle the page's requests, `static_files` serves the page's files.
//!
//! Invariant: it listens on 127.0.0.1 only, and user data requires the token, which changes on every start.

mod access_token;
mod actions;
mod api;
mod feed;
mod latencies;
mod peer_uid;
mod request_guard;
mod shared_connection;
mod static_files;
mod tab_stream;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::Json;
use mux_client::{ClientIdentity, Session};
use mux_proto::{Error, MuxClient, endpoint::Dirs};
use tarpc::{client::RpcError, context::Context};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use self::{
    access_token::{AccessSecret, OneTimeCode},
    api::ApiResult,
    feed::DaemonFeed,
    peer_uid::SameUserListener,
    request_guard::RequestAuthorizer,
    shared_connection::SharedConnection,
};

/// The state shared by all requests.
struct UiState {
    guard: RequestAuthorizer,
    once: OneTimeCode,
    connection: Arc<SharedConnection>,
    feed: Arc<DaemonFeed>,
    /// Permits for requests that may take long.
    long_requests: Semaphore,
    over: CancellationToken,
}

impl UiState {
    /// Sends one request to the daemon; returns its answer, for the page.
    async fn answer<R, T>(
        &self,
        timeout_seconds: u64,
        request: R,
        method: impl AsyncFnOnce(&MuxClient, Context, R) -> Result<Result<T, Error>, RpcError>,
    ) -> ApiResult<T> {
        let answer = self.connection.request(timeout_seconds, request, method);
        Ok(Json(answer.await?))
    }
}

/// An HTTP server that listens, but does not serve yet.
pub(crate) struct UiServer {
    listener: TcpListener,
    port: u16,
    token: AccessSecret,
    once: OneTimeCode,
}

impl UiServer {
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
            token: AccessSecret::new()?,
            once: OneTimeCode::new(AccessSecret::new()?, access_token::CODE_LIFETIME),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address with the token, for the user. Browsers do not send the part after the `#` to servers.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.token)
    }

    /// The address with a code that can be used once, within a minute.
    pub(crate) fn one_time_address(&self) -> String {
        format!("http://127.0.0.1:{}/#code={}", self.port, self.once)
    }

    /// Serves until `over` is cancelled.
    pub(crate) async fn serve(
        self,
        dirs: Dirs,
        me: ClientIdentity,
        session: Session,
        over: CancellationToken,
    ) -> io::Result<()> {
        let connection = SharedConnection::new(dirs, me, session);
        let feed = DaemonFeed::new(Arc::clone(&connection));
        let state = Arc::new(UiState {
            guard: RequestAuthorizer::new(self.port, self.token),
            once: self.once,
            connection: Arc::clone(&connection),
            feed: Arc::clone(&feed),
            long_requests: Semaphore::new(actions::MAX_LONG_REQUESTS),
            over: over.clone(),
        });
        let listener = SameUserListener::new(self.listener);
        let served = axum::serve(listener, api::routes(state));
        let served = served.with_graceful_shutdown(over.cancelled_owned());
        tokio::select! {
            served = served.into_future() => served,
            never = connection.reconnect_forever() => match never {},
            never = feed.poll_forever() => match never {},
        }
    }
}
