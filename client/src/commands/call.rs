//! `mux call`.

use std::{io::Read, time::Duration};

use mux_proto::{CallRequest, Held, transport};
use serde_json::Value;

use super::{Failure, Outcome, approver::Approver, ask, stored, trace, usage};
use crate::{args, render};

/// Maximum bytes of arguments on standard input.
const MOST: u64 = 4 << 20;
/// Longer than the daemon's own limit for a call, so that the daemon reports the timeout.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The arguments as they were given.
pub(super) enum Given {
    Object(Value),
    Typed(Vec<(String, String)>),
}

pub(super) async fn call(args: args::Call, json: bool) -> Outcome {
    let takes_stdin = args.arguments == ["-"];
    let given = match read(&args.arguments) {
        Ok(given) => given,
        Err((message, hint)) => return usage(message, hint, json),
    };
    let (arguments, typed) = match given {
        Given::Object(object) => (object, Vec::new()),
        Given::Typed(pairs) => (Value::Null, pairs),
    };
    let (traceparent, tracestate) = trace::context(args.trace);
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
        token: None,
        traceparent,
        tracestate,
    };
    let waiting = render::Waiting::begin(&format!("calling {}", request.path), json);
    let approver = Approver::of_call(json, takes_stdin, &waiting);
    let answer = ask(async |session| {
        approver.listen(session).await;
        let context = transport::within(PATIENCE);
        let answer = tokio::select! {
            answer = session.client.call(context, request.clone()) => answer,
            never = approver.answer(session) => match never {},
        };
        // A call that was sent may have happened although the connection was lost.
        let value = answer.map_err(mux_client::lost)??;
        Ok((session.clone(), value))
    })
    .await;
    waiting.end();
    let (session, value) = answer?.map_err(Failure::from)?;
    match value {
        Held::Value(value) => Ok(render::value(&value, json)),
        Held::Stored(handle) if json => Ok(render::stored(&handle)),
        Held::Stored(handle) => stored::print(&session, &handle).await,
    }
}

pub(super) fn read(arguments: &[String]) -> Result<Given, (String, String)> {
    let hint = || {
        "give key=value pairs, or one JSON object: path=/tmp limit=3, or '{\"path\": \"/tmp\"}'"
            .to_owned()
    };
    match arguments {
        [only] if only == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .take(MOST + 1)
                .read_to_string(&mut text)
                .map_err(|e| (format!("cannot read standard input: {e}"), hint()))?;
            if text.len() as u64 > MOST {
                let message = format!("the arguments are over the limit of {} MiB", MOST >> 20);
                return Err((message, "send less at once".into()));
            }
            object(&text)
        }
        [only] if only.trim_start().starts_with(['{', '[']) => object(only),
        pairs => pairs
            .iter()
            .map(|pair| match pair.split_once('=') {
                Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                _ => Err((format!("{pair:?} is not key=value"), hint())),
            })
            .collect::<Result<_, _>>()
            .map(Given::Typed),
    }
}

fn object(text: &str) -> Result<Given, (String, String)> {
    let hint = "arguments are one JSON object, such as '{\"path\": \"/tmp\"}'".to_owned();
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(Given::Object(object)),
        Ok(_) => Err(("the arguments are JSON, but not an object".into(), hint)),
        Err(error) => Err((format!("the arguments are not JSON: {error}"), hint)),
    }
}
