//! What `mux audit` is asked for.

use clap::Args as ClapArgs;

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Audit {
    /// Only what is not older, such as 1h; or since a date, such as 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME|DATE")]
    pub(crate) since: Option<String>,
    /// Only calls of these tools
    #[arg(long, value_name = "GLOB")]
    pub(crate) tool: Option<String>,
    /// Only this agent's
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only this run's: its id, or the number behind the dash
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only calls that ended so: ok, denied, timeout …; failed is everything but ok
    #[arg(long, value_name = "KIND")]
    pub(crate) outcome: Option<String>,
    /// Go on showing what is added
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// At most so many, the latest; all with --since
    #[arg(short = 'n', long, value_name = "LINES")]
    pub(crate) lines: Option<usize>,
}
