//! The figures of muxd, each beside a baseline that is measured in the same run.
//!
//! No test asserts a time; whoever wants to know runs this, on a machine at rest, with release
//! binaries (`scripts/bench`). Figures are printed as medians and 99th percentiles, with ratios.

#[path = "bench/bare.rs"]
mod bare;
#[path = "bench/commands.rs"]
mod commands;
#[path = "bench/figures.rs"]
mod figures;
#[path = "bench/sessions.rs"]
mod sessions;

use std::path::PathBuf;

use clap::Parser;

/// Measures a release build of muxd.
#[derive(Parser)]
struct Args {
    /// The directory with mux, muxd, mux-worker and mux-fixture-server
    #[arg(long)]
    binaries: PathBuf,
    /// A real MCP server to connect to again and again, and its arguments
    #[arg(long, num_args = 1.., value_delimiter = ' ')]
    server: Vec<String>,
    /// How often each figure is taken
    #[arg(long, default_value_t = 200)]
    rounds: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let place = commands::Place::new(args.binaries, &args.server)?;
    figures::title("whole process");
    commands::measure(&place, args.rounds)?;
    figures::title("one warm tool call (fixture server: echo)");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(sessions::measure(&place, args.rounds))?;
    figures::title("daemon and workers");
    commands::measure_daemon(&place)?;
    Ok(())
}
