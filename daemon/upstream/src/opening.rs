//! One start of a slot's session, in the line of those that start.
//!
//! Invariant: whoever drops it has ended what it started.

use std::sync::{Arc, Mutex, PoisonError};

use tracing::{info, warn};

use super::{
    Session,
    beside::Beside,
    family::Family,
    handed::{HandedPlace, started_as},
    link::OpenError,
    slot::Seen,
};
use mux_settings::{Link, ServerDefinition};

/// `definition` with the workspace of the slot's key filled in.
pub(super) async fn open(
    family: &Family,
    definition: &ServerDefinition,
    beside: &Arc<Beside>,
    seen: &Mutex<Seen>,
) -> Result<Arc<Session>, OpenError> {
    let (offer, around) = (&family.offer, &family.surroundings);
    let (launcher, log) = (&around.launcher, family.log.clone());
    let others = (&*around.auth, &*around.sources);
    let handed = match HandedPlace::of(&family.identity, &beside.tenant.key()) {
        Some(place) => around.awaited.take(&place).await,
        None => None,
    };
    if let Some(handed) = handed {
        let log = log.clone();
        if started_as(definition).as_ref() != Some(&handed.state.started_as) {
            info!("a session of the last muxd was started in another way, and ends");
            handed.end();
        } else {
            let gone_on =
                Session::go_on(offer, definition, launcher, log, beside, others, handed).await;
            match gone_on {
                Ok(session) => return Ok(session),
                Err(error) => warn!(%error, "a session of the last muxd cannot be taken over"),
            }
        }
    }
    let opening = Session::open(offer, definition, launcher, log, beside, others);
    let reason = |reason: Option<&str>| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.reason = reason.map(str::to_owned);
    };
    match definition.link {
        Link::Remote(_) | Link::Source(_) => opening.await,
        Link::Process(_) => {
            let opening = async {
                reason(None);
                opening.await
            };
            let waits = || reason(Some("waits for its turn to start (limits.starts)"));
            around.starts.start(waits, opening).await
        }
    }
}
