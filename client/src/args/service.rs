//! Arguments of `mux service`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Install the service: the system listens for clients, starts muxd for the first one, and supervises it
    #[command(after_help = "Example: mux service install --dry-run")]
    Install(ServiceChangeArgs),
    /// Remove the service; the first client then starts muxd
    #[command(after_help = "Example: mux service uninstall")]
    Uninstall(ServiceChangeArgs),
    /// Show whether the service is installed and active; exits with 3 if it is not
    #[command(after_help = "Example: mux service status --json")]
    Status,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServiceChangeArgs {
    /// Show what would be written and run without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}
