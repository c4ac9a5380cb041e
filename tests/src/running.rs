//! A program that runs in the background of a test, and its output.
//!
//! Invariant: a test waits for a line or for the end of a program, never for a time.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::{Output, env, process};

/// After this time a program is killed. Shorter than nextest's timeout, which would hide the program that hangs.
const HANG: Duration = Duration::from_secs(100);

pub struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<BufReader<ChildStderr>>,
    /// The part of standard error that was read already.
    heard: String,
}

impl Running {
    /// Starts a program with an empty standard input.
    pub fn start(command: &mut Command) -> Self {
        Self::start_as_is(command.stdin(Stdio::null()))
    }

    /// Starts a program with the standard input that the command sets.
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

    /// Waits until standard error, where `mux run` prints what a program logs, contains a string.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        assert!(
            self.hears(text),
            "it ended without {text:?}: {}",
            self.heard
        );
    }

    /// Waits until standard error contains a text, or ends. Returns whether it contains the text.
    pub fn hears(&mut self, text: &str) -> bool {
        while !self.heard.contains(text) {
            let stderr = self.stderr.as_mut().unwrap();
            if stderr.read_line(&mut self.heard).unwrap() == 0 {
                return false;
            }
        }
        true
    }

    /// Waits until the program prints a text again.
    #[track_caller]
    pub fn wait_for_more(&mut self, text: &str) {
        self.heard.clear();
        self.wait_for(text);
    }

    /// The part of standard error that was read so far.
    pub fn heard(&self) -> &str {
        &self.heard
    }

    /// The next line of standard output; empty at its end.
    pub fn next_line_of_output(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// Closes the pipes of its output, like a terminal that is closed.
    pub fn close_output(&mut self) {
        (self.stdout, self.stderr) = (None, None);
    }

    pub fn signal(&self, signal: Signal) {
        process::send(self.pid(), signal);
    }

    /// Waits for the end, and returns the exit code and all output. Kills a program that does not end in time.
    pub fn wait(mut self) -> Output {
        let _watched = watch(self.pid());
        // Read both pipes concurrently: a program that fills one pipe would block while the other is read.
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

    /// Waits for the end, and ignores the output.
    pub fn end(mut self) -> ExitStatus {
        self.close_output();
        self.child.wait().unwrap()
    }
}

/// Kills a process that has not ended in time, unless the returned sender is dropped before.
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
        // The process has ended already, or the test has failed.
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
