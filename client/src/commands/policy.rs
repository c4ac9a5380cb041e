//! `mux policy`: the rules, and which of them decides.

use std::path::PathBuf;

use mux_client::within_seconds;
use mux_proto::{ExplainPolicyRequest, PolicyRequest};

use super::{
    Failure, Outcome, ask,
    call::{Given, read},
    usage,
};
use crate::{
    args::{self, PolicyCommand},
    render,
};

/// Seconds. The disk of a project may be slow.
const PATIENCE: u64 = 30;

pub(super) async fn policy(args: args::Policy, json: bool) -> Outcome {
    match args.command {
        None => list(args.list, json).await,
        Some(PolicyCommand::List(args)) => list(args, json).await,
        Some(PolicyCommand::Explain(args)) => explain(args, json).await,
    }
}

async fn list(args: args::ListPolicy, json: bool) -> Outcome {
    let request = PolicyRequest { agent: args.agent };
    let list = ask(async |session| {
        session.require("policy")?;
        let answer = session
            .client
            .policy(within_seconds(PATIENCE), request.clone());
        answer.await.map_err(mux_client::lost)?
    });
    let list = list.await?.map_err(Failure::from)?;
    Ok(render::policy(&list, request.agent.as_deref(), json))
}

async fn explain(args: args::ExplainPolicy, json: bool) -> Outcome {
    let given = match args.arguments.as_slice() {
        [] => None,
        arguments => match read(arguments) {
            Ok(given) => Some(given),
            Err((message, hint)) => return usage(message, hint, json),
        },
    };
    let (arguments, typed) = match given {
        None => (None, Vec::new()),
        Some(Given::Object(object)) => (Some(object), Vec::new()),
        Some(Given::Typed(pairs)) => (None, pairs),
    };
    let request = ExplainPolicyRequest {
        path: args.path,
        arguments,
        typed,
        agent: args.agent,
        client: args.client,
        workspace: args.workspace.map(|dir| whole(&dir)),
    };
    let explanation = ask(async |session| {
        session.require("explain_policy")?;
        let context = within_seconds(PATIENCE);
        let answer = session.client.explain_policy(context, request.clone());
        answer.await.map_err(mux_client::lost)?
    });
    let explanation = explanation.await?.map_err(Failure::from)?;
    Ok(render::policy_explanation(&explanation, json))
}

/// An absolute path: the daemon has another working directory.
fn whole(dir: &std::path::Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}
