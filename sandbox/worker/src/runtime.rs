//! One isolate: built ahead of time, used for one program, then dropped.
//!
//! Invariant: no two programs ever share an isolate, a context or a global.

mod host_object;
mod isolate_build;

use std::{
    cell::Cell,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

use deno_core::{
    JsRuntime, PollEventLoopOptions,
    error::{CoreError, CoreErrorKind, JsError},
    scope,
    serde_json::json,
    v8,
};
use mux_wire::{Fault, FaultKind, Program, ToWorker, line_hints};

#[cfg(feature = "v8")]
pub(crate) use self::isolate_build::runtime_for_snapshot;
pub(crate) use self::isolate_build::{IsolateOptions, init_platform};
use crate::{
    bridge::OpBridge,
    daemon_link::FrameReceiver,
    fault,
    memory::IsolateMemory,
    source::{self, ValueScript},
    watchdog::Watchdog,
};

/// An isolate in which only our own prelude has run.
pub(crate) struct Isolate {
    runtime: JsRuntime,
    host: v8::Global<v8::Object>,
    out_of_memory: Rc<Cell<bool>>,
    watchdog: Watchdog,
    memory: IsolateMemory,
}

impl Isolate {
    /// Runs the program to its end and meanwhile passes it the answers to its calls. Call this once, then
    /// [`Self::build_next`].
    pub(crate) async fn run(
        &mut self,
        program: Program,
        frames: &mut FrameReceiver,
    ) -> Result<String, Fault> {
        let script = source::prepare_program(&program.source).map_err(source::merge_faults)?;
        self.runtime
            .op_state()
            .borrow_mut()
            .borrow_mut::<OpBridge>()
            .start_program(&program);
        let outcome = self.evaluate(script, &program, frames).await;
        self.watchdog.disarm();
        let text = outcome.map_err(|fault| with_line_hint(fault, &program))?;
        let text = self
            .runtime
            .op_state()
            .borrow_mut()
            .borrow_mut::<OpBridge>()
            .restore_result(text);
        if text.len() > program.max_result as usize {
            return Err(fault::result_limit_fault(text.len(), program.max_result));
        }
        Ok(text)
    }

    async fn evaluate(
        &mut self,
        script: ValueScript,
        program: &Program,
        frames: &mut FrameReceiver,
    ) -> Result<String, Fault> {
        let function = self
            .runtime
            .execute_script(source::SCRIPT_NAME, script.text)
            .map_err(|error| fault::compile_fault(&error, self.memory))?;
        let limits = json!({
            "maxArgument": program.max_argument,
            "maxTimers": program.max_timers,
            "maxResult": program.max_result,
            "startColumn": source::prefix_length(),
            "shift": script.shift.to_json(),
            "isImplicit": script.is_implicit,
            "hasReturn": script.has_return,
        });
        let promise = self.start_program(&function, program, &limits.to_string())?;
        poll_fn(|cx| {
            while let Poll::Ready(frame) = frames.poll_recv(cx) {
                match frame {
                    Some(ToWorker::CallDone { call, outcome }) => {
                        self.deliver_answer(call, outcome);
                    }
                    // One program at a time: a second one is an error of the daemon.
                    Some(ToWorker::Run(_) | ToWorker::Check { .. }) => {
                        return Poll::Ready(Err(fault::internal_fault(
                            "a program is running already",
                        )));
                    }
                    None => return Poll::Ready(Err(fault::stopped_fault())),
                }
            }
            self.poll_program(cx, &promise)
        })
        .await
    }

    /// Passes the program its input and calls it.
    fn start_program(
        &mut self,
        function: &v8::Global<v8::Value>,
        program: &Program,
        limits: &str,
    ) -> Result<v8::Global<v8::Promise>, Fault> {
        let started = {
            scope!(scope, self.runtime);
            v8::tc_scope!(let scope, scope);
            host_object::start_guest_program(scope, &self.host, function, program, limits)
                .map(|promise| v8::Global::new(scope, promise))
                .ok_or_else(|| {
                    scope
                        .exception()
                        .map(|exception| JsError::from_v8_exception(scope, exception))
                })
        };
        started.map_err(|error| match error {
            // A script that loops before its first `await` is stopped here.
            Some(error) if !self.out_of_memory.get() => {
                fault::thrown_fault(&error, None, self.memory)
            }
            _ => self.termination_fault(),
        })
    }

    fn deliver_answer(&mut self, call: u32, outcome: Result<String, Fault>) {
        self.runtime
            .op_state()
            .borrow_mut()
            .borrow_mut::<OpBridge>()
            .deliver_answer(call, outcome);
    }

    fn poll_program(
        &mut self,
        cx: &mut Context<'_>,
        promise: &v8::Global<v8::Promise>,
    ) -> Poll<Result<String, Fault>> {
        {
            // The event loop starts with finalizers, which must not run before the program's own last step.
            scope!(scope, self.runtime);
            scope.perform_microtask_checkpoint();
        }
        let turn = self
            .runtime
            .poll_event_loop(cx, PollEventLoopOptions::default());
        if self.out_of_memory.get() {
            return Poll::Ready(Err(fault::heap_limit_fault(self.memory)));
        }
        let stopped = self.watchdog.has_stopped();
        if stopped {
            // The outcome exists already. Reading it needs a running engine.
            self.runtime.v8_isolate().cancel_terminate_execution();
        }
        // The runtime fails instead of reporting tens of thousands of rejections together.
        let untold = matches!(turn, Poll::Ready(Err(_))) && !stopped;
        if let Some(outcome) = self.settled_outcome(promise, untold) {
            return Poll::Ready(outcome);
        }
        match turn {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Err(fault::deadlock_fault())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.event_loop_fault(error))),
        }
    }

    /// The outcome of the program's promise, once it is settled.
    fn settled_outcome(
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
                if let Some(finish) = host_object::host_method(scope, host, "finish") {
                    // The call may print a warning. Its errors do not change the result.
                    let untold = v8::Boolean::new(scope, untold);
                    _ = finish.call(scope, host.into(), &[untold.into()]);
                }
                Some(Ok(text))
            }
            v8::PromiseState::Rejected => {
                let exception = promise.result(scope);
                let marked = host_object::attached_fault(scope, &self.host, exception);
                let error = JsError::from_v8_exception(scope, exception);
                Some(Err(fault::thrown_fault(
                    &error,
                    marked.as_deref(),
                    self.memory,
                )))
            }
        }
    }

    /// The fault for an error of the event loop itself: thrown in a timer, or a termination.
    fn event_loop_fault(&self, error: CoreError) -> Fault {
        match error.into_kind() {
            CoreErrorKind::Js(error) if is_termination(&error) => self.termination_fault(),
            CoreErrorKind::Js(error) => fault::thrown_fault(&error, None, self.memory),
            CoreErrorKind::ExecutionTerminated => self.termination_fault(),
            other => fault::internal_fault(CoreError::from(other)),
        }
    }

    fn termination_fault(&self) -> Fault {
        if self.out_of_memory.get() {
            fault::heap_limit_fault(self.memory)
        } else {
            fault::stopped_fault()
        }
    }
}

/// The fault with a hint for the line that threw it, if it has none.
fn with_line_hint(fault: Fault, program: &Program) -> Fault {
    let line = fault.line.and_then(|line| {
        let above = usize::try_from(line.checked_sub(1)?).ok()?;
        program.source.split('\n').nth(above)
    });
    if fault.kind != FaultKind::Runtime || fault.hint.is_some() {
        return fault;
    }
    let has_input = program.input.trim() != "null";
    match line.and_then(|line| line_hints::thrown_hint(line, &fault.message, has_input)) {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

fn is_termination(error: &JsError) -> bool {
    error.exception_message.contains("execution terminated")
}
