//! Arguments of `mux approvals`, `mux approve`, `mux deny` and `mux resume`.

use clap::{Args as ClapArgs, Subcommand};

use super::SavePartsArgs;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    /// Show only this approval, with all its arguments
    #[arg(value_name = "ID", conflicts_with_all = ["granted", "watch"])]
    pub(crate) approval: Option<String>,
    /// List the permanent grants
    #[arg(long)]
    pub(crate) granted: bool,
    /// Print each change until Ctrl-C
    #[arg(long, conflicts_with = "granted")]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Revoke a permanent grant
    #[command(after_help = "Example: mux approvals revoke g5f0c93a1")]
    Revoke {
        /// The grant, as listed by `mux approvals --granted`
        grant: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ApproveArgs {
    /// The approvals, as listed by `mux approvals`
    #[arg(value_name = "ID", required = true)]
    pub(crate) approvals: Vec<String>,
    /// Also allow this agent's later calls of this tool until you revoke the grant or the tool changes
    #[arg(long)]
    pub(crate) always: bool,
    /// Also allow this client's later calls of this tool until its connection ends
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DenyArgs {
    /// The approvals, as listed by `mux approvals`
    #[arg(value_name = "ID", required = true)]
    pub(crate) approvals: Vec<String>,
    /// The reason, passed to the program
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArgs {
    /// The id of the approval or run
    pub(crate) id: String,
    /// Print the run's id without waiting for the result
    #[arg(long, conflicts_with = "save_parts")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) parts: SavePartsArgs,
}
