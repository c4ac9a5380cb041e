//! Makes one tool call of a program, in either language.
//!
//! Invariant: a call that had ended in the resumed run is answered from its call log and not repeated. A call is logged
//! before it is sent.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use mux_wire::{CallTarget, Fault};
use tracing::Instrument;

use super::run_context::{RunContext, store_if_too_long};
use mux_approvals::BegunCall;
use mux_gateway::{CallArguments, CallContext, ToolCall};

impl RunContext {
    /// Calls a tool. `arguments` are JSON. Calls are logged in the order of calls to this function.
    pub(super) fn call(
        &self,
        target: CallTarget,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        self.record_or_replay(target, arguments, |target, arguments| {
            self.call_gateway(target, arguments)
        })
    }

    fn call_gateway(
        &self,
        target: CallTarget,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let reach = self.clone();
        let resumable = reach.asking.resumable.clone();
        let begun = resumable
            .as_ref()
            .map(|resumable| resumable.begin_logged_call(&target, &arguments));
        let place = match begun {
            Some(BegunCall::Known(outcome)) => {
                return ready(outcome.map(|text| text.as_ref().to_owned())).boxed();
            }
            Some(BegunCall::New(place)) => place,
            None => None,
        };
        let call = ToolCall {
            target,
            arguments: CallArguments::Json(arguments),
            declared_only: false,
            within: None,
            asking: CallContext {
                place,
                ..reach.asking.clone()
            },
        };
        async move {
            let approvals = reach.gateway.approvals();
            if let Some(resumable) = &resumable {
                approvals.record_begun_call(resumable).await?;
            }
            let outcome = match reach.gateway.call(call, reach.observer.as_ref()).await {
                Ok(value) => store_if_too_long(value, &reach.handles).await,
                Err(fault) => Err(fault),
            };
            if let Some(resumable) = &resumable {
                resumable.end_logged_call(place, &outcome);
                approvals.record_ended_call(resumable).await;
            }
            outcome
        }
        .in_current_span()
        .boxed()
    }
}
