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

use super::reach::{Reach, fitting};
use mux_approvals::Begun;
use mux_gateway::{Arguments, Asking, Call};

impl Reach {
    /// `arguments` are JSON text. Calls are numbered in the order in which this is called.
    pub(super) fn call(
        &self,
        target: Target,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        self.on_deck(target, arguments, |target, arguments| {
            self.make(target, arguments)
        })
    }

    fn make(
        &self,
        target: Target,
        arguments: Arc<str>,
    ) -> BoxFuture<'static, Result<String, Fault>> {
        let reach = self.clone();
        let dossier = reach.asking.dossier.clone();
        let begun = dossier
            .as_ref()
            .map(|dossier| dossier.begin(&target, &arguments));
        let place = match begun {
            Some(Begun::Known(outcome)) => {
                return ready(outcome.map(|text| text.as_ref().to_owned())).boxed();
            }
            Some(Begun::New(place)) => place,
            None => None,
        };
        let call = Call {
            target,
            arguments: Arguments::Json(arguments),
            within: None,
            asking: Asking {
                place,
                ..reach.asking.clone()
            },
        };
        async move {
            let approvals = reach.gateway.approvals();
            if let Some(dossier) = &dossier {
                approvals.note_begun(dossier).await?;
            }
            let outcome = match reach.gateway.call(call, reach.observer.as_ref()).await {
                Ok(value) => fitting(value, &reach.handles).await,
                Err(fault) => Err(fault),
            };
            if let Some(dossier) = &dossier {
                dossier.end(place, &outcome);
                approvals.note_ended(dossier).await;
            }
            outcome
        }
        .in_current_span()
        .boxed()
    }
}
