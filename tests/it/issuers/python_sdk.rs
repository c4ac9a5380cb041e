//! The authorization handlers of the Python SDK.

use mux_tests::issuers::PYTHON_SDK;

#[test]
fn python_sdk_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(PYTHON_SDK);
}

#[test]
fn python_sdk_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(PYTHON_SDK);
}

#[test]
fn python_sdk_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(PYTHON_SDK);
}

#[test]
fn python_sdk_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(PYTHON_SDK, &[]);
}

#[test]
fn python_sdk_login_succeeds_after_an_issuer_without_refresh_tokens_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(PYTHON_SDK, &["--no-refresh"]);
}

#[test]
fn python_sdk_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(PYTHON_SDK, &[]);
}

#[test]
fn python_sdk_keeps_its_login() {
    super::keeps_its_login(PYTHON_SDK);
}
