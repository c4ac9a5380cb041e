//! A transport whose messages are heard in their order, on their way to rmcp.
//!
//! rmcp hands every notification and every request to a task of its own. Then a word on progress can
//! come after the answer that it preceded, and a flood becomes as many tasks. Here each is heard where it
//! comes in, and what rmcp has no use for goes no further.
//!
//! Invariant: a server has at most [`MOST_ASKED`] requests that were not answered; while it has, nothing
//! more is read from it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{GetExtensions, GetMeta, JsonRpcMessage, RequestId, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::Notify;

use super::{ears::Ears, in_flight::Mark};

/// Whoever does not take our refusals is not listened to.
const MOST_ASKED: usize = 64;

pub(super) struct Overheard<T> {
    inner: T,
    ears: Arc<Ears>,
    asked: Arc<Asked>,
    /// A request for which there is no room.
    held: Option<RxJsonRpcMessage<RoleClient>>,
}

/// The requests of the server that were not answered.
#[derive(Default)]
struct Asked {
    ids: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl<T> Overheard<T> {
    pub(super) fn new(inner: T, ears: Arc<Ears>) -> Self {
        Self {
            inner,
            ears,
            asked: Arc::default(),
            held: None,
        }
    }

    /// None if nobody else needs it.
    fn hear(&self, message: RxJsonRpcMessage<RoleClient>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let heard = match &message {
            JsonRpcMessage::Notification(heard) => heard,
            JsonRpcMessage::Response(answer) => {
                self.ears.in_flight.answered(&answer.id);
                return Some(message);
            }
            JsonRpcMessage::Error(answer) => {
                if let Some(id) = &answer.id {
                    self.ears.in_flight.answered(id);
                }
                return Some(message);
            }
            JsonRpcMessage::Request(_) => return Some(message),
        };
        match &heard.notification {
            ServerNotification::ProgressNotification(told) => {
                self.ears.progress(&told.params);
                return None;
            }
            ServerNotification::LoggingMessageNotification(told) => {
                self.ears.log(&told.params);
                return None;
            }
            // rmcp ends the request itself, and does not answer it any more.
            ServerNotification::CancelledNotification(told) => {
                if let Some(id) = &told.params.request_id {
                    self.asked.answered(id);
                }
            }
            // rmcp forgets what it has cached of them.
            ServerNotification::ResourceUpdatedNotification(told) => {
                self.ears.resource_updated(&told.params.uri);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.ears.resources_changed();
            }
            ServerNotification::PromptListChangedNotification(_) => self.ears.prompts_changed(),
            ServerNotification::ToolListChangedNotification(_) => self.ears.tools_changed(),
            _ => return None,
        }
        Some(message)
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Overheard<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let mut answers = None;
        match &item {
            JsonRpcMessage::Request(sent) => {
                let mark = sent.request.extensions().get::<Mark>();
                let token = sent.request.get_meta().get_progress_token();
                if let (Some(mark), Some(token)) = (mark, token) {
                    self.ears.in_flight.sent(*mark, sent.id.clone(), token);
                }
            }
            JsonRpcMessage::Response(sent) => answers = Some(sent.id.clone()),
            JsonRpcMessage::Error(sent) => answers.clone_from(&sent.id),
            JsonRpcMessage::Notification(_) => {}
        }
        let asked = Arc::clone(&self.asked);
        let sending = self.inner.send(item);
        async move {
            let sent = sending.await;
            if let Some(id) = answers {
                asked.answered(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match self.held.take() {
                Some(held) => held,
                None => {
                    let message = self.inner.receive().await?;
                    match self.hear(message) {
                        Some(message) => message,
                        None => continue,
                    }
                }
            };
            let JsonRpcMessage::Request(request) = &message else {
                return Some(message);
            };
            if self.asked.begin(&request.id) {
                return Some(message);
            }
            // It stays here if rmcp turns to something else meanwhile.
            self.held = Some(message);
            self.asked.fewer.notified().await;
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

impl Asked {
    /// Whether there is room for it.
    fn begin(&self, id: &RequestId) -> bool {
        let mut ids = self.ids();
        let room = ids.len() < MOST_ASKED;
        if room {
            ids.insert(id.clone());
        }
        room
    }

    fn answered(&self, id: &RequestId) {
        self.ids().remove(id);
        self.fewer.notify_one();
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
