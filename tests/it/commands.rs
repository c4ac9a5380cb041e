//! The command line: what each command prints, where, and how it exits.
//!
//! Invariant: data goes to standard output and everything else to standard error. With `--json` the only output is one
//! document on standard output.

mod call;
mod daemonless;
mod doctor;
mod exits;
mod help;
mod hostile_text;
mod json;
mod mistakes;
mod offers;
mod parts;
mod reload;
mod run;
mod runs;
mod show;
mod stored;
mod terminal;
mod unlisted_server;
mod verbosity;

use mux_tests::Output;

/// Fails unless a command succeeded and printed exactly `data`, with an empty standard error.
#[track_caller]
fn prints(output: Output, data: &str) {
    let output = output.ok();
    assert_eq!(output.stdout, data, "{output:#?}");
    assert_eq!(output.stderr, "", "{output:#?}");
}
