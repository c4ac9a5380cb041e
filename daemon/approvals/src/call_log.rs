//! The calls of one run in the order in which it made them, with their outcomes. A resumed program is answered from
//! this log.
//!
//! Invariant: a call that ended is never made again, and a call that may have been sent when its run ended has an
//! unknown outcome. A call is identified by its tool as written, its arguments, and the number of equal calls before
//! it.

use std::{collections::BTreeSet, sync::Arc};

use mux_wire::{CallTarget, Fault, FaultKind};
use serde::{Deserialize, Serialize};

use super::call_journal::JournalLine;
use crate::call_fingerprint::{PastCalls, call_key, spelled_tool};
use mux_text::digest::DigestKey;

/// The memory of a call besides its texts.
const LOGGED_CALL_OVERHEAD_BYTES: usize = 128;

/// A call in the log.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct LoggedCall {
    tool: Arc<str>,
    #[serde(default)]
    raw: bool,
    /// JSON, as sent by the program.
    arguments: Arc<str>,
    pub(super) step: LoggedCallState,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoggedCallState {
    /// The call may have been sent.
    Open,
    /// The call waits for approval and was not sent.
    Asked,
    Ended(Result<Arc<str>, Arc<Fault>>),
}

impl LoggedCall {
    fn bytes(&self) -> usize {
        let outcome_bytes = match &self.step {
            LoggedCallState::Ended(Ok(text)) => text.len(),
            LoggedCallState::Ended(Err(fault)) => fault_bytes(fault),
            LoggedCallState::Open | LoggedCallState::Asked => 0,
        };
        call_bytes(&self.tool, &self.arguments) + outcome_bytes
    }

    fn fingerprint(&self) -> DigestKey {
        call_key(&self.tool, self.raw, &self.arguments)
    }
}

fn call_bytes(tool: &str, arguments: &str) -> usize {
    LOGGED_CALL_OVERHEAD_BYTES + tool.len() + arguments.len()
}

fn fault_bytes(fault: &Fault) -> usize {
    fault.message.len() + fault.details.as_ref().map_or(0, String::len)
}

#[derive(Debug)]
pub(super) struct CallLog {
    /// The calls, with those of the resumed run first. A call that is not kept leaves `None` in its place.
    entries: Vec<Option<LoggedCall>>,
    bytes: usize,
    most: usize,
    /// Set once `bytes` exceeded `most`. From then on only the entries in `past` are kept.
    full: bool,
    /// The positions of the resumed run's calls that have not been made again yet.
    past: PastCalls<usize>,
    /// Set once a call had to be made that the resumed run had not completed.
    has_news: bool,
    /// The part of the log that the journal contains, if there is a journal.
    written: Option<JournalPosition>,
}

/// The part of a log that its journal contains.
#[derive(Debug, Default)]
struct JournalPosition {
    /// The number of written entries.
    entries: usize,
    /// The written entries whose state has changed since.
    changed: BTreeSet<usize>,
    full: bool,
}

/// The result of `CallLog::begin`.
#[derive(Debug)]
pub enum BegunCall {
    /// The call must be made. Contains its position in the log, if the log has room.
    New(Option<usize>),
    /// The call was made before, with this outcome.
    Known(Result<Arc<str>, Fault>),
}

impl CallLog {
    pub(super) fn new(most: usize, before: Vec<LoggedCall>) -> Self {
        let places = before.iter().enumerate();
        let past = places.map(|(place, entry)| (entry.fingerprint(), place));
        let past = past.collect();
        let bytes = before.iter().map(LoggedCall::bytes).sum();
        Self {
            bytes,
            entries: before.into_iter().map(Some).collect(),
            // The entries fit the limit when they were written.
            most: most.max(bytes),
            full: false,
            past,
            has_news: false,
            written: None,
        }
    }

    /// Begins a call. A call for which there is no room is not copied.
    pub(super) fn begin(&mut self, target: &CallTarget, arguments: &Arc<str>) -> BegunCall {
        if self.full && self.past.is_empty() {
            self.has_news = true;
            return BegunCall::New(None);
        }
        let (tool, raw) = spelled_tool(target);
        if let Some(place) = self.past.take(&tool, raw, arguments) {
            return self.replay_call(place);
        }
        self.has_news = true;
        self.count_bytes(call_bytes(&tool, arguments));
        if self.full {
            return BegunCall::New(None);
        }
        self.entries.push(Some(LoggedCall {
            tool: tool.into(),
            raw,
            arguments: Arc::clone(arguments),
            step: LoggedCallState::Open,
        }));
        BegunCall::New(Some(self.entries.len() - 1))
    }

    /// Answers a call that the resumed run had begun.
    fn replay_call(&mut self, place: usize) -> BegunCall {
        let Some(mut entry) = self.entries[place].take() else {
            // Unreachable: an entry in `past` is never removed.
            return BegunCall::Known(Err(unknown_outcome_fault("the call")));
        };
        let known = match &entry.step {
            LoggedCallState::Asked => {
                entry.step = LoggedCallState::Open;
                self.has_news = true;
                None
            }
            LoggedCallState::Open => {
                let fault = unknown_outcome_fault(&entry.tool);
                entry.step = LoggedCallState::Ended(Err(Arc::new(fault.clone())));
                self.count_bytes(fault_bytes(&fault));
                Some(Err(fault))
            }
            LoggedCallState::Ended(Ok(text)) => Some(Ok(Arc::clone(text))),
            LoggedCallState::Ended(Err(fault)) => Some(Err(Fault::clone(fault))),
        };
        let was_known = matches!(&known, Some(Ok(_)));
        let kept = !self.full;
        if kept {
            self.entries[place] = Some(entry);
            if !was_known {
                self.mark(place);
            }
        }
        match known {
            Some(outcome) => BegunCall::Known(outcome),
            None => BegunCall::New(kept.then_some(place)),
        }
    }

    fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.most || self.full {
            return;
        }
        self.full = true;
        // Calls that had ended in the resumed run stay, regardless of the other calls that this run logs.
        let past: BTreeSet<usize> = self.past.iter().copied().collect();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            if !past.contains(&place) {
                *entry = None;
            }
        }
    }

    pub(super) fn end(&mut self, place: usize, outcome: &Result<String, Fault>) {
        let open = |entry: &LoggedCall| matches!(entry.step, LoggedCallState::Open);
        if !self.kept(place).is_some_and(|entry| open(entry)) {
            return;
        }
        self.count_bytes(match outcome {
            Ok(text) => text.len(),
            Err(fault) => fault_bytes(fault),
        });
        self.set(place, || {
            LoggedCallState::Ended(match outcome {
                Ok(text) => Ok(text.as_str().into()),
                Err(fault) => Err(Arc::new(fault.clone())),
            })
        });
    }

    /// Marks a call as waiting for approval, or as no longer waiting, and then it may be sent.
    pub(super) fn set_asked(&mut self, place: usize, asked: bool) {
        self.set(place, || {
            if asked {
                LoggedCallState::Asked
            } else {
                LoggedCallState::Open
            }
        });
    }

    fn set(&mut self, place: usize, step: impl FnOnce() -> LoggedCallState) {
        if let Some(entry) = self.kept(place) {
            entry.step = step();
            self.mark(place);
        }
    }

    fn kept(&mut self, place: usize) -> Option<&mut LoggedCall> {
        self.entries.get_mut(place)?.as_mut()
    }

    fn mark(&mut self, place: usize) {
        if let Some(written) = &mut self.written
            && place < written.entries
        {
            written.changed.insert(place);
        }
    }

    pub(super) fn has_unseen_calls(&self) -> bool {
        self.has_news
    }

    /// All lines, for a new journal. From then on changes are tracked.
    pub(super) fn all_lines(&mut self) -> Vec<JournalLine> {
        self.written = Some(JournalPosition::default());
        self.unwritten_lines()
    }

    /// The lines that the journal does not contain yet. These count as written from then on.
    pub(super) fn unwritten_lines(&mut self) -> Vec<JournalLine> {
        let Some(written) = &mut self.written else {
            return Vec::new();
        };
        if self.full {
            let was_full = std::mem::replace(&mut written.full, true);
            written.changed.clear();
            return (!was_full)
                .then_some(JournalLine::Full)
                .into_iter()
                .collect();
        }
        let at = |place: usize| Some((place, self.entries.get(place)?.as_ref()?));
        let changed = std::mem::take(&mut written.changed).into_iter();
        let steps = changed
            .filter_map(at)
            .map(|(place, entry)| JournalLine::Step {
                place,
                step: entry.step.clone(),
            });
        let new = (written.entries..self.entries.len()).filter_map(at);
        let new = new.map(|(place, entry)| JournalLine::Call {
            place,
            call: entry.clone(),
        });
        let lines = steps.chain(new).collect();
        written.entries = self.entries.len();
        lines
    }

    /// Stops tracking: the journal was removed.
    pub(super) fn reset_journal_position(&mut self) {
        self.written = None;
    }
}

/// The number of calls that need not be made again.
pub(super) fn count_ended_calls(calls: &[LoggedCall]) -> usize {
    let ended = |entry: &&LoggedCall| matches!(entry.step, LoggedCallState::Ended(_));
    calls.iter().filter(ended).count()
}

fn unknown_outcome_fault(tool: &str) -> Fault {
    let message = format!(
        "{tool} was in flight when the resumed run ended, and no answer came: it was not sent \
         again"
    );
    Fault::new(FaultKind::UnknownOutcome, message)
        .path(tool)
        .hint(
            "it may or may not have happened; check before you call it again in a separate program",
        )
}

#[cfg(test)]
mod tests;
