//! `mux policy`: listing the rules, finding the rule that decides, and adding a rule.

mod add;
mod cases;
mod reachability;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use mux_client::within_seconds;
use mux_proto::{
    Error, ExplainPolicyRequest, Kind, PolicyAction, PolicyExplanation, PolicyRequest,
};
use serde_json::Value;

use self::cases::parse_cases;
use super::{
    CommandFailure, CommandResult, UsageMistake, ask,
    call::{CallArguments, parse_arguments},
    config::read_config_text,
    request_with_retry,
};
use crate::{
    args::{self, PolicyCommand},
    render::{self, PolicyCaseOutcome},
};

/// Seconds. The disk of a project may be slow.
const POLICY_TIMEOUT_SECS: u64 = 30;

pub(super) async fn policy(args: args::PolicyArgs, json: bool) -> CommandResult {
    match args.command {
        None => list_policy(args.list, json).await,
        Some(PolicyCommand::List(args)) => list_policy(args, json).await,
        Some(PolicyCommand::Add(args)) => add::add_rule(&args, json).await,
        Some(PolicyCommand::Explain(args)) => {
            let explanation = explain_call(&args).await?;
            Ok(render::show(&explanation, json, render::policy_explanation))
        }
        Some(PolicyCommand::Test(args))
            if Path::new(&args.path).extension() == Some("toml".as_ref()) =>
        {
            test_cases(&args, json).await
        }
        Some(PolicyCommand::Test(args)) => {
            let explanation = explain_call(&args).await?;
            let code = render::show(&explanation, json, render::policy_explanation);
            let is_allowed = explanation.action == PolicyAction::Allow && !explanation.depends;
            Ok(if is_allowed {
                code
            } else {
                ExitCode::from(Kind::Denied.exit_code())
            })
        }
    }
}

async fn list_policy(args: args::PolicyListArgs, json: bool) -> CommandResult {
    let request = PolicyRequest { agent: args.agent };
    let within = || within_seconds(POLICY_TIMEOUT_SECS);
    let list = ask(async |client| client.policy(within(), request.clone()).await).await?;
    Ok(render::show(&list, json, |list| {
        render::policy(list, request.agent.as_deref());
    }))
}

/// Explains the call of the command line.
async fn explain_call(args: &args::PolicyExplainArgs) -> Result<PolicyExplanation, CommandFailure> {
    let given = match args.arguments.as_slice() {
        [] => None,
        arguments => Some(parse_arguments(arguments)?),
    };
    let mut request = base_request(args)?;
    request.path.clone_from(&args.path);
    match given {
        None => {}
        Some(CallArguments::Object(object)) => request.arguments = Some(object),
        Some(CallArguments::Typed(pairs)) => request.typed = pairs,
    }
    Ok(explain(&request).await??)
}

/// Compares each case of a file with the decision. Exits with 1 if one differs.
async fn test_cases(args: &args::PolicyExplainArgs, json: bool) -> CommandResult {
    if !args.arguments.is_empty() {
        let hint = "the cases of the file have their arguments";
        return Err(UsageMistake::new("a file of cases takes no arguments", hint).into());
    }
    let cases = parse_cases(&read_config_text(args.path.as_ref())?, &args.path)?;
    let base = base_request(args)?;
    let mut outcomes = Vec::new();
    for (index, case) in cases.into_iter().enumerate() {
        let arguments = Value::Object(case.arguments);
        let request = ExplainPolicyRequest {
            path: case.call.clone(),
            arguments: Some(arguments.clone()),
            agent: case.agent.or_else(|| base.agent.clone()),
            client: case.client.or_else(|| base.client.clone()),
            workspace: case
                .workspace
                .map(|dir| absolute_workspace(&dir))
                .or_else(|| base.workspace.clone()),
            ..base.clone()
        };
        let explained = explain(&request).await?;
        outcomes.push(PolicyCaseOutcome {
            case: index + 1,
            call: case.call,
            arguments,
            expected: case.expect,
            error: explained.as_ref().err().cloned(),
            explanation: explained.ok(),
        });
    }
    Ok(render::policy_cases(&outcomes, &args.path, json))
}

/// The caller, and the rules that decide.
fn base_request(args: &args::PolicyExplainArgs) -> Result<ExplainPolicyRequest, CommandFailure> {
    let config = args.file.as_deref().map(read_config_text).transpose()?;
    Ok(ExplainPolicyRequest {
        agent: args.agent.clone(),
        client: args.client.clone(),
        workspace: args.workspace.as_deref().map(absolute_workspace),
        config,
        ..ExplainPolicyRequest::default()
    })
}

async fn explain(
    request: &ExplainPolicyRequest,
) -> Result<Result<PolicyExplanation, Error>, CommandFailure> {
    request_with_retry(async |session| {
        let context = within_seconds(POLICY_TIMEOUT_SECS);
        let answer = session.client.explain_policy(context, request.clone());
        answer.await.map_err(mux_client::rpc_error)?
    })
    .await
}

/// An absolute path: the daemon has another working directory.
fn absolute_workspace(dir: &Path) -> PathBuf {
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}
