//! Starts a slot's session: takes over a handed session, or opens a new one in the queue of starts.
//!
//! Invariant: dropping the future stops what it has started.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::{info, warn};

use super::slot_status::SlotStatus;
use crate::{
    link::OpenError,
    server::server_shared::ServerShared,
    server_messages::RequestPolicyContext,
    session::{HandoverKey, Session, SessionInputs, process_fingerprint},
    sharing::SlotShared,
};
use mux_settings::{ServerDefinition, ServerEndpoint};

/// Starts the session. `definition` has the workspace of the slot's key filled in.
pub(super) async fn start_session(
    family: &ServerShared,
    definition: &ServerDefinition,
    beside: &Arc<SlotShared>,
    seen: &Mutex<SlotStatus>,
) -> Result<Arc<Session>, OpenError> {
    let around = &family.surroundings;
    let inputs = SessionInputs {
        offer: &family.offer,
        definition,
        launcher: &around.launcher,
        log: &family.log,
        beside,
        policy: &RequestPolicyContext {
            identity: family.identity.clone(),
            policy: Arc::clone(&around.requests),
        },
        auth: &around.auth,
        sources: &around.sources,
    };
    let handed = match HandoverKey::of(&family.identity, &beside.tenant.key()) {
        Some(place) => around.awaited.take_arrived(&place).await,
        None => None,
    };
    if let Some(handed) = handed {
        if process_fingerprint(definition).as_ref() != Some(&handed.state.started_as) {
            info!("stopping a session of the previous muxd: its definition has changed");
            handed.stop_process();
        } else {
            match Session::resume_handed_session(inputs, handed).await {
                Ok(session) => return Ok(session),
                Err(error) => warn!(%error, "cannot resume a session of the previous muxd"),
            }
        }
    }
    let opening = Session::open(inputs);
    let reason = |reason: Option<&str>| {
        let mut seen = seen.lock();
        seen.reason = reason.map(str::to_owned);
    };
    match definition.link {
        ServerEndpoint::Remote(_) | ServerEndpoint::Source(_) => opening.await,
        ServerEndpoint::Process(_) => {
            let opening = async {
                reason(None);
                opening.await
            };
            let waits = || reason(Some("waits for its turn to start (limits.starts)"));
            around.starts.run_start(waits, opening).await
        }
    }
}
