//! The context of one run's calls, and the one way in which a program makes them.
//!
//! Invariant: a call that had ended in a resumed or recorded run is answered from the journal and not repeated. Everything
//! that happens to a call becomes one event of its run, in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, pending, ready},
};
use mux_sandbox::limits::MAX_ANSWER_BYTES;
use mux_wire::{CallTarget, Fault, FaultKind};
use serde_json::json;
use tracing::Instrument;

use super::{builtins, event_writer::EventWriter, program_check::ToolViewer};
use mux_approvals::ApprovalEvent;
use mux_caller::ProgressUpdate;
use mux_catalog::Scope;
use mux_gateway::{CallArguments, CallContext, CallObserver, Gateway, ToolCall};
use mux_handles::StoredValues;
use mux_journal::{BegunCall, RunJournal};
use mux_messages::{EventKind, Level, millis};
use mux_upstream::CallerIdentity;

/// The maximum number of progress events of one run, over all its calls. Further events are dropped.
const MAX_PROGRESS_EVENTS: u32 = 5_000;

#[derive(Clone)]
pub(super) struct RunContext {
    pub(super) gateway: Arc<Gateway>,
    pub(super) handles: StoredValues,
    pub(super) call_context: CallContext,
    pub(super) run: Arc<RunJournal>,
    /// The identity whose sessions the run uses.
    pub(super) identity: CallerIdentity,
    pub(super) observer: RunCallObserver,
    /// Set if calls of built-in functions are in the journal, too: a recording needs them.
    pub(super) logs_builtins: bool,
    /// Set if a recording answers all calls.
    pub(super) is_replay: bool,
}

impl RunContext {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        handles: StoredValues,
        call_context: CallContext,
        writer: Arc<EventWriter>,
    ) -> Self {
        Self {
            gateway,
            handles,
            run: Arc::clone(writer.run()),
            identity: CallerIdentity::of(&call_context.caller),
            call_context,
            observer: RunCallObserver::new(writer),
            logs_builtins: false,
            is_replay: false,
        }
    }

    /// The tools that the run's agent sees in a scope.
    pub(super) fn viewer_in(&self, scope: Arc<Scope>) -> ToolViewer {
        let origin = &self.call_context.caller.origin;
        ToolViewer {
            reader: self.gateway.reader(origin, &scope),
            identity: self.identity.clone(),
            scope,
        }
    }

    /// The tools that the run's agent saw when the run was started.
    pub(super) fn first_viewer(&self) -> ToolViewer {
        self.viewer_in(Arc::clone(&self.call_context.scope))
    }

    /// Makes a call of the program, in either language, unless the past answers it. `arguments` are JSON. Calls are
    /// logged in the order of calls to this function, and before they are sent.
    pub(super) fn call(
        &self,
        target: CallTarget,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let mut context = self.clone();
        let is_logged = match &target {
            CallTarget::Own { name } => self.logs_builtins || builtins::asks_servers(name),
            CallTarget::Named { .. } | CallTarget::Path { .. } => true,
        };
        if !is_logged {
            return context
                .make_call(target, arguments)
                .in_current_span()
                .boxed();
        }
        let index = match self.run.begin_call(&target, &arguments) {
            BegunCall::Known(outcome, took) => {
                let outcome = outcome.map(|text| text.as_ref().to_owned());
                if self.is_replay {
                    self.observer.observe_replayed(&target, took, &outcome);
                }
                return ready(outcome).boxed();
            }
            BegunCall::Never => {
                self.observer.observe_unended(&target);
                return pending().boxed();
            }
            BegunCall::New(index) => index,
        };
        context.call_context.call = index;
        context.observer.call = index;
        async move {
            let approvals = Arc::clone(context.gateway.approvals());
            let run = Arc::clone(&context.run);
            approvals.save_begun_call(&run).await?;
            let outcome = context.make_call(target, arguments).await;
            run.end_call(index, &outcome);
            approvals.save_ended_call(&run).await;
            outcome
        }
        .in_current_span()
        .boxed()
    }

    async fn make_call(self, target: CallTarget, arguments: Arc<str>) -> Result<String, Fault> {
        if let CallTarget::Own { name } = &target {
            return builtins::call_builtin(name, &arguments, &self).await;
        }
        let call = ToolCall {
            target,
            arguments: CallArguments::Json(arguments),
            declared_only: false,
            within: None,
            context: self.call_context,
        };
        let value = self.gateway.call(call, &self.observer).await?;
        store_if_too_long(value, &self.handles).await
    }
}

/// Turns notifications of the gateway into events of the run.
#[derive(Clone)]
pub(super) struct RunCallObserver {
    writer: Arc<EventWriter>,
    counts: Arc<EventCounts>,
    /// The index, in the journal, of the call that is observed.
    call: Option<usize>,
}

#[derive(Default)]
struct EventCounts {
    calls: AtomicU32,
    /// Progress notifications.
    progress: AtomicU32,
}

impl RunCallObserver {
    pub(super) fn new(writer: Arc<EventWriter>) -> Self {
        Self {
            writer,
            counts: Arc::default(),
            call: None,
        }
    }

    pub(super) fn writer(&self) -> &Arc<EventWriter> {
        &self.writer
    }

    fn observe_replayed(
        &self,
        target: &CallTarget,
        took: Duration,
        outcome: &Result<String, Fault>,
    ) {
        if let Some(path) = tool_path(target) {
            let call = self.call_started(&path);
            self.call_ended(call, &path, took, outcome.as_ref().map(String::len));
        }
    }

    /// As recorded, the call does not end before its run does.
    fn observe_unended(&self, target: &CallTarget) {
        if let Some(path) = tool_path(target) {
            self.call_started(&path);
        }
    }
}

/// The path of the tool. `None` for a function of `mux`.
fn tool_path(target: &CallTarget) -> Option<String> {
    match target {
        CallTarget::Own { .. } => None,
        CallTarget::Named { server, tool } => Some(format!("{server}.{tool}")),
        CallTarget::Path { path, .. } => Some(path.clone()),
    }
}

impl CallObserver for RunCallObserver {
    fn server_starting(&self, server: &str) {
        self.writer.push(EventKind::ServerStarting {
            server: server.to_owned(),
        });
    }

    fn server_ready(&self, server: &str, took: Duration) {
        self.writer.push(EventKind::ServerReady {
            server: server.to_owned(),
            ms: millis(took),
        });
    }

    fn call_started(&self, path: &str) -> u32 {
        let call = self.counts.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.writer.run().number_call(self.call, call);
        self.writer.push(EventKind::CallStarted {
            call,
            path: path.to_owned(),
        });
        call
    }

    fn call_progress(&self, call: u32, path: &str, progress: ProgressUpdate) {
        if self.counts.progress.fetch_add(1, Ordering::Relaxed) < MAX_PROGRESS_EVENTS {
            self.writer.push(EventKind::CallProgress {
                call,
                path: path.to_owned(),
                progress: progress.progress,
                total: progress.total,
                message: progress.message,
            });
        }
    }

    fn approval_changed(&self, event: ApprovalEvent<'_>) {
        self.writer.push(match event {
            ApprovalEvent::Asked(request) => EventKind::ApprovalAsked(request.clone()),
            ApprovalEvent::Over(over) => EventKind::ApprovalOver(over.clone()),
        });
    }

    fn call_warned(&self, path: &str, warning: &str) {
        self.writer.push(EventKind::Console {
            level: Level::Warn,
            text: format!("[mux] {path} {warning}"),
        });
    }

    fn call_ended(&self, call: u32, path: &str, took: Duration, outcome: Result<usize, &Fault>) {
        self.writer.push(EventKind::CallEnded {
            call,
            path: path.to_owned(),
            ms: took.as_secs_f64() * 1e3,
            bytes: *outcome.as_ref().unwrap_or(&0),
            // The program has the details. Here they would be stored and sent a second time.
            error: outcome.err().map(Fault::to_event_error),
        });
    }
}

/// Stores a value that is too long for a frame to the worker, and returns a fault with its handle.
pub(super) async fn store_if_too_long(
    value: String,
    handles: &StoredValues,
) -> Result<String, Fault> {
    let bytes = value.len();
    if bytes <= MAX_ANSWER_BYTES {
        return Ok(value);
    }
    let handle = handles.keep(value, "the result of the call").await?.handle;
    let most = MAX_ANSWER_BYTES;
    let mut fault = Fault::new(
        FaultKind::Limit,
        format!("the result of the call is {bytes} bytes, over the limit of {most}"),
    )
    .hint(format!(
        "it was called, and its result is kept: read it in parts with mux.read(\"{handle}\", \
         {{ offset, length }}), or ask the tool for less"
    ));
    fault.details = Some(json!({ "handle": handle, "bytes": bytes }).to_string());
    Err(fault)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use mux_settings::StoredValueLimits;

    #[tokio::test]
    async fn value_too_long_for_a_frame_is_stored_under_a_handle() {
        let home = tempfile::tempdir().unwrap();
        let handles = StoredValues::open(
            home.path().join("results"),
            home.path().join("key"),
            StoredValueLimits::default(),
        );
        let short = "\"x\"".to_owned();
        assert_eq!(
            store_if_too_long(short.clone(), &handles).await.unwrap(),
            short
        );
        let value = format!("\"{}\"", "x".repeat(MAX_ANSWER_BYTES));
        let fault = store_if_too_long(value.clone(), &handles)
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Limit);
        assert!(fault.hint.unwrap().contains("mux.read(\"h_"));
        let details: Value = serde_json::from_str(&fault.details.unwrap()).unwrap();
        assert_eq!(details["bytes"], value.len());
        let handle = details["handle"].as_str().unwrap();
        assert_eq!(handles.read_whole(handle, usize::MAX).await.unwrap(), value);
        // Reading the whole value does not fit either.
        let fault =
            super::super::builtins::read(&json!({ "handle": handle }).to_string(), &handles).await;
        assert_eq!(fault.unwrap_err().kind, FaultKind::Limit);
    }
}
