//! `mux mcp`.

use std::process::ExitCode;

use mux_proto::variables;

use super::{CommandFailure, CommandResult, client_identity, env_path, resolve_dirs, usage_error};
use crate::{
    args,
    mcp::{self, McpOptions, ServedTools},
};

pub(super) async fn mcp(args: args::McpArgs) -> CommandResult {
    let cwd = client_identity().workspace;
    let workspace = match args
        .workspace
        .as_deref()
        .map(std::path::absolute)
        .transpose()
    {
        Ok(workspace) => workspace,
        Err(error) => {
            return usage_error(
                format!("--workspace is not a directory: {error}"),
                "give the path of a directory",
                false,
            );
        }
    };
    let options = McpOptions {
        agent: args.agent,
        workspace,
        cwd,
        show: match args.passthrough {
            None => ServedTools::Programs,
            Some(all) if all.is_empty() => ServedTools::Everything,
            Some(server) => ServedTools::Server(server),
        },
        inventory_tokens: Some(args.inventory),
    };
    let served = mcp::serve_mcp(options, resolve_dirs()?, env_path(variables::DAEMON)).await;
    served
        .map(|()| ExitCode::SUCCESS)
        .map_err(CommandFailure::from)
}
