//! Arguments of `mux metrics` and `mux top`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct MetricsArgs {
    /// Print the bearer token that the [metrics] listen port requires
    #[arg(long)]
    pub(crate) token: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TopArgs {
    /// Print the current figures once and exit (the default without a terminal)
    #[arg(long)]
    pub(crate) once: bool,
}
