//! `mux mcp`.

use std::process::ExitCode;

use mux_proto::variables;

use super::{CommandFailure, CommandResult, UsageMistake, client_identity, env_path, resolve_dirs};
use crate::{
    args,
    mcp::{self, McpOptions, ServedTools},
};

pub(super) async fn mcp(args: args::McpArgs) -> CommandResult {
    let cwd = client_identity().workspace;
    let workspace = args.workspace.as_deref().map(std::path::absolute);
    let workspace = workspace.transpose().map_err(|error| {
        let message = format!("--workspace is not a directory: {error}");
        UsageMistake::new(message, "pass the path of a directory")
    })?;
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
        profile: args.profile,
        structured: args.structured,
    };
    let served = mcp::serve_mcp(options, resolve_dirs()?, env_path(variables::DAEMON)).await;
    served
        .map(|()| ExitCode::SUCCESS)
        .map_err(CommandFailure::from)
}
