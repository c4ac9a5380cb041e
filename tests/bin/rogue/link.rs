//! The socket to the daemon, for frames and for what is none.

use std::{
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::{fd::AsFd as _, unix::net::UnixStream, unix::process::CommandExt as _},
    process::{Command, Stdio},
};

use mux_wire::{CallTarget, ConsoleLevel, FrameError, FromWorker, ToWorker};

/// The name of a process that does nothing but hold the socket.
pub(super) const GRANDCHILD: &str = "grandchild";

pub(super) struct Link(UnixStream);

impl Link {
    /// Standard input.
    pub(super) fn open() -> io::Result<Self> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self(UnixStream::from(fd)))
    }

    pub(super) fn say(&mut self, frame: &FromWorker) -> io::Result<()> {
        let bytes = mux_wire::encode_frame(frame).map_err(io::Error::other)?;
        self.write(&bytes)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// A frame of these bytes, whatever they mean.
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
        match mux_wire::read_frame(&mut self.0) {
            Err(FrameError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
            Ok(frame) => Ok(frame),
        }
    }

    /// Takes what comes until the other end is closed.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        let mut piece = vec![0; 1 << 16];
        while self.0.read(&mut piece)? > 0 {}
        Ok(())
    }

    pub(super) fn hang_up(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }

    /// Leaves the socket, and standard error, to a process that nobody knows of.
    pub(super) fn bequeath() -> io::Result<()> {
        let program = std::env::current_exe()?;
        let child = Command::new(program)
            .arg0(GRANDCHILD)
            .stdin(Stdio::inherit())
            .stderr(Stdio::inherit())
            .spawn()?;
        // Its end is the kernel's business.
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
