//! What stands before each line of a server's log: when it came, and the runs that had something on its way there.
//!
//! A server's words name no run. If one alone has calls there, they are about it, more likely than not.
//!
//! Invariant: the first two words of a line are ours, whatever the server writes.

use std::{sync::Arc, time::SystemTime};

use super::in_flight::InFlight;

/// Runs that are named; whoever has so many calls at once is found by any of them.
const MOST_RUNS: usize = 16;
/// In place of runs.
const NOBODY: &str = "-";

/// Of one session; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamp(Arc<InFlight>);

impl Stamp {
    pub(super) fn of(in_flight: &Arc<InFlight>) -> Self {
        Self(Arc::clone(in_flight))
    }

    /// `2026-11-22T08:00:00.000000Z RUN,RUN TEXT`
    pub(super) fn line(&self, text: &str) -> String {
        let mut runs = self.0.runs();
        runs.truncate(MOST_RUNS);
        let runs = match runs.is_empty() {
            true => NOBODY.to_owned(),
            false => runs.join(","),
        };
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        // A line of several would have some without a stamp.
        let text = text.replace('\n', "\\n");
        format!("{now} {runs} {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_caller::{Caller, Cause};

    #[test]
    fn a_line_names_the_runs_that_are_at_work_there() {
        let in_flight = Arc::<InFlight>::default();
        let stamp = Stamp::of(&in_flight);
        let rest = |line: String| line.split_once(' ').unwrap().1.to_owned();
        assert_eq!(rest(stamp.line("a b")), "- a b");
        let caller = |cause| {
            Arc::new(Caller {
                cause,
                ..Caller::default()
            })
        };
        let (one, two) = (
            caller(Cause::Run("a-1".into())),
            caller(Cause::Run("a-2".into())),
        );
        let call = caller(Cause::Call("x".into()));
        let held = [&one, &call, &two, &one].map(|caller| in_flight.begin(Some(caller), None));
        let line = stamp.line("two\nlines");
        let (time, _) = line.split_once(' ').unwrap();
        assert!(humantime::parse_rfc3339(time).is_ok(), "{line}");
        assert_eq!(rest(line), "a-1,a-2 two\\nlines");
        drop(held);
        assert!(
            rest(stamp.line("")).contains("a-1"),
            "what it wrote may be read late"
        );
        assert_eq!(rest(Stamp::default().line("")), "- ");
    }
}
