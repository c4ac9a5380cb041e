//! Output that is only shown if standard error is a terminal.

use mux_tests::{TerminalStreams, TestEnv, TestTerminal};

/// Runs a command with a terminal as its standard error. Returns its standard output and the terminal's content.
fn on_a_terminal(env: &TestEnv, args: &[&str]) -> (String, String) {
    let (code, output, shown) = TestTerminal::start(env, args).end();
    assert_eq!(code, Some(0), "{output}");
    (output, shown)
}

/// The output of a command to a terminal of this width, in lines without colors.
fn lines_on_a_terminal(env: &TestEnv, columns: u16, args: &[&str]) -> Vec<String> {
    let mut command = env.command("mux");
    command.env("NO_COLOR", "1").args(args);
    let terminal = TestTerminal::start_with(&mut command, TerminalStreams::Output, columns);
    let (code, _, shown) = terminal.end();
    assert_eq!(code, Some(0), "{args:?}");
    shown
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let env = TestEnv::new();
    let long = "x".repeat(100);
    let rule = format!(
        "[[policy]]\nmatch = \"fix.echo\"\nagent = [{:?}, {:?}]\naction = \"deny\"\n",
        "a".repeat(60),
        "b".repeat(60)
    );
    env.write_config(&format!(
        "{}{rule}",
        env.fixture("fix", &["--call-log", &long])
    ));
    let program = format!("const a = {long:?}; await mux.fix.echo({{ text: 'x' }})");
    env.run(&program).ok();
    for args in [
        &["servers"][..],
        &["runs"],
        &["policy"],
        &["servers", "pins", "fix"],
        &["tools"],
    ] {
        fits(&env, args);
    }
    // The log is complete after its daemon has exited.
    env.stop();
    fits(&env, &["audit"]);
    let whole = env.mux(["servers"]).ok().stdout;
    assert!(whole.contains(&long), "{whole}");
}

/// Fails unless each row is one line that is no wider than the terminal.
#[track_caller]
fn fits(env: &TestEnv, args: &[&str]) {
    let piped = env.mux(args).ok().stdout;
    for columns in [80, 40] {
        let lines = lines_on_a_terminal(env, columns, args);
        assert_eq!(lines.len(), piped.lines().count(), "{args:?} {lines:#?}");
        let table = match args {
            // Sentences follow the table.
            ["policy"] => &lines[..2],
            _ => &lines[..],
        };
        for line in table {
            let count = line.chars().count();
            assert!(count <= columns.into(), "{args:?} {columns} {line:?}");
        }
    }
}

#[test]
fn commands_run_shows_calls_on_a_terminal_up_to_a_limit() {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    let code = "await mux.fix.fail({ message: 'one\\ntwo' }).catch(() => {});\n\
                for (let i = 0; i < 18; i++) await mux.fix.add({ a: i, b: i });\n\
                await Promise.all([1, 2, 3].map((i) => mux.fix.echo({ text: `${i}` })));\n\
                await mux.fix.fail({ message: 'late' }).catch(() => {});\n\
                console.log('\\u001b[2Jcleared');\n\
                return 'over'";
    let (output, shown) = on_a_terminal(&env, &["run", "-e", code]);
    assert_eq!(output, "over\n");
    assert!(shown.contains("fix.fail  "), "{shown:?}");
    assert!(shown.contains("tool: one two"), "{shown:?}");
    assert_eq!(shown.matches("\u{2713} fix.add  ").count(), 18, "{shown:?}");
    assert_eq!(shown.matches("\u{2713} fix.echo  ").count(), 1, "{shown:?}");
    assert!(
        shown.contains("\u{2026} and 3 more calls, 1 failed"),
        "{shown:?}"
    );
    assert!(!shown.contains("late"), "{shown:?}");
    // Control sequences of a program are escaped.
    assert!(shown.contains("\\u{1b}[2Jcleared"), "{shown:?}");
    // A run that has ended is shown in the same way.
    let (_, again) = on_a_terminal(&env, &["runs", "watch", "1"]);
    assert_eq!(again.matches("\u{2713} fix.add  ").count(), 18, "{again:?}");

    // Without a terminal, or with --json, only the console is shown.
    let plain = env.run(code).ok();
    assert_eq!(plain.stderr, "\\u{1b}[2Jcleared\n");
    let (document, shown) = on_a_terminal(&env, &["run", "--json", "-e", code]);
    assert!(document.contains("\"result\": \"over\""), "{document}");
    assert_eq!(shown, "\\u{1b}[2Jcleared\r\n");
}
