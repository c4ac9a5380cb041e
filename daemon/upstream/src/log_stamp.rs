//! The prefix of each line in a server's log: the time, and the runs with calls in flight there.
//!
//! A server's output names no run. If only one run has calls there, the line is probably about it.
//!
//! Invariant: the first two fields of a line are ours, whatever the server writes.

use std::{sync::Arc, time::SystemTime};

use super::in_flight::InFlight;

/// The maximum number of runs in one prefix.
const MAX_STAMPED_RUNS: usize = 16;
/// Stands for no runs.
const NO_RUNS_PLACEHOLDER: &str = "-";

/// Stamps the log lines of one session; cheap to clone.
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
        // Otherwise the further lines would have no prefix.
        let text = text.replace('\n', "\\n");
        format!("{now} {runs} {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mux_caller::{CallCause, Caller};

    #[test]
    fn log_line_names_active_runs() {
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
