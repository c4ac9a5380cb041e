//! `mux top`, said once and on a terminal.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
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

/// Leaves the second screen.
const BACK: &str = "\u{1b}[?1049l";

/// A program on a terminal of its own.
struct Terminal {
    child: Child,
    master: File,
    /// Kept, so that its settings can be read after the end.
    slave: OwnedFd,
    shown: Vec<u8>,
}

impl Terminal {
    fn start(command: &mut Command) -> Self {
        let size = Winsize {
            ws_row: 30,
            ws_col: 120,
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
            shown: Vec::new(),
        }
    }

    /// Waits until this has been shown since the last time.
    #[track_caller]
    fn until(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        loop {
            let shown = String::from_utf8_lossy(&self.shown).into_owned();
            if shown.contains(text) {
                self.shown.clear();
                return;
            }
            match self.master.read(&mut buffer) {
                Ok(0) => panic!("{text:?} was not shown: {shown:?}"),
                Ok(count) => self.shown.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}: {shown:?}"),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Lines are edited by the terminal, and it shows what is typed.
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
fn top_says_once_what_is_so_now() {
    let env = TestEnv::new();
    env.mux(["top"]).fails(3, &["no muxd is running"]);
    let (env, run) = busy();
    // Until its call is on its way.
    let figures = loop {
        let figures = env.mux(["top", "--json"]).ok().json();
        if figures["servers"][0]["in_flight"] == 1 {
            break figures;
        }
    };
    let server = &figures["servers"][0];
    assert_eq!(
        (&server["name"], &server["state"]),
        (&"fix".into(), &"ready".into())
    );
    assert_eq!(
        (server["calls"].as_f64(), server["sessions"].as_f64()),
        (Some(1.0), Some(1.0))
    );
    assert!(server["p99_seconds"].as_f64().unwrap() > 0.0, "{figures}");
    assert_eq!(figures["running"][0]["run"], run);
    assert_eq!(figures["runs"]["succeeded"].as_f64(), Some(1.0));
    assert!(figures["memory_bytes"].as_f64().unwrap() > 1e6, "{figures}");
    assert_eq!(figures["pid"], env.daemon().unwrap());

    let plain = env.mux(["top", "--once"]).ok();
    assert_eq!(
        plain.stdout,
        env.mux(["top", "--once"])
            .ok()
            .stdout
            .replace("\u{1b}", "?")
    );
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
    assert_eq!(plain.stderr, "");
}

#[test]
fn top_lives_on_a_terminal_and_gives_it_back() {
    let (env, run) = busy();
    let mut top = Terminal::start(env.command("mux").arg("top"));
    top.until(&run);
    assert!(!top.is_as_before());
    // What nobody has selected is not stopped.
    top.press("x");
    top.until("arrows");
    top.press("jx");
    top.until(&format!("stop run {run}?"));
    top.press("n");
    top.press("x");
    top.until(&format!("stop run {run}?"));
    top.press("y");
    top.until("being stopped");
    env.mux(["runs", "watch", &run]).fails(130, &["cancelled"]);
    top.press("q");
    top.until(BACK);
    assert!(top.child.wait().unwrap().success());
    assert!(top.is_as_before());
}

#[test]
fn top_gives_the_terminal_back_when_it_is_ended_and_outlives_the_daemon() {
    let (env, run) = busy();
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let mut top = Terminal::start(env.command("mux").arg("top"));
        top.until(&run);
        process::send(i32::try_from(top.child.id()).unwrap(), signal);
        top.until(BACK);
        assert_eq!(top.child.wait().unwrap().code(), Some(code));
        assert!(top.is_as_before());
    }
    let mut top = Terminal::start(env.command("mux").arg("top"));
    top.until(&run);
    env.stop();
    top.until("waited for");
    env.result("return 1");
    let next = env.daemon().unwrap().to_string();
    top.until(&next);
    // Ctrl-C, which is a key there.
    top.press("\u{3}");
    top.until(BACK);
    assert_eq!(top.child.wait().unwrap().code(), Some(130));
    assert!(top.is_as_before());
}
