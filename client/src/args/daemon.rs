//! The daemon, and what belongs to it.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Status {
    /// Show also what does not fit on a screen: every server, the walls around workers, the socket
    #[arg(short, long)]
    pub(crate) all: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Setup {
    /// Say what is there and install nothing; exits with 1 if something is missing
    #[arg(long, conflicts_with_all = ["registry", "from"])]
    pub(crate) check: bool,
    /// Download from another npm registry
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub(crate) registry: Option<String>,
    /// Take the package from a file, for machines without a network
    #[arg(long, value_name = "FILE.tgz")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Restart {
    /// Cancel what runs instead of waiting for it
    #[arg(long, conflicts_with = "upgrade")]
    pub(crate) now: bool,
    /// Have a new daemon take over without a gap: warm sessions go over to it, and what runs ends in the old one
    #[arg(long)]
    pub(crate) upgrade: bool,
    /// The muxd to start; the one beside this mux unless said otherwise
    #[arg(long, requires = "upgrade", value_name = "PATH")]
    pub(crate) binary: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stop {
    /// Cancel what runs instead of waiting for it
    #[arg(long)]
    pub(crate) now: bool,
}
