//! The fixture server, from start-up faults to the request loop.
//!
//! Invariant: it is written by hand on lines of JSON, without an MCP library, because a library
//! would refuse to send what the tests need sent.

mod args;
mod asks;
mod catalog;
mod changes;
mod eras;
mod family;
mod faults;
mod hostile;
mod http;
mod offers;
mod serve;
mod startup;
mod synthetic;
mod tasks;
mod tool;
mod tools;
mod wire;

pub(crate) use args::Args;

/// Runs the whole life of the server: the faults of its start, then its requests until stdin ends.
pub(crate) fn run(args: Args) -> std::io::Result<()> {
    if args.face.is_wanted() {
        return http::serve(args.face);
    }
    startup::misbehave(&args)?;
    serve::serve(args)
}
