//! The baseline of a daemon: a bare tokio server on a Unix socket that echoes its input, in a separate process.

use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

/// As this program's first argument, before the path of a socket.
pub(crate) const ARGUMENT: &str = "echo";
/// The message that it sends when it listens.
const READY: u8 = b'.';
/// The size of one read from a connection, and of our shortest first message.
const BUFFER: usize = 512;

/// The process itself, which is killed when it is no longer needed.
pub(crate) fn serve(socket: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = UnixListener::bind(socket)?;
        std::io::stdout().write_all(&[READY])?;
        std::io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            // One that ends in an error has ended.
            tokio::spawn(async { drop(answer(stream).await) });
        }
    })
}

async fn answer(mut stream: UnixStream) -> std::io::Result<()> {
    let mut heard = vec![0; BUFFER];
    loop {
        let bytes = stream.read(&mut heard).await?;
        if bytes == 0 {
            return Ok(());
        }
        stream.write_all(&heard[..bytes]).await?;
    }
}

pub(crate) struct Echo {
    child: Child,
    socket: PathBuf,
    // Held for its life: the socket is in it.
    _folder: tempfile::TempDir,
}

impl Echo {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in("/tmp")?;
        let socket = folder.path().join("echo.sock");
        let mut child = Command::new(std::env::current_exe()?)
            .arg(ARGUMENT)
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = [0];
        let mut stdout = child.stdout.take().context("no stdout")?;
        stdout.read_exact(&mut said)?;
        ensure!(said == [READY], "the echo server says {said:?}");
        Ok(Self {
            child,
            socket,
            _folder: folder,
        })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<i32> {
        Ok(i32::try_from(self.child.id())?)
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).await?;
        ask(&mut stream).await?;
        Ok(stream)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // A process that has already exited is what we want.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One message there and back.
pub(crate) async fn ask(stream: &mut UnixStream) -> anyhow::Result<()> {
    let words = [b'x'; BUFFER];
    stream.write_all(&words).await?;
    let mut heard = [0; BUFFER];
    stream.read_exact(&mut heard).await?;
    Ok(())
}
