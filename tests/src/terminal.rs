//! A program at a pseudoterminal.
//!
//! Invariant: a test waits for output on the terminal, never for a time.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    num::NonZeroU16,
    process::{Child, Command, Stdio},
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    pty::{OpenptyResult, Winsize, openpty},
    sys::{
        signal::Signal,
        termios::{LocalFlags, tcgetattr},
    },
};

use crate::{TestEnv, process};

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;

/// Which standard streams of a program are the terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TerminalStreams {
    /// Standard input and error. Standard output is a pipe.
    InputAndError,
    /// Standard output. Standard error is discarded.
    Output,
    All,
}

pub struct TestTerminal {
    child: Child,
    terminal: File,
    columns: u16,
    /// Output that was not waited for yet.
    shown: String,
    /// The screen as it looks now.
    screen: vt100::Parser,
}

/// A pseudoterminal of this width.
fn open_pty(columns: u16) -> OpenptyResult {
    let size = Winsize {
        ws_row: ROWS,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    // A daemon that is started would inherit them.
    for end in [&pty.master, &pty.slave] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
    }
    pty
}

impl TestTerminal {
    /// Starts `mux` with a terminal as its standard input and error.
    pub fn start(env: &TestEnv, args: &[&str]) -> Self {
        // `mux run` would offer to install the compiler.
        let offered = env.dirs.compiler_offer();
        fs::create_dir_all(offered.parent().unwrap()).unwrap();
        fs::write(offered, "").unwrap();
        Self::start_command(env.command("mux").args(args))
    }

    /// Starts a program with a terminal as its standard input and error.
    pub fn start_command(command: &mut Command) -> Self {
        command.env("NO_COLOR", "1");
        Self::start_with(command, TerminalStreams::InputAndError, COLUMNS)
    }

    pub fn start_with(command: &mut Command, streams: TerminalStreams, columns: u16) -> Self {
        let pty = open_pty(columns);
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        command.env("TERM", "xterm");
        match streams {
            TerminalStreams::InputAndError => {
                command.stdin(end()).stdout(Stdio::piped()).stderr(end())
            }
            TerminalStreams::Output => command.stdout(end()).stderr(Stdio::null()),
            TerminalStreams::All => command.stdin(end()).stdout(end()).stderr(end()),
        };
        let child = command.spawn().unwrap();
        // Closes our copies of the other end: the terminal then ends with the command.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        Self {
            child,
            terminal: File::from(pty.master),
            columns,
            shown: String::new(),
            screen: vt100::Parser::new(
                NonZeroU16::new(ROWS).unwrap(),
                NonZeroU16::new(columns).unwrap(),
                0,
            ),
        }
    }

    pub fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// The non-empty lines on the screen.
    pub fn lines(&self) -> Vec<String> {
        let rows = self.screen().rows(0, self.columns);
        let rows = rows.map(|row| row.trim_end().to_owned());
        rows.filter(|row| !row.is_empty()).collect()
    }

    /// Waits until the terminal shows a string after the strings that were waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "it ended without {text:?}: {}", self.shown);
        }
        let end = self.shown.find(text).unwrap() + text.len();
        self.shown.drain(..end);
    }

    /// Waits until it shows one of several texts, and returns the index of the first one shown.
    #[track_caller]
    pub fn wait_for_one_of<const N: usize>(&mut self, texts: [&str; N]) -> usize {
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

    /// Waits until the screen meets a condition.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_met: impl Fn(&vt100::Screen) -> bool) {
        while !is_met(self.screen()) {
            assert!(self.read(), "{what}: {}", self.screen().contents());
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_for_on_screen(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    pub fn type_line(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    pub fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns true if the terminal echoes input.
    pub fn echoes(&self) -> bool {
        self.has_modes(LocalFlags::ECHO)
    }

    pub fn has_modes(&self, modes: LocalFlags) -> bool {
        let current = tcgetattr(&self.terminal).unwrap();
        current.local_flags.contains(modes)
    }

    pub fn signal(&self, signal: Signal) {
        process::send(i32::try_from(self.child.id()).unwrap(), signal);
    }

    /// Waits for the end of the program, and returns its exit code.
    pub fn exit_code(&mut self) -> Option<i32> {
        while self.read() {}
        self.child.wait().unwrap().code()
    }

    /// Waits for the end after Ctrl-C. Returns the exit code, and whether the terminal echoes input again.
    pub fn interrupt(mut self) -> (Option<i32>, bool) {
        self.signal(Signal::SIGINT);
        (self.exit_code(), self.echoes())
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

    /// Waits for the end, and returns the exit code, standard output if it is a pipe, and the output that was not waited
    /// for.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        while self.read() {}
        let mut output = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut output).unwrap();
        }
        let code = self.child.wait().unwrap().code();
        (code, output, std::mem::take(&mut self.shown))
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        // The command has ended already, or the test has failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
