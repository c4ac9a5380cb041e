//! Invalid programs and arguments.

use std::fs;

use mux_tests::TestEnv;

#[test]
fn config_programs_that_are_too_long_or_binary_are_rejected() {
    let env = TestEnv::new();
    for (name, bytes, code, parts) in [
        (
            "10mb.ts",
            b"// x\n".repeat(2 << 20),
            1,
            &["error[limit]", "over 2 MiB", "--input"][..],
        ),
        // Each of these bytes takes six in JSON.
        (
            "control.ts",
            vec![1; 2 << 20],
            1,
            &["error[limit]", "over the limit of 1048576"],
        ),
        (
            "1.5mb.ts",
            vec![b' '; 3 << 19],
            1,
            &["error[limit]", "1572864 bytes, over the limit of 1048576"],
        ),
        (
            "binary.ts",
            fs::read(mux_tests::env::binary("mux")).unwrap()[..4096].to_vec(),
            2,
            &["not a text file in UTF-8"],
        ),
        (
            "nul.ts",
            b"return 1\0".to_vec(),
            2,
            &["not a text file in UTF-8"],
        ),
        (
            "latin1.ts",
            b"return \"caf\xe9\"".to_vec(),
            2,
            &["not a text file in UTF-8"],
        ),
    ] {
        fs::write(env.path(name), &bytes).unwrap();
        for command in ["run", "check"] {
            env.mux([command, name]).fails(code, parts);
        }
        env.mux_with_input(["run", "-"], &bytes)
            .fails(code, &parts[..1]);
    }
    // A program of the maximum length is accepted.
    let mut longest = b"return 1;".to_vec();
    longest.resize(1 << 20, b' ');
    fs::write(env.path("longest.ts"), longest).unwrap();
    assert_eq!(env.mux(["run", "longest.ts"]).ok().stdout, "1\n");
}

#[test]
fn config_non_object_arguments_are_rejected_however_a_tool_is_called() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    for (value, shape) in [
        ("[1]", "an array"),
        ("7", "a number"),
        ("'x'", "a string"),
        ("true", "a boolean"),
        ("null", "null"),
    ] {
        for call in [
            "mux.fix.add(ARGS)",
            "mux['fix.add'](ARGS)",
            "mux.call('fix.add', ARGS)",
            "mux.call.raw('fix.add', ARGS)",
        ] {
            let error = env.error(&format!("return await {}", call.replace("ARGS", value)));
            assert_eq!(error["kind"], "validation", "{call} {value}: {error:#}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains(&format!("must be one object, not {shape}")),
                "{call} {value}: {error:#}"
            );
        }
    }
    let calls = env.mux(["servers", "--json"]).ok().json()[0]["calls"].clone();
    assert_eq!(calls, 0, "none of these was sent");
}
