//! The notices of one client in order: first the notices that were sent but not confirmed, then the waiting
//! notices.
//!
//! Invariant: numbers increase, and a gap means dropped notices. At most [`MAX_QUEUED_NOTICES`] notices and
//! [`MAX_QUEUED_NOTICE_BYTES`] are kept, besides open questions, which the mailbox limits.

use std::collections::VecDeque;

use mux_messages::{Notice, NoticeKind};

const MAX_QUEUED_NOTICES: usize = 1_000;
pub(super) const MAX_QUEUED_NOTICE_BYTES: usize = 4 << 20;
/// The memory of a notice in addition to its content.
const NOTICE_OVERHEAD_BYTES: usize = 128;

#[derive(Debug, Default)]
pub(super) struct NoticeQueue {
    delivered: VecDeque<(u64, QueuedNotice)>,
    waiting: VecDeque<QueuedNotice>,
    /// The last assigned number.
    last: u64,
    /// The number of waiting notices dropped since then.
    skipped: u64,
    bytes: usize,
}

#[derive(Debug)]
struct QueuedNotice {
    notice: NoticeKind,
    bytes: usize,
}

impl QueuedNotice {
    fn numbered(&self, seq: u64) -> Notice {
        let notice = self.notice.clone();
        Notice { seq, notice }
    }
}

impl NoticeQueue {
    /// Adds a notice. `is_open` returns whether a question is still open.
    pub(super) fn push(&mut self, notice: NoticeKind, is_open: impl Fn(u64) -> bool) {
        if self.merge_into_waiting(&notice) {
            return;
        }
        let bytes = notice_bytes(&notice);
        self.bytes += bytes;
        self.waiting.push_back(QueuedNotice { notice, bytes });
        while (self.delivered.len() + self.waiting.len() > MAX_QUEUED_NOTICES
            || self.bytes > MAX_QUEUED_NOTICE_BYTES)
            && self.drop_oldest(&is_open)
        {}
    }

    /// Withdraws a question. One that was never sent is just removed.
    pub(super) fn withdraw(&mut self, ask: u64, is_open: impl Fn(u64) -> bool) {
        let is_it =
            |kept: &QueuedNotice| matches!(kept.notice, NoticeKind::Ask { ask: a, .. } if a == ask);
        match self.waiting.iter().position(is_it) {
            Some(place) => {
                let gone = self.waiting.remove(place);
                self.bytes -= gone.map_or(0, |kept| kept.bytes);
            }
            None => self.push(NoticeKind::Withdrawn { ask }, is_open),
        }
    }

    /// The number that the last notice has, or will have once it is sent.
    pub(super) fn last_number(&self) -> u64 {
        match self.waiting.len() {
            0 => self.last,
            waiting => self.last + self.skipped + waiting as u64,
        }
    }

    /// Removes the notices up to `after`, which the client has, and returns the next ones: at least one, and about
    /// `most` bytes.
    pub(super) fn take_page(&mut self, after: u64, most: usize) -> Vec<Notice> {
        while self.delivered.front().is_some_and(|(seq, _)| *seq <= after)
            && let Some((_, kept)) = self.delivered.pop_front()
        {
            self.bytes -= kept.bytes;
        }
        let mut room = most;
        let mut page = Vec::new();
        let mut fits = |kept: &QueuedNotice, page: &[_]| {
            let fits = kept.bytes <= room || page.is_empty();
            room = room.saturating_sub(kept.bytes);
            fits
        };
        for (seq, kept) in &self.delivered {
            if !fits(kept, &page) {
                return page;
            }
            page.push(kept.numbered(*seq));
        }
        while let Some(kept) = self.waiting.front()
            && fits(kept, &page)
            && let Some(kept) = self.waiting.pop_front()
        {
            // A client that passes a later number than it was sent continues from that number.
            self.last = self.last.max(after) + 1 + std::mem::take(&mut self.skipped);
            page.push(kept.numbered(self.last));
            self.delivered.push_back((self.last, kept));
        }
        page
    }

    /// Merges a notice into an equivalent waiting one, if there is one.
    fn merge_into_waiting(&mut self, notice: &NoticeKind) -> bool {
        let mut waiting = self.waiting.iter_mut().map(|kept| &mut kept.notice);
        match notice {
            NoticeKind::Changed {
                tools: new_tools,
                resources: new_resources,
                prompts: new_prompts,
            } => waiting.any(|waiting| match waiting {
                NoticeKind::Changed {
                    tools,
                    resources,
                    prompts,
                } => {
                    *tools |= new_tools;
                    *resources |= new_resources;
                    *prompts |= new_prompts;
                    true
                }
                _ => false,
            }),
            NoticeKind::ResourceUpdated { .. } => waiting.any(|waiting| waiting == notice),
            _ => false,
        }
    }

    /// Drops the oldest progress or log notice, or else the oldest other notice except open questions.
    fn drop_oldest(&mut self, is_open: &impl Fn(u64) -> bool) -> bool {
        let light = |notice: &NoticeKind| {
            matches!(notice, NoticeKind::Progress { .. } | NoticeKind::Log { .. })
        };
        let rest =
            |notice: &NoticeKind| !matches!(notice, NoticeKind::Ask { ask, .. } if is_open(*ask));
        self.drop_first(light) || self.drop_first(rest)
    }

    fn drop_first(&mut self, may_go: impl Fn(&NoticeKind) -> bool) -> bool {
        let delivered = self
            .delivered
            .iter()
            .position(|(_, kept)| may_go(&kept.notice));
        let dropped = if let Some(place) = delivered {
            self.delivered.remove(place).map(|(_, kept)| kept)
        } else {
            let place = self.waiting.iter().position(|kept| may_go(&kept.notice));
            let dropped = place.and_then(|place| self.waiting.remove(place));
            self.skipped += u64::from(dropped.is_some());
            dropped
        };
        self.bytes -= dropped.as_ref().map_or(0, |kept| kept.bytes);
        dropped.is_some()
    }
}

/// The approximate size of a notice, in memory and in a frame.
pub(super) fn notice_bytes(notice: &NoticeKind) -> usize {
    let json = |value: &serde_json::Value| value.to_string().len();
    NOTICE_OVERHEAD_BYTES
        + match notice {
            NoticeKind::ApprovalAsked { asked, .. } => asked.arguments.len() + asked.path.len(),
            NoticeKind::ApprovalOver { over, .. } => over.path.len(),
            NoticeKind::ResourceUpdated { server, uri } => server.len() + uri.len(),
            NoticeKind::Progress { message, .. } => message.as_ref().map_or(0, String::len),
            NoticeKind::Log { data, logger, .. } => {
                json(data) + logger.as_ref().map_or(0, String::len)
            }
            NoticeKind::Ask {
                params, key, tool, ..
            } => {
                json(params)
                    + key.as_ref().map_or(0, String::len)
                    + tool.as_ref().map_or(0, String::len)
            }
            NoticeKind::Declined { server, .. } => server.len(),
            NoticeKind::ElicitationComplete { server, id, .. } => server.len() + id.len(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{CallCause, ListChanges, QuestionKind};

    fn log(text: &str) -> NoticeKind {
        NoticeKind::Log {
            server: "s".into(),
            level: "info".into(),
            logger: None,
            data: Value::from(text),
            cause: CallCause::default(),
        }
    }

    fn ask(ask: u64) -> NoticeKind {
        NoticeKind::Ask {
            ask,
            server: "s".into(),
            own: false,
            cause: CallCause::default(),
            tool: None,
            kind: QuestionKind::Elicitation,
            key: None,
            params: json!({}),
        }
    }

    fn numbers(page: &[Notice]) -> Vec<u64> {
        page.iter().map(|notice| notice.seq).collect()
    }

    #[test]
    fn page_is_repeated_until_the_client_confirms_it() {
        let mut line = NoticeQueue::default();
        let open = |_| true;
        line.push(log("a"), open);
        line.push(log("b"), open);
        assert_eq!(line.last_number(), 2);
        assert_eq!(numbers(&line.take_page(0, 1 << 20)), [1, 2]);
        line.push(log("c"), open);
        assert_eq!(numbers(&line.take_page(0, 1 << 20)), [1, 2, 3]);
        assert_eq!(numbers(&line.take_page(2, 1 << 20)), [3]);
        assert!(line.take_page(3, 1 << 20).is_empty());
        assert_eq!(line.last_number(), 3);
        assert_eq!(line.bytes, 0);
    }

    #[test]
    fn excess_notices_are_dropped_oldest_first_except_questions() {
        let mut line = NoticeQueue::default();
        let open = |ask| ask == 7;
        line.push(ask(7), open);
        line.push(ListChanges::TOOLS.notice(), open);
        for n in 0..MAX_QUEUED_NOTICES * 3 {
            line.push(log(&n.to_string()), open);
        }
        line.push(ListChanges::PROMPTS.notice(), open);
        let last = line.last_number();
        let page = line.take_page(0, usize::MAX);
        assert_eq!(page.len(), MAX_QUEUED_NOTICES);
        assert_eq!(page.last().map(|notice| notice.seq), Some(last));
        assert_eq!(page[0].notice, ask(7));
        let both = ListChanges {
            resources: false,
            ..ListChanges::ALL
        };
        assert_eq!(page[1].notice, both.notice());
        // The gap is the number of dropped notices.
        assert_eq!(
            page[0].seq,
            (MAX_QUEUED_NOTICES * 3 + 2 - MAX_QUEUED_NOTICES) as u64 + 1
        );
        let long = "x".repeat(MAX_QUEUED_NOTICE_BYTES / 3);
        for _ in 0..9 {
            line.push(log(&long), open);
        }
        assert!(line.bytes <= MAX_QUEUED_NOTICE_BYTES, "{}", line.bytes);
        assert_eq!(line.take_page(0, 1)[0].notice, ask(7));
    }

    #[test]
    fn unsent_question_is_removed_without_a_withdrawal() {
        let mut line = NoticeQueue::default();
        let open = |_| true;
        line.push(ask(1), open);
        line.withdraw(1, open);
        assert!(line.take_page(0, usize::MAX).is_empty());
        line.push(ask(2), open);
        let notice = ask(2);
        assert_eq!(line.take_page(0, usize::MAX), [Notice { seq: 1, notice }]);
        line.withdraw(2, open);
        let notice = NoticeKind::Withdrawn { ask: 2 };
        assert_eq!(line.take_page(1, usize::MAX), [Notice { seq: 2, notice }]);
    }
}
