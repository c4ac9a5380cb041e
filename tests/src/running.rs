//! A program that runs beside the test, and what it says meanwhile.
//!
//! Invariant: waiting is always for a line, or for an end; never for a time.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::{Output, env, process};

/// Whoever does not end by then never will. Before nextest ends the test, which then could not say who it was.
const HANG: Duration = Duration::from_secs(100);

pub struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<BufReader<ChildStderr>>,
    /// What of standard error was read already.
    heard: String,
}

impl Running {
    /// With nothing to read on standard input.
    pub fn start(command: &mut Command) -> Self {
        Self::start_as_is(command.stdin(Stdio::null()))
    }

    /// With the standard input that the command has.
    pub fn start_as_is(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            stdout: child.stdout.take().map(BufReader::new),
            stderr: child.stderr.take().map(BufReader::new),
            child,
            heard: String::new(),
        }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Waits until it has said this on standard error, where `mux run` prints what a program logs.
    #[track_caller]
    pub fn hear(&mut self, text: &str) {
        while !self.heard.contains(text) {
            let stderr = self.stderr.as_mut().unwrap();
            let count = stderr.read_line(&mut self.heard).unwrap();
            assert_ne!(count, 0, "it ended without {text:?}: {}", self.heard);
        }
    }

    /// Waits until it says this again.
    #[track_caller]
    pub fn hear_more(&mut self, text: &str) {
        self.heard.clear();
        self.hear(text);
    }

    /// What of standard error was read so far.
    pub fn heard(&self) -> &str {
        &self.heard
    }

    /// The next line on standard output; empty at its end.
    pub fn next_line_of_output(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Reads nothing more that it says, as a terminal that was closed.
    pub fn close_output(&mut self) {
        (self.stdout, self.stderr) = (None, None);
    }

    pub fn signal(&self, signal: Signal) {
        process::send(self.pid(), signal);
    }

    /// Its end and all that it said. One that does not end is killed, as its code tells.
    pub fn wait(mut self) -> Output {
        let _watched = watch(self.pid());
        // Both pipes at once: a program that fills one would not end while we read the other.
        let stderr = self.stderr.take();
        let rest = thread::spawn(move || everything(stderr));
        let stdout = everything(self.stdout.take());
        let mut stderr = std::mem::take(&mut self.heard).into_bytes();
        stderr.extend(rest.join().unwrap());
        let status = self.child.wait().unwrap();
        env::finish(std::process::Output {
            status,
            stdout,
            stderr,
        })
    }

    /// Its end, whatever it says.
    pub fn end(mut self) -> ExitStatus {
        self.close_output();
        self.child.wait().unwrap()
    }
}

/// Kills a process that has not ended in time, unless this is dropped before.
fn watch(pid: i32) -> Sender<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        if receiver.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
            process::send(pid, Signal::SIGKILL);
        }
    });
    sender
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn everything(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).unwrap();
    }
    bytes
}
