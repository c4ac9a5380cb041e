//! The baseline of a call through `mux mcp`: two processes that only copy bytes, on the way between an agent and a server
//! as `mux mcp` and the daemon are.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
    process::{Command, Stdio},
    thread,
};

use anyhow::Context;

/// As this program's first argument, before the path of a socket, and for the process that owns the server also the
/// server's program.
pub(crate) const ARGUMENT: &str = "relay";

/// Two file descriptors, from which and to which bytes are copied.
struct Direction {
    from: File,
    to: File,
}

impl Direction {
    fn new(from: impl Into<OwnedFd>, to: impl Into<OwnedFd>) -> Self {
        Self {
            from: File::from(from.into()),
            to: File::from(to.into()),
        }
    }
}

/// A command that speaks to `server` by way of two processes of the kind that `argument` names. No other process uses
/// `socket`.
pub(crate) fn command(argument: &str, socket: &Path, server: &Path) -> anyhow::Result<Command> {
    let mut command = front(argument, socket)?;
    command.arg(server);
    Ok(command)
}

/// The process that the other one starts.
pub(crate) fn front(argument: &str, socket: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(argument).arg(socket);
    Ok(command)
}

/// The processes themselves. The process with a server starts the other one, which owns its standard input and output,
/// and copies between that and the server.
pub(crate) fn serve(socket: &Path, server: Option<OsString>) -> anyhow::Result<()> {
    let Some(server) = server else {
        let stream = UnixStream::connect(socket)?;
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let requests = Direction::new(input, stream.try_clone()?);
        let answers = Direction::new(stream.try_clone()?, output);
        return copy_both(requests, answers, move || stream.shutdown(Shutdown::Write));
    };
    let listener = UnixListener::bind(socket)?;
    let mut front = front(ARGUMENT, socket)?.spawn()?;
    let (stream, _) = listener.accept()?;
    let mut server = Command::new(server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let input = server.stdin.take().context("no stdin")?;
    let output = server.stdout.take().context("no stdout")?;
    let requests = Direction::new(stream.try_clone()?, input);
    // The server's input is closed with the requests.
    let answers = Direction::new(output, stream);
    copy_both(requests, answers, || Ok(()))?;
    front.wait()?;
    server.wait()?;
    Ok(())
}

/// Copies until the answers end. `end_requests` tells the other side that no requests follow.
fn copy_both(
    requests: Direction,
    answers: Direction,
    end_requests: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    thread::spawn(move || copy(requests).and_then(|()| end_requests()));
    copy(answers)?;
    Ok(())
}

/// Each read is written immediately. `io::copy` would let the kernel copy, which collects more.
fn copy(mut direction: Direction) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let bytes = direction.from.read(&mut buffer)?;
        if bytes == 0 {
            return Ok(());
        }
        direction.to.write_all(&buffer[..bytes])?;
    }
}
