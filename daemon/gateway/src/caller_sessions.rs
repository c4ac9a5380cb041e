//! One caller's session to one server, before the first attempt at a request and before the next.
//!
//! Invariant: the observer is notified of each wait for a server that must be started.

use std::{sync::Arc, time::Instant};

use mux_wire::Fault;

use super::{CallContext, CallObserver, sandbox_hint::add_sandbox_hint, spans};
use mux_upstream::{CallInFlight, CallerIdentity, HeldSession, Server, Slot};

#[derive(Clone, Copy)]
pub(super) struct CallerSessions<'a> {
    pub(super) server: &'a Server,
    pub(super) identity: &'a CallerIdentity,
    pub(super) context: &'a CallContext,
    pub(super) observer: &'a dyn CallObserver,
}

impl CallerSessions<'_> {
    /// The caller's session, which is opened if necessary.
    pub(super) async fn ready(self) -> Result<HeldSession, Fault> {
        let Self {
            server,
            identity,
            observer,
            ..
        } = self;
        if let Some(held) = server.open_session(identity) {
            return Ok(held);
        }
        if server.definition().is_ok() {
            observer.server_starting(server.name());
        }
        let asked = Instant::now();
        let span = spans::session_open_span(&self.context.caller.trace, server);
        let held = server.session(identity).await;
        span.end_with(|| held.as_ref().err().map(|fault| fault.kind.to_string()));
        match held {
            Ok(held) => {
                observer.server_ready(server.name(), asked.elapsed());
                Ok(held)
            }
            Err(fault) => Err(add_sandbox_hint(server, identity.is_user, fault).await),
        }
    }

    /// The caller's session for another attempt, with a permit of its slot.
    pub(super) async fn next(
        self,
        slot: &Arc<Slot>,
        permit: CallInFlight,
    ) -> Result<(HeldSession, CallInFlight), Fault> {
        let next = self.ready().await?;
        if Arc::ptr_eq(&next.slot, slot) {
            return Ok((next, permit));
        }
        // Both permits may belong to the same limiter.
        drop(permit);
        let permit = next.slot.acquire_call(&self.context.turn).await;
        Ok((next, permit))
    }
}
