//! The JSON documents of runs.
//!
//! Invariant: every document of a run has the same shape, however the run ended.

use mux_proto::{Error, Event, EventKind, Handle, Held, Outcome};
use serde_json::{Map, Value, json};

use crate::{prior_calls::EndedCall, step_outcome};

/// Collects the events of one run for its JSON document.
#[derive(Debug, Default)]
pub(crate) struct RunRecord {
    pub(super) run: Option<String>,
    warnings: Vec<Value>,
    /// Why the types of the program were not checked.
    unchecked: Option<String>,
    console: Vec<Value>,
    calls: Vec<Value>,
    pub(super) ended: Vec<EndedCall>,
    /// Approvals that the run's calls needed.
    approvals: Vec<Value>,
    parts: Vec<Held>,
    /// The handle of the recording in the daemon.
    pub(super) recording: Option<Handle>,
    /// The file that the recording was written to.
    pub(super) recorded: Option<Value>,
    /// The summary of a step program's steps.
    pub(super) steps: Option<Value>,
    /// True if the run executes a step program.
    of_steps: bool,
    /// The files that the parts were written to, with `--save-parts`.
    pub(super) files: Option<Vec<Value>>,
    /// How the outcome of a replay differs from the recorded one, with `--verify`.
    pub(super) verification: Option<Result<(), String>>,
}

impl RunRecord {
    pub(crate) fn add(&mut self, event: &Event) {
        self.of_steps |= step_outcome::is_step_event(event);
        match &event.event {
            EventKind::Checked {
                warnings,
                unchecked,
            } => {
                self.warnings = warnings.iter().map(|warning| json!(warning)).collect();
                self.unchecked.clone_from(unchecked);
            }
            EventKind::Console { level, text } => {
                self.console.push(json!({ "level": level, "text": text }));
            }
            EventKind::CallEnded {
                path,
                ms,
                bytes,
                error,
                ..
            } => {
                self.ended.push(EndedCall {
                    path: path.clone(),
                    error: error.clone(),
                });
                let error = error
                    .as_ref()
                    .map(|e| json!({ "kind": e.kind, "message": e.message }));
                self.calls
                    .push(json!({ "path": path, "ms": ms, "bytes": bytes, "error": error }));
            }
            EventKind::Emitted { part } => self.parts.push(part.clone()),
            EventKind::Recorded { recording } => self.recording = Some(recording.clone()),
            EventKind::ApprovalOver(over) => self.approvals.push(json!(over)),
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

    /// The document of an ended run. A `failure` after the end of the run is added to its result.
    pub(super) fn document(self, outcome: &Outcome, failure: Option<&Error>) -> Value {
        let error = match outcome {
            Outcome::Error(error) => Some(error),
            _ => failure,
        };
        let mut document = Map::new();
        document.insert("ok".into(), error.is_none().into());
        if let Some(run) = &self.run {
            document.insert("run".into(), run.as_str().into());
        }
        document.extend(outcome_fields(outcome));
        if let Some(error) = error {
            document.insert("error".into(), json!(error));
        }
        if let Some(verification) = &self.verification {
            document.insert("verified".into(), verification.is_ok().into());
            let difference = verification.as_ref().err();
            document.extend(difference.map(|text| ("difference".to_owned(), json!(text))));
        }
        document.extend(self.event_fields());
        document.into()
    }

    /// The properties for steps, warnings, console, calls, approvals, parts and files.
    pub(super) fn event_fields(self) -> Map<String, Value> {
        let parts: Vec<Value> = self.parts.iter().map(part_json).collect();
        let mut all = Map::new();
        all.extend(self.steps.map(|steps| ("steps".to_owned(), steps)));
        all.insert("warnings".into(), self.warnings.into());
        if let Some(why) = self.unchecked {
            all.insert("unchecked".into(), why.into());
        }
        all.insert("console".into(), self.console.into());
        all.insert("calls".into(), self.calls.into());
        if !self.approvals.is_empty() {
            all.insert("approvals".into(), self.approvals.into());
        }
        all.insert("parts".into(), parts.into());
        if let Some(file) = self.recorded {
            all.insert("recording".into(), file);
        }
        if let Some(files) = self.files {
            all.insert("files".into(), files.into());
        }
        all
    }
}

/// The properties for the result of a run: the value, or its handle with a hint how to read it.
pub(super) fn outcome_fields(outcome: &Outcome) -> Map<String, Value> {
    let mut ended = Map::new();
    match outcome {
        Outcome::Result(value) => {
            ended.insert("result".into(), value.to_value());
        }
        Outcome::Stored(handle) => {
            ended.insert("stored".into(), json!(handle));
            ended.insert("hint".into(), read_command(handle).into());
        }
        Outcome::Error(_) => {}
    }
    ended
}

pub(super) fn read_command(handle: &Handle) -> String {
    format!("mux runs read {}", handle.handle)
}

fn part_json(held: &Held) -> Value {
    match held {
        Held::Value(value) => value.to_value(),
        Held::Stored(handle) => json!({ "stored": handle }),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use mux_proto::{Kind, Level};

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
            "calls": [{ "path": "a.b", "ms": 1.5, "bytes": 2, "error": null }],
            "parts": [{ "type": "text", "text": "x" }, { "stored": stored }],
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
                json!({ "ok": true, "stored": stored, "hint": "mux runs read h_1" }),
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
            assert_eq!(record().document(&outcome, failure), expected);
        }
    }

    #[test]
    fn document_without_run_id_has_no_run_and_files_only_if_saved() {
        let record = RunRecord {
            files: Some(vec!["parts/part-1.png".into()]),
            ..RunRecord::default()
        };
        let document = record.document(&Outcome::Result(Value::Null.into()), None);
        assert!(document.get("run").is_none());
        assert_eq!(document["files"], json!(["parts/part-1.png"]));
    }
}
