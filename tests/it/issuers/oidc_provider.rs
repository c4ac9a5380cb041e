//! oidc-provider, the strictest of them.

use mux_tests::{
    TestEnv,
    issuers::{Issuer, OIDC_PROVIDER},
};

use super::{calls, home, login, signed_in};

#[test]
fn oidc_provider_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(OIDC_PROVIDER);
}

#[test]
fn oidc_provider_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(OIDC_PROVIDER);
}

#[test]
fn oidc_provider_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(OIDC_PROVIDER);
}

#[test]
fn oidc_provider_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(OIDC_PROVIDER, &[]);
}

#[test]
fn oidc_provider_login_succeeds_after_an_issuer_without_refresh_tokens_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(OIDC_PROVIDER, &["--no-refresh"]);
}

#[test]
fn oidc_provider_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(OIDC_PROVIDER, &[]);
}

#[test]
fn oidc_provider_keeps_its_login() {
    super::keeps_its_login(OIDC_PROVIDER);
}

/// With a refresh token for every request: the issuer rotates before it refuses another resource.
#[test]
fn oidc_provider_rotation_before_a_refusal_never_ends_a_login() {
    super::second_server_never_ends_the_login_of_the_first(OIDC_PROVIDER, &["--always-refresh"]);
}

/// Here, a refresh token requires `offline_access` and `prompt=consent`.
#[test]
fn oidc_provider_login_outlives_its_first_token() {
    let Some((issuer, env)) = home(OIDC_PROVIDER, &[], "") else {
        return;
    };
    signed_in(&env, "one");
    calls(&env, "one");
    issuer.expire();
    calls(&env, "one");
    assert_eq!((issuer.count("code"), issuer.count("refresh")), (1, 1));
}

/// One sign-in for both servers, which the authorization request names.
#[test]
fn oidc_provider_shared_sign_in_serves_both_servers() {
    let Some(issuer) = Issuer::start(OIDC_PROVIDER, &[]) else {
        return;
    };
    let entry = |name| issuer.server(name, "oauth = { share = true }");
    let env = TestEnv::with_config(&(entry("one") + &entry("two")));
    signed_in(&env, "one");
    for _ in 0..3 {
        calls(&env, "two");
        calls(&env, "one");
        issuer.expire();
    }
    env.stop();
    calls(&env, "one");
    calls(&env, "two");
    assert_eq!(issuer.count("code"), 1);
    assert_eq!(issuer.refusals(), Vec::<String>::new());
}

#[test]
fn oidc_provider_login_with_share_serves_both_servers() {
    let Some(issuer) = Issuer::start(OIDC_PROVIDER, &[]) else {
        return;
    };
    let env = TestEnv::with_config(&(issuer.server("one", "") + &issuer.server("two", "")));
    signed_in(&env, "one");
    login(&env, "two", &["--share"]).ok();
    for _ in 0..3 {
        calls(&env, "two");
        calls(&env, "one");
        issuer.expire();
    }
    env.stop();
    calls(&env, "one");
    calls(&env, "two");
    assert_eq!(issuer.refusals(), Vec::<String>::new());
}

/// L11: the server does not accept the token that the issuer has just issued.
#[test]
fn oidc_provider_token_for_another_audience_fails_the_login_with_the_words_of_the_server() {
    let Some((_issuer, env)) = home(OIDC_PROVIDER, &["--wrong-audience"], "") else {
        return;
    };
    let said = login(&env, "one", &[]);
    assert_ne!(said.code, 0, "{said:#?}");
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(all.contains("the token is for "), "{all}");
}
