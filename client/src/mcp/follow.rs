//! Receives the daemon's notices, on each connection while it is open.
//!
//! Invariant: notices are polled while a daemon is reachable. No daemon is started for this: if the user stops it, it
//! stays stopped until the agent sends a request.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use mux_client::within_seconds;
use mux_proto::{Cause, Notice, NoticeKind};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    audience::{Audience, Changed},
    catalog::Catalog,
    desk::{Desk, Question},
    link::{Line, Link},
    offers::Offers,
    subscriptions::Subscriptions,
};

/// Milliseconds that the daemon holds a request before it answers with nothing.
const POLL: u64 = 25_000;
/// The delay before the second attempt to reconnect; later delays double up to the maximum below.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long list changes are collected: servers become ready one after the other, but the agent is notified once.
const SETTLING: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub(super) struct Follower {
    pub(super) link: Link,
    pub(super) desk: Desk,
    pub(super) audience: Audience,
    pub(super) catalog: Catalog,
    pub(super) offers: Offers,
    pub(super) subscriptions: Subscriptions,
    pub(super) changed: watch::Sender<Changed>,
}

impl Follower {
    /// Follows every connection until the process ends.
    pub(super) async fn forever(self) {
        let Some(mut lines) = self.link.lines() else {
            return;
        };
        tokio::spawn(self.clone().announce(self.changed.subscribe()));
        let mut first = true;
        while let Some(line) = lines.recv().await {
            // In a task of its own, so that questions arrive at once, even while subscriptions are being renewed.
            tokio::spawn(self.clone().line(Arc::clone(&line)));
            if !first {
                tokio::spawn(self.clone().resume(line));
            }
            first = false;
        }
    }

    /// Renews subscriptions and checks all lists, because the daemon may be a new one.
    async fn resume(self, line: Arc<Line>) {
        self.subscriptions.renew(&line).await;
        self.changed.send_modify(|changed| {
            *changed = Changed {
                tools: true,
                resources: true,
                prompts: true,
            };
        });
    }

    async fn line(self, line: Arc<Line>) {
        let mut after = 0;
        let waiters = line.waiters.lock();
        let waiters = waiters.unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut waiters) = waiters.filter(|_| line.session.require("notices").is_ok()) else {
            return;
        };
        let mut waiting = Vec::new();
        loop {
            let hurry = !waiting.is_empty();
            let request = self.link.listen(after, if hurry { 0 } else { POLL });
            let answer = line.session.client.notices(within_seconds(60), request);
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
                        self.hear(&line, notice).await;
                    }
                    if hurry {
                        for waiter in waiting.drain(..) {
                            // The waiter may have timed out.
                            _ = waiter.send(());
                        }
                    }
                }
                Ok(Err(error)) if error.is_ending() => sleep(FIRST_PAUSE).await,
                Ok(Err(_)) | Err(_) => break,
            }
            // Another connection has replaced this one, and no request uses it any more.
            if line.is_over() && Arc::strong_count(&line) == 1 {
                return;
            }
        }
        self.link.lose(&line);
        let mut pause = FIRST_PAUSE;
        let mut opened = self.link.opened();
        opened.mark_unchanged();
        while !self.link.reopen().await {
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                // A request of the agent has opened a connection.
                _ = opened.changed() => return,
            }
        }
    }

    async fn hear(&self, line: &Arc<Line>, notice: Notice) {
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
                if let Some(update) = self.subscriptions.shown(&server, &uri) {
                    self.audience.resource_updated(&update).await;
                }
            }
            // Progress of a run comes with its events.
            NoticeKind::Progress {
                cause: cause @ Cause::Call(_),
                progress,
                total,
                message,
            } => {
                if let Some(teller) = self.desk.teller(&cause) {
                    teller.tell(progress, total, message).await;
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
                if let Some(teller) = self.desk.teller(&cause) {
                    teller.log(&level, &logger, data.clone()).await;
                }
                self.audience.log(&level, &logger, data).await;
            }
            NoticeKind::Ask {
                ask,
                server,
                own,
                cause,
                kind,
                key,
                params,
            } => {
                let question = Question {
                    line: Arc::clone(line),
                    ask,
                    server: (!own).then_some(server),
                    key,
                    kind,
                    params,
                    withdrawn: CancellationToken::new(),
                };
                self.desk.put(cause, question);
            }
            // Approvals of a run come with its events.
            NoticeKind::ApprovalAsked {
                cause: cause @ Cause::Call(_),
                asked,
            } => {
                if let Some(teller) = self.desk.teller(&cause) {
                    let (path, id) = (asked.path, asked.approval);
                    let words = format!(
                        "{path} is waiting for approval: the user can run `mux approve {id}`"
                    );
                    teller.say(words).await;
                }
            }
            NoticeKind::ElicitationComplete { id, .. } => self.audience.page_done(&id).await,
            NoticeKind::Withdrawn { ask } => self.desk.withdraw(line, ask),
            // Requests in flight finish on this connection; new ones go to the next daemon.
            NoticeKind::Leaving {} => {
                self.link.lose(line);
                let link = self.link.clone();
                tokio::spawn(async move { link.reopen().await });
            }
            _ => {}
        }
    }

    /// Announces list changes, several at once, and only if the agent would see a difference.
    async fn announce(self, mut news: watch::Receiver<Changed>) {
        while news.changed().await.is_ok() {
            sleep(SETTLING).await;
            let mut changed = Changed::default();
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
            if changed != Changed::default() {
                self.audience.changed(changed).await;
            }
        }
    }
}
