//! One request to a server, from sending to its answer.
//!
//! Invariant: a request is sent at most once, and is cancelled at the server if its caller is gone.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use rmcp::{
    model::{ClientRequest, GetExtensions, GetMeta, ServerResult},
    service::{PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::Session;
use crate::{
    calls::{CallError, CancelOnDrop, InFlightRequest, PermitSlot, SendState},
    link::{FINAL_OUTPUT_TIMEOUT, LinkError},
};
use mux_caller::{Caller, ProgressUpdate};
use mux_catalog::ProtocolEra;
use mux_sources::CallLimits;
use mux_telemetry::trace::TraceContext;

const LOG_LEVEL_META_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The options of a request.
#[derive(Clone, Copy)]
pub struct RequestOptions<'a> {
    /// The client that gets questions and notifications meanwhile. `None` for the daemon's own requests.
    pub caller: Option<&'a Arc<Caller>>,
    /// The request's permit among the server's calls, released as soon as a client is asked.
    pub permit: Option<&'a Arc<PermitSlot>>,
    /// How long the request may go without progress.
    pub within: Duration,
    /// The total time limit, regardless of progress.
    pub whole: Duration,
    /// Receives progress updates.
    pub progress: &'a (dyn Fn(ProgressUpdate) + Send + Sync),
    /// The trace context of the request.
    pub trace: Option<&'a TraceContext>,
}

impl RequestOptions<'_> {
    /// Options without a caller: no questions and no progress.
    pub(crate) fn without_caller(within: Duration) -> Self {
        Self {
            caller: None,
            permit: None,
            within,
            whole: within,
            progress: &|_| {},
            trace: None,
        }
    }
}

/// The client's `_meta` for the request that it asked for. Auxiliary requests have none.
fn client_meta<'a>(
    request: &ClientRequest,
    options: &RequestOptions<'a>,
) -> Option<&'a Map<String, Value>> {
    use ClientRequest::{CallToolRequest, CompleteRequest, GetPromptRequest, ReadResourceRequest};
    let is_asked_for = matches!(
        request,
        CallToolRequest(_) | CompleteRequest(_) | GetPromptRequest(_) | ReadResourceRequest(_)
    );
    options.caller?.meta.as_deref().filter(|_| is_asked_for)
}

impl Session {
    /// Boxed: its future has several KiB, and the futures around it are moved before they are polled.
    pub(super) fn request<'a>(
        &'a self,
        request: impl Into<ClientRequest>,
        options: &'a RequestOptions<'_>,
    ) -> BoxFuture<'a, Result<ServerResult, CallError>> {
        let request = request.into();
        async move {
            match self.send_and_wait(request, options).await {
                Ok(answer) => Ok(answer),
                Err(error) => Err(Box::pin(self.detect_lost_session(error)).await),
            }
        }
        .boxed()
    }

    pub(super) async fn send_and_wait(
        &self,
        mut request: ClientRequest,
        options: &RequestOptions<'_>,
    ) -> Result<ServerResult, CallError> {
        let _counted = self.calls.token();
        if !self.is_open() {
            return Err(CallError::NotSent);
        }
        let in_flight = self
            .router
            .in_flight
            .begin_request(options.caller, options.permit.cloned());
        request.extensions_mut().insert(in_flight.in_flight_id());
        request.extensions_mut().insert(CallLimits {
            clock: Arc::clone(&in_flight.clock),
            begun: Instant::now(),
            within: options.within,
            whole: options.whole,
            trace: options.trace.cloned(),
        });
        if let Some(meta) = client_meta(&request, options) {
            // Members set below and by rmcp replace it.
            request.get_meta_mut().0.0.extend(meta.clone());
        }
        if self.era == ProtocolEra::Modern {
            // Without this a modern server sends us no log messages.
            let level = Value::from("info");
            request
                .get_meta_mut()
                .insert(LOG_LEVEL_META_KEY.into(), level);
        }
        if let Some(context) = options.trace {
            let meta = request.get_meta_mut();
            meta.set_traceparent(context.traceparent());
            if let Some(state) = context.tracestate() {
                meta.set_tracestate(state);
            }
        }
        let handle = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .map_err(|error| match error {
                // The request was not accepted for sending.
                ServiceError::TransportClosed => CallError::NotSent,
                error => self.service_call_error(error, &in_flight),
            })?;
        let guard = CancelOnDrop::new(&self.peer, &handle.id);
        let started = Instant::now();
        let mut answer = pin!(handle.await_response());
        let mut forwarding = pin!(in_flight.meter.forward_progress(options.progress));
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer,
            // rmcp detects closed pipes itself. This is for a process that exited and left them open.
            () = self.ended.cancelled() => Err(ServiceError::TransportClosed),
            () = in_flight.wait_until_silent(options.within) => {
                return Err(self.timeout_error(options.within));
            }
            () = in_flight.clock.wait_until_elapsed(started, options.whole) => {
                // Both limits of a short call may pass at the same moment: without any progress, the call counts as
                // silent. The total may be the time that earlier rounds have left.
                return Err(if in_flight.meter.last_activity().is_none() && options.within >= options.whole { CallError::TimedOut(options.within) } else { CallError::TooLong(options.whole) });
            }
            never = &mut forwarding => match never {},
        };
        guard.disarm();
        if let Some(last) = in_flight.meter.take_latest() {
            (options.progress)(last);
        }
        match answer {
            Ok(answer) => Ok(answer),
            Err(ServiceError::TransportClosed) => Err(self.failed_after_end(&in_flight).await),
            Err(error) => Err(self.service_call_error(error, &in_flight)),
        }
    }

    /// The error of a request without an answer, with an answer that could have been meant for it.
    fn timeout_error(&self, within: Duration) -> CallError {
        match self.repairs.take_stray_answer() {
            Some(answer) => CallError::Unknown(format!(
                "no answer within {within:?}, but the server sent an answer without an id, which may belong to another request: {answer}"
            )),
            None => CallError::TimedOut(within),
        }
    }

    fn service_call_error(&self, error: ServiceError, of: &InFlightRequest) -> CallError {
        match error {
            ServiceError::McpError(error) => CallError::Refused {
                code: error.code.0,
                message: error.message.into_owned(),
                data: error.data,
            },
            ServiceError::TransportSend(error) => self.link_call_error(LinkError::of_call(&error)),
            ServiceError::TransportClosed if self.is_open() => {
                CallError::Unknown("the connection was lost before the answer".into())
            }
            ServiceError::TransportClosed => {
                CallError::Unknown(self.cause_for(of.caller(), of.own_output_since()))
            }
            other => CallError::Protocol(other.to_string()),
        }
    }

    fn link_call_error(&self, error: LinkError) -> CallError {
        match error {
            // Not sent, or not processed by the server: the next session may send it.
            error @ (LinkError::Unreached(_) | LinkError::Gone) => {
                if self.pid.is_none() {
                    self.set_cause(error.to_string());
                }
                self.draining.cancel();
                CallError::NotSent
            }
            LinkError::SignIn(challenge) => CallError::SignIn(challenge),
            LinkError::Source(failure) => failure.into(),
            LinkError::Declined { text, .. } => CallError::Declined(text),
            LinkError::TooMuch(text) => CallError::TooMuch(text),
            LinkError::Lost(text) => CallError::Unknown(text),
        }
    }

    /// The session's end may be reported before the outcome of a request on it.
    async fn failed_after_end(&self, in_flight: &InFlightRequest) -> CallError {
        // The session has ended or is about to. The cause is known a moment later.
        _ = timeout(FINAL_OUTPUT_TIMEOUT, self.ended.cancelled()).await;
        match in_flight.abandon() {
            SendState::Waiting => {
                self.draining.cancel();
                CallError::NotSent
            }
            SendState::Failed(error) => self.link_call_error(error),
            SendState::Begun => self.service_call_error(ServiceError::TransportClosed, in_flight),
        }
    }
}
