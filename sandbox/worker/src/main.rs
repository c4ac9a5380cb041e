//! `mux-worker`: runs one program at a time in a fresh isolate, for the daemon that started it.
//!
//! It exchanges `mux-wire` frames over its standard input and output, which are pipes, and has no network, no files and
//! no environment. In this workspace it depends only on `mux-wire` and `mux-lockdown`, and it is the only program with
//! a JavaScript engine.
//!
//! - `arguments` parses the command line. `daemon_link` is the link: the script's thread writes and reads it, and a
//!   second thread reads frames while the first sleeps or computes. `watchdog` stops code that a program left behind (a
//!   timer, a finalizer, a stray promise).
//! - `source` turns TypeScript into a script: types are blanked out in place, which keeps lines and columns.
//!   `source/nesting_depth` bounds how deep a program nests, `source/warnings` finds calls that are not awaited and
//!   names that do not exist in the sandbox.
//! - `runtime` is one isolate: `runtime/isolate_build` creates it from the scripts of `js/` (the guest's realm) or from a
//!   `snapshot` of them, in which `snapshot/hot_scripts` are compiled. `runtime/host_object` calls the functions that
//!   the prelude provides to the host.
//! - `bridge` has the state that the ops of one isolate share: pending calls and budgets. `ops` are the only ways out
//!   of the isolate, with `ops/web` for the web's globals. Ops only convert and pass on.
//! - `buffer_allocator` and `memory` are the budgets of array buffers and of the process. `fault` converts a script's
//!   failure, with a position in the user's own source.
//! - `lockdown` drops the rights that the process does not need (`lockdown/linux`, `macos`, `windows`, `none`);
//!   `time_zone` loads the time zone before that.
//!
//! # Sandbox layers
//!
//! The guest is assumed to control its worker. The layers that remain, outermost last:
//!
//! - **realm**: no `Deno`, ops, `eval`, WebAssembly, shared memory, modules; everything reachable is listed in
//!   `tests/data/hostile/realm.allow`.
//! - **engine**: no code from strings, heap 64 MiB, array buffers 64 MiB, source nested at most 500 deep, values 100.
//! - **process, Linux**: landlock: no file, no TCP; two seccomp filters: sockets, exec, fork, ptrace and signals kill,
//!   and any call that is not on the list is refused; `RLIMIT_DATA` above what the engine uses after its start; no core
//!   file, no new privileges; descriptors 0 to 2; an empty environment.
//! - **process, Windows**: a job object: memory above what the engine uses after its start, no second process, no
//!   access to the desktop and the clipboard; a token of low integrity. Files that the user can read, and the network,
//!   stay open.
//! - **daemon**: frames are checked; wall time is enforced with SIGKILL; CPU time (10 s, more if more wall time is
//!   requested) is measured with the process's CPU clock.
//!
//! Layers that an old kernel lacks are left out. `mux status` shows which layers are active. The macOS layers compile
//! but have never been run. `tests/data/hostile` has one file for each case, and `mux-rogue-worker` simulates a worker
//! that was taken over.
//!
//! Invariants:
//!
//! - The process ends when its standard input does, regardless of what the script is doing.
//! - No two programs share an isolate, a context or a global.
//! - Source is parsed here and nowhere else. A program reaches the daemon by one pair of frames for calls, and by one
//!   frame each for console lines and parts.

mod arguments;
mod bridge;
#[cfg(feature = "v8")]
mod buffer_allocator;
mod daemon_link;
mod fault;
mod large_integers;
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
mod text_formats;
mod watchdog;

use std::{env, path::Path, process::ExitCode, thread};

use mux_wire::{EngineInfo, FRAME_VERSION, FromWorker, ToWorker};

use crate::{
    arguments::WorkerCommand,
    daemon_link::DaemonLink,
    lockdown::{Lockdown, LockdownSteps as _},
    runtime::{Isolate, IsolateOptions},
    watchdog::Watchdog,
};

const ENGINE_NAME: &str = if cfg!(feature = "quickjs") {
    "quickjs"
} else {
    "v8"
};

#[cfg(all(feature = "v8", feature = "quickjs"))]
compile_error!("choose one engine: for quickjs build with --no-default-features");

/// The stack size of the script's thread in bytes. The parser recurses where a program nests; the engine limits its own
/// use. Untouched pages cost nothing.
const SCRIPT_STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    #[cfg(feature = "quickjs")]
    keep_no_bytecode();
    let task = match arguments::parse_arguments(env::args_os().skip(1)) {
        Ok(task) => task,
        Err(message) => {
            lockdown::log_line(&format!("mux-worker: {message}"));
            return ExitCode::from(2);
        }
    };
    let basis = match task {
        WorkerCommand::MakeSnapshot => return snapshot::make(),
        WorkerCommand::Version { is_json } => return print_version(is_json),
        WorkerCommand::Serve { memory, snapshot } => IsolateOptions {
            memory,
            snapshot: snapshot.as_deref().and_then(load_snapshot),
        },
    };
    // From here on no file can be opened.
    let mut lockdown = Lockdown::before_engine();
    // The platform is initialized before any thread starts: on processors with protection keys, threads that exist
    // already could not run JavaScript.
    runtime::init_platform();
    lockdown.after_engine();
    let script = thread::Builder::new()
        .name("mux-script".into())
        .stack_size(SCRIPT_STACK_BYTES)
        .spawn(move || run_script_thread(lockdown, basis));
    match script.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(e) => {
            lockdown::log_line(&format!("mux-worker cannot start its thread: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// Disables QuickJS's bytecode cache, a directory of temporary files in which another user may have planted a file.
#[cfg(feature = "quickjs")]
#[expect(
    unsafe_code,
    clippy::disallowed_methods,
    reason = "the engine can be told in no other way"
)]
fn keep_no_bytecode() {
    // SAFETY: only one thread exists, and nothing has read the environment yet.
    unsafe { env::set_var("V82JSC_NO_BC_CACHE", "1") }
}

/// The version of V8. QuickJS reports none.
fn engine_version() -> Option<String> {
    #[cfg(feature = "v8")]
    let version = Some(deno_core::v8::V8::get_version().to_owned());
    #[cfg(not(feature = "v8"))]
    let version = None;
    version
}

/// Prints the version, as text, or as the JSON that `mux --version` reads.
#[expect(clippy::print_stdout, reason = "asked for on the command line")]
fn print_version(is_json: bool) -> ExitCode {
    let build = env!("CARGO_PKG_VERSION");
    let version = engine_version().map_or_else(String::new, |version| format!(" {version}"));
    if is_json {
        println!(r#"{{"build":"{build}","engine":"{ENGINE_NAME}{version}"}}"#);
    } else {
        println!("mux-worker {build} (engine {ENGINE_NAME}{version})");
    }
    ExitCode::SUCCESS
}

/// Loads the snapshot. A snapshot only makes isolates cheaper: on an error, they are built without it.
fn load_snapshot(path: &Path) -> Option<&'static [u8]> {
    snapshot::load(path)
        .inspect_err(|e| {
            let path = path.display();
            lockdown::log_line(&format!(
                "mux-worker continues without the snapshot {path}: {e}"
            ));
        })
        .ok()
}

fn run_script_thread(lockdown: Lockdown, basis: IsolateOptions) -> ExitCode {
    let (link, source, frames) = match DaemonLink::open() {
        Ok(opened) => opened,
        Err(e) => {
            lockdown::log_line(&format!("mux-worker is started by muxd, not by hand: {e}"));
            return ExitCode::from(2);
        }
    };
    let watchdog = match Watchdog::start() {
        Ok(watchdog) => watchdog,
        Err(e) => {
            lockdown::log_line(&format!("mux-worker cannot start its watchdog: {e}"));
            return ExitCode::FAILURE;
        }
    };
    // Time only, because an I/O driver would open more descriptors.
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .on_thread_park(move || source.read_before_sleep())
        .build()
        .expect("a current-thread runtime needs no resources that can be missing");
    let serve = serve_programs(link, frames, lockdown, basis, watchdog);
    match tokio.block_on(tokio::task::LocalSet::new().run_until(serve)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            lockdown::log_line(&format!("mux-worker exits: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs one program after another, each in a fresh isolate that is built before the program arrives.
async fn serve_programs(
    link: DaemonLink,
    mut frames: daemon_link::FrameReceiver,
    lockdown: Lockdown,
    basis: IsolateOptions,
    watchdog: Watchdog,
) -> Result<(), mux_wire::FrameError> {
    let mut isolate = Isolate::build(&link, &watchdog, basis);
    // The first isolate has started every thread that the engine needs.
    link.send(&FromWorker::Hello {
        version: FRAME_VERSION,
        engine: EngineInfo {
            name: ENGINE_NAME.into(),
            version: engine_version(),
            layers: lockdown.before_programs(basis.memory),
            snapshot: basis.snapshot.is_some(),
        },
    })?;
    loop {
        link.send(&FromWorker::Ready)?;
        let program = loop {
            match frames.recv().await {
                Some(ToWorker::Run(program)) => break program,
                Some(ToWorker::Check { source }) => {
                    link.send(&FromWorker::Checked(source::check_source(&source)))?;
                }
                // A late answer for a run that has just ended.
                Some(ToWorker::CallDone { .. }) => {}
                None => return Ok(()),
            }
        };
        link.send(&FromWorker::Accepted)?;
        let outcome = isolate.run(program, &mut frames).await;
        link.send(&FromWorker::Done { outcome })?;
        isolate = isolate.build_next(&link, &watchdog, basis);
    }
}
