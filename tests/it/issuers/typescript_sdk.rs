//! The authorization handlers of the TypeScript SDK, with its demo provider.

use mux_tests::issuers::TYPESCRIPT_SDK;

#[test]
fn typescript_sdk_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(TYPESCRIPT_SDK);
}

#[test]
fn typescript_sdk_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(TYPESCRIPT_SDK);
}

#[test]
fn typescript_sdk_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(TYPESCRIPT_SDK);
}

#[test]
fn typescript_sdk_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(TYPESCRIPT_SDK, &[]);
}

#[test]
fn typescript_sdk_login_succeeds_after_an_issuer_without_refresh_tokens_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(TYPESCRIPT_SDK, &["--no-refresh"]);
}

#[test]
fn typescript_sdk_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(TYPESCRIPT_SDK, &[]);
}

#[test]
fn typescript_sdk_keeps_its_login() {
    super::keeps_its_login(TYPESCRIPT_SDK);
}
