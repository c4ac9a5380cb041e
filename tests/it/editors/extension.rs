//! `client/vscode`, by its own tests, which need no editor, and as it is packed.

use mux_tests::{
    Editors, TestEnv,
    editors::{script, source},
    env::output,
};

use super::{all_are_run, home};

#[test]
fn every_file_of_tests_is_run() {
    let files = [
        "activate", "language", "live", "project", "tree", "views", "vsix",
    ];
    all_are_run("client/vscode/test", &files);
}

#[test]
fn trees_lists_marks_and_projects() {
    let (editors, env) = (Editors::compiled(), TestEnv::new());
    for file in ["tree", "views", "project"] {
        editors.tests("vscode", file, &env);
    }
}

#[test]
fn runs_servers_and_approvals_as_they_are() {
    Editors::compiled().tests("vscode", "live", &home());
}

#[test]
fn its_commands_and_views_in_an_editor_of_the_tests() {
    Editors::compiled().tests("vscode", "activate", &home());
}

#[test]
fn typescripts_own_server_completes_programs() {
    Editors::compiled().tests("vscode", "language", &home());
}

#[test]
fn the_package_holds_what_it_names() {
    let (mut editors, env) = (Editors::compiled(), TestEnv::new());
    let packed = env.path("muxd.vsix");
    output(script("vsix").arg(&packed)).ok();
    editors.tell("MUX_TEST_VSIX", &packed);
    editors.tell("MUX_TEST_SOURCE", &source(""));
    editors.tests("vscode", "vsix", &env);
}
