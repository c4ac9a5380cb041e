//! The tests of `client/typescript`.

use mux_tests::{Editors, TestEnv};

use super::{all_are_run, home};

#[test]
fn every_test_file_is_run() {
    let files = [
        "approvals",
        "cancel",
        "daemon",
        "endpoint",
        "frames",
        "golden",
        "names",
        "restart",
    ];
    all_are_run("client/typescript/test", &files);
}

#[test]
fn frames_endpoint_and_recorded_messages() {
    let editors = Editors::compiled();
    let env = TestEnv::new();
    for file in ["frames", "endpoint", "golden", "names"] {
        editors.tests("typescript", file, &env);
    }
}

#[test]
fn runs_calls_tools_and_types() {
    Editors::compiled().tests("typescript", "daemon", &home());
}

#[test]
fn abort_signal_cancels_requests_in_flight() {
    Editors::compiled().tests("typescript", "cancel", &home());
}

#[test]
fn client_reconnects_when_the_daemon_restarts() {
    Editors::compiled().tests("typescript", "restart", &home());
}

#[test]
fn approvals_by_this_client_and_by_others() {
    Editors::compiled().tests("typescript", "approvals", &home());
}
