//! Arguments of `mux logs` and `mux servers logs`.

use std::time::SystemTime;

use clap::{Args as ClapArgs, ValueEnum};
use serde::Serialize;

use super::timeout::parse_since;

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct LogsArgs {
    /// Print only lines of this server; can be repeated
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,
    /// Print only lines of the daemon
    #[arg(long, conflicts_with = "servers")]
    pub(crate) daemon: bool,
    #[command(flatten)]
    pub(crate) lines: LogLinesArgs,
}

#[derive(Debug, Default, ClapArgs)]
#[group(skip)]
pub(crate) struct LogLinesArgs {
    /// Keep printing new lines
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The number of latest lines to print first [default: 50, or all with --since]
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) lines: Option<usize>,
    /// Print only lines of this run (its number or id) and of servers during its calls
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print only lines of at least this level; servers' stderr counts as info
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<LogLevel>,
    /// Print only lines since an age such as 1h or a date such as 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME|DATE", value_parser = parse_since)]
    pub(crate) since: Option<SystemTime>,
}

/// Log levels, from the least severe to the most severe.
#[derive(
    Clone,
    Copy,
    Debug,
    Eq,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
    ValueEnum,
)]
#[strum(serialize_all = "UPPERCASE")]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}
