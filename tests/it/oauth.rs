//! Servers that require OAuth, with a strict authorization server.

mod accounts;
mod answers;
mod authority_rules;
mod canaries;
mod flow;
mod issuers;
mod login_command;
mod private;
mod refusals;
mod registrations;
mod requests;
mod shared;
mod silence;
mod tokens;

use mux_client::{ClientIdentity, Session, within_seconds};
use mux_proto::{LoginRequest, LoginStarted, LoginState, LoginWaitRequest};
use mux_tests::{
    Authority, TestEnv,
    authority::{Page, browse},
    env::binary,
};

/// The timeout of requests in seconds, longer than anything here takes.
const PATIENCE: u64 = 60;

async fn client(env: &TestEnv) -> Session {
    let identity = ClientIdentity::new("test", "0");
    mux_client::connect_or_spawn(&env.dirs, Some(binary("muxd")), &identity)
        .await
        .unwrap()
}

async fn begin(session: &Session) -> Result<LoginStarted, mux_proto::Error> {
    begin_at(session, "docs").await
}

async fn begin_at(session: &Session, server: &str) -> Result<LoginStarted, mux_proto::Error> {
    let request = LoginRequest {
        server: server.into(),
    };
    let started = session.client.login(within_seconds(PATIENCE), request);
    started.await.unwrap()
}

async fn outcome(session: &Session, login: &str) -> Result<LoginState, mux_proto::Error> {
    let request = LoginWaitRequest {
        login: login.to_owned(),
        wait_ms: 30_000,
    };
    let state = session.client.login_wait(within_seconds(PATIENCE), request);
    state.await.unwrap()
}

/// A complete login with a user who consents.
async fn sign_in(session: &Session) -> (LoginState, Page) {
    sign_in_at(session, "docs").await
}

async fn sign_in_at(session: &Session, server: &str) -> (LoginState, Page) {
    let started = begin_at(session, server).await.unwrap();
    let (_, page) = follow(&started.url).await;
    (outcome(session, &started.login).await.unwrap(), page)
}

async fn follow(url: &str) -> (Vec<String>, Page) {
    let url = url.to_owned();
    let browsed = tokio::task::spawn_blocking(move || browse(&url));
    browsed.await.unwrap()
}

/// The values of a query parameter.
fn values(url: &str, name: &str) -> Vec<String> {
    let url = url::Url::parse(url).unwrap();
    let found = url.query_pairs().filter(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned()).collect()
}

/// muxd's notes about the authorization request.
fn notes(started: &LoginStarted) -> String {
    serde_json::to_value(started).unwrap()["notes"].to_string()
}

/// A home with the server `docs`.
fn home(authority: &Authority, more: &str) -> TestEnv {
    TestEnv::with_config(&authority.server("docs", more))
}

/// Signs in to `docs`, and returns when the login is complete.
fn signed_in(env: &TestEnv) {
    runtime().block_on(async {
        let session = client(env).await;
        let (state, page) = sign_in(&session).await;
        assert_eq!(
            (state.tools, page.status),
            (Some(3), 200),
            "{state:?} {page:?}"
        );
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The entry of the first server in `mux servers`.
fn info(env: &TestEnv) -> serde_json::Value {
    let servers = env.mux(["--json", "servers"]).ok().json();
    servers[0].clone()
}
