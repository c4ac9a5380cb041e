//! `mux servers login` as a command: its output, how it ends, and what its end means for the attempt.

use std::{fs, net::TcpListener};

use mux_client::within_seconds;
use mux_proto::{Kind, LoginWaitRequest};
use mux_tests::{Authority, Running, TestEnv, authority::visit};
use nix::sys::signal::Signal;

use super::{PATIENCE, begin_at, client, follow, home, outcome, runtime, signed_in};

/// A home with the servers `first` and `second`, whose logins have one fixed port.
struct OnePort {
    first: Authority,
    _second: Authority,
    port: u16,
    env: TestEnv,
}

impl OnePort {
    fn new() -> Self {
        // A port that was free a moment ago.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let first = Authority::default();
        let second = Authority::default();
        let keys = format!("oauth = {{ port = {port} }}");
        let config = first.server("first", &keys) + &second.server("second", &keys);
        Self {
            env: TestEnv::with_config(&config),
            first,
            _second: second,
            port,
        }
    }

    /// A login of `first` that waits for its browser.
    fn waiting(&self) -> Running {
        let mut login = self
            .env
            .begin(["servers", "login", "first", "--no-browser"]);
        login.wait_for("\nhttp://");
        login
    }
}

#[test]
fn oauth_port_of_another_login_is_said_to_be_held_by_that_login() {
    let home = OnePort::new();
    let login = home.waiting();
    let said = format!(
        "oauth.port = {} is in use by the login of `first`, which waits for its browser",
        home.port
    );
    home.env
        .mux(["servers", "login", "second", "--no-browser"])
        .fails(3, &[&said, "Ctrl-C"]);
    // The login that holds the port is not disturbed.
    let page = visit("GET", &address(&login));
    assert!(page.location.is_some(), "{page:?}");
    login.signal(Signal::SIGINT);
    login.end();
}

#[test]
fn oauth_login_whose_client_ends_frees_its_port() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let home = OnePort::new();
        let login = home.waiting();
        let address = address(&login);
        login.signal(signal);
        login.end();
        home.env
            .until_logged("the login was cancelled, because its client has ended");
        let redirect = visit("GET", &address).location.unwrap();
        drop(TcpListener::bind(("127.0.0.1", home.port)).unwrap());
        let mut login = home
            .env
            .begin(["servers", "login", "second", "--no-browser"]);
        login.wait_for("open this address");
        // The page of the login that was given up leads nowhere.
        assert_ne!(visit("GET", &redirect).status, 200, "{signal}");
        login.signal(Signal::SIGINT);
        login.end();
        assert_eq!(home.first.count("code"), 0, "{signal}");
    }
}

/// The address that a login has printed.
fn address(login: &Running) -> String {
    let mut lines = login.heard().lines();
    lines.find(|line| line.starts_with("http")).unwrap().into()
}

#[tokio::test]
async fn oauth_login_outlives_its_polls_and_other_clients_that_wait_for_it() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    let started = begin_at(&session, "docs").await.unwrap();
    let wait = |wait_ms| LoginWaitRequest {
        login: started.login.clone(),
        wait_ms,
    };
    for _ in 0..3 {
        let polled = session.client.login_wait(within_seconds(PATIENCE), wait(1));
        assert!(polled.await.unwrap().unwrap().pending);
    }
    let other = client(&env).await;
    let polled = other.client.login_wait(within_seconds(PATIENCE), wait(1));
    assert!(polled.await.unwrap().unwrap().pending);
    drop(other);
    // A request that its client gives up, and a later one, whose answer proves that the first has ended.
    let given_up = session
        .client
        .login_wait(within_seconds(PATIENCE), wait(30_000));
    assert!(futures::poll!(std::pin::pin!(given_up)).is_pending());
    let polled = session.client.login_wait(within_seconds(PATIENCE), wait(1));
    assert!(polled.await.unwrap().unwrap().pending);
    follow(&started.url).await;
    let state = outcome(&session, &started.login).await.unwrap();
    assert_eq!(state.tools, Some(3), "{state:?}");
}

#[tokio::test]
async fn oauth_login_is_cancelled_with_the_connection_that_started_it() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    let other = client(&env).await;
    let started = begin_at(&session, "docs").await.unwrap();
    drop(session);
    let error = outcome(&other, &started.login).await.unwrap_err();
    assert_eq!(error.kind, Kind::Cancelled, "{error:?}");
    assert!(error.message.contains("client has ended"), "{error:?}");
    drop(TcpListener::bind(("127.0.0.1", started.redirect_port)).unwrap());
}

#[test]
fn oauth_login_whose_token_is_refused_at_once_fails() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let login = |json: &[&str]| {
        let words = [&["servers", "login", "docs", "--no-browser"], json].concat();
        let mut login = env.begin(words);
        login.wait_for("\nhttp://");
        authority.change(|rules| rules.accepts_nobody = true);
        let address = address(&login);
        runtime().block_on(follow(&address));
        let said = login.wait();
        authority.change(|rules| rules.accepts_nobody = false);
        said
    };
    let refused =
        "the server does not accept the token that was just issued: The token is not known";
    let said = login(&[]).fails(5, &["error[auth_required]", refused]);
    assert!(said.stdout.contains("signed in to docs"), "{said:#?}");
    assert!(!said.stderr.contains("mux servers login"), "{said:#?}");
    let said = login(&["--json"]).fails(5, &[]).json();
    assert_eq!(said["ok"], false, "{said:#}");
    assert_eq!(said["error"]["kind"], "auth_required", "{said:#}");
    assert!(
        said["error"]["message"].as_str().unwrap().contains(refused),
        "{said:#}"
    );
}

#[test]
fn oauth_share_is_written_into_an_entry_of_any_form() {
    let authority = Authority::default();
    let url = authority.url();
    for (entry, expected) in [
        (
            format!("[servers.docs]\nurl = {url:?} # ours\n"),
            format!("[servers.docs]\nurl = {url:?} # ours\noauth = {{ share = true }}\n"),
        ),
        (
            format!("[servers.docs]\nurl = {url:?}\noauth = true\n"),
            format!("[servers.docs]\nurl = {url:?}\noauth = {{ share = true }}\n"),
        ),
        (
            format!("[servers.docs]\nurl = {url:?}\noauth = {{ scopes = [\"read\"] }}\n"),
            format!(
                "[servers.docs]\nurl = {url:?}\noauth = {{ scopes = [\"read\"], share = true }}\n"
            ),
        ),
        (
            format!("[servers.docs]\nurl = {url:?}\noauth.scopes = [\"read\"]\n"),
            format!(
                "[servers.docs]\nurl = {url:?}\noauth.scopes = [\"read\"]\noauth.share = true\n"
            ),
        ),
        (
            format!(
                "[servers.docs]\nurl = {url:?}\n\n[servers.docs.oauth]\n# read only\nscopes = [\"read\"]\nshare = false\n"
            ),
            format!(
                "[servers.docs]\nurl = {url:?}\n\n[servers.docs.oauth]\n# read only\nscopes = [\"read\"]\nshare = true\n"
            ),
        ),
    ] {
        let env = TestEnv::with_config(&entry);
        let mut login = env.begin(["servers", "login", "docs", "--share", "--no-browser"]);
        login.wait_for("oauth.share = true is set in [servers.docs] of config.toml");
        login.wait_for("open this address");
        login.signal(Signal::SIGINT);
        login.end();
        assert_eq!(
            fs::read_to_string(env.dirs.config_file()).unwrap(),
            expected
        );
    }
}

#[test]
fn oauth_share_without_oauth_is_an_error() {
    let authority = Authority::default();
    let entry = authority.server("docs", "oauth = false");
    let env = TestEnv::with_config(&entry);
    let login = |name: &str| env.mux(["servers", "login", name, "--share", "--no-browser"]);
    login("docs").fails(1, &["`oauth = false`", "no sign-in to share"]);
    login("other").fails(1, &["no server `other`", "--share works only for"]);
    assert_eq!(fs::read_to_string(env.dirs.config_file()).unwrap(), entry);
}

#[test]
fn oauth_server_that_asks_for_a_login_after_the_handshake_says_so_without_names_of_types() {
    let authority = Authority::default();
    authority.change(|rules| rules.open_handshake = true);
    let env = home(&authority, "");
    let is_readable = |text: &str| {
        !["Transport", "mux_upstream", "::"]
            .iter()
            .any(|part| text.contains(part))
    };
    let signed_out = || {
        env.mux(["call", "docs.echo", "text=x"])
            .fails(5, &["auth_required", "mux servers login docs"]);
        for words in [&["servers"][..], &["--json", "servers"], &["doctor"]] {
            let shown = env.mux(words).stdout;
            assert!(is_readable(&shown), "{shown}");
        }
    };
    signed_out();
    signed_in(&env);
    env.mux(["call", "docs.echo", "text=x"]).ok();
    env.mux(["servers", "logout", "docs"]).ok();
    signed_out();
}
