//! The ops, which are the only ways out of the isolate. Each op is an adapter: it takes strings, passes them to the
//! host side of the worker, and returns strings.

mod text;
mod web;

use std::{cell::RefCell, rc::Rc};

use deno_core::{
    Extension, ExtensionFileSource, OpDecl, OpState, ascii_str_include, op2, v8::IsolateHandle,
};
use deno_error::JsErrorBox;
use mux_wire::{CallTarget, ConsoleLevel};

use crate::{bridge::OpBridge, fault, watchdog::Watchdog};

deno_core::extension!(
    mux,
    ops = [
        op_mux_call,
        op_mux_call_path,
        op_mux_call_own,
        op_mux_emit,
        op_mux_console,
        op_mux_ended,
        op_mux_now,
        text::op_mux_parse,
        web::op_mux_random,
        web::op_mux_atob,
        web::op_mux_btoa,
        web::op_mux_utf8_decode,
        web::op_mux_url_parse,
        web::op_mux_url_set,
    ],
    esm_entry_point = "ext:mux/boot.js",
    middleware = disable_dangerous_op,
);

/// The extension with the scripts of the guest's realm embedded: the macro above would read them from the source
/// directory at every start. The ops find their [`OpBridge`] in the state of the runtime, where it is put once the
/// isolate is built.
pub(crate) fn extension() -> Extension {
    const PRELUDE_SCRIPTS: &[ExtensionFileSource] = &[
        ExtensionFileSource::new("ext:mux/boot.js", ascii_str_include!("js/boot.js")),
        ExtensionFileSource::new("ext:mux/console.js", ascii_str_include!("js/console.js")),
        ExtensionFileSource::new("ext:mux/json.js", ascii_str_include!("js/json.js")),
        ExtensionFileSource::new("ext:mux/mux.js", ascii_str_include!("js/mux.js")),
        ExtensionFileSource::new("ext:mux/offers.js", ascii_str_include!("js/offers.js")),
        ExtensionFileSource::new("ext:mux/own.js", ascii_str_include!("js/own.js")),
        ExtensionFileSource::new("ext:mux/parts.js", ascii_str_include!("js/parts.js")),
        ExtensionFileSource::new("ext:mux/web.js", ascii_str_include!("js/web.js")),
        ExtensionFileSource::new("ext:mux/worlds.js", ascii_str_include!("js/worlds.js")),
    ];
    Extension {
        esm_files: PRELUDE_SCRIPTS.into(),
        ..mux::init()
    }
}

/// Disables `deno_core`'s own ops that end the process, write to its output, compile text or reach its resources.
fn disable_dangerous_op(op: OpDecl) -> OpDecl {
    const DISABLED_OPS: &[&str] = &[
        "op_panic",
        "op_print",
        "op_eval_context",
        "op_compile_function",
        "op_serialize",
        "op_deserialize",
        "op_import_sync",
        "op_import_sync_with_source",
        "op_resources",
        "op_close",
        "op_try_close",
        "op_read",
        "op_read_all",
        "op_read_sync",
        "op_write",
        "op_write_all",
        "op_write_sync",
        "op_pipe",
        "op_shutdown",
        "op_memory_usage",
    ];
    if DISABLED_OPS.contains(&op.name) {
        op.disable()
    } else {
        op
    }
}

/// Sends the call and waits for its answer. Returns `+` and the value, or `-` and the fault.
async fn call_daemon(
    state: Rc<RefCell<OpState>>,
    target: CallTarget,
    arguments: String,
) -> Result<String, JsErrorBox> {
    let path = target.to_string();
    let answer = state
        .borrow_mut()
        .borrow_mut::<OpBridge>()
        .send_call(target, arguments)?;
    match answer.await {
        Ok(Ok(value)) => {
            let origin = format!("the result of `{path}`");
            let mut state = state.borrow_mut();
            state
                .borrow_mut::<OpBridge>()
                .remember_integers(&value, &origin);
            Ok(format!("+{value}"))
        }
        Ok(Err(fault)) => Ok(format!("-{}", fault::fault_to_json(&fault))),
        Err(_) => Err(JsErrorBox::generic("the run has ended")),
    }
}

#[op2]
#[string]
async fn op_mux_call(
    state: Rc<RefCell<OpState>>,
    #[string] server: String,
    #[string] tool: String,
    #[string] arguments: String,
) -> Result<String, JsErrorBox> {
    let target = CallTarget::Named { server, tool };
    call_daemon(state, target, arguments).await
}

#[op2]
#[string]
async fn op_mux_call_path(
    state: Rc<RefCell<OpState>>,
    #[string] path: String,
    raw: bool,
    #[string] arguments: String,
) -> Result<String, JsErrorBox> {
    let target = CallTarget::Path { path, raw };
    call_daemon(state, target, arguments).await
}

/// Calls a function of the daemon itself.
#[op2]
#[string]
async fn op_mux_call_own(
    state: Rc<RefCell<OpState>>,
    #[string] name: String,
    #[string] arguments: String,
) -> Result<String, JsErrorBox> {
    let target = CallTarget::Own { name };
    call_daemon(state, target, arguments).await
}

/// Emits a part. Returns null, or the fault as JSON if the part does not fit.
#[op2]
#[string]
fn op_mux_emit(state: &mut OpState, #[string] part: String) -> Option<String> {
    let refused = state.borrow_mut::<OpBridge>().send_part(part).err()?;
    Some(fault::fault_to_json(&refused))
}

#[op2(fast)]
fn op_mux_console(state: &mut OpState, #[smi] level: u32, #[string] text: String) {
    let level = match level {
        0 => ConsoleLevel::Debug,
        2 => ConsoleLevel::Info,
        3 => ConsoleLevel::Warn,
        4 => ConsoleLevel::Error,
        _ => ConsoleLevel::Log,
    };
    state
        .borrow_mut::<OpBridge>()
        .send_console_line(level, text);
}

/// Called when the program has returned or thrown. Code that still runs after that is stopped.
#[op2(fast)]
fn op_mux_ended(state: &mut OpState) {
    let (watchdog, isolate) = state.borrow::<(Watchdog, IsolateHandle)>();
    watchdog.arm(isolate.clone());
}

/// Milliseconds since the run began, in steps of 0.1, too coarse to time caches.
#[op2(fast)]
fn op_mux_now(state: &mut OpState) -> f64 {
    let elapsed = state.borrow::<OpBridge>().elapsed();
    (elapsed.as_secs_f64() * 10_000.0).floor() / 10.0
}
