//! Converts failures of a script to the [`Fault`]s that the daemon and the user see.
//!
//! Invariant: a line and a column always point into the user's own source, never into the prelude.

use deno_core::{
    error::{JsError, JsStackFrame},
    serde_json::{Map, Value, from_str, json},
};
use mux_wire::{CallTarget, Fault, FaultKind, missing_globals};

use crate::{large_integers::AmbiguousInteger, memory::IsolateMemory, source};

const MAX_MESSAGE_BYTES: usize = 8 * 1024;
const MAX_STACK_FRAMES: usize = 10;
const MAX_AGGREGATED_ERRORS: usize = 5;

/// The fault for an error that the script threw and did not catch.
pub(crate) fn thrown_fault(error: &JsError, marked: Option<&str>, memory: IsolateMemory) -> Fault {
    let ours = marked.and_then(fault_from_json);
    let mut fault = ours.unwrap_or_else(|| plain_fault(error, memory));
    fault.message = truncate_message(fault.message);
    let frames: Vec<&JsStackFrame> = error.frames.iter().filter(|f| is_user_frame(f)).collect();
    if let Some((line, column)) = frames.first().and_then(|f| frame_position(f)) {
        fault.line = Some(line);
        fault.column = Some(column);
    }
    if fault.details.is_none() && frames.len() > 1 {
        let stack: Vec<String> = frames
            .iter()
            .take(MAX_STACK_FRAMES)
            .filter_map(|f| format_frame(f))
            .collect();
        fault.details = Some(json!({ "stack": stack }).to_string());
    }
    fault
}

/// The fault for a script that the engine refused although the parser accepted it.
pub(crate) fn compile_fault(error: &JsError, memory: IsolateMemory) -> Fault {
    let mut fault = plain_fault(error, memory);
    fault.kind = FaultKind::Syntax;
    if let Some((line, column)) = error.frames.first().and_then(frame_position) {
        fault.line = Some(line);
        fault.column = Some(column);
    }
    fault
}

fn plain_fault(error: &JsError, memory: IsolateMemory) -> Fault {
    let mut message = error_message(error);
    if error.name.is_none() && error.message.is_none() {
        message.insert_str(0, "uncaught: ");
    }
    // V8's message for a buffer that does not fit into the budget.
    let (kind, hint) = if message.contains("Array buffer allocation failed") {
        (FaultKind::Memory, Some(memory.buffers_hint()))
    } else {
        (FaultKind::Runtime, missing_feature_hint(&message))
    };
    Fault {
        hint,
        ..Fault::new(kind, message)
    }
}

/// The message of an error, with its cause and its aggregated errors.
fn error_message(error: &JsError) -> String {
    let text = error.message.clone().unwrap_or_default();
    let mut message = match error.name.as_deref() {
        // A thrown value that is not an error.
        None if text.is_empty() => {
            let shown = error.exception_message.trim_start_matches("Uncaught ");
            shown.trim_start_matches("(in promise) ").to_owned()
        }
        Some(name) if text.is_empty() && !name.is_empty() => name.to_owned(),
        None | Some("" | "Error") => text,
        Some(name) => format!("{name}: {text}"),
    };
    if let Some(cause) = &error.cause {
        message = format!("{message} (cause: {})", self::error_message(cause));
    }
    if let Some(several) = &error.aggregated {
        let shown: Vec<String> = several
            .iter()
            .take(MAX_AGGREGATED_ERRORS)
            .map(self::error_message)
            .collect();
        message = format!("{message} ({})", shown.join("; "));
    }
    message
}

/// A hint for an error about something that does not exist in the sandbox.
fn missing_feature_hint(message: &str) -> Option<String> {
    if message.contains("import path") || message.contains("Module loading is not supported") {
        return Some(missing_globals::module_hint(""));
    }
    if message.contains("Code generation from strings disallowed") {
        return Some(missing_globals::code_generation_hint().into());
    }
    if let Some(callee) = message
        .strip_prefix("TypeError: ")
        .and_then(|rest| rest.strip_suffix(" is not a function"))
    {
        return missing_globals::non_function_hint(callee);
    }
    let missing = message
        .strip_prefix("ReferenceError: ")?
        .strip_suffix(" is not defined")?;
    missing_globals::global_hint(missing).map(str::to_owned)
}

pub(crate) fn deadlock_fault() -> Fault {
    Fault::new(
        FaultKind::Deadlock,
        "the program waits for a promise that nothing can resolve",
    )
    .hint("no tool call and no timer is pending; resolve the promise or return")
}

pub(crate) fn heap_limit_fault(memory: IsolateMemory) -> Fault {
    let heap = memory.heap;
    Fault::new(
        FaultKind::Memory,
        format!("the program used more than its {heap} MiB of heap"),
    )
    .hint(memory.heap_hint())
}

pub(crate) fn stopped_fault() -> Fault {
    Fault::new(FaultKind::Cancelled, "the program was stopped")
}

pub(crate) fn result_limit_fault(length: usize, most: u32) -> Fault {
    Fault::new(
        FaultKind::Limit,
        format!("the result is {length} bytes, over the limit of {most}"),
    )
    .hint("this limit is fixed: return a summary, or only the fields that you need")
}

/// The fault for arguments with a number that is the rounding of two integers.
pub(crate) fn ambiguous_argument_fault(target: &CallTarget, ambiguous: &AmbiguousInteger) -> Fault {
    let message = ambiguous_integer_message("argument", ambiguous);
    let [integer, _] = ambiguous.integers;
    Fault::new(FaultKind::Validation, format!("{message}: nothing was sent"))
        .hint(format!(
            "`mux.call(path, args)` sends a BigInt exactly, such as `{integer}n` or `BigInt(text)`; `mux.call.raw(path, \
             args)` gives the text of a tool's result"
        ))
        .path(target.to_string())
}

pub(crate) fn ambiguous_integer_message(what: &str, ambiguous: &AmbiguousInteger) -> String {
    let AmbiguousInteger {
        path,
        number,
        integers: [one, other],
    } = ambiguous;
    let path = match path.as_str() {
        "" => String::new(),
        index if index.starts_with('[') => index.to_owned(),
        member => format!(".{member}"),
    };
    format!("{what}{path} is {number}, which stands for {one} and for {other} in JavaScript")
}

/// The path of the faults of [`crate::bridge::Bridge::emit`].
const EMIT_PATH: &str = "mux.emit";

pub(crate) fn part_limit_fault(length: u64, most: u32) -> Fault {
    Fault::new(
        FaultKind::Limit,
        format!("the part is {length} bytes, over the limit of {most}"),
    )
    .hint("a part has the same limit as the arguments of a call: send a smaller one, or a link to it; [limits] argument in config.toml allows more, up to 15 MiB")
    .path(EMIT_PATH)
}

pub(crate) fn emit_limit_fault(length: u64, most: u32) -> Fault {
    Fault::new(
        FaultKind::Limit,
        format!("the parts of this run would be {length} bytes, over the limit of {most} in all"),
    )
    .hint("emit fewer or smaller parts, or do it in several runs; [limits] emitted in config.toml allows more")
    .path(EMIT_PATH)
}

pub(crate) fn nesting_limit_fault(most: usize, line: u32, column: u32) -> Fault {
    let mut fault = Fault::new(
        FaultKind::Limit,
        format!("the program nests deeper than the limit of {most} brackets"),
    )
    .hints(
        "this limit is fixed: give inner parts names, and pass data as input (--input, input)",
        "this limit is fixed: give inner parts names, and pass data as `input`",
    );
    fault.line = Some(line);
    fault.column = Some(column);
    fault
}

pub(crate) fn internal_fault(message: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Internal, message.to_string())
}

/// The fault as the JSON that the guest sees.
pub(crate) fn fault_to_json(fault: &Fault) -> String {
    let mut object = Map::new();
    object.insert("kind".into(), json!(fault.kind.as_str()));
    object.insert("message".into(), json!(fault.message));
    object.insert("recoverable".into(), json!(fault.recoverable));
    if let Some(hint) = &fault.hint {
        object.insert("hint".into(), json!(hint));
    }
    if let Some(path) = &fault.path {
        object.insert("path".into(), json!(path));
    }
    if let Some(details) = fault
        .details
        .as_deref()
        .and_then(|text| from_str(text).ok())
    {
        object.insert("details".into(), details);
    }
    Value::Object(object).to_string()
}

/// Parses the guest's view of a fault, for an error of ours that the program did not catch.
fn fault_from_json(text: &str) -> Option<Fault> {
    let value: Value = from_str(text).ok()?;
    let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| value.get(key)?.as_u64()?.try_into().ok();
    let line = number("line");
    let column = number("column");
    Some(Fault {
        kind: string("kind")?.parse().ok()?,
        message: string("message")?,
        hint: string("hint"),
        agent_hint: None,
        path: string("path"),
        recoverable: value
            .get("recoverable")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        details: value.get("details").map(Value::to_string),
        line,
        column: line.zip(column).map(|(l, c)| source::user_column(l, c)),
    })
}

fn is_user_frame(frame: &JsStackFrame) -> bool {
    frame.file_name.as_deref() == Some(source::SCRIPT_NAME)
}

fn frame_position(frame: &JsStackFrame) -> Option<(u32, u32)> {
    let line = u32::try_from(frame.line_number?).ok()?;
    let column = u32::try_from(frame.column_number?).ok()?;
    Some((line, source::user_column(line, column)))
}

fn format_frame(frame: &JsStackFrame) -> Option<String> {
    let (line, column) = frame_position(frame)?;
    let name = frame.function_name.as_deref().unwrap_or("program");
    Some(format!("{name} ({line}:{column})"))
}

fn truncate_message(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = message.floor_char_boundary(MAX_MESSAGE_BYTES);
        message.truncate(end);
        message.push('…');
    }
    message
}
