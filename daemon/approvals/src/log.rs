//! The calls of one run, in the order in which it made them, and how each ended: what a program is answered from
//! when it runs again.
//!
//! Invariant: a call that ended is never made again, and one that may have been sent when its run ended is told as
//! unknown. A call is known by its tool as it was spelled, its arguments, and how many such calls came before.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use mux_wire::{Fault, Kind, Target};
use serde::{Deserialize, Serialize};

use super::journal::Line;
use crate::call_fingerprint::{key, spelled};
use mux_text::digest::Key;

/// What a call takes beside its texts.
const SMALL: usize = 128;

/// One call.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Entry {
    tool: Arc<str>,
    #[serde(default)]
    raw: bool,
    /// JSON text as the program sent it.
    arguments: Arc<str>,
    pub(super) step: Step,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// It may have been sent.
    Open,
    /// It waits for an approval, and was not sent.
    Asked,
    Ended(Result<Arc<str>, Arc<Fault>>),
}

impl Entry {
    fn bytes(&self) -> usize {
        let told = match &self.step {
            Step::Ended(Ok(text)) => text.len(),
            Step::Ended(Err(fault)) => told(fault),
            Step::Open | Step::Asked => 0,
        };
        taken(&self.tool, &self.arguments) + told
    }

    fn key(&self) -> Key {
        key(&self.tool, self.raw, &self.arguments)
    }
}

fn taken(tool: &str, arguments: &str) -> usize {
    SMALL + tool.len() + arguments.len()
}

fn told(fault: &Fault) -> usize {
    fault.message.len() + fault.details.as_ref().map_or(0, String::len)
}

#[derive(Debug)]
pub(super) struct Log {
    /// First those of the run that this one goes on with. One that is not kept has left its place.
    entries: Vec<Option<Entry>>,
    bytes: usize,
    most: usize,
    /// It became longer than that. Since then only what can still be asked for again is kept.
    full: bool,
    /// Of the run that this one goes on with: what was not asked for again yet.
    past: HashMap<Key, VecDeque<usize>>,
    /// Something was to be made that the run before did not make.
    has_news: bool,
    /// What of it stands in the journal, if anything does.
    written: Option<Written>,
}

/// What the journal of a log says.
#[derive(Debug, Default)]
struct Written {
    /// So many of the entries.
    entries: usize,
    /// Those of them that are further by now.
    changed: BTreeSet<usize>,
    full: bool,
}

/// What becomes of a call.
#[derive(Debug)]
pub enum Begun {
    /// To be made. Its place in the log, if that has room.
    New(Option<usize>),
    /// It was made before.
    Known(Result<Arc<str>, Fault>),
}

impl Log {
    pub(super) fn new(most: usize, before: Vec<Entry>) -> Self {
        let mut past: HashMap<Key, VecDeque<usize>> = HashMap::new();
        for (place, entry) in before.iter().enumerate() {
            past.entry(entry.key()).or_default().push_back(place);
        }
        let bytes = before.iter().map(Entry::bytes).sum();
        Self {
            bytes,
            entries: before.into_iter().map(Some).collect(),
            // It fitted when it was written.
            most: most.max(bytes),
            full: false,
            past,
            has_news: false,
            written: None,
        }
    }

    /// Nothing is copied of a call for which there is no room.
    pub(super) fn begin(&mut self, target: &Target, arguments: &Arc<str>) -> Begun {
        if self.full && self.past.is_empty() {
            self.has_news = true;
            return Begun::New(None);
        }
        let (tool, raw) = spelled(target);
        if let Some(place) = self.recall(&tool, raw, arguments) {
            return self.again(place);
        }
        self.has_news = true;
        self.take(taken(&tool, arguments));
        if self.full {
            return Begun::New(None);
        }
        self.entries.push(Some(Entry {
            tool: tool.into(),
            raw,
            arguments: Arc::clone(arguments),
            step: Step::Open,
        }));
        Begun::New(Some(self.entries.len() - 1))
    }

    fn recall(&mut self, tool: &str, raw: bool, arguments: &str) -> Option<usize> {
        if self.past.is_empty() {
            return None;
        }
        let key = key(tool, raw, arguments);
        let such = self.past.get_mut(&key)?;
        let place = such.pop_front();
        if such.is_empty() {
            self.past.remove(&key);
        }
        place
    }

    /// What the run before has made, or was about to.
    fn again(&mut self, place: usize) -> Begun {
        let Some(mut entry) = self.entries[place].take() else {
            // Only what is not in the past any more leaves its place.
            return Begun::Known(Err(unknown("the call")));
        };
        let known = match &entry.step {
            Step::Asked => {
                entry.step = Step::Open;
                self.has_news = true;
                None
            }
            Step::Open => {
                let fault = unknown(&entry.tool);
                entry.step = Step::Ended(Err(Arc::new(fault.clone())));
                self.take(told(&fault));
                Some(Err(fault))
            }
            Step::Ended(Ok(text)) => Some(Ok(Arc::clone(text))),
            Step::Ended(Err(fault)) => Some(Err(Fault::clone(fault))),
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
            Some(outcome) => Begun::Known(outcome),
            None => Begun::New(kept.then_some(place)),
        }
    }

    fn take(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.most || self.full {
            return;
        }
        self.full = true;
        // What had ended before is never made again, however much this run makes beside.
        let past: BTreeSet<usize> = self.past.values().flatten().copied().collect();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            if !past.contains(&place) {
                *entry = None;
            }
        }
    }

    pub(super) fn end(&mut self, place: usize, outcome: &Result<String, Fault>) {
        let open = |entry: &Entry| matches!(entry.step, Step::Open);
        if !self.kept(place).is_some_and(|entry| open(entry)) {
            return;
        }
        self.take(match outcome {
            Ok(text) => text.len(),
            Err(fault) => told(fault),
        });
        self.set(place, || {
            Step::Ended(match outcome {
                Ok(text) => Ok(text.as_str().into()),
                Err(fault) => Err(Arc::new(fault.clone())),
            })
        });
    }

    /// It waits for an approval, or does no more and may be sent.
    pub(super) fn set_asked(&mut self, place: usize, asked: bool) {
        self.set(place, || match asked {
            true => Step::Asked,
            false => Step::Open,
        });
    }

    fn set(&mut self, place: usize, step: impl FnOnce() -> Step) {
        if let Some(entry) = self.kept(place) {
            entry.step = step();
            self.mark(place);
        }
    }

    fn kept(&mut self, place: usize) -> Option<&mut Entry> {
        self.entries.get_mut(place)?.as_mut()
    }

    fn mark(&mut self, place: usize) {
        if let Some(written) = &mut self.written
            && place < written.entries
        {
            written.changed.insert(place);
        }
    }

    pub(super) fn has_news(&self) -> bool {
        self.has_news
    }

    /// All of it, for a journal that says nothing yet. From now on changes are counted.
    pub(super) fn whole(&mut self) -> Vec<Line> {
        self.written = Some(Written::default());
        self.changes()
    }

    /// What the journal does not say yet. From now on it does.
    pub(super) fn changes(&mut self) -> Vec<Line> {
        let Some(written) = &mut self.written else {
            return Vec::new();
        };
        if self.full {
            let told = std::mem::replace(&mut written.full, true);
            written.changed.clear();
            return (!told).then_some(Line::Full).into_iter().collect();
        }
        let at = |place: usize| Some((place, self.entries.get(place)?.as_ref()?));
        let changed = std::mem::take(&mut written.changed).into_iter();
        let steps = changed.filter_map(at).map(|(place, entry)| Line::Step {
            place,
            step: entry.step.clone(),
        });
        let new = (written.entries..self.entries.len()).filter_map(at);
        let new = new.map(|(place, entry)| Line::Call {
            place,
            call: entry.clone(),
        });
        let lines = steps.chain(new).collect();
        written.entries = self.entries.len();
        lines
    }

    /// The journal is gone, or nobody knows what it says.
    pub(super) fn unwritten(&mut self) {
        self.written = None;
    }
}

/// Calls that need not be made again.
pub(super) fn ended(calls: &[Entry]) -> usize {
    let ended = |entry: &&Entry| matches!(entry.step, Step::Ended(_));
    calls.iter().filter(ended).count()
}

fn unknown(tool: &str) -> Fault {
    let message = format!(
        "{tool} was on its way when the run ended that this one goes on with, and no answer came: it was not sent \
         again"
    );
    Fault::new(Kind::UnknownOutcome, message).path(tool).hint(
        "it may or may not have happened; look before you call it again with a program of its own",
    )
}

#[cfg(test)]
mod tests;
