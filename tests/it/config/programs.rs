//! Invalid programs and arguments.

use std::fs;

use mux_tests::{CommandTranscript, TestEnv, mux_snapshot};

#[test]
fn config_programs_that_are_too_long_or_binary_are_rejected() {
    let env = TestEnv::new();
    let mut transcript = CommandTranscript::default();
    for (name, bytes) in [
        ("10mb.ts", b"// x\n".repeat(2 << 20)),
        // Each of these bytes takes six in JSON.
        ("control.ts", vec![1; 2 << 20]),
        ("1.5mb.ts", vec![b' '; 3 << 19]),
        (
            "binary.ts",
            fs::read(mux_tests::env::binary("mux")).unwrap()[..4096].to_vec(),
        ),
        ("nul.ts", b"return 1\0".to_vec()),
        ("latin1.ts", b"return \"caf\xe9\"".to_vec()),
    ] {
        fs::write(env.path(name), &bytes).unwrap();
        for command in ["run", "check"] {
            transcript.add(format!("mux {command} {name}"), &env.mux([command, name]));
        }
        let from_input = env.mux_with_input(["run", "-"], &bytes);
        transcript.add(format!("mux run - < {name}"), &from_input);
    }
    mux_snapshot!(transcript, @"
    $ mux run 10mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: 10mb.ts is over 2 MiB
      hint: a program can be at most 1 MiB; pass data with --input or read it with a tool

    $ mux check 10mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: 10mb.ts is over 2 MiB
      hint: a program can be at most 1 MiB; pass data with --input or read it with a tool

    $ mux run - < 10mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: program is over 2 MiB
      hint: a program can be at most 1 MiB; pass data with --input or read it with a tool

    $ mux run control.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 2097152 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux check control.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 2097152 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux run - < control.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 2097152 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux run 1.5mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 1572864 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux check 1.5mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 1572864 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux run - < 1.5mb.ts
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    error[limit]: the program is 1572864 bytes, over the limit of 1048576
      hint: pass data as input (--input, input) or read it with a tool; [limits] source in config.toml allows more

    $ mux run binary.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: binary.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux check binary.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: binary.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux run - < binary.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: program is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux run nul.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: nul.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux check nul.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: nul.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux run - < nul.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: program is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux run latin1.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: latin1.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux check latin1.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: latin1.ts is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript

    $ mux run - < latin1.ts
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: program is not a UTF-8 text file
      hint: a program is TypeScript or JavaScript
    ");
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
