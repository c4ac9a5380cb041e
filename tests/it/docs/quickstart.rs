//! README's quickstart, copied as it is into the shell of a new user.

use std::{fs, os::unix::fs::PermissionsExt as _};

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

#[test]
fn quickstart_of_the_readme_works_as_copied() {
    let env = TestEnv::new().with_own_path();
    // `npx` finds the package that `scripts/setup` installed, without a registry.
    let bin = env.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let npx = format!(
        "#!/bin/sh\n[ \"$1 $2\" = '-y @modelcontextprotocol/server-filesystem' ] || exit 9\nshift 2\nexec {} \"$@\"\n",
        npm("mcp-server-filesystem").display()
    );
    fs::write(bin.join("npx"), npx).unwrap();
    fs::set_permissions(bin.join("npx"), fs::Permissions::from_mode(0o755)).unwrap();
    let mux = binary("mux");
    let path = format!(
        "{}:{}:{}",
        bin.display(),
        mux.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let blocks = blocks();
    assert!(blocks.len() >= 4, "{blocks:#?}");
    let mut shown = Vec::new();
    for block in &blocks {
        let mut shell = env.command("mux");
        let variables: Vec<_> = shell
            .get_envs()
            .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
            .collect();
        shell = std::process::Command::new("sh");
        shell.env_clear().current_dir(env.home());
        for (name, value) in variables {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        shell.env("PATH", &path);
        if let Some(registry) = std::env::var_os("npm_config_registry") {
            shell.env("npm_config_registry", registry);
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
