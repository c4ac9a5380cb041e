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
