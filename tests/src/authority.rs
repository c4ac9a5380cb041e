//! An authorization server and an MCP server behind it, which run for one test.
//!
//! The server strictly checks the duties of clients (PKCE, `resource`, exact redirects, rotation), and has faults
//! that a test can switch on.
//!
//! Invariant: every client error is in [`Authority::complaints`].

mod authorization_endpoint;
mod browser;
mod issuer;
mod oddity;
mod protected;
mod rules;
mod state;
mod token_endpoint;

use std::{
    net::{self, SocketAddr},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use serde_json::Value;
use tokio::{
    net::TcpListener,
    runtime,
    sync::{Notify, oneshot},
};

pub use self::{
    browser::{Page, allow_everything, browse, post, visit},
    oddity::{Form, Oddity},
    rules::{Grants, Refresh, Rejection, Rules},
};
use self::{oddity::Places, protected::ProtectedServer, state::State};

pub struct Authority {
    shared: Arc<Shared>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state that both servers share.
struct Shared {
    issuer: String,
    /// The addresses of the MCP servers.
    resources: Vec<String>,
    state: Mutex<State>,
    /// Answers that are held go on.
    released: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the endpoint is released, if it is silent.
    async fn hold(&self, endpoint: &str) {
        // A release after this line is noticed.
        let released = self.released.notified();
        let is_silent = {
            let mut state = self.state();
            let is_silent = state.rules.silent == Some(endpoint);
            if is_silent {
                state.happened("held");
            }
            is_silent
        };
        if is_silent {
            released.await;
        }
    }

    /// The URL by which the authorization server is named.
    fn issuer_url(&self, rules: &Rules) -> String {
        if rules.fronted {
            self.places(0).origin().to_owned()
        } else {
            format!("{}{}", self.issuer, rules.tenant)
        }
    }

    /// The `resource` of each MCP server, as its metadata names it.
    fn named_resources(&self, rules: &Rules) -> Vec<String> {
        let all = 0..self.resources.len();
        all.map(|at| self.places(at).filled(rules.resource))
            .collect()
    }

    fn places(&self, server: usize) -> Places<'_> {
        Places {
            url: &self.resources[server],
            issuer: &self.issuer,
        }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::start(Rules::default())
    }
}

impl Authority {
    pub fn start(rules: Rules) -> Self {
        Self::named(rules, "127.0.0.1")
    }

    /// Starts servers whose URLs name this host. The servers listen on 127.0.0.1, on the ports of those URLs.
    pub fn named(rules: Rules, host: &str) -> Self {
        Self::start_all(rules, host, 1)
    }

    /// Starts one authorization server with this number of MCP servers behind it.
    pub fn with_servers(rules: Rules, count: usize) -> Self {
        Self::start_all(rules, "127.0.0.1", count)
    }

    fn start_all(rules: Rules, host: &str, count: usize) -> Self {
        let bind = || {
            let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        };
        let issuing = bind();
        let protecting: Vec<_> = (0..count).map(|_| bind()).collect();
        let url = |address: SocketAddr| format!("http://{host}:{}", address.port());
        let shared = Arc::new(Shared {
            issuer: url(issuing.local_addr().unwrap()),
            resources: protecting
                .iter()
                .map(|listener| format!("{}/mcp", url(listener.local_addr().unwrap())))
                .collect(),
            state: Mutex::new(State::new(rules)),
            released: Notify::new(),
        });
        let (end, ended) = oneshot::channel::<()>();
        let mut all = vec![(issuing, issuer::routes(Arc::clone(&shared)))];
        all.extend(
            protecting
                .into_iter()
                .zip(&shared.resources)
                .map(|(listener, resource)| {
                    let protected = ProtectedServer {
                        shared: Arc::clone(&shared),
                        resource: resource.clone(),
                    };
                    (listener, protected::routes(protected))
                }),
        );
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let served = all.into_iter().map(|(listener, routes)| {
                    let listener = TcpListener::from_std(listener).unwrap();
                    axum::serve(listener, routes).into_future()
                });
                tokio::select! {
                    _ = futures::future::join_all(served) => {}
                    _ = ended => {}
                }
            });
        });
        Self {
            shared,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// The address of the MCP server.
    pub fn url(&self) -> &str {
        self.url_of(0)
    }

    pub fn url_of(&self, server: usize) -> &str {
        &self.shared.resources[server]
    }

    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// `[servers.NAME]` for one of several MCP servers.
    pub fn server_of(&self, server: usize, name: &str) -> String {
        format!("[servers.{name}]\nurl = {:?}\n", self.url_of(server))
    }

    /// `[servers.NAME]` for the MCP server, with `more` lines.
    pub fn server(&self, name: &str, more: &str) -> String {
        format!("[servers.{name}]\nurl = {:?}\n{more}\n", self.url())
    }

    pub fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.shared.state().rules);
    }

    /// How often an event happened: `register`, `authorize` (by a browser), `look` (by the client itself), `login`,
    /// `login looked at`, `code`, `refresh`, `invalid_target`, `userinfo`, `revoke`, `call`, `refused`, `held`.
    pub fn count(&self, what: &str) -> usize {
        let state = self.shared.state();
        state.happened.iter().filter(|one| *one == what).count()
    }

    /// The errors of clients.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.state().complaints.clone()
    }

    /// Expires every access token. Refresh tokens stay valid.
    pub fn expire(&self) {
        self.shared.state().expire();
    }

    /// Every text that must not leak: tokens, codes, client secrets.
    pub fn secrets(&self) -> Vec<String> {
        self.shared.state().secrets.clone()
    }

    /// Complains from now on about a token that is used before its refresh token is stored in this file.
    pub fn watch(&self, tokens: &Path) {
        self.shared.state().watched = Some(tokens.to_owned());
    }

    /// The requests for a registration so far.
    pub fn registrations(&self) -> Vec<Value> {
        self.shared.state().registrations.clone()
    }

    /// Forgets every client, as an authorization server does that has lost its database. Tokens stay valid.
    pub fn forget_clients(&self) {
        self.shared.state().forget_clients();
    }

    /// Answers that are held go on.
    pub fn release(&self) {
        self.change(|rules| {
            rules.refresh = Refresh::Good;
            rules.silent = None;
        });
        self.shared.released.notify_waiters();
    }

    /// Registers a client by hand.
    pub fn preregister(&self, id: &str, secret: Option<&str>, redirect: &str) {
        self.shared.state().preregister(id, secret, redirect);
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
