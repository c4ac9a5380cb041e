//! `mux-conformance-server`: the server that the scenarios of MCP's conformance suite call, with rmcp's
//! server side.
//!
//! The suite wants tools, resources and prompts with its own names. It is run against `mux mcp
//! --passthrough`, behind which this server stands; run against this server alone it tells which of
//! its complaints are about muxd.
//! Invariant: it is as correct a server as we can write, in both eras of the protocol.

mod conformance;

use clap::Parser;

fn main() -> anyhow::Result<()> {
    conformance::run(conformance::Args::parse())
}
