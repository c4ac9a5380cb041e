//! The requests of a server whose answers have not left us.
//!
//! Invariant: there are at most [`MAX_UNANSWERED_REQUESTS`].

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Whoever does not take our refusals is not listened to.
pub(crate) const MAX_UNANSWERED_REQUESTS: usize = 64;

/// The requests of the server whose answers have not left us.
#[derive(Debug, Default)]
pub(crate) struct UnansweredRequests {
    ids: Mutex<HashMap<RequestId, AnswerStage>>,
    pub(super) fewer: Notify,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AnswerStage {
    /// Its answer is still to come.
    Open,
    /// Its answer waits until the server takes it.
    Answered,
}

/// Whether a request goes on to rmcp.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RequestAdmission {
    Yes,
    /// Another one of this name was not answered yet.
    Repeated,
    NoRoom,
}

impl UnansweredRequests {
    pub(super) fn begin(&self, id: &RequestId) -> RequestAdmission {
        let mut ids = self.ids();
        let full = ids.len() >= MAX_UNANSWERED_REQUESTS;
        match ids.entry(id.clone()) {
            Entry::Occupied(_) => RequestAdmission::Repeated,
            Entry::Vacant(_) if full => RequestAdmission::NoRoom,
            Entry::Vacant(place) => {
                place.insert(AnswerStage::Open);
                RequestAdmission::Yes
            }
        }
    }

    /// The answer is on its way.
    pub(super) fn answered(&self, id: &RequestId) {
        if let Some(stage) = self.ids().get_mut(id) {
            *stage = AnswerStage::Answered;
        }
    }

    /// Nobody answers it any more.
    pub(super) fn cancelled(&self, id: &RequestId) {
        let mut ids = self.ids();
        if ids.get(id) == Some(&AnswerStage::Open) {
            ids.remove(id);
            self.fewer.notify_one();
        }
    }

    /// The answer has left us, or cannot.
    pub(super) fn sent(&self, id: &RequestId) {
        self.ids().remove(id);
        self.fewer.notify_one();
    }

    /// Resolves when no answer is owed.
    pub(crate) async fn none(&self) {
        while !self.ids().is_empty() {
            self.fewer.notified().await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<RequestId, AnswerStage>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
