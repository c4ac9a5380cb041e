//! The `mux` command.

mod agents;
mod args;
mod commands;
mod exit;
mod mcp;
mod part;
mod render;
mod steps;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    // One thread: a command waits for one socket, and most are over in milliseconds.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return render::failure(&exit::machinery(error.to_string()), args.json, None),
    };
    let json = args.json;
    let code = match runtime.block_on(commands::execute(args)) {
        Ok(code) => code,
        Err(failure) => render::failure(&failure.error, json, failure.source.as_ref()),
    };
    // A wait for a lock that we gave up goes on in its thread, and must not hold us.
    runtime.shutdown_background();
    code
}
