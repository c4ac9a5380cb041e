//! `mux` with a terminal as its standard input and error.
//!
//! Invariant: a test waits for what the terminal shows, never for a time.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    num::NonZeroU16,
    process::{Child, Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::{Winsize, openpty},
    sys::{
        signal::Signal,
        termios::{LocalFlags, tcgetattr},
    },
};

use crate::{TestEnv, process};

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

pub struct TestTerminal {
    child: Child,
    terminal: File,
    /// Output that was not waited for yet.
    shown: String,
    /// The screen as it looks now.
    screen: vt100::Parser,
}

impl TestTerminal {
    pub fn start(env: &TestEnv, args: &[&str]) -> Self {
        Self::start_command(env.command("mux").args(args))
    }

    pub fn start_command(command: &mut Command) -> Self {
        let size = Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        // A daemon that is started would inherit them.
        for end in [&pty.master, &pty.slave] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        command.env("TERM", "xterm").env("NO_COLOR", "1");
        command.stdin(pty.slave.try_clone().unwrap());
        command.stdout(Stdio::piped()).stderr(pty.slave);
        let child = command.spawn().unwrap();
        // Closes our copies of the other end, so that the terminal ends with the command.
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Self {
            child,
            terminal: File::from(pty.master),
            shown: String::new(),
            screen: vt100::Parser::new(
                NonZeroU16::new(ROWS).unwrap(),
                NonZeroU16::new(COLUMNS).unwrap(),
                0,
            ),
        }
    }

    /// The non-empty lines on the screen.
    pub fn lines(&self) -> Vec<String> {
        let rows = self.screen.screen().rows(0, COLUMNS);
        let rows = rows.map(|row| row.trim_end().to_owned());
        rows.filter(|row| !row.is_empty()).collect()
    }

    /// Waits until it shows a text after those that were waited for before.
    #[track_caller]
    pub fn hear(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it ended without {text:?}: {}", self.shown);
        }
        let end = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..end);
    }

    /// Waits until it shows one of several texts, and returns the index of the first one shown.
    #[track_caller]
    pub fn hear_one_of<const N: usize>(&mut self, texts: [&str; N]) -> usize {
        loop {
            let found = texts.iter().enumerate();
            let found = found.filter_map(|(at, text)| Some((self.shown.find(text)?, at)));
            if let Some((place, at)) = found.min() {
                self.shown.drain(..place + texts[at].len());
                return at;
            }
            assert!(self.read(), "it ended without {texts:?}: {}", self.shown);
        }
    }

    pub fn type_line(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    pub fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether the terminal shows what is typed.
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap();
        modes.local_flags.contains(LocalFlags::ECHO)
    }

    /// Waits for the end after Ctrl-C. Returns the exit code, and whether the terminal shows again what is typed.
    pub fn interrupt(mut self) -> (Option<i32>, bool) {
        process::send(i32::try_from(self.child.id()).unwrap(), Signal::SIGINT);
        while self.read() {}
        (self.child.wait().unwrap().code(), self.echoes())
    }

    /// Reads more output. Returns false at its end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.terminal.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => {
                    self.screen.process(&buffer[..count]);
                    self.shown
                        .push_str(&String::from_utf8_lossy(&buffer[..count]));
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The error on Linux once the other end is closed everywhere.
                Err(error) if error.raw_os_error() == Some(nix::libc::EIO) => return false,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits for the end, and returns the exit code, standard output and the output that was not waited for.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        while self.read() {}
        let mut output = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut output).unwrap();
        (self.child.wait().unwrap().code(), output, self.shown)
    }
}
