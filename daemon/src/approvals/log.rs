//! The calls of one run, in the order in which it made them, and how each ended: what a program is answered from
//! when it runs again.
//!
//! Invariant: a call that ended is never made again, and one that may have been sent when its run ended is told as
//! unknown. A call is known by its tool as it was spelled, its arguments, and how many such calls came before.

use std::collections::{HashMap, VecDeque};

use mux_sandbox::{Fault, Kind, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{cache::Key, catalog::Digest, pins};

/// What a call takes beside its texts.
const SMALL: usize = 128;

/// One call.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Entry {
    tool: String,
    #[serde(default)]
    raw: bool,
    /// JSON text as the program sent it.
    arguments: String,
    step: Step,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// It may have been sent.
    Open,
    /// It waits for an approval, and was not sent.
    Asked,
    Ended(Result<String, Fault>),
}

impl Entry {
    fn bytes(&self) -> usize {
        let told = match &self.step {
            Step::Ended(Ok(text)) => text.len(),
            Step::Ended(Err(fault)) => {
                fault.message.len() + fault.details.as_ref().map_or(0, String::len)
            }
            Step::Open | Step::Asked => 0,
        };
        SMALL + self.tool.len() + self.arguments.len() + told
    }

    /// Which of its calls a program means.
    fn key(&self) -> Key {
        let digest = Digest::new().text(&self.tool).bytes(&[u8::from(self.raw)]);
        match serde_json::from_str::<Value>(&self.arguments) {
            Ok(value) => digest.bytes(&pins::canonical_digest(&value)).key(),
            Err(_) => digest.text(&self.arguments).key(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Log {
    entries: Vec<Entry>,
    bytes: usize,
    most: usize,
    /// It became longer than that, and is empty since.
    full: bool,
    /// Of the run that this one goes on with: what was not asked for again yet.
    past: HashMap<Key, VecDeque<Entry>>,
}

/// What becomes of a call.
#[derive(Debug)]
pub enum Begun {
    /// To be made. Its place in the log, if that has room.
    New(Option<usize>),
    /// It was made before.
    Known(Result<String, Fault>),
}

impl Log {
    pub(super) fn new(most: usize, past: Vec<Entry>) -> Self {
        let mut known: HashMap<Key, VecDeque<Entry>> = HashMap::new();
        for entry in past {
            known.entry(entry.key()).or_default().push_back(entry);
        }
        Self {
            entries: Vec::new(),
            bytes: 0,
            most,
            full: false,
            past: known,
        }
    }

    pub(super) fn begin(&mut self, target: &Target, arguments: &str) -> Begun {
        let (tool, raw) = spelled(target);
        let mut entry = Entry {
            tool,
            raw,
            arguments: arguments.to_owned(),
            step: Step::Open,
        };
        let before = match self.past.is_empty() {
            true => None,
            false => self.recall(&entry.key()),
        };
        let known = match before.map(|before| before.step) {
            None | Some(Step::Asked) => None,
            Some(Step::Open) => Some(Err(unknown(&entry.tool))),
            Some(Step::Ended(outcome)) => Some(outcome),
        };
        if let Some(outcome) = known {
            entry.step = Step::Ended(outcome.clone());
            self.push(entry);
            return Begun::Known(outcome);
        }
        Begun::New(self.push(entry))
    }

    fn recall(&mut self, key: &Key) -> Option<Entry> {
        let such = self.past.get_mut(key)?;
        let entry = such.pop_front();
        if such.is_empty() {
            self.past.remove(key);
        }
        entry
    }

    fn push(&mut self, entry: Entry) -> Option<usize> {
        self.take(entry.bytes());
        if self.full {
            return None;
        }
        self.entries.push(entry);
        Some(self.entries.len() - 1)
    }

    fn take(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes > self.most && !self.full {
            self.full = true;
            self.entries = Vec::new();
            self.past = HashMap::new();
        }
    }

    pub(super) fn end(&mut self, place: usize, outcome: &Result<String, Fault>) {
        if let Some(entry) = self.entries.get_mut(place)
            && matches!(entry.step, Step::Open)
        {
            let before = entry.bytes();
            entry.step = Step::Ended(outcome.clone());
            let more = entry.bytes() - before;
            self.take(more);
        }
    }

    /// It waits for an approval, or does no more and may be sent.
    pub(super) fn set_asked(&mut self, place: usize, asked: bool) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.step = match asked {
                true => Step::Asked,
                false => Step::Open,
            };
        }
    }

    /// All of them, those of the past that were not asked for again last; `None` if they were too much.
    pub(super) fn all(&self) -> Option<Vec<Entry>> {
        let past = self.past.values().flatten();
        (!self.full).then(|| self.entries.iter().chain(past).cloned().collect())
    }
}

/// Calls that need not be made again.
pub(super) fn ended(calls: &[Entry]) -> usize {
    let ended = |entry: &&Entry| matches!(entry.step, Step::Ended(_));
    calls.iter().filter(ended).count()
}

fn spelled(target: &Target) -> (String, bool) {
    match target {
        Target::Named { server, tool } => (format!("{server}.{tool}"), false),
        Target::Path { path, raw } => (path.clone(), *raw),
        Target::Own { name } => (format!("mux.{name}"), false),
    }
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
mod tests {
    use super::*;

    fn named(tool: &str) -> Target {
        Target::Path {
            path: format!("s.{tool}"),
            raw: false,
        }
    }

    fn made(log: &mut Log, tool: &str, arguments: &str, result: Option<&str>) -> usize {
        let Begun::New(Some(place)) = log.begin(&named(tool), arguments) else {
            panic!("{tool} is new");
        };
        if let Some(result) = result {
            log.end(place, &Ok(result.to_owned()));
        }
        place
    }

    fn known(begun: Begun) -> Result<String, Kind> {
        match begun {
            Begun::Known(outcome) => outcome.map_err(|fault| fault.kind),
            Begun::New(_) => panic!("it is known"),
        }
    }

    #[test]
    fn calls_are_known_by_arguments_and_by_how_many_such_came_before_in_any_order() {
        let mut log = Log::new(1 << 20, Vec::new());
        made(&mut log, "a", r#"{"x":1,"y":2}"#, Some("1"));
        made(&mut log, "a", r#"{"y":2,"x":1}"#, Some("2"));
        made(&mut log, "b", "{}", Some("3"));
        let mut again = Log::new(1 << 20, log.all().unwrap());
        assert_eq!(known(again.begin(&named("b"), "{}")), Ok("3".into()));
        let one = Target::Named {
            server: "s".into(),
            tool: "a".into(),
        };
        assert_eq!(
            known(again.begin(&one, r#"{"y":2, "x":1.0}"#)),
            Ok("1".into())
        );
        assert_eq!(
            known(again.begin(&named("a"), r#"{"x":1,"y":2}"#)),
            Ok("2".into())
        );
        // More of them, or others, are just made.
        made(&mut again, "a", r#"{"x":1,"y":2}"#, Some("4"));
        made(&mut again, "b", r#"{"z":null}"#, None);
        let raw = Target::Path {
            path: "s.b".into(),
            raw: true,
        };
        assert!(matches!(again.begin(&raw, "{}"), Begun::New(Some(_))));
    }

    #[test]
    fn what_was_on_its_way_is_unknown_and_what_was_asked_is_asked_again() {
        let mut log = Log::new(1 << 20, Vec::new());
        made(&mut log, "lost", "{}", None);
        let asked = made(&mut log, "asked", "{}", None);
        log.set_asked(asked, true);
        // The error that tells of it is no end of the call.
        log.end(asked, &Err(Fault::new(Kind::Pending, "wait")));
        let denied = made(&mut log, "denied", "{}", None);
        log.set_asked(denied, true);
        log.set_asked(denied, false);
        log.end(denied, &Err(Fault::new(Kind::Denied, "no")));
        let mut again = Log::new(1 << 20, log.all().unwrap());
        assert_eq!(ended(&again.all().unwrap()), 1);
        let lost = again.begin(&named("lost"), "{}");
        assert_eq!(known(lost), Err(Kind::UnknownOutcome));
        assert_eq!(
            known(again.begin(&named("denied"), "{}")),
            Err(Kind::Denied)
        );
        let place = made(&mut again, "asked", "{}", Some("done"));
        assert_eq!(place, 2);
        // And once more: nothing of it is made a second time.
        let mut third = Log::new(1 << 20, again.all().unwrap());
        assert_eq!(known(third.begin(&named("asked"), "{}")), Ok("done".into()));
        assert_eq!(
            known(third.begin(&named("lost"), "{}")),
            Err(Kind::UnknownOutcome)
        );
    }

    #[test]
    fn what_was_not_asked_for_again_stays_known() {
        let mut log = Log::new(1 << 20, Vec::new());
        made(&mut log, "a", "{}", Some("1"));
        let again = Log::new(1 << 20, log.all().unwrap());
        let mut third = Log::new(1 << 20, again.all().unwrap());
        assert_eq!(known(third.begin(&named("a"), "{}")), Ok("1".into()));
    }

    #[test]
    fn a_log_that_is_too_long_keeps_nothing() {
        let mut log = Log::new(1_000, Vec::new());
        made(&mut log, "a", "{}", Some("1"));
        let place = made(&mut log, "b", "{}", None);
        log.end(place, &Ok("x".repeat(2_000)));
        assert!(log.all().is_none() && log.entries.is_empty());
        assert!(matches!(log.begin(&named("c"), "{}"), Begun::New(None)));
        log.end(0, &Ok("late".into()));
    }
}
