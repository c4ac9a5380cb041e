//! Starts a slot's session: takes over a handed session, or opens a new one in the queue of starts.
//!
//! Invariant: dropping the future stops what it has started.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Slot;
use crate::{
    link::OpenError,
    server::start_limiter::run_with_permit,
    server_messages::RequestPolicyContext,
    session::{HandoverKey, Session, SessionInputs, process_fingerprint},
};
use mux_settings::{ServerDefinition, ServerEndpoint};

/// A start for which no caller waits.
pub(super) struct BackgroundStart {
    /// The reason for the start.
    pub(super) reason: &'static str,
    /// Cancelled when a caller waits for the start.
    pub(super) wanted: CancellationToken,
}

/// Starts the session. `definition` has the workspace of the slot's key filled in.
pub(super) async fn start_session(
    slot: &Slot,
    definition: &ServerDefinition,
    background: Option<BackgroundStart>,
) -> Result<Arc<Session>, OpenError> {
    let server_shared = &slot.server_shared;
    let context = &server_shared.context;
    let inputs = SessionInputs {
        catalog_entry: &server_shared.catalog_entry,
        definition,
        launcher: &*context.launcher,
        identity: &server_shared.identity,
        slot_shared: &slot.slot_shared,
        policy: &RequestPolicyContext {
            identity: server_shared.identity.key().to_owned(),
            policy: Arc::clone(&context.request_policy),
        },
        auth: &context.auth,
        sources: &context.sources,
    };
    let handed = match HandoverKey::of(server_shared.identity.key(), &slot.scope.key()) {
        Some(key) => context.incoming_sessions.take_arrived(&key).await,
        None => None,
    };
    if let Some(handed) = handed {
        if process_fingerprint(definition).as_ref() == Some(&handed.state.started_as) {
            match Box::pin(Session::resume_handed_session(inputs, handed)).await {
                Ok(session) => return Ok(session),
                Err(error) => warn!(%error, "cannot resume a session of the previous muxd"),
            }
        } else {
            info!("stopping a session of the previous muxd: its definition has changed");
            handed.stop_process();
        }
    }
    let opening = Box::pin(Session::open(inputs));
    let reason = |reason: Option<&str>| {
        slot.status.lock().reason = reason.map(str::to_owned);
    };
    if let Some(BackgroundStart {
        reason: why,
        wanted,
    }) = background
    {
        reason(Some(why));
        tokio::select! {
            biased;
            () = wanted.cancelled() => reason(None),
            permit = context.start_limiter.background_permit() => {
                info!(why, "starting in the background");
                return run_with_permit(permit, opening).await;
            }
        }
    }
    match definition.endpoint {
        ServerEndpoint::Remote(_) | ServerEndpoint::Source(_) => opening.await,
        ServerEndpoint::Process(_) => {
            let opening = async {
                reason(None);
                opening.await
            };
            let waits = || reason(Some("waits for its turn to start (limits.starts)"));
            context.start_limiter.run_start(waits, opening).await
        }
    }
}
