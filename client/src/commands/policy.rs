//! `mux policy`: the rules, and which of them decides.

use std::path::PathBuf;

use mux_client::within_seconds;
use mux_proto::{ExplainPolicyRequest, PolicyRequest};

use super::{
    CommandFailure, CommandResult,
    call::{CallArguments, parse_arguments},
    request_with_retry, usage_error,
};
use crate::{
    args::{self, PolicyCommand},
    render,
};

/// Seconds. The disk of a project may be slow.
const POLICY_TIMEOUT_SECS: u64 = 30;

pub(super) async fn policy(args: args::PolicyArgs, json: bool) -> CommandResult {
    match args.command {
        None => list_policy(args.list, json).await,
        Some(PolicyCommand::List(args)) => list_policy(args, json).await,
        Some(PolicyCommand::Explain(args)) => explain_policy(args, json).await,
    }
}

async fn list_policy(args: args::PolicyListArgs, json: bool) -> CommandResult {
    let request = PolicyRequest { agent: args.agent };
    let list = request_with_retry(async |session| {
        session.require_feature("policy")?;
        let answer = session
            .client
            .policy(within_seconds(POLICY_TIMEOUT_SECS), request.clone());
        answer.await.map_err(mux_client::rpc_error)?
    });
    let list = list.await?.map_err(CommandFailure::from)?;
    Ok(render::policy(&list, request.agent.as_deref(), json))
}

async fn explain_policy(args: args::PolicyExplainArgs, json: bool) -> CommandResult {
    let given = match args.arguments.as_slice() {
        [] => None,
        arguments => match parse_arguments(arguments) {
            Ok(given) => Some(given),
            Err((message, hint)) => return usage_error(message, hint, json),
        },
    };
    let (arguments, typed) = match given {
        None => (None, Vec::new()),
        Some(CallArguments::Object(object)) => (Some(object), Vec::new()),
        Some(CallArguments::Typed(pairs)) => (None, pairs),
    };
    let request = ExplainPolicyRequest {
        path: args.path,
        arguments,
        typed,
        agent: args.agent,
        client: args.client,
        workspace: args.workspace.map(|dir| absolute_workspace(&dir)),
    };
    let explanation = request_with_retry(async |session| {
        session.require_feature("explain_policy")?;
        let context = within_seconds(POLICY_TIMEOUT_SECS);
        let answer = session.client.explain_policy(context, request.clone());
        answer.await.map_err(mux_client::rpc_error)?
    });
    let explanation = explanation.await?.map_err(CommandFailure::from)?;
    Ok(render::policy_explanation(&explanation, json))
}

/// An absolute path: the daemon has another working directory.
fn absolute_workspace(dir: &std::path::Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}
