//! FastMCP, whose server is its own authorization server.

use mux_tests::issuers::FAST_MCP;

#[test]
fn fast_mcp_first_login_lists_and_calls() {
    super::first_login_lists_and_calls(FAST_MCP);
}

#[test]
fn fast_mcp_entry_with_an_account_signs_in() {
    super::entry_with_an_account_signs_in(FAST_MCP);
}

#[test]
fn fast_mcp_login_adds_the_scope_that_a_call_lacked() {
    super::login_adds_the_scope_that_a_call_lacked(FAST_MCP);
}

#[test]
fn fast_mcp_login_succeeds_after_the_issuer_forgot_everything() {
    super::login_succeeds_after_the_issuer_forgot_everything(FAST_MCP, &[]);
}

#[test]
fn fast_mcp_second_server_never_ends_the_login_of_the_first() {
    super::second_server_never_ends_the_login_of_the_first(FAST_MCP, &[]);
}

#[test]
fn fast_mcp_keeps_its_login() {
    super::keeps_its_login(FAST_MCP);
}
