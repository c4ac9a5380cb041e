//! What stands before each line of a server's log: when it came, and the runs that had something on its way there.
//!
//! A server's words name no run. If one alone has calls there, they are about it, more likely than not.
//!
//! Invariant: the first two words of a line are ours, whatever the server writes.

use std::{sync::Arc, time::SystemTime};

use super::in_flight::InFlight;

/// Runs that are named; whoever has so many calls at once is found by any of them.
const MAX_STAMPED_RUNS: usize = 16;
/// In place of runs.
const NO_RUNS_PLACEHOLDER: &str = "-";

/// Of one session; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct LogStamp(Arc<InFlight>);

impl LogStamp {
    pub(super) fn of(in_flight: &Arc<InFlight>) -> Self {
        Self(Arc::clone(in_flight))
    }

    /// `2026-11-22T08:00:00.000000Z RUN,RUN TEXT`
    pub(super) fn stamp_line(&self, text: &str) -> String {
        let mut runs = self.0.active_runs();
        runs.truncate(MAX_STAMPED_RUNS);
        let runs = match runs.is_empty() {
            true => NO_RUNS_PLACEHOLDER.to_owned(),
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
    use mux_caller::{CallCause, Caller};

    #[test]
    fn a_line_names_the_runs_that_are_at_work_there() {
        let in_flight = Arc::<InFlight>::default();
        let stamp = LogStamp::of(&in_flight);
        let rest = |line: String| line.split_once(' ').unwrap().1.to_owned();
        assert_eq!(rest(stamp.stamp_line("a b")), "- a b");
        let caller = |cause| {
            Arc::new(Caller {
                cause,
                ..Caller::default()
            })
        };
        let (one, two) = (
            caller(CallCause::Run("a-1".into())),
            caller(CallCause::Run("a-2".into())),
        );
        let call = caller(CallCause::Call("x".into()));
        let held =
            [&one, &call, &two, &one].map(|caller| in_flight.begin_request(Some(caller), None));
        let line = stamp.stamp_line("two\nlines");
        let (time, _) = line.split_once(' ').unwrap();
        assert!(humantime::parse_rfc3339(time).is_ok(), "{line}");
        assert_eq!(rest(line), "a-1,a-2 two\\nlines");
        drop(held);
        assert!(
            rest(stamp.stamp_line("")).contains("a-1"),
            "what it wrote may be read late"
        );
        assert_eq!(rest(LogStamp::default().stamp_line("")), "- ");
    }
}
