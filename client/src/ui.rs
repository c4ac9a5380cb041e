//! `mux ui`: the pool as a page in the user's own browser.
//!
//! A client like any other, with a small HTTP server towards the browser. `guard` says who is let in, `line`
//! keeps one connection to the daemon for all tabs, `feed` asks it while somebody looks, `stream` tells each tab
//! what is new, `api` does what a tab asks for, `shell` is the page itself.
//!
//! Invariant: it listens on 127.0.0.1 only, and nothing of the pool is told to whoever has not said the token,
//! which is another one at each start.

mod api;
mod feed;
mod guard;
mod latencies;
mod line;
mod neighbours;
mod shell;
mod stream;
mod token;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use mux_client::{Identity, Session};
use mux_proto::endpoint::Dirs;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::{
    feed::Feed,
    guard::Guard,
    line::Line,
    neighbours::OurOwn,
    token::{Once, Secret},
};

/// What all requests share.
struct Desk {
    guard: Guard,
    once: Once,
    line: Arc<Line>,
    feed: Arc<Feed>,
    over: CancellationToken,
}

/// It listens, and does not serve yet.
pub(crate) struct Server {
    listener: TcpListener,
    port: u16,
    token: Secret,
    once: Once,
}

impl Server {
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
            token: Secret::new()?,
            once: Once::new(Secret::new()?, token::A_START),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// For its user. No browser sends a server what stands behind the `#`.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.token)
    }

    /// The same, good for one browser within a minute.
    pub(crate) fn address_for_once(&self) -> String {
        format!("http://127.0.0.1:{}/#code={}", self.port, self.once)
    }

    /// Serves until it is over.
    pub(crate) async fn serve(
        self,
        dirs: Dirs,
        me: Identity,
        session: Session,
        over: CancellationToken,
    ) -> io::Result<()> {
        let line = Line::new(dirs, me, session);
        let feed = Feed::new(Arc::clone(&line));
        let desk = Arc::new(Desk {
            guard: Guard::new(self.port, self.token),
            once: self.once,
            line: Arc::clone(&line),
            feed: Arc::clone(&feed),
            over: over.clone(),
        });
        let listener = OurOwn::new(self.listener);
        let served = axum::serve(listener, api::routes(desk));
        let served = served.with_graceful_shutdown(over.cancelled_owned());
        tokio::select! {
            served = served.into_future() => served,
            never = line.keep() => match never {},
            never = feed.keep() => match never {},
        }
    }
}
