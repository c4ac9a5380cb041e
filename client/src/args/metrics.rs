//! Numbers of the daemon: for a Prometheus, and for the eye.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Metrics {
    /// Print what whoever reads the port of [metrics] listen must send as a Bearer token
    #[arg(long)]
    pub(crate) token: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Top {
    /// Print what is so now and end, as without a terminal
    #[arg(long)]
    pub(crate) once: bool,
}
