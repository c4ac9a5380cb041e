//! The declarations of real servers are valid TypeScript, and programs that run against these servers type-check.
//!
//! Invariant: the declarations are the output of `mux types`. The test adds none.

use std::{fs, path::Path};

use std::process::Command;

use mux_tests::{
    TestEnv,
    env::{compiler, output},
};
use serde_json::json;

use super::{everything, files, git, memory, thinking, time};

#[test]
fn real_server_declarations_are_typescript_and_programs_check_against_them() {
    let env = TestEnv::new();
    let config = [
        everything(),
        files(&env),
        git(),
        memory(&env),
        thinking(),
        time(),
    ];
    env.write_config(&config.concat());
    let types = env.mux(["types"]).ok().stdout;
    for server in ["everything", "files", "git", "memory", "thinking", "time"] {
        assert!(
            types.contains(&format!("\n  /** The server `{server}`. */\n")),
            "{server} is missing: {types}"
        );
    }

    let folder = env.path("checked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mux.d.ts"), types).unwrap();
    let mut names = vec!["mux.d.ts".to_owned()];
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/real");
    for entry in fs::read_dir(programs).unwrap() {
        let path = entry.unwrap().path();
        let program = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        fs::write(
            folder.join(&name),
            format!("(async () => {{ {program}\n}});\n"),
        )
        .unwrap();
        names.push(name);
    }
    // This program has an error, which must be found: it shows that the check works.
    fs::write(
        folder.join("wrong.ts"),
        "(async () => (await mux.time.get_current_time({ zone: \"UTC\" })).no)",
    )
    .unwrap();
    names.push("wrong.ts".to_owned());
    let options = json!({
        "compilerOptions": {
            "strict": true, "useUnknownInCatchVariables": false, "noEmit": true, "noResolve": true,
            "types": [], "lib": ["es2024"], "target": "esnext",
        },
        "files": names,
    });
    fs::write(folder.join("tsconfig.json"), options.to_string()).unwrap();

    let checked = output(
        Command::new(compiler())
            .args(["--pretty", "false", "-p"])
            .arg(&folder),
    );
    let (wrong, others): (Vec<&str>, Vec<&str>) = checked
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .partition(|line| line.contains("wrong.ts("));
    assert!(others.is_empty(), "{}", checked.stdout);
    assert!(
        wrong.iter().any(|line| line.contains("'zone'")),
        "{checked:?}"
    );
}
