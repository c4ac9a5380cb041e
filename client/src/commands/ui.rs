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
    process::ExitCode,
    sync::Arc,
    time::Duration,
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
use super::{
    CommandFailure, CommandResult, browser, client_identity, connect_or_start_as, resolve_dirs,
};
use crate::{args, exit, render};

/// How long open connections are still served at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

pub(super) async fn ui(args: &args::UiArgs, json: bool) -> CommandResult {
    let me = ClientIdentity {
        name: "mux ui".into(),
        ..client_identity()
    };
    let session = connect_or_start_as(&me).await?;
    let bound = UiServer::bind(args.port.unwrap_or(0)).await;
    let server = bound.map_err(|error| bind_failure(args.port, &error))?;
    // Listens before the address is printed: its reader may send a signal immediately.
    let ended = termination_signal();
    // Other users can read the arguments of the browser, so this address opens the page only once.
    let opened = if args.no_open {
        None
    } else {
        browser::open_url(args.browser.clone(), &server.one_time_address())
    };
    render::serving(&server.address(), server.port(), opened.is_some(), json);
    let over = CancellationToken::new();
    let served = server.serve(resolve_dirs()?, me, session, over.clone());
    tokio::pin!(served);
    tokio::select! {
        served = &mut served => {
            served.map_err(|error| exit::unavailable_error(format!("the dashboard cannot be served: {error}")))?;
        }
        () = ended => {
            over.cancel();
            // A browser that is slower than that is cut off.
            drop(tokio::time::timeout(SHUTDOWN_GRACE, served).await);
        }
    }
    drop(opened);
    Ok(ExitCode::SUCCESS)
}

fn bind_failure(port: Option<u16>, error: &io::Error) -> CommandFailure {
    let failure = match port {
        Some(port) => {
            let message = format!("cannot listen on port {port} of 127.0.0.1: {error}");
            exit::unavailable_error(message).hint("without --port, a free port is used")
        }
        None => exit::unavailable_error(format!("cannot listen on 127.0.0.1: {error}")),
    };
    failure.into()
}

/// Resolves on SIGINT or SIGTERM. Listens from the call on, not from the first poll.
#[cfg(unix)]
fn termination_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn signal_received(listening: io::Result<Signal>) {
        match listening {
            Ok(mut signals) => _ = signals.recv().await,
            // Then the signal ends the process, as by default.
            Err(_) => std::future::pending().await,
        }
    }
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async {
        tokio::select! {
            () = signal_received(interrupt) => {}
            () = signal_received(terminate) => {}
        }
    }
}

#[cfg(not(unix))]
fn termination_signal() -> impl Future<Output = ()> {
    super::wait_for_ctrl_c()
}

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
struct UiServer {
    listener: TcpListener,
    port: u16,
    token: AccessSecret,
    once: OneTimeCode,
}

impl UiServer {
    async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
            token: AccessSecret::new()?,
            once: OneTimeCode::new(AccessSecret::new()?, access_token::CODE_LIFETIME),
        })
    }

    fn port(&self) -> u16 {
        self.port
    }

    /// The address with the token, for the user. Browsers do not send the part after the `#` to servers.
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.token)
    }

    /// The address with a code that can be used once, within a minute.
    fn one_time_address(&self) -> String {
        format!("http://127.0.0.1:{}/#code={}", self.port, self.once)
    }

    /// Serves until `over` is cancelled.
    async fn serve(
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
