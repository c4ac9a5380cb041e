//! Builds an isolate: the engine and its flags, the budgets, and the guest's realm, from our scripts or from a snapshot
//! of them.
//!
//! Invariant: both ways end with the same step, which seals the realm. An isolate from a snapshot can do nothing that
//! an isolate from the scripts cannot.

use std::{cell::Cell, rc::Rc};

use deno_core::{JsRuntime, RuntimeOptions, scope, v8};

use super::{Isolate, host_object};
#[cfg(feature = "v8")]
use crate::buffer_allocator;
use crate::{
    bridge::OpBridge, daemon_link::DaemonLink, memory::IsolateMemory, ops, watchdog::Watchdog,
};

/// Initializes the engine. Call this once per process, before any other thread starts.
pub(crate) fn init_platform() {
    // By default V8 reads /dev/urandom, and uses the time of day if it cannot.
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

/// A runtime with the guest's realm for a snapshot: not sealed, and without a link to a daemon.
#[cfg(feature = "v8")]
pub(crate) fn runtime_for_snapshot(
    code_cache: Rc<dyn deno_core::ExtCodeCache>,
) -> deno_core::JsRuntimeForSnapshot {
    deno_core::JsRuntimeForSnapshot::new(RuntimeOptions {
        extensions: vec![ops::extension()],
        extension_code_cache: Some(code_cache),
        ..RuntimeOptions::default()
    })
}

/// The memory limits and the snapshot of all isolates of this process.
#[derive(Clone, Copy)]
pub(crate) struct IsolateOptions {
    pub(crate) memory: IsolateMemory,
    /// A snapshot made by this build. Without one, isolates are built from the scripts.
    pub(crate) snapshot: Option<&'static [u8]>,
}

impl Isolate {
    /// # Panics
    /// If the prelude, which is part of this program, cannot be evaluated.
    pub(crate) fn build(link: &DaemonLink, watchdog: &Watchdog, basis: IsolateOptions) -> Self {
        let IsolateOptions { memory, snapshot } = basis;
        let heap = memory.heap_bytes();
        let params = v8::CreateParams::default().heap_limits(0, heap);
        #[cfg(feature = "v8")]
        let (allocator, refusals) = buffer_allocator::buffer_allocator(memory.buffer_bytes());
        #[cfg(feature = "v8")]
        let params = params
            .array_buffer_allocator(allocator)
            // A program that waits could never be woken and would block its thread.
            .allow_atomics_wait(false);
        let mut runtime = JsRuntime::try_new(RuntimeOptions {
            extensions: vec![ops::extension()],
            create_params: Some(params),
            startup_snapshot: snapshot,
            // The snapshot has the functions of the ops.
            skip_op_registration: snapshot.is_some(),
            ..RuntimeOptions::default()
        })
        .expect("the prelude evaluates");
        let handle = runtime.v8_isolate().thread_safe_handle();
        {
            let state = runtime.op_state();
            let mut state = state.borrow_mut();
            state.put(OpBridge::new(link.clone()));
            state.put((watchdog.clone(), handle.clone()));
        }
        let out_of_memory = Rc::new(Cell::new(false));
        let reached = Rc::clone(&out_of_memory);
        runtime.add_near_heap_limit_callback(move |current, _initial| {
            // A buffer did not fit, not the heap: the program gets an error that it can catch.
            #[cfg(feature = "v8")]
            if refusals.last_was_refused() {
                return current;
            }
            // More heap for a moment: the script can then be unwound instead of aborted.
            reached.set(true);
            handle.terminate_execution();
            current + heap / 2
        });
        #[cfg(feature = "v8")]
        {
            let isolate = runtime.v8_isolate();
            isolate.set_oom_error_handler(out_of_memory_handler);
            isolate.set_allow_wasm_code_generation_callback(deny_wasm);
        }
        let host = {
            scope!(scope, runtime);
            scope
                .get_current_context()
                .set_allow_generation_from_strings(false);
            host_object::take_host(scope).expect("the prelude left its host")
        };
        Self {
            runtime,
            host,
            out_of_memory,
            watchdog: watchdog.clone(),
            memory,
        }
    }
}

#[cfg(feature = "v8")]
impl Isolate {
    /// The largest heap, and the most memory outside of it, that is kept while the next isolate is built: a fraction of
    /// what the process may use above its start.
    const MAX_KEPT_BYTES: usize = 8 << 20;

    /// Drops this isolate and builds one for the next program.
    ///
    /// Isolates share the engine's read-only heap and its pool of pages, which are freed with the last of them.
    /// Therefore the next isolate is built first, unless this one holds much memory.
    #[expect(
        unsafe_code,
        reason = "the engine takes isolates for nested, and these two are not"
    )]
    pub(crate) fn build_next(
        mut self,
        link: &DaemonLink,
        watchdog: &Watchdog,
        basis: IsolateOptions,
    ) -> Self {
        let held = self.runtime.v8_isolate().get_heap_statistics();
        if held.total_physical_size().max(held.external_memory()) > Self::MAX_KEPT_BYTES {
            drop(self);
            return Self::build(link, watchdog, basis);
        }
        // SAFETY: an isolate is entered from its creation on. Each is exited exactly where the other one is entered, on
        // the one thread that uses both, and nothing on the stack belongs to either.
        unsafe { self.runtime.v8_isolate().exit() };
        let mut next = Self::build(link, watchdog, basis);
        unsafe {
            next.runtime.v8_isolate().exit();
            self.runtime.v8_isolate().enter();
        }
        // This also exits it.
        drop(self);
        unsafe { next.runtime.v8_isolate().enter() };
        next
    }
}

#[cfg(not(feature = "v8"))]
impl Isolate {
    /// Drops this isolate and builds one for the next program.
    pub(crate) fn build_next(
        self,
        link: &DaemonLink,
        watchdog: &Watchdog,
        basis: IsolateOptions,
    ) -> Self {
        drop(self);
        Self::build(link, watchdog, basis)
    }
}

/// Denies WebAssembly. WebAssembly is removed from the global object. This covers the case that a program finds another
/// way to it.
#[cfg(feature = "v8")]
#[expect(unsafe_code, reason = "the signature is V8's; nothing unsafe is done")]
unsafe extern "C" fn deny_wasm(
    _context: v8::Local<'_, v8::Context>,
    _source: v8::Local<'_, v8::String>,
) -> bool {
    false
}

/// V8 calls this before it aborts for lack of memory.
#[cfg(feature = "v8")]
extern "C" fn out_of_memory_handler(_location: *const std::ffi::c_char, _details: &v8::OomDetails) {
    crate::lockdown::exit_out_of_memory()
}
