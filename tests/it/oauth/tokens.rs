//! Tokens in use: refreshed once for all callers, stored before use, and given up when they are rejected.

use std::time::Duration;

use futures::future::join_all;
use mux_client::within_seconds;
use mux_proto::{CallRequest, Held, Kind};
use mux_tests::{
    Authority, TestEnv,
    authority::{Refresh, browse, visit},
    process,
};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{PATIENCE, begin, client, home, info, outcome, sign_in, signed_in};

const ECHO: [&str; 3] = ["call", "docs.echo", "text=hello"];

fn call(text: &str) -> CallRequest {
    CallRequest {
        path: "docs.echo".into(),
        arguments: json!({ "text": text }).into(),
        ..CallRequest::default()
    }
}

/// Makes `callers` concurrent calls, and checks that each gets its own answer.
async fn crowd(env: &TestEnv, callers: usize) {
    let session = client(env).await;
    let calls = (0..callers).map(|number| {
        let text = format!("caller {number}");
        let answer = session.client.call(within_seconds(PATIENCE), call(&text));
        async move {
            let answer = answer.await.unwrap().unwrap();
            assert_eq!(answer.result, Held::Value(json!(text).into()));
        }
    });
    join_all(calls).await;
}

#[test]
fn oauth_expired_token_is_refreshed_once_for_a_hundred_callers() {
    let authority = Authority::default();
    // The second server is the same resource: its session shares the login.
    let config = authority.server("docs", "calls_at_once = 100") + &authority.server("twin", "");
    let env = TestEnv::with_config(&config);
    signed_in(&env);
    env.mux(["call", "twin.echo", "text=hello"]).ok();
    for round in 1..=3 {
        let before = authority.count("call");
        authority.expire();
        super::runtime().block_on(crowd(&env, 100));
        env.mux(["call", "twin.echo", "text=hello"]).ok();
        assert_eq!(authority.count("refresh"), round);
        // A call that got a 401 was not executed: none was made twice.
        assert_eq!(authority.count("call"), before + 101);
    }
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_token_is_refreshed_before_expiry_and_stored_before_use() {
    let authority = Authority::default();
    // The token expires immediately, so every use needs a refresh.
    authority.change(|rules| rules.lifetime = Some(0));
    let env = home(&authority, "");
    authority.watch(&env.dirs.credentials());
    signed_in(&env);
    let refused = authority.count("refused");
    env.mux(ECHO).ok();
    env.mux(ECHO).ok();
    assert!(authority.count("refresh") >= 2);
    assert_eq!(authority.count("refused"), refused, "it was sent in vain");
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_rejected_refresh_requires_a_login_and_failed_refresh_does_not() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Broken);
    env.mux(ECHO)
        .fails(3, &["request to the authorization server failed", "500"]);
    assert_eq!(info(&env)["auth"], "signed_in");
    authority.change(|rules| rules.refresh = Refresh::Good);
    env.mux(ECHO).ok();

    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Rejected);
    let refreshes = authority.count("refresh");
    for _ in 0..2 {
        let hint = "mux servers login docs";
        env.mux(ECHO)
            .fails(5, &["auth_required", "invalid_grant", hint]);
    }
    assert_eq!(
        authority.count("refresh"),
        refreshes + 1,
        "it is dead, and stays so"
    );
    assert_eq!(info(&env)["auth"], "required");
    authority.change(|rules| rules.refresh = Refresh::Good);
    signed_in(&env);
    env.mux(ECHO).ok();
    assert_eq!(info(&env)["auth"], "signed_in");
}

#[test]
fn oauth_server_that_rejects_every_token_is_retried_once() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    authority.change(|rules| {
        rules.accepts_nobody = true;
        rules.repeats = true;
    });
    let before = authority.count("refused");
    let said = env.mux(ECHO);
    let said = said.fails(
        5,
        &["auth_required", "does not accept", "mux servers login docs"],
    );
    assert_eq!(authority.count("refused"), before + 2);
    for secret in authority.secrets() {
        assert!(
            !format!("{said:?}").contains(&secret),
            "{secret} in {said:#?}"
        );
    }
    env.mux(ECHO).fails(5, &["auth_required"]);
    assert_eq!(
        authority.count("refused"),
        before + 2,
        "it was asked again in vain"
    );
}

#[test]
fn oauth_missing_scope_is_named_and_requested_by_the_next_login() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    let hint = "mux servers login docs";
    env.mux(["call", "docs.admin"])
        .fails(5, &["auth_required", "scope admin", hint]);
    // Other tools still work.
    env.mux(ECHO).ok();
    let warning = info(&env)["warnings"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(warning.contains("scope admin"), "{warning}");
    env.stop();
    super::runtime().block_on(async {
        let (state, _) = sign_in(&client(&env).await).await;
        assert_eq!(state.scopes, ["read", "admin"]);
    });
    env.mux(["call", "docs.admin"]).ok();
    assert_eq!(info(&env)["warnings"], serde_json::Value::Null);
    // The first registration was for fewer scopes.
    assert_eq!(authority.count("register"), 2);
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_only_the_scopes_that_a_login_lacks_are_named() {
    let authority = Authority::default();
    authority.change(|rules| rules.step_up = "read admin");
    let env = home(&authority, "");
    signed_in(&env);
    let said = env.mux(["call", "docs.admin"]);
    let said = said.fails(5, &["auth_required", "the login lacks the scope admin"]);
    assert!(!said.stderr.contains("scope read"), "{said:#?}");
}

#[test]
fn oauth_fresh_token_that_the_server_refuses_is_no_reason_for_another_login() {
    let authority = Authority::default();
    authority.change(|rules| rules.accepts_nobody = true);
    let env = home(&authority, "");
    let mut login = env.begin(["servers", "login", "docs", "--no-browser"]);
    login.wait_for("/authorize?");
    let address = login.heard().lines().find(|line| line.starts_with("http"));
    browse(address.unwrap());
    let refused = "the server does not accept the token that was just issued";
    // The words of its challenge.
    let said = login.wait().fails(5, &[refused, "The token is not known"]);
    for out in [said, env.mux(ECHO).fails(5, &[refused])] {
        assert!(!out.stderr.contains("the login has ended"), "{out:#?}");
        assert!(!out.stderr.contains("mux servers login docs"), "{out:#?}");
    }
    // The operator has fixed the problem.
    authority.change(|rules| rules.accepts_nobody = false);
    signed_in(&env);
    env.mux(ECHO).ok();
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_login_survives_a_daemon_killed_during_a_refresh() {
    let authority = Authority::default();
    let env = home(&authority, "");
    authority.watch(&env.dirs.credentials());
    signed_in(&env);
    for _ in 0..5 {
        authority.expire();
        authority.change(|rules| rules.refresh = Refresh::Held);
        let before = authority.count("refresh");
        let calling = env.begin(ECHO);
        while authority.count("refresh") == before {
            env.mux(["status"]).ok();
        }
        let pid = env.daemon().unwrap();
        process::send(pid, Signal::SIGKILL);
        assert!(process::wait_for_end(pid, Duration::from_secs(20)));
        assert_ne!(calling.wait().code, 0);
        authority.release();
        env.mux(ECHO).ok();
    }
    assert_eq!(authority.complaints(), Vec::<String>::new());
}

#[test]
fn oauth_refresh_in_flight_is_saved_before_the_daemon_ends() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Held);
    let calling = env.begin(ECHO);
    while authority.count("refresh") == 0 {
        env.mux(["status"]).ok();
    }
    let pid = env.daemon().unwrap();
    let stopping = env.begin(["stop", "--now"]);
    while env.mux(["status"]).code == 0 {}
    // The daemon takes no clients any more: it is ending.
    authority.release();
    stopping.wait().ok();
    // The call has failed, or was repeated at the next daemon.
    drop(calling.wait());
    assert!(process::wait_for_end(pid, Duration::from_secs(PATIENCE)));
    let kept = std::fs::read_to_string(env.dirs.credentials()).unwrap();
    let issued = authority.secrets();
    let last = issued.iter().rfind(|secret| secret.contains("refresh"));
    assert!(kept.contains(last.unwrap()), "the new token is not saved");
    env.mux(ECHO).ok();
    assert_eq!(authority.count("refresh"), 1);
}

#[test]
fn oauth_token_that_expired_is_not_refreshed_to_end_a_session() {
    let authority = Authority::default();
    let env = home(&authority, "");
    signed_in(&env);
    env.mux(ECHO).ok();
    authority.expire();
    env.mux(["servers", "restart", "docs"]).ok();
    let reopened = authority.count("refresh");
    authority.expire();
    let pid = env.daemon().unwrap();
    env.mux(["stop"]).ok();
    assert!(process::wait_for_end(pid, Duration::from_secs(PATIENCE)));
    assert_eq!((reopened, authority.count("refresh")), (1, 1));
}

#[tokio::test]
async fn oauth_tokens_of_a_login_during_a_refresh_are_kept() {
    let authority = Authority::default();
    let env = home(&authority, "");
    let session = client(&env).await;
    sign_in(&session).await;
    authority.expire();
    authority.change(|rules| rules.refresh = Refresh::Held);
    let calling = tokio::spawn({
        let session = session.clone();
        async move {
            session
                .client
                .call(within_seconds(PATIENCE), call("x"))
                .await
        }
    });
    while authority.count("refresh") == 0 {
        session
            .client
            .status(within_seconds(PATIENCE))
            .await
            .unwrap()
            .unwrap();
    }
    let started = begin(&session).await.unwrap();
    let redirect = visit("GET", &started.url).location.unwrap();
    let page = super::follow(&redirect).await.1;
    assert_eq!(page.status, 200, "{page:?}");
    authority.release();
    outcome(&session, &started.login).await.unwrap();
    // The call may have succeeded with the refreshed token, or have lost its session to the new login.
    if let Err(error) = calling.await.unwrap().unwrap() {
        assert_ne!(error.kind, Kind::AuthRequired, "{error:?}");
    }
    let kept = std::fs::read_to_string(env.dirs.credentials()).unwrap();
    let last = authority
        .secrets()
        .into_iter()
        .rfind(|secret| secret.contains("refresh"));
    assert!(
        kept.contains(&last.unwrap()),
        "the file has the tokens of the refresh"
    );
}
