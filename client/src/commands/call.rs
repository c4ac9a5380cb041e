//! `mux call`.

use std::{io::Read, time::Duration};

use mux_proto::{CallRequest, Error, JsonText, Kind, transport};
use mux_typegen::names::program_path;
use serde_json::Value;

use super::{
    CommandFailure, CommandResult, call_result, parts, request_with_retry,
    terminal_questions::TerminalQuestions, trace, usage_error, wait_for_ctrl_c,
};
use crate::{args, render};

/// Maximum bytes of arguments on standard input.
const MAX_STDIN_ARGUMENT_BYTES: u64 = 4 << 20;
/// Longer than the daemon's own limit for a call, so that the daemon reports the timeout.
const CALL_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Names the call in notices; a connection of this command makes only one.
const CALL_TOKEN: &str = "call";

/// The arguments as they were given.
pub(super) enum CallArguments {
    Object(Value),
    Typed(Vec<(String, String)>),
}

pub(super) async fn call(args: args::CallArgs, json: bool) -> CommandResult {
    let takes_stdin = args.arguments == ["-"];
    let given = match parse_arguments(&args.arguments) {
        Ok(given) => given,
        Err((message, hint)) => return usage_error(message, hint, json),
    };
    let (arguments, typed) = match given {
        CallArguments::Object(object) => (object.into(), Vec::new()),
        CallArguments::Typed(pairs) => (JsonText::default(), pairs),
    };
    if let Some(folder) = &args.save_parts
        && let Err((message, hint)) = parts::prepare_parts_dir(folder)
    {
        return usage_error(message, hint, json);
    }
    let (traceparent, tracestate) = trace::read_trace_context(args.trace);
    let request = CallRequest {
        path: args.path,
        arguments,
        typed,
        raw: args.raw,
        // The server's whole result.
        lean: false,
        timeout_ms: args
            .timeout
            .map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX)),
        // With it, the daemon reports the call's progress.
        token: (!json).then(|| CALL_TOKEN.to_owned()),
        traceparent,
        tracestate,
    };
    let shown = program_path(&request.path);
    let waiting = render::SpinnerGuard::begin(&format!("calling {shown}"), json);
    let questions = TerminalQuestions::for_call(json, takes_stdin, &request.path, &waiting);
    let answer = request_with_retry(async |session| {
        questions.announce(session).await;
        let context = transport::within(CALL_TIMEOUT);
        let answer = tokio::select! {
            answer = session.client.call(context, request.clone()) => answer,
            never = questions.answer_all(session) => match never {},
        };
        // A call that was sent may have happened although the connection was lost.
        let value = answer.map_err(mux_client::rpc_error)??;
        Ok((session.clone(), value))
    });
    let answer = tokio::select! {
        answer = answer => answer,
        // The daemon cancels the call with the connection.
        () = wait_for_ctrl_c() => {
            Err(Error::new(Kind::Cancelled, "interrupted; the call was cancelled").into())
        }
    };
    waiting.end();
    let (session, value) = answer?.map_err(CommandFailure::from)?;
    call_result::print_call_result(&session, value, args.save_parts.as_deref(), args.raw, json)
        .await
}

pub(super) fn parse_arguments(arguments: &[String]) -> Result<CallArguments, (String, String)> {
    let hint = || {
        "give key=value pairs, or one JSON object: path=/tmp limit=3, or '{\"path\": \"/tmp\"}'"
            .to_owned()
    };
    match arguments {
        [only] if only == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .take(MAX_STDIN_ARGUMENT_BYTES + 1)
                .read_to_string(&mut text)
                .map_err(|e| (format!("cannot read standard input: {e}"), hint()))?;
            if text.len() as u64 > MAX_STDIN_ARGUMENT_BYTES {
                let message = format!(
                    "the arguments are over the limit of {} MiB",
                    MAX_STDIN_ARGUMENT_BYTES >> 20
                );
                return Err((message, "send less at once".into()));
            }
            parse_object(&text)
        }
        [only] if only.trim_start().starts_with(['{', '[']) => parse_object(only),
        pairs => pairs
            .iter()
            .map(|pair| match pair.split_once('=') {
                Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                _ => Err((format!("{pair:?} is not key=value"), hint())),
            })
            .collect::<Result<_, _>>()
            .map(CallArguments::Typed),
    }
}

fn parse_object(text: &str) -> Result<CallArguments, (String, String)> {
    let hint = "arguments are one JSON object, such as '{\"path\": \"/tmp\"}'".to_owned();
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(CallArguments::Object(object)),
        Ok(_) => Err(("the arguments are JSON, but not an object".into(), hint)),
        Err(error) => Err((format!("the arguments are not JSON: {error}"), hint)),
    }
}
