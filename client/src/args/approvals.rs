//! What `mux approvals`, `mux approve`, `mux deny` and `mux resume` are asked for.

use clap::{Args as ClapArgs, Subcommand};

use super::Parts;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    /// Only this one, with all of its arguments
    #[arg(value_name = "ID", conflicts_with_all = ["granted", "watch"])]
    pub(crate) approval: Option<String>,
    /// List what is always allowed
    #[arg(long)]
    pub(crate) granted: bool,
    /// Show each change until Ctrl-C
    #[arg(long, conflicts_with = "granted")]
    pub(crate) watch: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Take back what is always allowed
    #[command(after_help = "Example: mux approvals revoke g5f0c93a1")]
    Revoke {
        /// As `mux approvals --granted` names it
        grant: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Approve {
    /// As `mux approvals` names them
    #[arg(value_name = "ID", required = true)]
    pub(crate) approvals: Vec<String>,
    /// This call, and later calls of this tool as it is now, for this agent, until it is revoked
    #[arg(long)]
    pub(crate) always: bool,
    /// This call, and later calls of this tool by this client, until its connection ends
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Deny {
    /// As `mux approvals` names them
    #[arg(value_name = "ID", required = true)]
    pub(crate) approvals: Vec<String>,
    /// What the program is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Resume {
    /// The approval, or the run
    pub(crate) id: String,
    /// Print the run's id and do not wait for its end
    #[arg(long, conflicts_with = "save_parts")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) parts: Parts,
}
