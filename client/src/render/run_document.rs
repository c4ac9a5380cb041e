//! The JSON documents of runs and calls.
//!
//! Invariant: every document of a run has the same shape, however the run ended.

use std::path::PathBuf;

use mux_proto::{ApprovalOver, Error, Event, EventKind, Handle, Held, Level, Outcome};
use serde::Serialize;
use serde_json::Value;

use crate::{prior_calls::EndedCall, step_outcome};

/// The outcome of a run or call, with the members of `more`.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
pub(super) struct OutcomeDocument<'a, T> {
    ok: bool,
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// A failure after the end, such as that of a file that cannot be written.
    error: Option<&'a Error>,
    #[serde(flatten)]
    more: T,
}

impl<'a, T> OutcomeDocument<'a, T> {
    pub(super) fn new(outcome: &'a Outcome, failure: Option<&'a Error>, more: T) -> Self {
        // An earlier error takes precedence.
        let error = failure.filter(|_| !matches!(outcome, Outcome::Error(_)));
        Self {
            ok: !matches!(outcome, Outcome::Error(_)) && error.is_none(),
            outcome,
            error,
            more,
        }
    }
}

/// Collects the events of one run as members of its JSON document.
#[serde_with::skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(crate) struct RunRecord {
    pub(super) run: Option<String>,
    /// True if the outcome of a replay is the recorded one, with `--verify`.
    pub(super) verified: Option<bool>,
    /// How it differs.
    pub(super) difference: Option<String>,
    /// The summary of a step program's steps.
    steps: Option<Value>,
    warnings: Vec<Error>,
    /// Why the types of the program were not checked.
    unchecked: Option<String>,
    console: Vec<ConsoleLine>,
    pub(super) calls: Vec<EndedCall>,
    /// Approvals that the run's calls needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<ApprovalOver>,
    parts: Vec<Held>,
    /// The file that the recording was written to.
    #[serde(rename = "recording")]
    pub(super) recorded: Option<PathBuf>,
    /// The files that the parts were written to, with `--save-parts`.
    pub(super) files: Option<Vec<PathBuf>>,
    /// The handle of the recording in the daemon.
    #[serde(skip)]
    pub(super) recording: Option<Handle>,
    /// True if the run executes a step program.
    #[serde(skip)]
    of_steps: bool,
}

#[derive(Debug, Serialize)]
struct ConsoleLine {
    level: Level,
    text: String,
}

impl RunRecord {
    pub(crate) fn add(&mut self, event: &Event) {
        self.of_steps |= step_outcome::is_step_event(event);
        match &event.event {
            EventKind::Checked {
                warnings,
                unchecked,
            } => {
                self.warnings.clone_from(warnings);
                self.unchecked.clone_from(unchecked);
            }
            EventKind::Console { level, text } => self.console.push(ConsoleLine {
                level: *level,
                text: text.clone(),
            }),
            EventKind::CallEnded {
                path,
                ms,
                bytes,
                error,
                ..
            } => self.calls.push(EndedCall {
                path: path.clone(),
                ms: *ms,
                bytes: *bytes,
                error: error.clone(),
            }),
            EventKind::Emitted { part } => self.parts.push(part.clone()),
            EventKind::Recorded { recording } => self.recording = Some(recording.clone()),
            EventKind::ApprovalOver(over) => self.approvals.push(over.clone()),
            _ => {}
        }
    }

    /// Returns true if the run executes a step program, whose steps are shown instead of calls.
    pub(super) fn is_of_steps(&self) -> bool {
        self.of_steps
    }

    /// Splits the summary of steps from the outcome, and returns the rest.
    pub(super) fn split_outcome(&mut self, outcome: Outcome) -> Outcome {
        let split = self.of_steps.then(|| step_outcome::split_steps(&outcome));
        match split.flatten() {
            Some((steps, end)) => {
                self.steps = Some(steps);
                end
            }
            None => outcome,
        }
    }

    pub(crate) fn why_unchecked(&self) -> Option<&str> {
        self.unchecked.as_deref()
    }

    pub(crate) fn parts(&self) -> &[Held] {
        &self.parts
    }
}

pub(super) fn read_command(handle: &Handle) -> String {
    format!("mux runs read {}", handle.handle)
}

#[cfg(test)]
pub(super) mod tests {
    use mux_proto::Kind;
    use serde_json::json;

    use super::*;

    pub(in super::super) fn handle() -> Handle {
        Handle {
            handle: "h_1".into(),
            bytes: 300_000,
            preview: "[1,".into(),
            expires_ms: 1_000,
        }
    }

    fn record() -> RunRecord {
        let mut record = RunRecord {
            run: Some("a-1".into()),
            ..RunRecord::default()
        };
        for event in [
            EventKind::Checked {
                warnings: Vec::new(),
                unchecked: Some("no compiler".into()),
            },
            EventKind::Started {},
            EventKind::Console {
                level: Level::Log,
                text: "hi".into(),
            },
            EventKind::CallEnded {
                call: 1,
                path: "a.b".into(),
                ms: 1.5,
                bytes: 2,
                error: None,
            },
            EventKind::Emitted {
                part: Held::Value(json!({ "type": "text", "text": "x" }).into()),
            },
            EventKind::Emitted {
                part: Held::Stored(handle()),
            },
        ] {
            let seq = 1;
            let at_ms = 0;
            record.add(&Event { seq, at_ms, event });
        }
        record
    }

    #[test]
    fn documents_differ_only_in_the_outcome() {
        let stored = serde_json::to_value(handle()).unwrap();
        let rest = json!({
            "run": "a-1",
            "warnings": [],
            "unchecked": "no compiler",
            "console": [{ "level": "log", "text": "hi" }],
            "calls": [{ "path": "a.b", "ms": 1.5, "bytes": 2 }],
            "parts": [{ "value": { "type": "text", "text": "x" } }, { "stored": stored }],
        });
        let error = Error::new(Kind::Timeout, "too long");
        let failed = Outcome::Error(error.clone());
        for (outcome, failure, end) in [
            (
                Outcome::Result(json!([1]).into()),
                None,
                json!({ "ok": true, "result": [1] }),
            ),
            (
                Outcome::Stored(handle()),
                None,
                json!({ "ok": true, "stored": stored }),
            ),
            (failed, None, json!({ "ok": false, "error": error })),
            (
                Outcome::Result(json!([1]).into()),
                Some(&error),
                json!({ "ok": false, "result": [1], "error": error }),
            ),
        ] {
            let mut expected = end;
            let more = rest.as_object().unwrap().clone();
            expected.as_object_mut().unwrap().extend(more);
            let document = OutcomeDocument::new(&outcome, failure, record());
            assert_eq!(json!(document), expected);
        }
    }

    #[test]
    fn document_without_run_id_has_no_run_and_files_only_if_saved() {
        let record = RunRecord {
            files: Some(vec!["parts/part-1.png".into()]),
            ..RunRecord::default()
        };
        let document = json!(record);
        assert!(document.get("run").is_none());
        assert_eq!(document["files"], json!(["parts/part-1.png"]));
    }
}
