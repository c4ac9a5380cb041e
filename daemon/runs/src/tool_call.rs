//! One call of a tool by a program, in whatever it is written.
//!
//! Invariant: what had ended in the run with which this one goes on is answered from the record and not sent
//! again; and a call is noted before it goes out.

use std::sync::Arc;

use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use mux_wire::{Fault, Target};
use tracing::Instrument;

use super::run_context::{RunContext, store_if_too_long};
use mux_approvals::BegunCall;
use mux_gateway::{CallArguments, CallContext, ToolCall};

impl RunContext {
    /// `arguments` are JSON text. Calls are numbered in the order in which this is called.
    pub(super) fn call(
        &self,
        target: Target,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        self.record_or_replay(target, arguments, |target, arguments| {
            self.call_gateway(target, arguments)
        })
    }

    fn call_gateway(
        &self,
        target: Target,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let reach = self.clone();
        let dossier = reach.asking.dossier.clone();
        let begun = dossier
            .as_ref()
            .map(|dossier| dossier.begin_logged_call(&target, &arguments));
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
            within: None,
            asking: CallContext {
                place,
                ..reach.asking.clone()
            },
        };
        async move {
            let approvals = reach.gateway.approvals();
            if let Some(dossier) = &dossier {
                approvals.record_begun_call(dossier).await?;
            }
            let outcome = match reach.gateway.call(call, reach.observer.as_ref()).await {
                Ok(value) => store_if_too_long(value, &reach.handles).await,
                Err(fault) => Err(fault),
            };
            if let Some(dossier) = &dossier {
                dossier.end_logged_call(place, &outcome);
                approvals.record_ended_call(dossier).await;
            }
            outcome
        }
        .in_current_span()
        .boxed()
    }
}
