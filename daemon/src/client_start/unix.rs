//! A separate session, and `/dev/null` instead of the standard streams.

use std::{fs::File, io, os::fd::AsFd as _, os::unix::net::UnixStream, path::Path};

/// The startup lock's file and the channel for the report.
pub(crate) fn take_files() -> io::Result<(File, File)> {
    let lock = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let channel = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    detach()?;
    Ok((lock, channel))
}

/// Detaches from the client's session and terminal, and from its standard streams.
pub(crate) fn detach() -> io::Result<()> {
    // `setsid` fails for the leader of a process group, which a child of `mux` or `muxd` never is.
    _ = nix::unistd::setsid();
    let null = File::options().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    std::env::set_current_dir("/")
}

/// True if a daemon accepts connections at `socket`.
pub(crate) fn is_accepting(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}
