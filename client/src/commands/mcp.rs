//! `mux mcp`.

use std::process::ExitCode;

use mux_proto::variables;

use super::{Failure, Outcome, dirs, me, usage, variable};
use crate::{
    args,
    mcp::{self, Options, Show},
};

pub(super) async fn mcp(args: args::Mcp) -> Outcome {
    let cwd = me().workspace;
    let workspace = match args
        .workspace
        .as_deref()
        .map(std::path::absolute)
        .transpose()
    {
        Ok(workspace) => workspace,
        Err(error) => {
            return usage(
                format!("--workspace is not a directory: {error}"),
                "give the path of a directory",
                false,
            );
        }
    };
    let options = Options {
        agent: args.agent,
        workspace,
        cwd,
        show: match args.passthrough {
            None => Show::Programs,
            Some(all) if all.is_empty() => Show::Everything,
            Some(server) => Show::Server(server),
        },
        inventory_tokens: Some(args.inventory),
    };
    let served = mcp::serve(options, dirs()?, variable(variables::DAEMON)).await;
    served.map(|()| ExitCode::SUCCESS).map_err(Failure::from)
}
