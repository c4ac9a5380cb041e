//! The worker's life: a greeting, and then one program after the other.

mod floods;
mod greeting;
mod link;
mod tricks;

use std::{io, process::ExitCode};

use mux_wire::ToWorker;

use self::link::DaemonLink;

/// Until the daemon hangs up, or a trick ends the process.
pub(crate) fn serve(name: &str) -> io::Result<ExitCode> {
    if name == link::GRANDCHILD {
        // The process runs as long as the other ends of the pipes exist.
        DaemonLink::open()?.listen()?;
        return Ok(ExitCode::SUCCESS);
    }
    // As a worker asks of the kernel. Where that cannot be, the daemon's SIGKILL comes anyway.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    let mut link = DaemonLink::open()?;
    if let Some(code) = greeting::greet(name, &mut link)? {
        return Ok(code);
    }
    while let Some(frame) = link.next()? {
        match frame {
            ToWorker::Check { source } => link.say(&tricks::checked(&source))?,
            ToWorker::Run(program) => {
                if let Some(code) = tricks::play(&program.source, &mut link)? {
                    return Ok(code);
                }
            }
            ToWorker::CallDone { .. } => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}
