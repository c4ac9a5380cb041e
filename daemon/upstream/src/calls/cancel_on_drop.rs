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

    /// Cancels the request now. The cancellation has been sent when this returns.
    pub(crate) async fn cancel(mut self) {
        if let Some(id) = self.id.take() {
            send_cancellation(self.peer.clone(), id).await;
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            tokio::spawn(send_cancellation(self.peer.clone(), id));
        }
    }
}

async fn send_cancellation(peer: Peer<RoleClient>, id: RequestId) {
    let reason = Some("the caller no longer waits".to_owned());
    let params = CancelledNotificationParam::new(Some(id), reason);
    let cancel = CancelledNotification::new(params);
    if let Err(error) = peer.send_notification(cancel.into()).await {
        debug!(%error, "a cancellation was not sent");
    }
}
