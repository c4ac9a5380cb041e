//! What `mux logs` and `mux servers logs` are asked for.

use clap::{Args as ClapArgs, ValueEnum};

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Logs {
    /// Only what this server says; may stand several times
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Only what the daemon says
    #[arg(long, conflicts_with = "servers")]
    pub(crate) daemon: bool,
    #[command(flatten)]
    pub(crate) lines: Lines,
}

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct Lines {
    /// Go on showing what is added
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many lines to begin with, the latest; 50, or all with --since
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) lines: Option<usize>,
    /// Only this run's: its id, or the number behind the dash; with what servers said while it called them
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only what is as grave as this, or graver; what servers write counts as info
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<Level>,
    /// Only what is not older, such as 1h; or since a date, such as 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME|DATE")]
    pub(crate) since: Option<String>,
}

/// The least first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(crate) enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}
