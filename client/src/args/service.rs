//! What `mux service` is asked for.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Service {
    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Let the system listen for clients, start muxd for the first one, and watch over it
    #[command(after_help = "Example: mux service install --dry-run")]
    Install(ChangeService),
    /// Take it out again; the first client starts muxd, as it did before
    #[command(after_help = "Example: mux service uninstall")]
    Uninstall(ChangeService),
    /// Show what is installed and in force; exits with 3 if nothing is
    #[command(after_help = "Example: mux service status --json")]
    Status,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ChangeService {
    /// Only show what would be written and run
    #[arg(long)]
    pub(crate) dry_run: bool,
}
