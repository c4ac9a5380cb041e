//! `mux-fixture-server`: a scriptable MCP server over stdio or HTTP that misbehaves on demand.
//!
//! Tests start it where a user's server would stand, and choose its faults by flags (how it starts
//! and ends) and by tools (what goes wrong in one call).
//! Invariant: it is a plain, correct server except for the fault that was asked for by name, so
//! that a failing test points at the daemon and not at an accident in here.

mod fixture;

use clap::Parser;

fn main() -> std::io::Result<()> {
    let args = fixture::Args::parse();
    fixture::run(args)
}
