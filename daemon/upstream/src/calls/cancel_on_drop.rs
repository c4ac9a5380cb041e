//! Cancels a request at its server when nothing waits for its answer any longer.

use rmcp::{
    RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, RequestId},
    service::Peer,
};
use tracing::debug;

/// Cancels the request at the server on drop, unless disarmed.
pub(crate) struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl CancelOnDrop {
    pub(crate) fn new(peer: &Peer<RoleClient>, id: &RequestId) -> Self {
        Self {
            peer: peer.clone(),
            id: Some(id.clone()),
        }
    }

    pub(crate) fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            let reason = Some("the caller no longer waits".to_owned());
            let params = CancelledNotificationParam::new(Some(id), reason);
            if let Err(error) = peer
                .send_notification(CancelledNotification::new(params).into())
                .await
            {
                debug!(%error, "a cancellation was not sent");
            }
        });
    }
}
