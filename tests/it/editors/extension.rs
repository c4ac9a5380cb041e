//! The tests of `client/vscode`, which need no editor, and of its package.

use mux_tests::{
    Editors, TestEnv,
    editors::{script, source},
    env::output,
};

use super::{all_are_run, home};

#[test]
fn every_test_file_is_run() {
    let files = [
        "activate", "language", "live", "project", "tree", "views", "vsix",
    ];
    all_are_run("client/vscode/test", &files);
}

#[test]
fn trees_views_and_projects() {
    let editors = Editors::compiled();
    let env = TestEnv::new();
    for file in ["tree", "views", "project"] {
        editors.tests("vscode", file, &env);
    }
}

#[test]
fn runs_servers_and_approvals_of_a_real_daemon() {
    Editors::compiled().tests("vscode", "live", &home());
}

#[test]
fn commands_and_views_in_a_fake_editor() {
    Editors::compiled().tests("vscode", "activate", &home());
}

#[test]
fn tsserver_completes_programs() {
    Editors::compiled().tests("vscode", "language", &home());
}

#[test]
fn package_contains_the_files_it_names() {
    let mut editors = Editors::compiled();
    let env = TestEnv::new();
    let packed = env.path("muxd.vsix");
    output(script("vsix").arg(&packed)).ok();
    editors.tell("MUX_TEST_VSIX", &packed);
    editors.tell("MUX_TEST_SOURCE", &source(""));
    editors.tests("vscode", "vsix", &env);
}
