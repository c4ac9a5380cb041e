//! Counts a server's requests whose answers have not been sent yet.
//!
//! Invariant: there are at most [`MAX_UNANSWERED_REQUESTS`].

use std::collections::{HashMap, hash_map::Entry};

use parking_lot::Mutex;
use rmcp::model::RequestId;
use tokio::sync::Notify;

/// The maximum number of unanswered requests: beyond it, nothing is read from a server that does not read our answers.
pub(super) const MAX_UNANSWERED_REQUESTS: usize = 64;

/// The server's requests whose answers have not been sent yet.
#[derive(Debug, Default)]
pub(crate) struct UnansweredRequests {
    ids: Mutex<HashMap<RequestId, AnswerStage>>,
    pub(super) freed: Notify,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AnswerStage {
    /// The answer is not ready.
    Open,
    /// The answer is waiting to be written.
    Answered,
}

/// The decision whether a request goes on to rmcp.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RequestAdmission {
    Yes,
    /// A request with this id is still unanswered.
    Repeated,
    NoRoom,
}

impl UnansweredRequests {
    pub(super) fn begin(&self, id: &RequestId) -> RequestAdmission {
        let mut ids = self.ids.lock();
        let full = ids.len() >= MAX_UNANSWERED_REQUESTS;
        match ids.entry(id.clone()) {
            Entry::Occupied(_) => RequestAdmission::Repeated,
            Entry::Vacant(_) if full => RequestAdmission::NoRoom,
            Entry::Vacant(entry) => {
                entry.insert(AnswerStage::Open);
                RequestAdmission::Yes
            }
        }
    }

    /// The answer is ready to be written.
    pub(super) fn answered(&self, id: &RequestId) {
        if let Some(stage) = self.ids.lock().get_mut(id) {
            *stage = AnswerStage::Answered;
        }
    }

    /// The request was cancelled and gets no answer.
    pub(super) fn cancelled(&self, id: &RequestId) {
        let mut ids = self.ids.lock();
        if ids.get(id) == Some(&AnswerStage::Open) {
            ids.remove(id);
            self.freed.notify_one();
        }
    }

    /// The answer was written, or its writing failed.
    pub(super) fn sent(&self, id: &RequestId) {
        self.ids.lock().remove(id);
        self.freed.notify_one();
    }

    /// Resolves when every request is answered.
    pub(crate) async fn wait_until_empty(&self) {
        while !self.ids.lock().is_empty() {
            self.freed.notified().await;
        }
    }
}
