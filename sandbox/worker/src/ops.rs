//! The only ways out of the isolate. Each op is an adapter: it takes text in, hands it to the host
//! side of the worker, and gives text back; no op decides anything.

use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Instant};

use deno_core::{
    Extension, ExtensionFileSource, OpDecl, OpState, ascii_str_include, op2, url::Url,
};
use deno_error::JsErrorBox;
use mux_wire::{Fault, FromWorker, Level, Target};
use tokio::sync::oneshot;

use crate::{fault, link::Link};

/// What the ops of one isolate share.
pub(crate) struct Bridge {
    link: Link,
    /// Calls that the daemon has not answered yet, by number.
    waiting: HashMap<u32, oneshot::Sender<Result<String, Fault>>>,
    next_call: u32,
    console_left: u32,
    console_most: u32,
    /// Whether the program was told that the rest is dropped.
    console_cut: bool,
    started: Instant,
}

impl Bridge {
    pub(crate) fn new(link: Link) -> Self {
        Self {
            link,
            waiting: HashMap::new(),
            next_call: 0,
            console_left: 0,
            console_most: 0,
            console_cut: false,
            started: Instant::now(),
        }
    }

    pub(crate) fn begin(&mut self, max_console: u32) {
        self.console_left = max_console;
        self.console_most = max_console;
        self.started = Instant::now();
    }

    /// Hands an answer to the op that waits for it. An answer that nobody waits for is dropped.
    pub(crate) fn answer(&mut self, call: u32, outcome: Result<String, Fault>) {
        if let Some(waiter) = self.waiting.remove(&call) {
            drop(waiter.send(outcome));
        }
    }

    fn call(
        &mut self,
        target: Target,
        arguments: String,
    ) -> Result<oneshot::Receiver<Result<String, Fault>>, JsErrorBox> {
        let call = self.next_call;
        self.next_call += 1;
        let (sender, receiver) = oneshot::channel();
        self.waiting.insert(call, sender);
        self.link
            .send(&FromWorker::Call {
                call,
                target,
                arguments,
            })
            .map_err(|e| JsErrorBox::generic(e.to_string()))?;
        Ok(receiver)
    }

    fn print(&mut self, level: Level, text: String) {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let frame = if length <= self.console_left {
            self.console_left -= length;
            FromWorker::Console { level, text }
        } else if !std::mem::replace(&mut self.console_cut, true) {
            self.console_left = 0;
            let most = self.console_most;
            let text = format!("[console output beyond {most} bytes is dropped]");
            FromWorker::Console {
                level: Level::Warn,
                text,
            }
        } else {
            return;
        };
        // A daemon that is gone ends this process through the reading thread.
        drop(self.link.send(&frame));
    }
}

deno_core::extension!(
    mux,
    ops = [
        op_mux_call,
        op_mux_call_path,
        op_mux_console,
        op_mux_now,
        op_mux_random,
        op_mux_atob,
        op_mux_btoa,
        op_mux_utf8_decode,
        op_mux_url_parse,
        op_mux_url_set,
    ],
    esm_entry_point = "ext:mux/boot.js",
    options = { bridge: Bridge },
    middleware = without_danger,
    state = |state, options| state.put(options.bridge),
);

/// The guest's world with its scripts inside the program: the macro above would read them from the
/// folder in which it was compiled, at every start.
pub(crate) fn extension(bridge: Bridge) -> Extension {
    const SCRIPTS: &[ExtensionFileSource] = &[
        ExtensionFileSource::new("ext:mux/boot.js", ascii_str_include!("js/boot.js")),
        ExtensionFileSource::new("ext:mux/console.js", ascii_str_include!("js/console.js")),
        ExtensionFileSource::new("ext:mux/json.js", ascii_str_include!("js/json.js")),
        ExtensionFileSource::new("ext:mux/mux.js", ascii_str_include!("js/mux.js")),
        ExtensionFileSource::new("ext:mux/web.js", ascii_str_include!("js/web.js")),
    ];
    Extension {
        esm_files: SCRIPTS.into(),
        ..mux::init(bridge)
    }
}

/// deno_core's own ops that end the process, write to its output, compile text or reach its resources.
fn without_danger(op: OpDecl) -> OpDecl {
    const DISABLED: &[&str] = &[
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
    if DISABLED.contains(&op.name) {
        op.disable()
    } else {
        op
    }
}

async fn answered(
    receiver: Result<oneshot::Receiver<Result<String, Fault>>, JsErrorBox>,
) -> Result<String, JsErrorBox> {
    match receiver?.await {
        Ok(Ok(value)) => Ok(format!("+{value}")),
        Ok(Err(fault)) => Ok(format!("-{}", fault::to_json(&fault))),
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
    let target = Target::Named { server, tool };
    let receiver = state
        .borrow_mut()
        .borrow_mut::<Bridge>()
        .call(target, arguments);
    answered(receiver).await
}

#[op2]
#[string]
async fn op_mux_call_path(
    state: Rc<RefCell<OpState>>,
    #[string] path: String,
    raw: bool,
    #[string] arguments: String,
) -> Result<String, JsErrorBox> {
    let target = Target::Path { path, raw };
    let receiver = state
        .borrow_mut()
        .borrow_mut::<Bridge>()
        .call(target, arguments);
    answered(receiver).await
}

#[op2(fast)]
fn op_mux_console(state: &mut OpState, #[smi] level: u32, #[string] text: String) {
    let level = match level {
        0 => Level::Debug,
        2 => Level::Info,
        3 => Level::Warn,
        4 => Level::Error,
        _ => Level::Log,
    };
    state.borrow_mut::<Bridge>().print(level, text);
}

/// Milliseconds since the run began, in steps of 0.1 so that it measures no caches.
#[op2(fast)]
fn op_mux_now(state: &mut OpState) -> f64 {
    let elapsed = state.borrow::<Bridge>().started.elapsed();
    (elapsed.as_secs_f64() * 10_000.0).floor() / 10.0
}

#[op2(fast)]
fn op_mux_random(#[buffer] bytes: &mut [u8]) -> Result<(), JsErrorBox> {
    getrandom::fill(bytes).map_err(|e| JsErrorBox::generic(e.to_string()))
}

/// Binary string of base64 text, after the web's forgiving rules; null if it is not base64.
#[op2]
#[string]
fn op_mux_atob(#[string] text: String) -> Option<String> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = base64_simd::forgiving_decode_to_vec(compact.as_bytes()).ok()?;
    Some(bytes.into_iter().map(char::from).collect())
}

#[op2]
#[string]
fn op_mux_btoa(#[string] text: String) -> Option<String> {
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    Some(base64_simd::STANDARD.encode_to_string(bytes?))
}

#[op2]
#[string]
fn op_mux_utf8_decode(
    #[buffer] bytes: &[u8],
    fatal: bool,
    keep_bom: bool,
) -> Result<String, JsErrorBox> {
    let bytes = if keep_bom {
        bytes
    } else {
        bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
    };
    if fatal {
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| JsErrorBox::type_error("the data is not valid UTF-8"))
    } else {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

#[op2]
#[string]
fn op_mux_url_parse(#[string] url: String, #[string] base: Option<String>) -> Option<String> {
    let base = match base {
        Some(base) => Some(Url::parse(&base).ok()?),
        None => None,
    };
    Url::options()
        .base_url(base.as_ref())
        .parse(&url)
        .ok()
        .map(|url| url_parts(&url))
}

#[op2]
#[string]
fn op_mux_url_set(
    #[string] href: String,
    #[string] part: String,
    #[string] value: String,
) -> Option<String> {
    use deno_core::url::quirks;
    let mut url = Url::parse(&href).ok()?;
    match part.as_str() {
        "href" => url = Url::parse(&value).ok()?,
        "protocol" => quirks::set_protocol(&mut url, &value).ok()?,
        "username" => quirks::set_username(&mut url, &value).ok()?,
        "password" => quirks::set_password(&mut url, &value).ok()?,
        "host" => quirks::set_host(&mut url, &value).ok()?,
        "hostname" => quirks::set_hostname(&mut url, &value).ok()?,
        "port" => quirks::set_port(&mut url, &value).ok()?,
        "pathname" => quirks::set_pathname(&mut url, &value),
        "search" => quirks::set_search(&mut url, &value),
        "hash" => quirks::set_hash(&mut url, &value),
        _ => return None,
    }
    Some(url_parts(&url))
}

fn url_parts(url: &Url) -> String {
    use deno_core::url::quirks;
    deno_core::serde_json::json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}
