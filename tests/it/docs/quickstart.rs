//! README's quickstart, copied as it is into the shell of a new user.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use mux_tests::{
    TestEnv,
    env::{binary, npm, output},
};

use super::root;

/// The `sh` blocks of the section "Quickstart", in their order.
fn blocks() -> Vec<String> {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let section = text.split("## Quickstart\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// The `PATH` of a shell that has the `npx` of this test and `mux`.
fn with_programs(env: &TestEnv, path: &OsStr) -> OsString {
    let mux = binary("mux").parent().unwrap().to_owned();
    let own = [env.path("bin"), mux];
    let folders = own.into_iter().chain(std::env::split_paths(path));
    std::env::join_paths(folders).unwrap()
}

#[test]
fn quickstart_of_the_readme_works_as_copied() {
    let env = TestEnv::new();
    // `npx` finds the package that `scripts/setup` installed, without a registry.
    let bin = env.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let npx = format!(
        "#!/bin/sh\n[ \"$1 $2\" = '-y @modelcontextprotocol/server-filesystem' ] || exit 9\nshift 2\nexec {} \"$@\"\n",
        npm("mcp-server-filesystem").display()
    );
    fs::write(bin.join("npx"), npx).unwrap();
    fs::set_permissions(bin.join("npx"), fs::Permissions::from_mode(0o755)).unwrap();
    let blocks = blocks();
    assert!(blocks.len() >= 4, "{blocks:#?}");
    let mut shown = Vec::new();
    for block in &blocks {
        let mut shell = Command::new("sh");
        shell.env_clear().current_dir(env.home());
        for (name, value) in env.command("mux").get_envs() {
            let Some(value) = value else { continue };
            if name == "PATH" {
                shell.env(name, with_programs(&env, value))
            } else {
                shell.env(name, value)
            };
        }
        // `mux init` finds no agent and asks nothing: its servers are those of config.toml.
        let done = output(shell.args(["-e", "-c", block]));
        assert_eq!(done.code, 0, "{block}\n{done:#?}");
        shown.push(done.stdout);
    }
    let all = shown.concat();
    assert!(all.contains("[FILE] shopping.md"), "{all}");
    assert!(all.contains("\"shopping.md\": 12"), "{all}");
    // The search does not begin with a tool that its server calls deprecated.
    let first = shown[1].lines().next().unwrap_or_default();
    assert!(first.starts_with("notes.list_directory("), "{first}");
    let block = &shown[1];
    assert!(
        !block
            .lines()
            .nth(1)
            .unwrap_or_default()
            .contains("DEPRECATED"),
        "{block}"
    );
}
