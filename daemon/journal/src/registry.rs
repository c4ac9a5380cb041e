//! The registry of runs: active runs, and for a while ended runs.
//!
//! Invariant: an active run is always found by clients that may access it, and by no others. Ended runs are bounded in
//! number, bytes and time.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use mux_messages::RunCounts;
use mux_wire::{Fault, FaultKind};
use tokio::time::Instant;

use crate::run_journal::RunJournal;
use mux_caller::{RunAccess, one_line};
use mux_text::did_you_mean::nearest_few;

/// The maximum number of ended runs that are kept, and of bytes of their events.
const MAX_KEPT_RUNS: usize = 200;
const MAX_KEPT_EVENT_BYTES: usize = 32 << 20;
/// How long a run is kept after its end.
const RUN_RETENTION: Duration = Duration::from_hours(1);

#[derive(Default)]
pub struct RunRegistry {
    runs: BTreeMap<String, Arc<RunJournal>>,
    /// Ended runs in the order of their ends.
    ended: VecDeque<EndedRun>,
    ended_bytes: usize,
    counts: RunCounts,
    /// Set once no further run may begin.
    pub is_draining: bool,
}

struct EndedRun {
    run: Arc<RunJournal>,
    at: Instant,
    /// The size of the run's events.
    bytes: usize,
}

impl RunRegistry {
    /// Adds a run that begins.
    pub fn insert(&mut self, run: &Arc<RunJournal>) {
        self.forget_old();
        self.runs.insert(run.id.clone(), Arc::clone(run));
        self.counts.running += 1;
    }

    /// Counts of runs so far.
    pub fn counts(&self) -> RunCounts {
        self.counts
    }

    /// All runs that are kept.
    pub fn all(&mut self) -> Vec<Arc<RunJournal>> {
        self.forget_old();
        self.runs.values().cloned().collect()
    }

    /// Finds a run that `access` allows.
    pub fn find(&mut self, id: &str, access: &RunAccess) -> Result<Arc<RunJournal>, Fault> {
        self.forget_old();
        let found = find_run(&self.runs, id, access);
        found.ok_or_else(|| self.run_not_found(id, access))
    }

    /// The fault for an unknown id. Suggests only runs that `access` allows.
    pub fn run_not_found(&self, id: &str, access: &RunAccess) -> Fault {
        let shown = one_line(id);
        let reached = self.runs.values().filter(|run| access.allows(run.origin()));
        let near = nearest_few(&shown, reached.map(|run| run.id.as_str()), 3);
        let near = match &near[..] {
            [] => String::new(),
            near => format!("did you mean {}? ", near.join(", ")),
        };
        Fault::new(FaultKind::NotFound, format!("there is no run `{shown}`")).hints(
            format!("{near}`mux runs` lists the runs that are kept ([history] in config.toml); `mux audit` lists calls"),
            format!("{near}ended runs are kept as long as the user's configuration says"),
        )
    }

    /// Called before the last event is written, because a client that has read that event must see the new counts.
    pub fn count_ended(&mut self, succeeded: bool) {
        self.counts.running -= 1;
        if succeeded {
            self.counts.succeeded += 1;
        } else {
            self.counts.failed += 1;
        }
    }

    /// Keeps an ended run. If there are too many, drops the oldest runs whose end was read.
    pub fn keep_ended(&mut self, run: &Arc<RunJournal>) {
        let bytes = run.bytes();
        self.ended_bytes += bytes;
        self.ended.push_back(EndedRun {
            run: Arc::clone(run),
            at: Instant::now(),
            bytes,
        });
        while (self.ended.len() > MAX_KEPT_RUNS || self.ended_bytes > MAX_KEPT_EVENT_BYTES)
            && let Some(index) = self.ended.iter().position(|ended| ended.run.is_end_read())
        {
            self.forget(index);
        }
        self.forget_old();
    }

    /// Drops runs that ended longer than [`RUN_RETENTION`] ago.
    fn forget_old(&mut self) {
        while self
            .ended
            .front()
            .is_some_and(|run| run.at.elapsed() >= RUN_RETENTION)
        {
            self.forget(0);
        }
    }

    fn forget(&mut self, index: usize) {
        if let Some(ended) = self.ended.remove(index) {
            self.ended_bytes -= ended.bytes;
            self.runs.remove(&ended.run.id);
        }
    }
}

/// Finds a run by its id. The user may also name the run by its number, the part after the last dash.
fn find_run(
    runs: &BTreeMap<String, Arc<RunJournal>>,
    id: &str,
    access: &RunAccess,
) -> Option<Arc<RunJournal>> {
    let is_allowed = |run: &&Arc<RunJournal>| access.allows(run.origin());
    if let Some(run) = runs.get(id).filter(is_allowed) {
        return Some(Arc::clone(run));
    }
    let mut named = runs.values().filter(|run| {
        let last = run.id.rsplit_once('-').map(|(_, last)| last);
        access.is_user() && !id.is_empty() && last == Some(id)
    });
    match (named.next(), named.next()) {
        (Some(run), None) => Some(Arc::clone(run)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JournalOptions, Program};
    use mux_caller::ClientOrigin;
    use mux_messages::{EventKind, JsonText, Outcome};

    const ALL: RunAccess = RunAccess::Everyone;

    fn run_of(id: &str, origin: Arc<ClientOrigin>) -> Arc<RunJournal> {
        let program = Program {
            origin,
            ..Program::default()
        };
        RunJournal::new(id.into(), program, JournalOptions::default())
    }

    fn ended(registry: &mut RunRegistry, id: &str) -> Arc<RunJournal> {
        ended_of(registry, id, Arc::default())
    }

    fn ended_of(
        registry: &mut RunRegistry,
        id: &str,
        origin: Arc<ClientOrigin>,
    ) -> Arc<RunJournal> {
        let run = run_of(id, origin);
        registry.insert(&run);
        registry.count_ended(true);
        run.push(EventKind::Ended {
            outcome: Outcome::Result(JsonText::default()),
        });
        registry.keep_ended(&run);
        run
    }

    #[test]
    fn run_is_found_by_unambiguous_number() {
        let mut registry = RunRegistry::default();
        for id in ["abc-1", "abc-12", "def-12"] {
            ended(&mut registry, id);
        }
        assert_eq!(registry.find("abc-12", &ALL).unwrap().id, "abc-12");
        assert_eq!(registry.find("1", &ALL).unwrap().id, "abc-1");
        for unknown in ["12", "2", "", "abc", "-", "abc-", "abc-2", "\u{1b}"] {
            let fault = registry.find(unknown, &ALL).err().unwrap();
            assert_eq!(fault.kind, FaultKind::NotFound, "{unknown}");
            let hint = fault.hint.unwrap();
            assert!(hint.contains("mux runs"), "{hint}");
        }
        let hint = registry.find("abc-2", &ALL).err().unwrap().hint.unwrap();
        assert!(hint.contains("did you mean abc-1"), "{hint}");
    }

    #[tokio::test(start_paused = true)]
    async fn ended_runs_are_bounded_in_number_and_time() {
        let mut registry = RunRegistry::default();
        for number in 0..MAX_KEPT_RUNS + 10 {
            ended(&mut registry, &format!("a-{number}"));
        }
        assert_eq!(registry.all().len(), MAX_KEPT_RUNS);
        assert!(registry.find("a-9", &ALL).is_err() && registry.find("a-10", &ALL).is_ok());
        let running = run_of("a-0", Arc::default());
        registry.insert(&running);
        tokio::time::advance(RUN_RETENTION).await;
        assert_eq!(registry.all().len(), 1);
        assert!(registry.find("a-0", &ALL).is_ok());
        assert_eq!((registry.ended_bytes, registry.counts().running), (0, 1));
    }

    #[test]
    fn inaccessible_run_is_neither_found_nor_suggested() {
        let mut registry = RunRegistry::default();
        let origin = |agent| Arc::new(ClientOrigin::new("agent", Some(agent), None));
        let small = origin("small");
        let big = origin("big");
        ended_of(&mut registry, "abc-1", Arc::clone(&small));
        ended_of(&mut registry, "def-2", Arc::clone(&big));
        let access = RunAccess::of(&small, true);
        assert_eq!(registry.find("abc-1", &access).unwrap().id, "abc-1");
        let absent = registry.find("def-3", &access).err().unwrap();
        for id in ["def-2", "2", "1"] {
            let fault = registry.find(id, &access).err().unwrap();
            assert_eq!(fault.kind, FaultKind::NotFound);
            assert_eq!(fault.message, absent.message.replace("def-3", id));
            assert!(!fault.hint.unwrap().contains("def"), "{id}");
        }
    }
}
