//! Authlib, which is strict about how a client authenticates.

use mux_tests::{
    TestEnv,
    issuers::{AUTHLIB, Issuer, free_ports},
};

use super::{calls, home, info, signed_in};

#[test]
fn authlib_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(AUTHLIB);
}

#[test]
fn authlib_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(AUTHLIB);
}

#[test]
fn authlib_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(AUTHLIB);
}

#[test]
fn authlib_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(AUTHLIB, &[]);
}

#[test]
fn authlib_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(AUTHLIB, &[]);
}

#[test]
fn authlib_keeps_its_login() {
    super::keeps_its_login(AUTHLIB);
}

/// The answer to a registration decides, and the metadata selects the requested method.
#[test]
fn authlib_registered_client_authenticates_as_the_answer_says() {
    for args in [
        &["--method", "client_secret_basic"][..],
        &["--method", "client_secret_post"],
        &["--method", "none"],
        &["--deny-public-clients"],
    ] {
        let Some((issuer, env)) = home(AUTHLIB, args, "") else {
            return;
        };
        signed_in(&env, "one");
        calls(&env, "one");
        issuer.expire();
        calls(&env, "one");
        let revoked = env.mux(["servers", "logout", "one"]).ok();
        assert!(revoked.stdout.contains("revoked"), "{args:?}: {revoked:#?}");
        assert_eq!(issuer.refusals(), Vec::<String>::new(), "{args:?}");
    }
}

/// A client that the user registered, with each method.
#[test]
fn authlib_own_client_authenticates_as_its_entry_says() {
    for (method, secret, auth) in [
        ("client_secret_basic", "hushhush", "auth = \"basic\""),
        ("client_secret_basic", "hushhush", ""),
        ("client_secret_post", "hushhush", "auth = \"post\""),
        ("none", "", ""),
    ] {
        let [port, ..] = free_ports();
        let client = format!("mine,{secret},{method},http://127.0.0.1:{port}/callback");
        let Some(issuer) = Issuer::start(AUTHLIB, &["--client", &client]) else {
            return;
        };
        let mut lines = vec![
            "[servers.one.oauth]".to_owned(),
            "client_id = \"mine\"".to_owned(),
            format!("issuer = {:?}", issuer.url()),
            format!("port = {port}"),
            auth.to_owned(),
        ];
        if !secret.is_empty() {
            lines.push(format!("client_secret = {secret:?}"));
        }
        let env = TestEnv::with_config(&issuer.server("one", &lines.join("\n")));
        signed_in(&env, "one");
        calls(&env, "one");
        issuer.expire();
        calls(&env, "one");
        assert_eq!(issuer.count("register"), 0);
        assert_eq!(issuer.refusals(), Vec::<String>::new(), "{method} {auth}");
    }
}

/// Only the userinfo endpoint has the user's address.
#[test]
fn authlib_who_comes_from_userinfo_where_the_id_token_has_only_a_subject() {
    let Some((_issuer, env)) = home(AUTHLIB, &["--sub-only"], "account = \"work\"") else {
        return;
    };
    signed_in(&env, "one");
    assert_eq!(info(&env, "one")["who"], "ada@example.com");
}
