//! The calls of one run in the order in which its program made them, with arguments and outcomes.
//!
//! A resumed program and a replayed one are answered from here.
//!
//! Invariant: a call that ended is never made again, and a call that may have been sent when its run ended has an
//! unknown outcome. A call is identified by its tool as written, its arguments, and the number of equal calls before
//! it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use mux_wire::{CallTarget, Fault, FaultKind};
use serde::{Deserialize, Serialize};

use crate::{
    event::{ENTRY_OVERHEAD_BYTES, fault_bytes},
    fingerprint::{PastCalls, call_key, spelled_tool},
};

/// A call with its arguments and its outcome.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LoggedCall {
    /// The tool as the program wrote it. Functions of `mux` are `mux.NAME`.
    pub tool: Arc<str>,
    #[serde(default)]
    pub raw: bool,
    /// JSON, as sent by the program.
    pub arguments: Arc<str>,
    /// The number of the call in the run's events. `None` if the call did not reach a server.
    #[serde(default)]
    pub number: Option<u32>,
    /// Time since the run was accepted.
    #[serde(default)]
    pub at: Duration,
    #[serde(default)]
    pub took: Duration,
    #[serde(alias = "step")]
    pub state: CallState,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call may have been sent.
    Open,
    /// The call waits for approval and was not sent.
    Asked,
    Ended(Result<Arc<str>, Arc<Fault>>),
}

impl LoggedCall {
    fn bytes(&self) -> usize {
        let outcome_bytes = match &self.state {
            CallState::Ended(Ok(text)) => text.len(),
            CallState::Ended(Err(fault)) => fault_bytes(fault),
            CallState::Open | CallState::Asked => 0,
        };
        call_bytes(&self.tool, &self.arguments) + outcome_bytes
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, CallState::Ended(_))
    }
}

fn call_bytes(tool: &str, arguments: &str) -> usize {
    ENTRY_OVERHEAD_BYTES + tool.len() + arguments.len()
}

/// How the calls of an earlier run answer those of this run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PastMode {
    /// Calls that had ended are answered. Others are made.
    #[default]
    Resume,
    /// Nothing is sent: a call that is not in the past fails.
    Replay,
}

/// The result of beginning a call.
#[derive(Debug)]
pub enum BegunCall {
    /// The call must be made. Contains its index in the log, if the log has room.
    New(Option<usize>),
    /// The call was made before, with this outcome.
    Known(Result<Arc<str>, Fault>, Duration),
    /// The replayed run ended before the call did.
    Never,
}

#[derive(Debug, Default)]
pub(crate) struct CallLog {
    /// The calls, with those of the resumed run first. A call that is not kept leaves `None` at its index.
    calls: Vec<Option<LoggedCall>>,
    bytes: usize,
    max_bytes: usize,
    /// Set once `bytes` exceeded `max_bytes`. From then on only the calls in `past` are kept.
    full: bool,
    mode: PastMode,
    /// The indexes of the earlier run's calls that have not been made again yet.
    past: PastCalls<usize>,
    /// Set once a call had to be made that the earlier run had not completed.
    has_new_calls: bool,
    /// The calls that the rows of a held run contain, if there are rows.
    held: Option<WrittenCalls>,
    /// The calls that the history contains.
    history: WrittenCalls,
}

/// The part of a log that a table contains.
#[derive(Debug, Default)]
struct WrittenCalls {
    count: usize,
    /// The written calls whose state has changed since.
    changed: BTreeSet<usize>,
    full: bool,
}

/// The changes of a log since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct CallChanges {
    pub(crate) calls: Vec<(usize, LoggedCall)>,
    /// Set if the calls exceed the limit, from then on.
    pub(crate) full: bool,
}

impl CallLog {
    pub(crate) fn new(max_bytes: usize, past: Vec<LoggedCall>, mode: PastMode) -> Self {
        let bytes = past.iter().map(LoggedCall::bytes).sum();
        let keys = past.iter().enumerate().map(|(index, call)| {
            let key = call_key(&call.tool, call.raw, &call.arguments);
            (key, index)
        });
        Self {
            bytes,
            past: keys.collect(),
            calls: past.into_iter().map(Some).collect(),
            // The calls fit the limit when they were written.
            max_bytes: max_bytes.max(bytes),
            mode,
            ..Self::default()
        }
    }

    /// Begins a call. A call for which there is no room is not copied.
    pub(crate) fn begin(
        &mut self,
        target: &CallTarget,
        arguments: &Arc<str>,
        at: Duration,
    ) -> BegunCall {
        if self.mode == PastMode::Resume && self.full && self.past.is_empty() {
            self.has_new_calls = true;
            return BegunCall::New(None);
        }
        let (tool, raw) = spelled_tool(target);
        if let Some(index) = self.past.take(&tool, raw, arguments) {
            return self.repeat(index);
        }
        if self.mode == PastMode::Replay {
            return BegunCall::Known(Err(self.unrecorded_call_fault(&tool)), Duration::ZERO);
        }
        self.has_new_calls = true;
        self.count_bytes(call_bytes(&tool, arguments));
        if self.full {
            return BegunCall::New(None);
        }
        self.calls.push(Some(LoggedCall {
            tool: tool.into(),
            raw,
            arguments: Arc::clone(arguments),
            number: None,
            at,
            took: Duration::ZERO,
            state: CallState::Open,
        }));
        BegunCall::New(Some(self.calls.len() - 1))
    }

    /// Answers a call that the earlier run had begun.
    fn repeat(&mut self, index: usize) -> BegunCall {
        let Some(mut call) = self.calls[index].take() else {
            // Unreachable: a call in `past` is never removed.
            return BegunCall::Known(Err(unknown_outcome_fault("the call")), Duration::ZERO);
        };
        let mut has_changed = true;
        let known = match &call.state {
            CallState::Asked | CallState::Open if self.mode == PastMode::Replay => BegunCall::Never,
            CallState::Asked => {
                call.state = CallState::Open;
                self.has_new_calls = true;
                BegunCall::New(None)
            }
            CallState::Open => {
                let fault = unknown_outcome_fault(&call.tool);
                call.state = CallState::Ended(Err(Arc::new(fault.clone())));
                self.count_bytes(fault_bytes(&fault));
                BegunCall::Known(Err(fault), Duration::ZERO)
            }
            CallState::Ended(outcome) => {
                has_changed = false;
                let outcome = outcome.clone();
                BegunCall::Known(outcome.map_err(Arc::unwrap_or_clone), call.took)
            }
        };
        let is_kept = !self.full;
        if is_kept {
            self.calls[index] = Some(call);
            if has_changed {
                self.mark_changed(index);
            }
        }
        match known {
            BegunCall::New(_) => BegunCall::New(is_kept.then_some(index)),
            known => known,
        }
    }

    fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.max_bytes || self.full {
            return;
        }
        self.full = true;
        // Calls that had ended in the earlier run stay, regardless of the other calls of this run.
        let past: BTreeSet<usize> = self.past.iter().copied().collect();
        for (index, call) in self.calls.iter_mut().enumerate() {
            if !past.contains(&index) {
                *call = None;
            }
        }
    }

    pub(crate) fn end(&mut self, index: usize, outcome: &Result<String, Fault>, at: Duration) {
        let is_open = |call: &LoggedCall| matches!(call.state, CallState::Open);
        if !self.get_mut(index).is_some_and(|call| is_open(call)) {
            return;
        }
        self.count_bytes(match outcome {
            Ok(text) => text.len(),
            Err(fault) => fault_bytes(fault),
        });
        self.change(index, |call| {
            call.took = at.saturating_sub(call.at);
            call.state = CallState::Ended(match outcome {
                Ok(text) => Ok(text.as_str().into()),
                Err(fault) => Err(Arc::new(fault.clone())),
            });
        });
    }

    /// Marks a call as waiting for approval, or as no longer waiting, and then it may be sent.
    pub(crate) fn set_asked(&mut self, index: usize, is_asked: bool) {
        self.change(index, |call| {
            call.state = if is_asked {
                CallState::Asked
            } else {
                CallState::Open
            };
        });
    }

    pub(crate) fn set_number(&mut self, index: usize, number: u32) {
        self.change(index, |call| call.number = Some(number));
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut LoggedCall)) {
        if let Some(call) = self.get_mut(index) {
            change(call);
            self.mark_changed(index);
        }
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut LoggedCall> {
        self.calls.get_mut(index)?.as_mut()
    }

    fn mark_changed(&mut self, index: usize) {
        for written in self.held.iter_mut().chain([&mut self.history]) {
            if index < written.count {
                written.changed.insert(index);
            }
        }
    }

    pub(crate) fn has_new_calls(&self) -> bool {
        self.has_new_calls
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn kept_calls(&self) -> impl Iterator<Item = &LoggedCall> {
        self.calls.iter().flatten()
    }

    /// Drops all calls. Called after a run's end, when the history has them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// True if the rows of the held run have all earlier calls, so that only changes need to be written.
    pub(crate) fn has_held_rows(&self) -> bool {
        self.held.is_some()
    }

    /// The changes that the rows of the held run do not contain yet. They count as written from then on.
    pub(crate) fn take_held_changes(&mut self) -> CallChanges {
        let mut held = self.held.take().unwrap_or_default();
        let changes = self.changes_since(&mut held);
        self.held = Some(held);
        changes
    }

    /// Forgets the rows of the held run: they were removed, or their content is unknown.
    pub(crate) fn forget_held_rows(&mut self) {
        self.held = None;
    }

    /// The changes that the history does not contain yet. They count as written from then on.
    pub(crate) fn take_history_changes(&mut self) -> CallChanges {
        let mut history = std::mem::take(&mut self.history);
        let changes = self.changes_since(&mut history);
        self.history = history;
        changes
    }

    fn changes_since(&self, written: &mut WrittenCalls) -> CallChanges {
        if self.full {
            written.changed.clear();
            return CallChanges {
                calls: Vec::new(),
                full: !std::mem::replace(&mut written.full, true),
            };
        }
        let changed = std::mem::take(&mut written.changed);
        let new = written.count..self.calls.len();
        written.count = self.calls.len();
        let indexes = changed.into_iter().chain(new);
        CallChanges {
            calls: indexes
                .filter_map(|index| Some((index, self.calls.get(index)?.clone()?)))
                .collect(),
            full: false,
        }
    }

    fn unrecorded_call_fault(&self, tool: &str) -> Fault {
        let is_known = self.kept_calls().any(|call| *call.tool == *tool);
        let message = if is_known {
            format!("the recording has no further call of {tool} with these arguments")
        } else {
            format!("the recording has no call of {tool}")
        };
        Fault::new(FaultKind::NotFound, message).path(tool).hint(
            "nothing is sent in a replay; values that depend on time or randomness, or that were masked as secrets, \
             may differ from the recorded run",
        )
    }
}

/// The number of calls that need not be made again.
pub fn count_ended_calls(calls: &[LoggedCall]) -> usize {
    calls.iter().filter(|call| call.has_ended()).count()
}

fn unknown_outcome_fault(tool: &str) -> Fault {
    let message = format!(
        "{tool} was in flight when the resumed run ended, and no answer came: it was not sent again"
    );
    Fault::new(FaultKind::UnknownOutcome, message)
        .path(tool)
        .hint(
            "it may or may not have happened; check before you call it again in a separate program",
        )
}

#[cfg(test)]
mod tests;
