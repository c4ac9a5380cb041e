//! `mux-worker`: runs one program at a time in a fresh isolate, for the daemon that started it.
//!
//! It speaks `mux-wire` frames over its standard input, which is a socket, and has nothing else: no
//! network, no files, no environment.
//!
//! Invariant: the process ends when the socket does, whatever the script is doing at that moment.

mod fault;
mod link;
mod lockdown;
mod ops;
mod runtime;
mod source;

use std::process::ExitCode;

use mux_wire::{FromWorker, ToWorker};

use crate::{link::Link, runtime::Isolate};

const ENGINE: &str = if cfg!(feature = "quickjs") {
    "quickjs"
} else {
    "v8"
};

#[cfg(all(feature = "v8", feature = "quickjs"))]
compile_error!("choose one engine: for quickjs build with --no-default-features");

fn main() -> ExitCode {
    lockdown::before_engine();
    // The platform comes before every thread: on processors with protection keys, threads that exist
    // already could never run JavaScript.
    runtime::init_platform();
    let (link, frames) = match Link::open(ENGINE) {
        Ok(opened) => opened,
        Err(e) => {
            lockdown::complain(&format!("mux-worker is started by muxd, not by hand: {e}"));
            return ExitCode::from(2);
        }
    };
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a current-thread runtime needs no resources that can be missing");
    match tokio.block_on(tokio::task::LocalSet::new().run_until(serve(link, frames))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            lockdown::complain(&format!("mux-worker ends: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// One program after the other, each in an isolate of its own that was built while nobody waited.
async fn serve(link: Link, mut frames: link::Frames) -> Result<(), mux_wire::FrameError> {
    loop {
        let isolate = Isolate::build(&link);
        link.send(&FromWorker::Ready)?;
        let program = loop {
            match frames.recv().await {
                Some(ToWorker::Run(program)) => break program,
                Some(ToWorker::Check { source }) => {
                    let faults = source::prepare(&source).err().unwrap_or_default();
                    link.send(&FromWorker::Checked { faults })?;
                }
                // Answers for a run that has just ended cross its last frame on the way.
                Some(ToWorker::CallDone { .. }) => {}
                None => return Ok(()),
            }
        };
        let outcome = isolate.run(program, &mut frames).await;
        link.send(&FromWorker::Done { outcome })?;
    }
}
