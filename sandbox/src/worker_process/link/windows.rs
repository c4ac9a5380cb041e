//! The worker's standard input and output.

use std::{io, process::Stdio};

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub(crate) type LinkReader = ChildStdout;
pub(crate) type LinkWriter = ChildStdin;

/// The value of `CREATE_NO_WINDOW`.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// Nothing: the pipes exist once the worker has started.
pub(crate) struct LinkSetup;

impl LinkSetup {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(crate) fn prepare(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self)
    }

    pub(crate) fn open(self, child: &mut Child) -> io::Result<(LinkReader, LinkWriter)> {
        let Self = self;
        let missing = || io::Error::other("the worker has no pipe");
        let reader = child.stdout.take().ok_or_else(missing)?;
        let writer = child.stdin.take().ok_or_else(missing)?;
        Ok((reader, writer))
    }
}

/// Starts the process without a window. Its directory stays that of the daemon, which is the root of a drive.
pub(crate) fn isolate_process(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}
