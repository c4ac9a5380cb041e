//! Output that is only shown if standard error is a terminal.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    process::Stdio,
};

use mux_tests::TestEnv;
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::{Winsize, openpty},
};

/// Runs a command with a terminal as its standard error. Returns its standard output and what the terminal showed.
fn on_a_terminal(env: &TestEnv, args: &[&str]) -> (String, String) {
    let size = Winsize {
        ws_row: 50,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    // A daemon that is started would inherit them.
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
    }
    let mut command = env.command("mux");
    command.env("TERM", "xterm").args(args);
    command.stdout(Stdio::piped()).stderr(pty.slave);
    let mut child = command.spawn().unwrap();
    // Closes our copy of the slave, so that the terminal ends with the command.
    drop(command);
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    let mut terminal = File::from(pty.master);
    loop {
        match terminal.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => shown.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The error on Linux once the other end is closed everywhere.
            Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    (output, String::from_utf8_lossy(&shown).into_owned())
}

/// What a command prints to a terminal of this width, in lines without colors.
fn lines_on_a_terminal(env: &TestEnv, columns: u16, args: &[&str]) -> Vec<String> {
    let size = Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
    }
    let mut command = env.command("mux");
    command.env("TERM", "xterm").env("NO_COLOR", "1").args(args);
    command.stdout(pty.slave).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    // Linux reports an error once the other end is closed everywhere.
    drop(File::from(pty.master).read_to_end(&mut shown));
    assert!(child.wait().unwrap().success(), "{args:?}");
    let shown = String::from_utf8_lossy(&shown).into_owned();
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
    // The log is whole once its daemon is gone.
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
