//! Receives the daemon's notices, on each connection while it is open.
//!
//! Invariant: notices are polled while a daemon is reachable. No daemon is started for this: if the user stops it, it
//! stays stopped until the agent sends a request.

use std::{sync::Arc, time::Duration};

use mux_client::within_seconds;
use mux_proto::{Cause, Notice, NoticeKind};
use mux_typegen::names::display_path;
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    catalog::ToolCatalog,
    daemon_link::{DaemonConnection, DaemonLink},
    notification_receivers::{ListChanges, NotificationReceivers},
    question_router::{QuestionRouter, ServerQuestion},
    resources_and_prompts::ResourcesAndPrompts,
    subscriptions::ResourceSubscriptions,
};

/// Milliseconds that the daemon holds a request before it answers without notices.
const NOTICE_POLL_MS: u64 = 25_000;
/// The delay before the second attempt to reconnect. Later delays double up to the maximum below.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(100);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// How long list changes are collected: servers become ready one after the other, but the agent is notified once.
const LIST_CHANGE_DEBOUNCE: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub(super) struct NoticeFollower {
    pub(super) link: DaemonLink,
    pub(super) question_router: QuestionRouter,
    pub(super) audience: NotificationReceivers,
    pub(super) catalog: ToolCatalog,
    pub(super) offers: ResourcesAndPrompts,
    pub(super) subscriptions: ResourceSubscriptions,
    pub(super) changed: watch::Sender<ListChanges>,
}

impl NoticeFollower {
    /// Follows every connection until the process ends.
    pub(super) async fn follow_forever(self) {
        let Some(mut connections) = self.link.take_connections() else {
            return;
        };
        tokio::spawn(self.clone().announce_list_changes(self.changed.subscribe()));
        let mut first = true;
        while let Some(connection) = connections.recv().await {
            // In a separate task: questions must arrive immediately, even while subscriptions are being renewed.
            tokio::spawn(self.clone().follow_connection(Arc::clone(&connection)));
            if !first {
                tokio::spawn(self.clone().resume_after_reconnect(connection));
            }
            first = false;
        }
    }

    /// Renews subscriptions and checks all lists, because the daemon may be a new one.
    async fn resume_after_reconnect(self, connection: Arc<DaemonConnection>) {
        self.subscriptions.renew_all(&connection).await;
        self.changed.send_modify(|changed| {
            *changed = ListChanges {
                tools: true,
                resources: true,
                prompts: true,
            };
        });
    }

    async fn follow_connection(self, connection: Arc<DaemonConnection>) {
        let mut after = 0;
        let waiters = connection.waiters.lock().take();
        let Some(mut waiters) = waiters else {
            return;
        };
        let mut waiting = Vec::new();
        loop {
            let hurry = !waiting.is_empty();
            let request = self
                .link
                .notices_request(after, if hurry { 0 } else { NOTICE_POLL_MS });
            let answer = connection
                .session
                .client
                .notices(within_seconds(60), request);
            let answer = tokio::select! {
                biased;
                answer = answer => answer,
                // No notice is lost: the next request continues after the last one received.
                Some(waiter) = waiters.recv(), if !hurry => {
                    waiting.push(waiter);
                    while let Ok(waiter) = waiters.try_recv() {
                        waiting.push(waiter);
                    }
                    continue;
                }
            };
            match answer {
                Ok(Ok(page)) => {
                    for notice in page.notices {
                        after = notice.seq;
                        self.handle_notice(&connection, notice).await;
                        connection.set_handled(after);
                    }
                    if hurry {
                        for waiter in waiting.drain(..) {
                            // The waiter may have timed out.
                            _ = waiter.send(());
                        }
                    }
                }
                Ok(Err(error)) if error.is_ending() => sleep(MIN_RECONNECT_DELAY).await,
                Ok(Err(_)) | Err(_) => break,
            }
            // Another connection has replaced this one, and no request uses it any more.
            if connection.is_connection_closed() && Arc::strong_count(&connection) == 1 {
                return;
            }
        }
        self.link.mark_broken(&connection);
        let mut pause = MIN_RECONNECT_DELAY;
        let mut opened = self.link.watch_opened();
        opened.mark_unchanged();
        while !self.link.reopen().await {
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(MAX_RECONNECT_DELAY),
                // A request of the agent has opened a connection.
                _ = opened.changed() => return,
            }
        }
    }

    async fn handle_notice(&self, connection: &Arc<DaemonConnection>, notice: Notice) {
        match notice.notice {
            NoticeKind::Changed {
                tools,
                resources,
                prompts,
            } => self.changed.send_modify(|changed| {
                changed.tools |= tools;
                changed.resources |= resources;
                changed.prompts |= prompts;
            }),
            NoticeKind::ResourceUpdated { server, uri } => {
                if let Some(update) = self.subscriptions.listed_update(&server, &uri) {
                    self.audience.send_resource_updated(&update).await;
                }
            }
            // Progress of a run comes with its events.
            NoticeKind::Progress {
                cause: cause @ Cause::Call(_),
                progress,
                total,
                message,
            } => {
                if let Some(progress_sender) = self.question_router.progress_of(&cause) {
                    progress_sender
                        .send_progress(progress, total, message)
                        .await;
                }
            }
            NoticeKind::Log {
                server,
                level,
                logger,
                data,
                cause,
            } => {
                let logger = match logger {
                    Some(logger) if self.offers.is_single() => logger,
                    Some(logger) => format!("{server}: {logger}"),
                    None => server,
                };
                if let Some(progress_sender) = self.question_router.progress_of(&cause) {
                    progress_sender
                        .send_request_log(&level, &logger, data.clone())
                        .await;
                }
                self.audience.send_log_message(&level, &logger, data).await;
            }
            NoticeKind::Ask {
                ask,
                server,
                own,
                cause,
                kind,
                key,
                params,
                ..
            } => {
                let question = ServerQuestion {
                    connection: Arc::clone(connection),
                    ask,
                    server: (!own).then_some(server),
                    key,
                    kind,
                    params,
                    withdrawn: CancellationToken::new(),
                };
                self.question_router.route_question(cause, question);
            }
            // Approvals of a run come with its events.
            NoticeKind::ApprovalAsked {
                cause: cause @ Cause::Call(_),
                asked,
            } => {
                if let Some(progress_sender) = self.question_router.progress_of(&cause) {
                    let path = display_path(&asked.path);
                    let id = asked.approval;
                    let words = format!(
                        "{path} is waiting for approval: the user can run `mux approve {id}`"
                    );
                    progress_sender.advance_with_message(words).await;
                }
            }
            NoticeKind::ElicitationComplete { id, .. } => {
                self.audience.notify_elicitation_complete(&id).await;
            }
            NoticeKind::Withdrawn { ask } => {
                self.question_router.withdraw_question(connection, ask);
            }
            // Requests in flight finish on this connection. New ones go to the next daemon.
            NoticeKind::Leaving {} => {
                self.link.mark_broken(connection);
                let link = self.link.clone();
                tokio::spawn(async move { link.reopen().await });
            }
            _ => {}
        }
    }

    /// Announces list changes, several together, and only if the agent would see a difference.
    async fn announce_list_changes(self, mut news: watch::Receiver<ListChanges>) {
        while news.changed().await.is_ok() {
            sleep(LIST_CHANGE_DEBOUNCE).await;
            let mut changed = ListChanges::default();
            self.changed.send_if_modified(|slot| {
                changed = std::mem::take(slot);
                false
            });
            if changed.tools {
                changed.tools = self.catalog.has_changed().await;
            }
            if changed.resources {
                changed.resources = self.offers.resources_have_changed().await;
            }
            if changed.prompts {
                changed.prompts = self.offers.prompts_have_changed().await;
            }
            if changed != ListChanges::default() {
                self.audience.notify_lists_changed(changed).await;
            }
        }
    }
}
