//! A large published schema: GitHub's.

use std::fs;

use mux_sources::graphql_tools;
use mux_tests::{TestEnv, env::compiler, graphql};

use super::functions::valid;

#[test]
fn default_selections_are_valid_for_sdl_and_introspection() {
    let written = fs::read_to_string(graphql::github("schema.graphql")).unwrap();
    let output = fs::read_to_string(graphql::github("schema.json")).unwrap();
    for depth in [1, 2, 4] {
        let count = valid(&written, depth, "github");
        assert!(count > 250, "{count} functions");
    }
    // The published introspection result is not of the same version as the SDL.
    let tools = |text| graphql_tools(text, "github", 2).unwrap();
    let of_text = tools(&written);
    let of_answer = tools(&output);
    assert!(of_answer.len() > 250, "{} functions", of_answer.len());
    for tool in of_text.iter().chain(&of_answer) {
        let length = tool.to_string().len();
        assert!(length < 64 << 10, "{} has {length} bytes", tool["name"]);
    }
}

#[test]
fn github_types_compile() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "[sources.github]\ngraphql = \"http://127.0.0.1:9/graphql\"\nschema = {:?}\n\
         [check]\ntsc = {:?}\n",
        graphql::github("schema.graphql"),
        compiler()
    ));
    env.mux(["tools", "--server", "github"]).ok();
    let declarations = env.mux(["types"]).ok().stdout;
    for part in ["repository<S", "createIssue<S", "Selected<S"] {
        assert!(declarations.contains(part), "no {part}");
    }
    env.mux(["tools", "--server", "github"]).ok();
    let program = "const made = await mux.github.mutation.createIssue(
        { input: { repositoryId: '1', title: 't' } });
        const title: string | undefined = made?.issue?.title;
        const me = await mux.github.query.viewer({ $select: '{ login repositories(first: 3) { totalCount } }' });
        return [title, me.repositories.totalCount];";
    let file = env.path("program.ts");
    fs::write(&file, program).unwrap();
    env.mux(["check", file.to_str().unwrap()]).ok();
    let wrong = program.replace("made?.issue?.title", "made?.issue?.tilte");
    fs::write(&file, wrong).unwrap();
    let checked = env.mux(["check", file.to_str().unwrap()]).ok();
    assert!(checked.stderr.contains("tilte"), "{}", checked.stderr);

    // All declarations, as an editor compiles them.
    fs::write(env.path("mux.d.ts"), &declarations).unwrap();
    let mut tsc = std::process::Command::new(compiler());
    tsc.current_dir(env.home()).args([
        "--noEmit", "--strict", "--target", "es2024", "--lib", "es2024", "--types", "", "mux.d.ts",
    ]);
    let found = mux_tests::env::output(&mut tsc);
    assert_eq!(found.code, 0, "{found:#?}");
}
