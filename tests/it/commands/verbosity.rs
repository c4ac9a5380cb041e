//! `--quiet`, `--verbose` and `--color`, before and after the command.

use mux_tests::{TestEnv, env::output, mux_snapshot};

use super::prints;

#[test]
fn quiet_commands_print_only_results_and_errors() {
    let env = TestEnv::new();
    env.write_config(&format!(
        "{}[servers.broken]\ncommand = \"/no/such/program\"\n",
        env.fixture("fix", &[])
    ));
    mux_snapshot!(env.mux(["tools"]).ok().stderr, @"warning: broken: the server `broken` cannot be started: /no/such/program: there is no such file");
    let quiet = env.mux(["tools", "--quiet"]).ok();
    assert!(
        quiet.stdout.contains("fix.echo(") && quiet.stderr.is_empty(),
        "{quiet:#?}"
    );
    let detached = env.mux(["-q", "run", "--detach", "-e", "return 1"]).ok();
    assert_eq!(detached.stderr, "");
    // The console is output of the program, and an error is one.
    let logged = env.mux([
        "run",
        "-q",
        "-e",
        "console.log('one'); throw new Error('two')",
    ]);
    mux_snapshot!(logged, @"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    one
    error[runtime]: two
      --> program:1:27
      1 | console.log('one'); throw new Error('two')
        |                           ^
    ");
    mux_snapshot!(env.mux(["run", "-q", "-v", "-e", "return 1"]), @"
    success: false
    exit_code: 2
    ----- stdout -----
    ----- stderr -----
    error: the argument '--quiet' cannot be used with '--verbose...'

    Usage: mux run --quiet --eval <CODE> [FILE]

    For more information, try '--help'.
    ");
}

#[test]
fn verbose_commands_print_the_connection_the_calls_and_details_of_errors() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "for (let n = 0; n < 21; n++) await mux.fix.add({ a: n, b: 1 }); return 'over'";
    prints(env.run(code), "over\n");
    for args in [["-v", "run", "-e", code], ["run", "-e", code, "--verbose"]] {
        let verbose = env.mux(args).ok();
        assert_eq!(verbose.stdout, "over\n");
        let socket = env.dirs.socket().display().to_string();
        for part in [&socket, "config.toml"] {
            assert!(verbose.stderr.contains(part), "{verbose:#?}");
        }
        let calls = verbose.stderr.matches("\u{2713} fix.add  ").count();
        assert_eq!(calls, 21, "{verbose:#?}");
        assert!(!verbose.stderr.contains("\"call_started\""), "{verbose:#?}");
    }
    let events = env.mux(["run", "-vv", "-e", code]).ok();
    assert_eq!(
        events.stderr.matches("\"call_started\"").count(),
        21,
        "{events:#?}"
    );
    let refused = ["call", "fix.add", "a=1"];
    assert!(!env.mux(refused).stderr.contains("mistakes: "));
    let verbose = env.mux([&refused[..], &["-v"]].concat());
    mux_snapshot!(verbose, @r#"
    success: false
    exit_code: 1
    ----- stdout -----
    ----- stderr -----
    muxd [PID] is build [VERSION], listens on [HOME]/run/muxd.sock and reads [HOME]/config.toml
    fix.add took [DURATION]
    error[validation]: the arguments of fix.add do not fit: "b" is a required property
      hint: fix.add(args: { a: number; b: number }): Promise<{ sum: number }>
      mistakes: ["\"b\" is a required property"]
    "#);
}

#[test]
fn color_option_overrides_the_terminal_and_the_environment() {
    let env = TestEnv::new();
    let is_colored = |args: &[&str], variable: &str| {
        let output = output(env.command("mux").env(variable, "1").args(args));
        output.stderr.contains('\u{1b}')
    };
    for args in [&["run", "-e", "", "--timeout", "9h"][..], &["frobnicate"]] {
        for (color, variable, expected) in [
            (&[][..], "NO_COLOR", false),
            (&[], "CLICOLOR_FORCE", true),
            (&["--color", "always"], "NO_COLOR", true),
            (&["--color=never"], "CLICOLOR_FORCE", false),
        ] {
            for args in [[args, color].concat(), [color, args].concat()] {
                assert_eq!(is_colored(&args, variable), expected, "{args:?} {variable}");
            }
        }
    }
}
