//! `mux top`, printed once and on a terminal.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
    num::NonZeroU16,
    os::fd::{AsFd as _, OwnedFd},
    process::{Child, Command, Stdio},
};

use mux_tests::{TestEnv, process};
use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::{Winsize, openpty},
    sys::{
        signal::Signal,
        termios::{LocalFlags, tcgetattr},
    },
};
use serde_json::json;

const ROWS: NonZeroU16 = NonZeroU16::new(30).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(120).unwrap();

/// A program in a pseudoterminal.
struct Terminal {
    child: Child,
    master: File,
    /// Kept open, so that its settings can be read after the end of the program.
    slave: OwnedFd,
    shown: vt100::Parser,
}

impl Terminal {
    fn start(command: &mut Command) -> Self {
        let size = Winsize {
            ws_row: ROWS.get(),
            ws_col: COLUMNS.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        for end in [&pty.master, &pty.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        command.env("TERM", "xterm");
        command.stdin(end()).stdout(end()).stderr(end());
        Self {
            child: command.spawn().unwrap(),
            master: File::from(pty.master),
            slave: pty.slave,
            shown: vt100::Parser::new(ROWS, COLUMNS, 0),
        }
    }

    /// Reads output until the screen meets the condition.
    #[track_caller]
    fn until(&mut self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let mut buffer = [0; 4096];
        while !is(self.shown.screen()) {
            match self.master.read(&mut buffer) {
                Ok(0) => panic!("{what}: {}", self.shown.screen().contents()),
                Ok(count) => self.shown.process(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{what}: {error}: {}", self.shown.screen().contents()),
            }
        }
    }

    #[track_caller]
    fn until_shown(&mut self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    /// Waits for the end, checks that the terminal is restored, and returns the exit code.
    #[track_caller]
    fn end(&mut self) -> Option<i32> {
        self.until("the first screen", |screen| !screen.alternate_screen());
        assert!(!self.shown.screen().hide_cursor());
        let status = self.child.wait().unwrap();
        assert!(self.is_as_before());
        status.code()
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether line editing, echo and signals of the terminal are enabled.
    fn is_as_before(&self) -> bool {
        let flags = tcgetattr(self.slave.as_fd()).unwrap().local_flags;
        flags.contains(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn busy() -> (TestEnv, String) {
    let env = TestEnv::with_fixtures(&[("fix", &[])]);
    env.result("return mux.fix.add({ a: 1, b: 2 })");
    let code = "console.log('under way'); await mux.fix.sleep({ ms: 100000 })";
    let started = env
        .mux(["run", "--detach", "--timeout", "2m", "-e", code])
        .ok();
    (env, started.stdout.trim().to_owned())
}

#[test]
fn top_prints_current_figures_once() {
    let env = TestEnv::new();
    env.mux(["top"]).fails(3, &["no muxd is running"]);
    let (env, run) = busy();
    // Wait until its call is in flight.
    let figures = loop {
        let figures = env.mux(["top", "--json"]).ok().json();
        if figures["servers"][0]["in_flight"] == 1 {
            break figures;
        }
    };
    let server = &figures["servers"][0];
    assert_eq!(
        (&server["name"], &server["state"]),
        (&json!("fix"), &json!("ready"))
    );
    assert_eq!(
        (&server["calls"], &server["sessions"]),
        (&json!(1), &json!(1))
    );
    assert!(server["p99_seconds"].as_f64().unwrap() > 0.0, "{figures}");
    assert_eq!(figures["running"][0]["run"], run);
    assert_eq!(figures["runs"]["succeeded"], 1);
    assert!(
        figures["memory_bytes"].as_u64().unwrap() > 1 << 20,
        "{figures}"
    );
    assert_eq!(figures["pid"], env.daemon().unwrap());

    let plain = env.mux(["top", "--once"]).ok();
    for part in [
        "muxd ",
        "runs 1 running",
        "SERVER",
        "fix ",
        &run,
        "console.log",
    ] {
        assert!(plain.stdout.contains(part), "{part:?} in {plain:#?}");
    }
    assert!(
        !plain.stdout.contains('\u{1b}') && plain.stderr.is_empty(),
        "{plain:#?}"
    );
}

#[test]
fn top_runs_on_a_terminal_and_restores_it() {
    let (env, run) = busy();
    let mut top = Terminal::start(env.command("mux").arg("top"));
    top.until_shown(&run);
    assert!(top.shown.screen().alternate_screen() && !top.is_as_before());
    top.until_shown("SERVER");
    // Without a selection no run is stopped.
    top.press("x");
    top.until_shown("arrows");
    let question = format!("stop run {run}?");
    top.press("jx");
    top.until_shown(&question);
    top.press("n");
    top.until("no question", |screen| {
        !screen.contents().contains(&question)
    });
    top.press("x");
    top.until_shown(&question);
    top.press("y");
    top.until_shown("being stopped");
    env.mux(["runs", "watch", &run]).fails(130, &["cancelled"]);
    top.until("no run", |screen| {
        !screen.contents().contains("console.log")
    });
    top.press("q");
    assert_eq!(top.end(), Some(0));
}

#[test]
fn top_restores_the_terminal_on_signals_and_survives_the_daemon() {
    let (env, run) = busy();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let mut top = Terminal::start(env.command("mux").arg("top"));
        top.until_shown(&run);
        process::send(i32::try_from(top.child.id()).unwrap(), signal);
        assert_eq!(top.end(), Some(code));
    }
    let mut top = Terminal::start(env.command("mux").arg("top"));
    top.until_shown(&run);
    env.stop();
    top.until_shown("no muxd is running");
    env.result("return 1");
    top.until_shown(&format!("pid {}", env.daemon().unwrap()));
    // Ctrl-C, which is read as a key in raw mode.
    top.press("\u{3}");
    assert_eq!(top.end(), Some(130));
}
