//! The notices of one client, in order: those that it was given and has not confirmed, and those that
//! wait.
//!
//! Invariant: numbers count up; a gap stands for what was dropped. No more than [`MOST`] notices and
//! [`MOST_BYTES`] are kept, beside open questions, of which the mailbox allows only so much.

use std::collections::VecDeque;

use super::Notice;

const MOST: usize = 1_000;
pub(super) const MOST_BYTES: usize = 4 << 20;
/// What a notice takes beside its text.
const SMALL: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Line {
    told: VecDeque<(u64, Kept)>,
    waiting: VecDeque<Kept>,
    /// The last number that was given.
    last: u64,
    /// What was dropped since then.
    skipped: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    notice: Notice,
    bytes: usize,
}

impl Line {
    /// `is_open` tells of a question whether somebody waits for its answer.
    pub(super) fn push(&mut self, notice: Notice, is_open: impl Fn(u64) -> bool) {
        if self.merges(&notice) {
            return;
        }
        let bytes = size(&notice);
        self.bytes += bytes;
        self.waiting.push_back(Kept { notice, bytes });
        while (self.told.len() + self.waiting.len() > MOST || self.bytes > MOST_BYTES)
            && self.drop_one(&is_open)
        {}
    }

    /// A question that was never told needs no withdrawal.
    pub(super) fn withdraw(&mut self, ask: u64, is_open: impl Fn(u64) -> bool) {
        let is_it = |kept: &Kept| matches!(kept.notice, Notice::Ask { ask: a, .. } if a == ask);
        match self.waiting.iter().position(is_it) {
            Some(place) => {
                let gone = self.waiting.remove(place);
                self.bytes -= gone.map_or(0, |kept| kept.bytes);
            }
            None => self.push(Notice::Withdrawn { ask }, is_open),
        }
    }

    /// Forgets what the client has, and gives what it has not: so many bytes of it, and one at least.
    pub(super) fn page(&mut self, after: u64, most: usize) -> Vec<(u64, Notice)> {
        while self.told.front().is_some_and(|(seq, _)| *seq <= after)
            && let Some((_, kept)) = self.told.pop_front()
        {
            self.bytes -= kept.bytes;
        }
        let mut room = most;
        let mut page = Vec::new();
        let mut fits = |kept: &Kept, page: &[_]| {
            let fits = kept.bytes <= room || page.is_empty();
            room = room.saturating_sub(kept.bytes);
            fits
        };
        for (seq, kept) in &self.told {
            if !fits(kept, &page) {
                return page;
            }
            page.push((*seq, kept.notice.clone()));
        }
        while let Some(kept) = self.waiting.front()
            && fits(kept, &page)
            && let Some(kept) = self.waiting.pop_front()
        {
            // A client that has forgotten its place goes on where it says that it is.
            self.last = self.last.max(after) + 1 + std::mem::take(&mut self.skipped);
            page.push((self.last, kept.notice.clone()));
            self.told.push_back((self.last, kept));
        }
        page
    }

    /// Whether what waits says it already, or does so now.
    fn merges(&mut self, notice: &Notice) -> bool {
        let mut waiting = self.waiting.iter_mut().map(|kept| &mut kept.notice);
        match notice {
            Notice::Changed(now) => waiting.any(|waiting| match waiting {
                Notice::Changed(before) => {
                    *before = before.and(*now);
                    true
                }
                _ => false,
            }),
            Notice::ResourceUpdated { .. } => waiting.any(|waiting| waiting == notice),
            _ => false,
        }
    }

    /// Progress and logs first, then what else is old.
    fn drop_one(&mut self, is_open: &impl Fn(u64) -> bool) -> bool {
        let light =
            |notice: &Notice| matches!(notice, Notice::Progress { .. } | Notice::Log { .. });
        let rest = |notice: &Notice| !matches!(notice, Notice::Ask { ask, .. } if is_open(*ask));
        self.drop_first(light) || self.drop_first(rest)
    }

    fn drop_first(&mut self, may_go: impl Fn(&Notice) -> bool) -> bool {
        let told = self.told.iter().position(|(_, kept)| may_go(&kept.notice));
        let dropped = match told {
            Some(place) => self.told.remove(place).map(|(_, kept)| kept),
            None => {
                let place = self.waiting.iter().position(|kept| may_go(&kept.notice));
                let dropped = place.and_then(|place| self.waiting.remove(place));
                self.skipped += u64::from(dropped.is_some());
                dropped
            }
        };
        self.bytes -= dropped.as_ref().map_or(0, |kept| kept.bytes);
        dropped.is_some()
    }
}

/// About how much room it takes, here and in a frame.
pub(super) fn size(notice: &Notice) -> usize {
    let json = |value: &serde_json::Value| value.to_string().len();
    SMALL
        + match notice {
            Notice::Changed(_) | Notice::Withdrawn { .. } | Notice::Leaving => 0,
            Notice::ApprovalAsked { asked, .. } => asked.arguments.len() + asked.path.len(),
            Notice::ApprovalOver { path, .. } => path.len(),
            Notice::ResourceUpdated { server, uri } => server.len() + uri.len(),
            Notice::Progress { progress, .. } => progress.message.as_ref().map_or(0, String::len),
            Notice::Log { data, logger, .. } => json(data) + logger.as_ref().map_or(0, String::len),
            Notice::Ask { params, key, .. } => json(params) + key.as_ref().map_or(0, String::len),
            Notice::ElicitationComplete { server, id, .. } => server.len() + id.len(),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{AskKind, Cause, Changed};

    fn log(text: &str) -> Notice {
        Notice::Log {
            server: "s".into(),
            level: "info".into(),
            logger: None,
            data: Value::from(text),
            cause: Cause::default(),
        }
    }

    fn ask(ask: u64) -> Notice {
        Notice::Ask {
            ask,
            server: Some("s".into()),
            cause: Cause::default(),
            kind: AskKind::Elicitation,
            key: None,
            params: json!({}),
        }
    }

    fn numbers(page: &[(u64, Notice)]) -> Vec<u64> {
        page.iter().map(|(seq, _)| *seq).collect()
    }

    #[test]
    fn a_page_is_given_again_until_the_client_says_that_it_has_it() {
        let mut line = Line::default();
        let open = |_| true;
        line.push(log("a"), open);
        line.push(log("b"), open);
        assert_eq!(numbers(&line.page(0, 1 << 20)), [1, 2]);
        line.push(log("c"), open);
        assert_eq!(numbers(&line.page(0, 1 << 20)), [1, 2, 3]);
        assert_eq!(numbers(&line.page(2, 1 << 20)), [3]);
        assert!(line.page(3, 1 << 20).is_empty());
        assert_eq!(line.bytes, 0);
    }

    #[test]
    fn what_is_too_much_is_dropped_from_the_front_and_counted_but_no_question() {
        let mut line = Line::default();
        let open = |ask| ask == 7;
        line.push(ask(7), open);
        line.push(Notice::Changed(Changed::TOOLS), open);
        for n in 0..MOST * 3 {
            line.push(log(&n.to_string()), open);
        }
        line.push(Notice::Changed(Changed::PROMPTS), open);
        let page = line.page(0, usize::MAX);
        assert_eq!(page.len(), MOST);
        assert_eq!(page[0].1, ask(7));
        let both = Changed::TOOLS.and(Changed::PROMPTS);
        assert_eq!(page[1].1, Notice::Changed(both));
        // One more than so many came, and the gap says how many were lost.
        assert_eq!(page[0].0, (MOST * 3 + 2 - MOST) as u64 + 1);
        let long = "x".repeat(MOST_BYTES / 3);
        for _ in 0..9 {
            line.push(log(&long), open);
        }
        assert!(line.bytes <= MOST_BYTES, "{}", line.bytes);
        assert_eq!(line.page(0, 1)[0].1, ask(7));
    }

    #[test]
    fn a_question_that_nobody_saw_is_withdrawn_in_silence() {
        let mut line = Line::default();
        let open = |_| true;
        line.push(ask(1), open);
        line.withdraw(1, open);
        assert!(line.page(0, usize::MAX).is_empty());
        line.push(ask(2), open);
        assert_eq!(line.page(0, usize::MAX), [(1, ask(2))]);
        line.withdraw(2, open);
        assert_eq!(
            line.page(1, usize::MAX),
            [(2, Notice::Withdrawn { ask: 2 })]
        );
    }
}
