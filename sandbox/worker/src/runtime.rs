//! One isolate: built ahead of need, used for one program, thrown away.
//!
//! Invariant: no two programs ever share an isolate, a context or a global.

use std::{
    cell::Cell,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

use deno_core::{
    JsRuntime, PollEventLoopOptions, RuntimeOptions,
    error::{CoreError, CoreErrorKind, JsError},
    scope,
    serde_json::json,
    v8,
};
use mux_wire::{Fault, Program, ToWorker};

use crate::{
    fault,
    link::{Frames, Link},
    ops::{self, Bridge},
    source,
};

/// Heap of one program, in MiB.
const HEAP_MIB: usize = 64;
const TAKE_HOST: &str =
    "(() => { const host = globalThis.__muxHost; delete globalThis.__muxHost; return host; })()";

/// Once per process, before any other thread.
pub(crate) fn init_platform() {
    // V8 reads /dev/urandom otherwise, and where it cannot it takes the time of day.
    #[cfg(feature = "v8")]
    v8::V8::set_entropy_source(|bytes| getrandom::fill(bytes).is_ok());
    #[cfg(feature = "v8")]
    deno_core::v8_set_flags(vec![
        "mux-worker".into(),
        "--disallow-code-generation-from-strings".into(),
        "--stack-trace-limit=20".into(),
    ]);
    JsRuntime::init_platform(None);
}

/// An isolate in which nothing has run but our own prelude.
pub(crate) struct Isolate {
    runtime: JsRuntime,
    host: v8::Global<v8::Object>,
    out_of_memory: Rc<Cell<bool>>,
}

impl Isolate {
    /// # Panics
    /// If the prelude, which is part of this program, cannot be evaluated.
    pub(crate) fn build(link: &Link) -> Self {
        let heap = HEAP_MIB * 1024 * 1024;
        let mut runtime = JsRuntime::try_new(RuntimeOptions {
            extensions: vec![ops::extension(Bridge::new(link.clone()))],
            create_params: Some(create_params(heap)),
            ..RuntimeOptions::default()
        })
        .expect("the prelude evaluates");
        let out_of_memory = Rc::new(Cell::new(false));
        let handle = runtime.v8_isolate().thread_safe_handle();
        let reached = Rc::clone(&out_of_memory);
        runtime.add_near_heap_limit_callback(move |current, _initial| {
            // More room for a moment, so that the script can be unwound instead of aborted.
            reached.set(true);
            handle.terminate_execution();
            current + heap / 2
        });
        #[cfg(feature = "v8")]
        {
            let isolate = runtime.v8_isolate();
            isolate.set_oom_error_handler(out_of_memory_handler);
            isolate.set_allow_wasm_code_generation_callback(no_wasm);
        }
        let host = runtime
            .execute_script("[mux]", TAKE_HOST)
            .expect("the prelude left its host");
        let host = {
            scope!(scope, runtime);
            scope
                .get_current_context()
                .set_allow_generation_from_strings(false);
            let object = v8::Local::new(scope, host).try_cast::<v8::Object>();
            v8::Global::new(scope, object.expect("the host is an object"))
        };
        Self {
            runtime,
            host,
            out_of_memory,
        }
    }

    /// Runs the program to its end. Takes frames meanwhile: answers to calls.
    pub(crate) async fn run(
        mut self,
        program: Program,
        frames: &mut Frames,
    ) -> Result<String, Fault> {
        let script = source::prepare(&program.source).map_err(source::first_with_rest)?;
        self.runtime
            .op_state()
            .borrow_mut()
            .borrow_mut::<Bridge>()
            .begin(program.max_console);
        let text = self.evaluate(script, &program, frames).await?;
        if text.len() > program.max_result as usize {
            return Err(fault::result_too_large(text.len(), program.max_result));
        }
        Ok(text)
    }

    async fn evaluate(
        &mut self,
        script: String,
        program: &Program,
        frames: &mut Frames,
    ) -> Result<String, Fault> {
        let function = self
            .runtime
            .execute_script(source::NAME, script)
            .map_err(|error| fault::uncompilable(&error))?;
        let promise = self.start(&function, program)?;
        poll_fn(|cx| {
            while let Poll::Ready(frame) = frames.poll_recv(cx) {
                match frame {
                    Some(ToWorker::CallDone { call, outcome }) => self.answer(call, outcome),
                    // One program at a time: a second one means that the daemon has lost count.
                    Some(ToWorker::Run(_) | ToWorker::Check { .. }) => {
                        return Poll::Ready(Err(fault::internal("a program is running already")));
                    }
                    None => return Poll::Ready(Err(fault::stopped())),
                }
            }
            self.poll(cx, &promise)
        })
        .await
    }

    /// Gives the program its input and calls it.
    fn start(
        &mut self,
        function: &v8::Global<v8::Value>,
        program: &Program,
    ) -> Result<v8::Global<v8::Promise>, Fault> {
        let limits = json!({
            "maxArgument": program.max_argument,
            "maxTimers": program.max_timers,
            "startColumn": source::prefix_length(),
        });
        let started = {
            scope!(scope, self.runtime);
            v8::tc_scope!(let scope, scope);
            start(scope, &self.host, function, program, &limits.to_string())
                .map(|promise| v8::Global::new(scope, promise))
                .ok_or_else(|| {
                    scope
                        .exception()
                        .map(|exception| JsError::from_v8_exception(scope, exception))
                })
        };
        started.map_err(|error| match error {
            // A script that spins before its first `await` is stopped in here.
            Some(error) if !self.out_of_memory.get() => fault::thrown(&error, None),
            _ => self.ended(),
        })
    }

    fn answer(&mut self, call: u32, outcome: Result<String, Fault>) {
        self.runtime
            .op_state()
            .borrow_mut()
            .borrow_mut::<Bridge>()
            .answer(call, outcome);
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        promise: &v8::Global<v8::Promise>,
    ) -> Poll<Result<String, Fault>> {
        let turn = self
            .runtime
            .poll_event_loop(cx, PollEventLoopOptions::default());
        if self.out_of_memory.get() {
            return Poll::Ready(Err(fault::memory(HEAP_MIB)));
        }
        // The runtime cannot tell of tens of thousands of rejections at once, and fails instead.
        let untold = matches!(turn, Poll::Ready(Err(_)));
        if let Some(outcome) = self.settled(promise, untold) {
            return Poll::Ready(outcome);
        }
        match turn {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Err(fault::deadlock())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.failed(error))),
        }
    }

    /// The result of the program's promise, once it has one.
    fn settled(
        &mut self,
        promise: &v8::Global<v8::Promise>,
        untold: bool,
    ) -> Option<Result<String, Fault>> {
        scope!(scope, self.runtime);
        let promise = v8::Local::new(scope, promise);
        match promise.state() {
            v8::PromiseState::Pending => None,
            v8::PromiseState::Fulfilled => {
                let text = promise.result(scope).to_rust_string_lossy(scope);
                let host = v8::Local::new(scope, &self.host);
                if let Some(finish) = method(scope, host, "finish") {
                    // It prints a warning or nothing; what goes wrong in it changes no result.
                    let untold = v8::Boolean::new(scope, untold);
                    _ = finish.call(scope, host.into(), &[untold.into()]);
                }
                Some(Ok(text))
            }
            v8::PromiseState::Rejected => {
                let exception = promise.result(scope);
                let marked = mark(scope, &self.host, exception);
                let error = JsError::from_v8_exception(scope, exception);
                Some(Err(fault::thrown(&error, marked.as_deref())))
            }
        }
    }

    /// An error that came out of the event loop itself: thrown in a timer, or a stop.
    fn failed(&self, error: CoreError) -> Fault {
        match error.into_kind() {
            CoreErrorKind::Js(error) if is_termination(&error) => self.ended(),
            CoreErrorKind::Js(error) => fault::thrown(&error, None),
            CoreErrorKind::ExecutionTerminated => self.ended(),
            other => fault::internal(CoreError::from(other)),
        }
    }

    fn ended(&self) -> Fault {
        if self.out_of_memory.get() {
            fault::memory(HEAP_MIB)
        } else {
            fault::stopped()
        }
    }
}

fn is_termination(error: &JsError) -> bool {
    error.exception_message.contains("execution terminated")
}

fn start<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    host: &v8::Global<v8::Object>,
    function: &v8::Global<v8::Value>,
    program: &Program,
    limits: &str,
) -> Option<v8::Local<'s, v8::Promise>> {
    let host = v8::Local::new(scope, host);
    let input = v8::String::new(scope, &program.input)?;
    let names = v8::String::new(scope, &program.names)?;
    let limits = v8::String::new(scope, limits)?;
    let limits = v8::json::parse(scope, limits)?;
    let prepare = method(scope, host, "prepare")?;
    prepare.call(scope, host.into(), &[input.into(), names.into(), limits])?;
    let start = method(scope, host, "start")?;
    let function = v8::Local::new(scope, function);
    let promise = start.call(scope, host.into(), &[function])?;
    promise.try_cast::<v8::Promise>().ok()
}

/// The fault that the bridge attached to this error, as JSON text.
fn mark(
    scope: &mut v8::PinScope<'_, '_>,
    host: &v8::Global<v8::Object>,
    exception: v8::Local<'_, v8::Value>,
) -> Option<String> {
    let host = v8::Local::new(scope, host);
    let fault_of = method(scope, host, "faultOf")?;
    let marked = fault_of.call(scope, host.into(), &[exception])?;
    marked
        .is_string()
        .then(|| marked.to_rust_string_lossy(scope))
}

fn method<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    host: v8::Local<'s, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Function>> {
    let key = v8::String::new(scope, name)?;
    host.get(scope, key.into())?.try_cast::<v8::Function>().ok()
}

fn create_params(heap: usize) -> v8::CreateParams {
    let params = v8::CreateParams::default().heap_limits(0, heap);
    #[cfg(feature = "v8")]
    let params = params
        .array_buffer_allocator(crate::buffers::allocator())
        // Nobody would wake a program that waits; it could only hold its thread.
        .allow_atomics_wait(false);
    params
}

/// `WebAssembly` is gone from the global object; this holds should a way to it be found.
#[cfg(feature = "v8")]
#[expect(unsafe_code, reason = "the signature is V8's; nothing unsafe is done")]
unsafe extern "C" fn no_wasm(
    _context: v8::Local<'_, v8::Context>,
    _source: v8::Local<'_, v8::String>,
) -> bool {
    false
}

/// V8 calls this when it cannot go on; it would abort next.
#[cfg(feature = "v8")]
extern "C" fn out_of_memory_handler(_location: *const std::ffi::c_char, _details: &v8::OomDetails) {
    crate::lockdown::out_of_memory()
}
