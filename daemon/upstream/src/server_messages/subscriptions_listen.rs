//! Subscribes to the notifications of a modern server with one long-lived request (`subscriptions/listen`), which is
//! replaced when the followed resources change.
//!
//! The notifications themselves are handled where all messages arrive. This module only makes the request.
//!
//! Invariant: the request names all followed resources, and the previous request ends only when the server has
//! acknowledged it. Everything that may have changed while no request was open counts as changed.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use futures::future::{Either, pending, select};
use rmcp::{
    RoleClient,
    model::{
        ErrorCode, RequestId, ServerCapabilities, SubscriptionFilter, SubscriptionsListenRequest,
        SubscriptionsListenRequestParams,
    },
    service::{Peer, PeerRequestOptions, RequestHandle, ServiceError},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};
use tracing::{debug, warn};

use super::notification_router::NotificationRouter;
use crate::{
    calls::{CallError, CancelOnDrop},
    link::LinkError,
};

/// The time limit for the server's acknowledgment.
const LISTEN_ACK_TIMEOUT: Duration = Duration::from_secs(10);
/// The delay before the request is repeated after it ended on its own.
const MIN_LISTEN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_LISTEN_RETRY_DELAY: Duration = Duration::from_mins(1);
/// MCP's code for a resource that does not exist.
const RESOURCE_NOT_FOUND: i32 = -32002;

/// The handle to the listening task, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct SubscriptionListenHandle(mpsc::UnboundedSender<ListenCommand>);

enum ListenCommand {
    Follow {
        uri: String,
        done: oneshot::Sender<Result<(), CallError>>,
    },
    Leave(String),
    /// End the request and the task.
    Stop(oneshot::Sender<()>),
}

impl SubscriptionListenHandle {
    pub(crate) fn start(peer: &Peer<RoleClient>, router: &Arc<NotificationRouter>) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let capabilities = peer.peer_info().map(|info| info.capabilities.clone());
        let listener = SubscriptionListener {
            peer: peer.clone(),
            router: Arc::clone(router),
            base_filter: list_changed_filter(&capabilities.unwrap_or_default()),
            followed: BTreeSet::new(),
        };
        tokio::spawn(listener.run(receiver));
        Self(commands)
    }

    /// Resolves when the server has subscribed us to the resource.
    pub(crate) async fn follow_resource(
        &self,
        uri: &str,
        within: Duration,
    ) -> Result<(), CallError> {
        let (done, followed) = oneshot::channel();
        let uri = uri.to_owned();
        let command = ListenCommand::Follow { uri, done };
        self.0.send(command).map_err(|_| CallError::NotSent)?;
        match timeout(within, followed).await {
            Ok(Ok(outcome)) => outcome,
            // The session has ended.
            Ok(Err(_)) => Err(CallError::NotSent),
            Err(_) => Err(CallError::TimedOut(within)),
        }
    }

    /// Cancels the request. The cancellation has been sent when this returns.
    pub(crate) async fn stop_listening(&self) {
        let (done, stopped) = oneshot::channel();
        if self.0.send(ListenCommand::Stop(done)).is_ok() {
            // Does not wait for a server that does not read.
            _ = timeout(LISTEN_ACK_TIMEOUT, stopped).await;
        }
    }

    pub(crate) fn unfollow_resource(&self, uri: &str) {
        // A session that has ended sends no updates.
        drop(self.0.send(ListenCommand::Leave(uri.to_owned())));
    }
}

/// The part of the filter that does not depend on followed resources.
fn list_changed_filter(capabilities: &ServerCapabilities) -> SubscriptionFilter {
    let tells = |changes: Option<Option<bool>>| changes.flatten().filter(|tells| *tells);
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = tells(capabilities.tools.as_ref().map(|tools| tools.list_changed));
    filter.prompts_list_changed = tells(
        capabilities
            .prompts
            .as_ref()
            .map(|prompts| prompts.list_changed),
    );
    filter.resources_list_changed = tells(capabilities.resources.as_ref().map(|r| r.list_changed));
    filter
}

struct SubscriptionListener {
    peer: Peer<RoleClient>,
    router: Arc<NotificationRouter>,
    base_filter: SubscriptionFilter,
    followed: BTreeSet<String>,
}

/// A request that the server has acknowledged.
struct ActiveListenRequest {
    handle: RequestHandle<RoleClient>,
    /// Cancels the request on drop.
    guard: CancelOnDrop,
    /// The filter that the server acknowledged.
    filter: SubscriptionFilter,
    since: Instant,
}

impl SubscriptionListener {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<ListenCommand>) {
        let mut open = None;
        let mut delay = MIN_LISTEN_RETRY_DELAY;
        let mut retry_at = None;
        if self.has_subscriptions() {
            match self.start_listen().await {
                Ok(request) => open = Some(request),
                Err(error) if is_unsupported(&error) => {}
                Err(error) => {
                    debug!(%error, "cannot open subscriptions/listen");
                    retry_at = Some(Instant::now() + delay);
                }
            }
        }
        loop {
            let ended = async {
                match &mut open {
                    Some(ActiveListenRequest { handle, .. }) => listen_request_ended(handle).await,
                    None => pending().await,
                }
            };
            let due = async {
                match retry_at {
                    Some(retry_at) => sleep_until(retry_at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                command = commands.recv() => {
                    let Some(command) = command else { return };
                    let mut all = vec![command];
                    while let Ok(command) = commands.try_recv() {
                        all.push(command);
                    }
                    if let Some(stop) = all.iter().position(|command| matches!(command, ListenCommand::Stop(_))) {
                        if let Some(open) = open.take() {
                            open.guard.cancel().await;
                        }
                        if let ListenCommand::Stop(done) = all.swap_remove(stop) {
                            // The caller may be gone.
                            _ = done.send(());
                        }
                        return;
                    }
                    self.apply_commands(all, &mut open).await;
                }
                alive = ended => {
                    let Some(ended_request) = open.take().filter(|_| alive) else { return };
                    // The server has ended the request itself.
                    ended_request.guard.disarm();
                    if ended_request.since.elapsed() > MAX_LISTEN_RETRY_DELAY {
                        delay = MIN_LISTEN_RETRY_DELAY;
                    }
                    retry_at = Some(Instant::now() + delay);
                    delay = (delay * 2).min(MAX_LISTEN_RETRY_DELAY);
                }
                () = due => {
                    retry_at = None;
                    match self.start_listen().await {
                        Ok(request) => {
                            self.router.treat_as_changed(&request.filter);
                            open = Some(request);
                        }
                        Err(error) if is_unsupported(&error) => {}
                        Err(error) => {
                            warn!(%error, "cannot reopen subscriptions/listen");
                            retry_at = Some(Instant::now() + delay);
                            delay = (delay * 2).min(MAX_LISTEN_RETRY_DELAY);
                        }
                    }
                }
            }
        }
    }

    fn has_subscriptions(&self) -> bool {
        self.filter() != SubscriptionFilter::default()
    }

    fn filter(&self) -> SubscriptionFilter {
        let mut filter = self.base_filter.clone();
        if !self.followed.is_empty() {
            filter.resource_subscriptions = Some(self.followed.iter().cloned().collect());
        }
        filter
    }

    /// Applies commands. All commands that arrived together become one new request.
    async fn apply_commands(
        &mut self,
        commands: Vec<ListenCommand>,
        open: &mut Option<ActiveListenRequest>,
    ) {
        let before = self.followed.clone();
        let mut waiting = Vec::new();
        for command in commands {
            match command {
                ListenCommand::Follow { uri, done } => {
                    self.followed.insert(uri.clone());
                    waiting.push((uri, done));
                }
                ListenCommand::Leave(uri) => {
                    self.followed.remove(&uri);
                }
                // Handled by the caller.
                ListenCommand::Stop(_) => {}
            }
        }
        let is_acknowledged = |open: &ActiveListenRequest, uri: &String| {
            let uris = open.filter.resource_subscriptions.as_ref();
            uris.is_some_and(|uris| uris.contains(uri))
        };
        if self.followed != before || open.is_none() {
            if self.has_subscriptions() {
                match self.start_listen().await {
                    // The previous request ends here, not earlier.
                    Ok(request) => *open = Some(request),
                    Err(error) => {
                        for (uri, done) in waiting {
                            if !before.contains(&uri) {
                                self.followed.remove(&uri);
                            }
                            // The caller may be gone.
                            drop(done.send(Err(error.clone())));
                        }
                        return;
                    }
                }
            } else {
                *open = None;
            }
        }
        for (uri, done) in waiting {
            let acknowledged = open
                .as_ref()
                .is_some_and(|open| is_acknowledged(open, &uri));
            if !acknowledged {
                self.followed.remove(&uri);
            }
            let refused = || CallError::Refused {
                code: RESOURCE_NOT_FOUND,
                message: format!("the server does not send updates of {uri}"),
                data: None,
            };
            // The caller may be gone.
            drop(done.send(acknowledged.then_some(()).ok_or_else(refused)));
        }
    }

    async fn start_listen(&self) -> Result<ActiveListenRequest, CallError> {
        let params = SubscriptionsListenRequestParams::new(self.filter());
        let request = SubscriptionsListenRequest::new(params).into();
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let mut handle = sent.map_err(|_| CallError::NotSent)?;
        let guard = CancelOnDrop::new(&self.peer, &handle.id);
        let id: RequestId = handle.id.clone();
        let filter = {
            let acknowledged = pin!(self.router.wait_for_acknowledgment(&id));
            let refused = pin!(listen_refusal(&mut handle));
            match timeout(LISTEN_ACK_TIMEOUT, select(acknowledged, refused)).await {
                Ok(Either::Left((filter, _))) => filter,
                Ok(Either::Right((refusal, _))) => return Err(refusal),
                Err(_) => return Err(CallError::TimedOut(LISTEN_ACK_TIMEOUT)),
            }
        };
        Ok(ActiveListenRequest {
            handle,
            guard,
            filter,
            since: Instant::now(),
        })
    }
}

/// True if the server does not support the method, so the request is not repeated.
fn is_unsupported(error: &CallError) -> bool {
    matches!(error, CallError::Refused { code, .. } if *code == ErrorCode::METHOD_NOT_FOUND.0)
}

/// Resolves when the request has ended. Returns true if the session is still open.
async fn listen_request_ended(handle: &mut RequestHandle<RoleClient>) -> bool {
    let answer = (&mut handle.rx).await;
    !handle.peer.is_transport_closed() && !matches!(answer, Ok(Err(ServiceError::TransportClosed)))
}

/// An answer before the acknowledgment is a refusal.
async fn listen_refusal(handle: &mut RequestHandle<RoleClient>) -> CallError {
    match (&mut handle.rx).await {
        Ok(Err(ServiceError::McpError(error))) => CallError::Refused {
            code: error.code.0,
            message: if error.code == ErrorCode::METHOD_NOT_FOUND {
                "the server does not support subscriptions/listen".into()
            } else {
                error.message.into_owned()
            },
            data: error.data,
        },
        Ok(Err(ServiceError::TransportClosed)) | Err(_) => CallError::NotSent,
        Ok(Err(error)) => CallError::Protocol(LinkError::text_of_request(&error)),
        Ok(Ok(_)) => {
            let message = "the server ended subscriptions/listen before it acknowledged it";
            CallError::Protocol(message.into())
        }
    }
}
