//! Answers the calls of a program from a recording.
//!
//! Invariant: nothing is sent. A call is identified by its tool as written, its arguments, and the number of such calls
//! before it.

use std::time::Duration;

use parking_lot::Mutex;

use mux_wire::{CallTarget, Fault, FaultKind};

use super::file_format::{RecordedCall, RecordedOutcome};
use mux_approvals::call_fingerprint::{PastCalls, spelled_tool};

#[derive(Debug)]
pub struct CallReplayer {
    /// Recorded calls that have not been replayed yet.
    left: Mutex<PastCalls<RecordedCall>>,
    /// All recorded tools, for error messages.
    tools: Vec<String>,
}

impl CallReplayer {
    pub fn new(calls: Vec<RecordedCall>) -> Self {
        let mut tools: Vec<String> = calls.iter().map(|call| call.tool.clone()).collect();
        tools.sort_unstable();
        tools.dedup();
        let left = calls.into_iter().map(|call| (call.key(), call));
        Self {
            left: Mutex::new(left.collect()),
            tools,
        }
    }

    /// The recorded outcome of a call, and its duration. `None` if the recorded run ended before the call did.
    pub fn replay_call(
        &self,
        target: &CallTarget,
        arguments: &str,
    ) -> Option<(Result<String, Fault>, Duration)> {
        let (tool, raw) = spelled_tool(target);
        let entry = self.left.lock().take(&tool, raw, arguments);
        let Some(entry) = entry else {
            return Some((Err(self.unrecorded_call_fault(&tool)), Duration::ZERO));
        };
        let took = Duration::try_from_secs_f64(entry.ms / 1e3).unwrap_or_default();
        let outcome = match entry.outcome {
            RecordedOutcome::Result(text) => Ok(text.get().to_owned()),
            RecordedOutcome::Error(fault) => Err(fault),
            RecordedOutcome::Open => return None,
        };
        Some((outcome, took))
    }

    fn unrecorded_call_fault(&self, tool: &str) -> Fault {
        let message = if self.tools.iter().any(|known| known == tool) {
            format!("the recording has no further call of {tool} with these arguments")
        } else {
            format!("the recording has no call of {tool}")
        };
        Fault::new(FaultKind::NotFound, message).path(tool).hint(
            "nothing is sent in a replay; values that depend on time or randomness, or that were masked as \
             secrets, may differ from the recorded run",
        )
    }
}

#[cfg(test)]
mod tests {
    use mux_secrets::KnownSecrets;
    use serde_json::json;

    use super::{
        super::{CallRecorder, RecordedProgram, RunRecording},
        *,
    };

    fn named(tool: &str) -> CallTarget {
        CallTarget::Path {
            path: tool.into(),
            raw: false,
        }
    }

    fn script(source: &str) -> RecordedProgram {
        RecordedProgram {
            source: source.into(),
            steps: false,
            input: super::super::raw_json(&json!({ "token": "t0k3n-of-mine" }).to_string()),
            timeout_ms: Some(1_000),
            agent: None,
            names: "{}".into(),
        }
    }

    #[test]
    fn each_recorded_call_is_replayed_once_in_any_order() {
        let recorder = CallRecorder::default();
        for (tool, arguments, result) in [
            ("s.a", r#"{"x":1,"y":2}"#, Ok("1")),
            ("s.a", r#"{"x":1,"y":2}"#, Ok("2")),
            ("s.b", "{}", Err(FaultKind::Denied)),
        ] {
            let place = recorder.begin_call(&named(tool), arguments);
            let result = result.map(str::to_owned);
            recorder.end_call(place, &result.map_err(|kind| Fault::new(kind, "no")));
        }
        let open = recorder.begin_call(&named("s.c"), "{}");
        assert!(open.is_some());
        let text =
            recorder.into_recording_text(script("return 1"), &Ok("1".into()), KnownSecrets::new());
        let recording = RunRecording::parse(&text.unwrap()).unwrap();
        assert_eq!(recording.program.source, "return 1");
        let replayer = CallReplayer::new(recording.calls);
        let replayed = |tool: &str, arguments: &str| {
            let (outcome, _) = replayer.replay_call(&named(tool), arguments).unwrap();
            outcome.map_err(|fault| fault.kind)
        };
        assert_eq!(replayed("s.b", "{ }"), Err(FaultKind::Denied));
        assert_eq!(replayed("s.a", r#"{"y":2,"x":1}"#), Ok("1".into()));
        assert_eq!(replayed("s.a", r#"{"x":1,"y":2}"#), Ok("2".into()));
        assert_eq!(
            replayed("s.a", r#"{"x":1,"y":2}"#),
            Err(FaultKind::NotFound)
        );
        assert!(replayer.replay_call(&named("s.c"), "{}").is_none());
        assert_eq!(replayed("s.d", "{}"), Err(FaultKind::NotFound));
    }

    #[test]
    fn secrets_are_masked_consistently_so_that_calls_are_found() {
        let recorder = CallRecorder::default();
        let place = recorder.begin_call(&named("s.login"), r#"{"with":"t0k3n-of-mine"}"#);
        recorder.end_call(place, &Ok(r#""known-to-the-daemon""#.into()));
        let mut known = KnownSecrets::new();
        known.add("known-to-the-daemon");
        let text = recorder
            .into_recording_text(
                script("use('known-to-the-daemon')"),
                &Ok("null".into()),
                known,
            )
            .unwrap();
        assert!(
            !text.contains("t0k3n") && !text.contains("known-to"),
            "{text}"
        );
        let recording = RunRecording::parse(&text).unwrap();
        let replayer = CallReplayer::new(recording.calls);
        let input: serde_json::Value = serde_json::from_str(recording.program.input.get()).unwrap();
        let with = input["token"].as_str().unwrap();
        let arguments = json!({ "with": with }).to_string();
        let (outcome, _) = replayer.replay_call(&named("s.login"), &arguments).unwrap();
        assert_eq!(outcome.unwrap(), "\"***\"");
    }

    #[test]
    fn oversized_and_invalid_recordings_are_rejected() {
        let recorder = CallRecorder::default();
        let place = recorder.begin_call(&named("s.a"), "{}");
        recorder.end_call(place, &Ok("1".repeat(20 << 20)));
        assert_eq!(recorder.begin_call(&named("s.a"), "{}"), None);
        let fault = recorder.into_recording_text(script(""), &Ok("1".into()), KnownSecrets::new());
        assert_eq!(fault.unwrap_err().kind, FaultKind::Limit);
        for text in [
            "",
            "{}",
            "[]",
            r#"{"muxd_recording":99}"#,
            r#"{"muxd_recording":1}"#,
        ] {
            let fault = RunRecording::parse(text).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Validation, "{text}");
        }
    }
}
