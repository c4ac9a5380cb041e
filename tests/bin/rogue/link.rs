//! The pipes to the daemon, for frames and for invalid data.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::process::CommandExt as _},
    process::{Command, Stdio},
};

use mux_wire::{CallTarget, ConsoleLevel, FrameError, FromWorker, ToWorker};

/// The name of a process that only keeps the pipes open.
pub(super) const GRANDCHILD: &str = "grandchild";

pub(super) struct DaemonLink {
    input: File,
    output: File,
}

impl DaemonLink {
    /// Takes standard input and output: only this has them from then on.
    pub(super) fn open() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?.into();
        let output = io::stdout().as_fd().try_clone_to_owned()?.into();
        let nowhere = File::options().read(true).write(true).open("/dev/null")?;
        nix::unistd::dup2_stdin(&nowhere)?;
        nix::unistd::dup2_stdout(&nowhere)?;
        Ok(Self { input, output })
    }

    pub(super) fn say(&mut self, frame: &FromWorker) -> io::Result<()> {
        let bytes = mux_wire::encode_frame(frame).map_err(io::Error::other)?;
        self.write(&bytes)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    /// Writes a frame of these bytes, valid or not.
    pub(super) fn write_frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.promise(u32::try_from(bytes.len()).unwrap_or(u32::MAX))?;
        self.write(bytes)
    }

    /// The length of a frame, without the frame.
    pub(super) fn promise(&mut self, length: u32) -> io::Result<()> {
        self.write(&length.to_be_bytes())
    }

    pub(super) fn done(&mut self, result: &str) -> io::Result<()> {
        let outcome = Ok(result.into());
        self.say(&FromWorker::Done { outcome })
    }

    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.say(&FromWorker::Console {
            level: ConsoleLevel::Log,
            text: text.into(),
        })
    }

    pub(super) fn call(
        &mut self,
        call: u32,
        target: CallTarget,
        arguments: String,
    ) -> io::Result<()> {
        self.say(&FromWorker::Call {
            call,
            target,
            arguments,
        })
    }

    /// The next frame, or the end.
    pub(super) fn next(&mut self) -> io::Result<Option<ToWorker>> {
        match mux_wire::read_frame(&mut self.input) {
            Err(FrameError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
            Ok(frame) => Ok(frame),
        }
    }

    /// Takes what comes until the other end is closed.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        let mut piece = vec![0; 1 << 16];
        while self.input.read(&mut piece)? > 0 {}
        Ok(())
    }

    /// Closes both ends.
    pub(super) fn hang_up(&mut self) -> io::Result<()> {
        let nowhere = File::options().read(true).write(true).open("/dev/null")?;
        self.input = nowhere.try_clone()?;
        self.output = nowhere;
        Ok(())
    }

    /// Leaves the pipes, and standard error, to a process that the daemon does not know.
    pub(super) fn bequeath(&self) -> io::Result<()> {
        let program = std::env::current_exe()?;
        let child = Command::new(program)
            .arg0(GRANDCHILD)
            .stdin(self.input.try_clone()?)
            .stdout(self.output.try_clone()?)
            .stderr(Stdio::inherit())
            .spawn()?;
        // The kernel ends this process.
        drop(child);
        Ok(())
    }
}

/// Does nothing until it is killed.
pub(super) fn stay() -> ! {
    loop {
        std::thread::park();
    }
}
