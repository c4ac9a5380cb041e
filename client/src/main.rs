//! The `mux` command.

mod agents;
mod args;
mod commands;
mod completion;
mod content_part;
mod elicitation;
mod exit;
mod fetched_package;
mod found_program;
#[cfg(test)]
mod hinted_commands;
mod known_sandboxes;
mod log_line;
mod mcp;
mod prior_calls;
mod process_environment;
mod render;
mod request_timeouts;
mod step_outcome;
mod top;
mod usage;
mod web_url;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(candidates) = completion::answer() {
        return render::output_exit_code(render::print_data(&candidates));
    }
    let args = match usage::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let output = &args.output;
    render::set_color(output.color);
    render::set_verbosity(render::Verbosity::of_options(output.quiet, output.verbose));
    let json = output.json;
    // One thread is enough: a command waits for one socket, and most end within milliseconds.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return render::failure(&exit::unavailable_error(error.to_string()), json, None);
        }
    };
    let code = match runtime.block_on(commands::execute(args)) {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    };
    // An abandoned lock wait continues in its thread and must not delay the exit.
    runtime.shutdown_background();
    code
}
