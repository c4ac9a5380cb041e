//! What `mux program` is asked for.

use std::{path::PathBuf, time::Duration};

use clap::Args as ClapArgs;

use super::{Source, Trace};

#[derive(Debug, ClapArgs)]
pub(crate) struct Program {
    #[command(flatten)]
    pub(crate) source: Source,
    /// JSON for `{{input}}`
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Wall time, 1s to 300s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Print the TypeScript program that it stands for, and run nothing
    #[arg(long, conflicts_with_all = ["input", "timeout", "detach", "no_check"])]
    pub(crate) explain: bool,
    /// Do not look at its references before it runs
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print the run's id and do not wait for its end
    #[arg(long)]
    pub(crate) detach: bool,
    /// Keep all of it in a file: steps, input, every call with its result, times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["detach", "explain"])]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trace: Trace,
}
