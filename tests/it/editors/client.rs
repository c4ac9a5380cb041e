//! `client/typescript`, by its own tests.

use mux_tests::{Editors, TestEnv};

use super::{all_are_run, home};

#[test]
fn every_file_of_tests_is_run() {
    let files = [
        "approvals",
        "cancel",
        "daemon",
        "endpoint",
        "frames",
        "golden",
        "restart",
    ];
    all_are_run("client/typescript/test", &files);
}

#[test]
fn frames_places_and_recorded_messages() {
    let (editors, env) = (Editors::compiled(), TestEnv::new());
    for file in ["frames", "endpoint", "golden"] {
        editors.tests("typescript", file, &env);
    }
}

#[test]
fn runs_calls_tools_and_types() {
    Editors::compiled().tests("typescript", "daemon", &home());
}

#[test]
fn a_signal_cancels_what_is_on_its_way() {
    Editors::compiled().tests("typescript", "cancel", &home());
}

#[test]
fn daemons_come_and_go() {
    Editors::compiled().tests("typescript", "restart", &home());
}

#[test]
fn approvals_from_here_and_from_elsewhere() {
    Editors::compiled().tests("typescript", "approvals", &home());
}
