//! Stacks that only `scripts/issuers` installs and signs in to. Without them, these tests are
//! skipped.

use mux_tests::issuers::{BETTER_AUTH, DJANGO_OAUTH_TOOLKIT, WORKERS_OAUTH_PROVIDER};

use super::{calls, home, info, signed_in};

#[test]
fn better_auth_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(BETTER_AUTH);
}

#[test]
fn better_auth_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(BETTER_AUTH);
}

#[test]
fn better_auth_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(BETTER_AUTH);
}

#[test]
fn better_auth_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(BETTER_AUTH, &[]);
}

#[test]
fn better_auth_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(BETTER_AUTH, &[]);
}

#[test]
fn better_auth_keeps_its_login() {
    super::keeps_its_login(BETTER_AUTH);
}

#[test]
fn workers_oauth_provider_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(WORKERS_OAUTH_PROVIDER);
}

#[test]
fn workers_oauth_provider_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(WORKERS_OAUTH_PROVIDER);
}

#[test]
fn workers_oauth_provider_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(WORKERS_OAUTH_PROVIDER);
}

#[test]
fn workers_oauth_provider_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(WORKERS_OAUTH_PROVIDER, &[]);
}

#[test]
fn workers_oauth_provider_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(WORKERS_OAUTH_PROVIDER, &[]);
}

#[test]
fn workers_oauth_provider_keeps_its_login() {
    super::keeps_its_login(WORKERS_OAUTH_PROVIDER);
}

#[test]
fn django_oauth_toolkit_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(DJANGO_OAUTH_TOOLKIT);
}

#[test]
fn django_oauth_toolkit_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(DJANGO_OAUTH_TOOLKIT);
}

#[test]
fn django_oauth_toolkit_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(DJANGO_OAUTH_TOOLKIT);
}

#[test]
fn django_oauth_toolkit_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(DJANGO_OAUTH_TOOLKIT, &[]);
}

#[test]
fn django_oauth_toolkit_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(DJANGO_OAUTH_TOOLKIT, &[]);
}

#[test]
fn django_oauth_toolkit_keeps_its_login() {
    super::keeps_its_login(DJANGO_OAUTH_TOOLKIT);
}

/// The issuer refuses clients without a secret, although its metadata lists them.
#[test]
fn workers_oauth_provider_without_public_clients_registers_one_with_a_secret() {
    let Some((issuer, env)) = home(WORKERS_OAUTH_PROVIDER, &["--deny-public-clients"], "") else {
        return;
    };
    signed_in(&env, "one");
    issuer.expire();
    calls(&env, "one");
    let refused = "invalid_client_metadata: Public client registration is not allowed";
    assert_eq!(issuer.refusals(), [refused]);
}

/// The ID token of better-auth has only a subject.
#[test]
fn better_auth_who_comes_from_userinfo() {
    let Some((_issuer, env)) = home(BETTER_AUTH, &[], "account = \"work\"") else {
        return;
    };
    signed_in(&env, "one");
    assert_eq!(info(&env, "one")["who"], "ada@example.com");
}
