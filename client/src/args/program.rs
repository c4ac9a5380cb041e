//! Arguments of `mux program`.

use std::{path::PathBuf, time::Duration};

use clap::Args as ClapArgs;

use super::{SourceArgs, TraceArgs, timeout::parse_run_timeout};

#[derive(Debug, ClapArgs)]
pub(crate) struct ProgramArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// `{{input}}`: JSON, @FILE, - for standard input, or KEY=VALUE, which can be repeated
    #[arg(long, value_name = "INPUT", allow_negative_numbers = true)]
    pub(crate) input: Vec<String>,
    /// The maximum wall time, 1s to 300s; a number without a unit is in seconds
    #[arg(long, value_name = "TIME", value_parser = parse_run_timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Print the equivalent TypeScript program and run nothing
    #[arg(long, conflicts_with_all = ["input", "timeout", "detach", "no_check"])]
    pub(crate) explain: bool,
    /// Skip the check of references before the run
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print the run's id without waiting for the result
    #[arg(long)]
    pub(crate) detach: bool,
    /// Record the run to a file: steps, input, every call with its result, times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["detach", "explain"])]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
}
