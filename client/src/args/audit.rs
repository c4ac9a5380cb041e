//! Arguments of `mux audit`.

use std::time::SystemTime;

use clap::Args as ClapArgs;

use super::timeout::parse_since;

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct AuditArgs {
    /// Print only entries since an age such as 1h or a date such as 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME|DATE", value_parser = parse_since)]
    pub(crate) since: Option<SystemTime>,
    /// Print only calls of matching tools
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Option<String>,
    /// Print only calls of this server, and entries about it
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Print only entries of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Print only entries of this run: its number or id
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print only calls with this outcome: ok, denied, timeout …; `failed` matches all but ok
    #[arg(long, value_name = "KIND")]
    pub(crate) outcome: Option<String>,
    /// Keep printing new entries
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// The number of latest entries to print; unlimited with --since
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) lines: Option<usize>,
}
