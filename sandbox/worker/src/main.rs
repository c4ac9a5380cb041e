//! `mux-worker`: runs one program at a time in a fresh isolate, for the daemon that started it.
//!
//! It speaks `mux-wire` frames over its standard input, which is a socket, and has nothing else: no network, no files,
//! no environment. It knows `mux-wire` alone of this workspace, no MCP and no client, and is the only program with a
//! JavaScript engine.
//!
//! - `arguments` reads the command line; `link` is the socket: one thread reads it, the script's thread writes it;
//!   `watchdog` stops code that a program left behind (a timer, a finalizer, a stray promise).
//! - `source` turns TypeScript into a script: types are blanked out in place, so that lines and columns stay;
//!   `source/nesting` bounds how deep a program nests, `source/warnings` finds calls that are not awaited and names
//!   that do not exist here.
//! - `runtime` is one isolate: `runtime/build` makes it from the scripts of `js/` (the guest's world) or from a
//!   `snapshot` of them, `runtime/host` calls the functions that the prelude leaves for the host.
//! - `bridge` has what the ops of one isolate share: calls that wait for an answer, and budgets. `ops` are the only
//!   ways out, with `ops/web` for the web's globals; no op decides anything.
//! - `buffers` and `memory` are the budgets of array buffers and of the process; `fault` gives a script's failure its
//!   shape, with a position in the user's own source.
//! - `lockdown` gives up what the process does not need (`lockdown/linux`, `macos`, `none`; `time_zone` loads the zone
//!   before that).
//!
//! # Walls
//!
//! The guest is assumed to control its worker. What then holds, outermost last:
//!
//! - **realm**: no `Deno`, ops, `eval`, WebAssembly, shared memory, modules; all that is reachable is listed in
//!   `tests/data/hostile/realm.allow`.
//! - **engine**: no code from strings, heap 64 MiB, array buffers 64 MiB, source nested at most 500 deep, values 100.
//! - **process, Linux**: landlock: no file, no TCP; two seccomp filters: sockets, exec, fork, ptrace and signals kill,
//!   and what is not on the list is refused; `RLIMIT_DATA` above what the engine uses after its start; no core file, no
//!   new privileges; descriptors 0 to 2; an empty environment.
//! - **daemon**: frames are checked; wall time is kept by SIGKILL; processor time (10 s, more if more wall time is
//!   requested) is read from `/proc`.
//!
//! A wall that an old kernel lacks is left out; `mux status` shows which walls are active. Those of macOS were
//! type-checked once and never run; the daemon does not build on Windows. `tests/data/hostile` holds one file for each
//! case; `mux-rogue-worker` plays a worker that was taken over.
//!
//! Invariants:
//!
//! - The process ends when the socket does, whatever the script is doing at that moment.
//! - No two programs share an isolate, a context or a global.
//! - Source is parsed here and nowhere else. A program reaches the daemon by one pair of frames for calls, and by one
//!   frame each for console lines and parts.

mod arguments;
mod bridge;
#[cfg(feature = "v8")]
mod buffers;
mod fault;
mod link;
mod lockdown;
mod memory;
mod ops;
mod runtime;
#[cfg(feature = "v8")]
mod snapshot;
#[cfg(not(feature = "v8"))]
#[path = "snapshot/none.rs"]
mod snapshot;
mod source;
mod watchdog;

use std::{env, path::Path, process::ExitCode, thread};

use mux_wire::{FromWorker, ToWorker, VERSION};

use crate::{
    arguments::Task,
    link::Link,
    lockdown::{Lockdown, Walls as _},
    runtime::{Basis, Isolate},
    source::Checked,
    watchdog::Watchdog,
};

const ENGINE: &str = if cfg!(feature = "quickjs") {
    "quickjs"
} else {
    "v8"
};

#[cfg(all(feature = "v8", feature = "quickjs"))]
compile_error!("choose one engine: for quickjs build with --no-default-features");

/// The thread of the script needs room for the parser, which recurses where a program nests, and for
/// the engine, which knows how much of it to use. What is never touched costs nothing.
const STACK: usize = 64 << 20;

fn main() -> ExitCode {
    #[cfg(feature = "quickjs")]
    keep_no_bytecode();
    let task = match arguments::parse(env::args_os().skip(1)) {
        Ok(task) => task,
        Err(message) => {
            lockdown::complain(&format!("mux-worker: {message}"));
            return ExitCode::from(2);
        }
    };
    let basis = match task {
        Task::MakeSnapshot => return snapshot::make(),
        Task::Version => return say_version(),
        Task::Serve { memory, snapshot } => Basis {
            memory,
            snapshot: snapshot.as_deref().and_then(loaded),
        },
    };
    // From here on no file can be opened.
    let lockdown = Lockdown::before_engine();
    // The platform comes before every thread: on processors with protection keys, threads that exist
    // already could never run JavaScript.
    runtime::init_platform();
    let script = thread::Builder::new()
        .name("mux-script".into())
        .stack_size(STACK)
        .spawn(move || live(lockdown, basis));
    match script.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(e) => {
            lockdown::complain(&format!("mux-worker cannot start its thread: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// QuickJS would keep what it has compiled in a folder of temporary files, where anybody may have put
/// something for it to read.
#[cfg(feature = "quickjs")]
#[expect(
    unsafe_code,
    clippy::disallowed_methods,
    reason = "the engine can be told in no other way"
)]
fn keep_no_bytecode() {
    // SAFETY: there is one thread, and nothing has read the environment yet.
    unsafe { env::set_var("V82JSC_NO_BC_CACHE", "1") }
}

/// The engine's own version. The other engine tells none.
fn engine_version() -> Option<String> {
    #[cfg(feature = "v8")]
    return Some(deno_core::v8::V8::get_version().to_owned());
    #[cfg(not(feature = "v8"))]
    None
}

/// `mux --version` reads it.
#[expect(clippy::print_stdout, reason = "asked for on the command line")]
fn say_version() -> ExitCode {
    let build = env!("CARGO_PKG_VERSION");
    let version = engine_version().map_or_else(String::new, |version| format!(" {version}"));
    println!("mux-worker {build} (engine {ENGINE}{version})");
    ExitCode::SUCCESS
}

/// A snapshot makes isolates cheaper and nothing else: without it everything works.
fn loaded(path: &Path) -> Option<&'static [u8]> {
    snapshot::load(path)
        .inspect_err(|e| {
            let path = path.display();
            lockdown::complain(&format!(
                "mux-worker goes on without the snapshot {path}: {e}"
            ));
        })
        .ok()
}

fn live(lockdown: Lockdown, basis: Basis) -> ExitCode {
    let (link, frames) = match Link::open() {
        Ok(opened) => opened,
        Err(e) => {
            lockdown::complain(&format!("mux-worker is started by muxd, not by hand: {e}"));
            return ExitCode::from(2);
        }
    };
    let watchdog = match Watchdog::start() {
        Ok(watchdog) => watchdog,
        Err(e) => {
            lockdown::complain(&format!("mux-worker cannot start its watchdog: {e}"));
            return ExitCode::FAILURE;
        }
    };
    // Time only: a driver for descriptors would have some of its own.
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a current-thread runtime needs no resources that can be missing");
    let serve = serve(link, frames, lockdown, (basis, watchdog));
    match tokio.block_on(tokio::task::LocalSet::new().run_until(serve)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            lockdown::complain(&format!("mux-worker ends: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// One program after the other, each in an isolate of its own that was built while nobody waited.
async fn serve(
    link: Link,
    mut frames: link::Frames,
    lockdown: Lockdown,
    (basis, watchdog): (Basis, Watchdog),
) -> Result<(), mux_wire::FrameError> {
    let mut isolate = Isolate::build(&link, &watchdog, basis);
    // The first isolate has started every thread that the engine wants.
    link.send(&FromWorker::Hello {
        version: VERSION,
        engine: ENGINE.into(),
        engine_version: engine_version(),
        layers: lockdown.before_programs(basis.memory),
        snapshot: basis.snapshot.is_some(),
    })?;
    loop {
        link.send(&FromWorker::Ready)?;
        let program = loop {
            match frames.recv().await {
                Some(ToWorker::Run(program)) => break program,
                Some(ToWorker::Check { source }) => {
                    let Checked { faults, warnings } = source::check(&source);
                    link.send(&FromWorker::Checked { faults, warnings })?;
                }
                // Answers for a run that has just ended cross its last frame on the way.
                Some(ToWorker::CallDone { .. }) => {}
                None => return Ok(()),
            }
        };
        link.send(&FromWorker::Accepted)?;
        let outcome = isolate.run(program, &mut frames).await;
        link.send(&FromWorker::Done { outcome })?;
        isolate = Isolate::build(&link, &watchdog, basis);
    }
}
