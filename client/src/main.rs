//! The `mux` command.

mod agents;
mod args;
mod came_before;
mod commands;
mod completion;
mod elicitation;
mod exit;
mod exposition;
mod log_line;
mod mcp;
mod part;
mod render;
mod steps;
mod top;
mod ui;
mod web_url;

use std::{env, process::ExitCode};

use clap::{Parser, error::ErrorKind};

fn main() -> ExitCode {
    if let Some(candidates) = completion::answer() {
        return render::output_exit_code(render::print_data(&candidates));
    }
    let args = match args::MuxCli::try_parse() {
        Ok(args) => args,
        Err(error) => return handle_clap_error(&error),
    };
    // One thread is enough: a command waits for one socket, and most end within milliseconds.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return render::failure(&exit::unavailable_error(error.to_string()), args.json, None);
        }
    };
    let json = args.json;
    let code = match runtime.block_on(commands::execute(args)) {
        Ok(code) => code,
        Err(failure) => render::failure(&failure.error, json, failure.source.as_ref()),
    };
    // An abandoned lock wait continues in its thread and must not delay the exit.
    runtime.shutdown_background();
    code
}

/// Handles a usage error, or a request that clap answers itself: help and version.
fn handle_clap_error(error: &clap::Error) -> ExitCode {
    // clap has not parsed the flags of a command line that it rejects.
    let said = |flag: &str| env::args_os().skip(1).any(|word| word == flag);
    if error.kind() == ErrorKind::DisplayVersion && (said("--version") || said("--json")) {
        return render::version(&commands::version_report(), said("--json"));
    }
    // A closed pipe is not an error.
    drop(error.print());
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
