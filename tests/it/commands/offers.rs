//! `mux resources` and `mux prompts`.

use std::fs;

use mux_tests::{TestEnv, mux_snapshot};

use super::prints;

fn home() -> TestEnv {
    TestEnv::with_fixtures(&[("fix", &["--offers"]), ("bare", &[])])
}

#[test]
fn resources_and_prompts_are_listed_by_server() {
    let env = home();
    mux_snapshot!(env.mux(["resources"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    SERVER  URI                TYPE        DESCRIPTION
    fix     fix://text/hello               text/hello
    fix     fix://json                     json
    fix     fix://blob                     blob
    fix     fix://two                      two
    fix     fix://big                      big
    fix     fix://slow                     slow
    fix     fix://text/{name}  text/plain  text
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["prompts", "fix"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    SERVER  PROMPT  ARGUMENTS  DESCRIPTION
    fix     greet   name       Greets somebody.
    ----- stderr -----
    ");
    mux_snapshot!(env.mux(["resources", "bare"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    ----- stderr -----
    bare has no resources
    ");
    let list = env.mux(["prompts", "--json"]).ok().json();
    assert_eq!(list["offers"][0]["offer"]["name"], "greet", "{list:#}");
}

#[test]
fn resource_is_printed_as_it_is_or_saved() {
    let env = home();
    prints(env.mux(["resources", "fix", "fix://text/hello"]), "hello\n");
    let folder = env.path("parts");
    let output = env.mux([
        "resources",
        "fix",
        "fix://blob",
        "--save-parts",
        folder.to_str().unwrap(),
    ]);
    output.ok();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    let whole = env
        .mux(["resources", "fix", "fix://text/hello", "--json"])
        .ok();
    assert_eq!(whole.json()["result"]["contents"][0]["text"], "hello");
    env.mux(["resources", "fix", "fix://nope"])
        .fails(1, &["error"]);
}

#[test]
fn messages_of_a_prompt_are_printed_with_their_roles() {
    let env = home();
    mux_snapshot!(env.mux(["prompts", "fix", "greet", "name=Ada"]), @"
    success: true
    exit_code: 0
    ----- stdout -----
    user:
    Hello, Ada!
    ----- stderr -----
    ");
}
