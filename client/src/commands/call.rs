//! `mux call`.

use std::time::Instant;

use mux_proto::{CallRequest, Error, JsonText, Kind, transport};
use mux_typegen::names::display_path;
use serde_json::Value;

use super::{
    CALL_TIMEOUT, CommandResult, UsageMistake, call_result,
    input::{self, GivenInput, InputWording, quote},
    part_files, request_with_retry, run,
    terminal_questions::TerminalQuestions,
    trace_context, wait_for_ctrl_c,
};
use crate::{args, render};

const CALL_INPUT: InputWording = InputWording {
    subject: "the arguments are",
    hint: "pass arguments as key=value pairs, one JSON object, @FILE, or - for standard input:\n\
        files.read path=/tmp limit=3, or files.read '{\"path\": \"/tmp\"}', or 'files.read(path: \"/tmp\")'",
};

/// Names the call in notices. A connection of this command makes only one call.
const CALL_TOKEN: &str = "call";

/// The arguments as they were given.
#[derive(Debug)]
pub(super) enum CallArguments {
    Object(Value),
    Typed(Vec<(String, String)>),
}

/// Calls the tool at `path`, which takes the place of that in `args`.
pub(super) async fn call(path: String, args: args::CallArgs, json: bool) -> CommandResult {
    let words = [args.arguments, args.input].concat();
    let TypedCall { path, words } = TypedCall::parse(path, words)?;
    let takes_stdin = input::takes_stdin(&words);
    let (arguments, typed) = match parse_arguments(&words)? {
        CallArguments::Object(object) => (object.into(), Vec::new()),
        CallArguments::Typed(pairs) => (JsonText::default(), pairs),
    };
    if let Some(folder) = &args.save_parts {
        part_files::prepare_parts_dir(folder)?;
    }
    let (traceparent, tracestate) = trace_context::read_trace_context(args.trace);
    let request = CallRequest {
        path,
        arguments,
        typed,
        declared_only: true,
        raw: args.raw,
        // The server's whole result.
        lean: false,
        timeout_ms: run::duration_millis(args.timeout),
        // With it, the daemon reports the call's progress.
        token: (!json).then(|| CALL_TOKEN.to_owned()),
        traceparent,
        tracestate,
        ..CallRequest::default()
    };
    let started = Instant::now();
    let shown = display_path(&request.path);
    let waiting = render::SpinnerGuard::begin(&format!("calling {shown}"), json);
    let questions = TerminalQuestions::for_call(json, takes_stdin, &request.path, &waiting);
    let answer = request_with_retry(async |session| {
        questions.announce(session).await;
        let context = transport::within(CALL_TIMEOUT);
        let answer = tokio::select! {
            answer = session.client.call(context, request.clone()) => answer,
            never = questions.answer_all(session) => match never {},
        };
        questions.print_late_notices(session).await;
        // A call that was sent may have happened although the connection was lost.
        let answer = answer.map_err(mux_client::rpc_error)??;
        Ok((session.clone(), answer.result))
    });
    let answer = tokio::select! {
        answer = answer => answer,
        // The daemon cancels the call with the connection.
        () = wait_for_ctrl_c() => {
            Err(Error::new(Kind::Cancelled, "interrupted; the call was cancelled").into())
        }
    };
    waiting.end();
    let took = started.elapsed();
    let path = &request.path;
    render::detail(&format!("{path} took {} ms", took.as_millis()));
    let (session, value) = answer?.map_err(|error| with_tools_command(error, path))?;
    call_result::print_call_result(&session, value, args.save_parts.as_deref(), args.raw, json)
        .await
}

/// A path without a tool may be the name of a server.
fn with_tools_command(error: Error, path: &str) -> Error {
    if error.kind != Kind::NotFound || path.contains('.') {
        return error;
    }
    error.hint(format!(
        "a path is SERVER.TOOL: `mux tools --server {path}` lists the tools of a server"
    ))
}

/// Reads the arguments of a call, which are an object.
pub(super) fn parse_arguments(words: &[String]) -> Result<CallArguments, UsageMistake> {
    match input::read_input(words, &CALL_INPUT)? {
        GivenInput::Nothing => Ok(CallArguments::Typed(Vec::new())),
        GivenInput::Pairs(pairs) => Ok(CallArguments::Typed(pairs)),
        GivenInput::Json(object @ Value::Object(_)) => Ok(CallArguments::Object(object)),
        GivenInput::Json(_) => {
            let message = format!("{} JSON, but not an object", CALL_INPUT.subject);
            Err(UsageMistake::new(message, CALL_INPUT.hint))
        }
    }
}

/// A call as typed: the path, and the words of its arguments.
#[derive(Debug, PartialEq)]
struct TypedCall {
    path: String,
    words: Vec<String>,
}

impl TypedCall {
    /// Accepts `SERVER.TOOL`, `SERVER TOOL`, and a call expression with named arguments instead of either.
    fn parse(path: String, mut words: Vec<String>) -> Result<Self, UsageMistake> {
        let has_server_only = !path.contains(['.', '(']);
        let path = match words.first() {
            Some(tool) if has_server_only && begins_with_name(tool) => {
                format!("{path}.{}", words.remove(0))
            }
            _ => path,
        };
        let Some((name, expression)) = path.split_once('(') else {
            return Ok(Self { path, words });
        };
        let expression = expression.trim_end().trim_end_matches(';');
        let Some(arguments) = expression.strip_suffix(')') else {
            let message = format!("{} is not a call: it does not end with )", quote(&path));
            return Err(UsageMistake::new(message, CALL_INPUT.hint));
        };
        let arguments = match arguments.trim() {
            "" => None,
            object if object.starts_with('{') => Some(object.to_owned()),
            members => Some(format!("{{{members}}}")),
        };
        if let (Some(_), Some(other)) = (&arguments, words.first()) {
            let message = format!("{} follows a call with arguments", quote(other));
            return Err(UsageMistake::new(message, CALL_INPUT.hint));
        }
        words.extend(arguments);
        Ok(Self {
            path: name.trim_end().to_owned(),
            words,
        })
    }
}

/// Returns true if a word is a tool or a call of it, not an argument.
fn begins_with_name(word: &str) -> bool {
    let name = word.split('(').next().unwrap_or_default();
    let is_letter = |c: char| c.is_alphanumeric() || "_-.$".contains(c);
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn typed(words: &[&str]) -> Result<(String, Vec<String>), String> {
        let mut words = words.iter().map(|word| (*word).to_owned());
        let call = TypedCall::parse(words.next().unwrap(), words.collect());
        call.map(|call| (call.path, call.words))
            .map_err(|mistake| mistake.message)
    }

    #[test]
    fn path_is_one_word_or_two_or_part_of_a_call() {
        for (words, path, arguments) in [
            (&["a.b"][..], "a.b", &[][..]),
            (&["a.b", "x=1"], "a.b", &["x=1"]),
            (&["a", "b", "x=1", "y=2"], "a.b", &["x=1", "y=2"]),
            (&["a", "b-c.d"], "a.b-c.d", &[]),
            (&["a", "b", "@file"], "a.b", &["@file"]),
            (&["a", "x=1"], "a", &["x=1"]),
            (&["a", "-"], "a", &["-"]),
            // Another word is not an argument, and its error says so.
            (&["a.b", "c"], "a.b", &["c"]),
            (&["a.b()"], "a.b", &[]),
            (&["a.b()", "x=1"], "a.b", &["x=1"]),
            (&["a.b(x: 1, y: ')')"], "a.b", &["{x: 1, y: ')'}"]),
            (&["a.b ({ x: 1 });"], "a.b", &["{ x: 1 }"]),
            (&["a", "b(x: 1)"], "a.b", &["{x: 1}"]),
        ] {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(typed(words), Ok((path.into(), arguments)), "{words:?}");
        }
        for (words, expected) in [
            (&["a.b(x: 1"][..], "does not end with )"),
            (&["a.b(x: 1)", "y=2"], "\"y=2\" follows a call"),
        ] {
            let error = typed(words).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }

    #[test]
    fn arguments_are_an_object() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_arguments(&words)
        };
        let object = parse(&["{path: 'x', head: 1}"]);
        let Ok(CallArguments::Object(object)) = object else {
            panic!("{object:?}");
        };
        assert_eq!(object, json!({ "path": "x", "head": 1 }));
        let UsageMistake { message, hint } = parse(&["[1]"]).unwrap_err();
        assert_eq!(message, "the arguments are JSON, but not an object");
        for form in ["path=", "@FILE", "-", "(path: "] {
            assert!(hint.contains(form), "{hint}");
        }
    }
}
