//! Arguments of `mux status`, `mux setup`, `mux restart` and `mux stop`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct StatusArgs {
    /// Print everything: every server, the worker sandbox's layers, the socket
    #[arg(short, long)]
    pub(crate) all: bool,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct SetupArgs {
    /// Print what is installed and install nothing; exits with 1 if something is missing
    #[arg(long, conflicts_with_all = ["registry", "from"])]
    pub(crate) check: bool,
    /// Download from another npm registry
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub(crate) registry: Option<String>,
    /// Install the package from a file, for machines without a network
    #[arg(long, value_name = "FILE.tgz")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RestartArgs {
    /// Cancel active runs instead of waiting for them
    #[arg(long, conflicts_with = "upgrade")]
    pub(crate) now: bool,
    /// Start a new daemon that takes over the open sessions; active runs finish in the old one
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// The muxd program to start [default: the one next to this mux]
    #[arg(long, requires = "upgrade", value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StopArgs {
    /// Cancel active runs instead of waiting for them
    #[arg(long)]
    pub(crate) now: bool,
}
