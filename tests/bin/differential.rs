//! Compares muxd with the official SDKs on more servers than the tests do (`scripts/differential`).
//!
//! The exit code is 1 if muxd reaches less than an SDK with one of them.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use mux_tests::differential::{Comparison, handwritten, mutations};

/// Tries mutated servers with muxd and the official SDKs.
#[derive(Parser)]
#[command(name = "mux-differential")]
struct Args {
    /// The seed of the mutations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first mutation
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many mutations to try
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Try the handwritten cases instead
    #[arg(long, conflicts_with_all = ["seed", "first", "count"])]
    cases: bool,
    /// Also print the servers with which muxd reaches more than both SDKs
    #[arg(long)]
    better: bool,
    /// The folder to write failures to
    #[arg(long, default_value = "target/tmp/differential/script")]
    out: PathBuf,
}

#[expect(clippy::print_stdout, reason = "the output of the program")]
fn main() -> ExitCode {
    let args = Args::parse();
    let subjects = if args.cases {
        handwritten()
    } else {
        mutations(args.seed, args.first..args.first + args.count)
    };
    let comparison = Comparison::of(&subjects);
    for failure in &comparison.failures {
        println!("WORSE {failure}");
    }
    for name in comparison.better.iter().filter(|_| args.better) {
        println!("BETTER {name}");
    }
    println!("{}", comparison.figures);
    comparison.write_failures(&args.out);
    if comparison.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        println!("The failures are cases in {}.", args.out.display());
        ExitCode::FAILURE
    }
}
