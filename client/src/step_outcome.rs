//! Splits the outcome of a step program into its result and the summary of its steps.
//!
//! Invariant: other outcomes are left unchanged.

use mux_proto::{Event, EventKind, Outcome};
use serde_json::{Value, json};

/// Returns true if an event is about a step. Every started step program has such events, and no other
/// program does.
pub(crate) fn is_step_event(event: &Event) -> bool {
    matches!(
        event.event,
        EventKind::StepStarted { .. } | EventKind::StepEnded { .. } | EventKind::StepSkipped { .. }
    )
}

/// The summary of steps, and the outcome without it, or `None` if there is no summary.
pub(crate) fn split_steps(outcome: &Outcome) -> Option<(Value, Outcome)> {
    match outcome {
        Outcome::Result(summary) => {
            let summary: Value = summary.parse().ok()?;
            let steps = summary.get("steps")?.clone();
            let stored = summary.get("stored").cloned();
            let stored = stored.and_then(|handle| serde_json::from_value(handle).ok());
            let end = match stored {
                Some(handle) => Outcome::Stored(handle),
                None => Outcome::Result(summary.get("result")?.clone().into()),
            };
            Some((steps, end))
        }
        Outcome::Error(error) => {
            let mut error = error.clone();
            let details = error.details.as_mut()?.as_object_mut()?;
            let steps = details.shift_remove("steps")?;
            if details.is_empty() {
                error.details = None;
            }
            Some((steps, Outcome::Error(error)))
        }
        Outcome::Stored(_) => None,
    }
}

/// Renders each step on a separate line.
pub(crate) fn step_lines(steps: &Value) -> Vec<String> {
    let steps = steps.as_array().into_iter().flatten();
    steps.map(step_line).collect()
}

fn step_line(step: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let what = match step["status"].as_str() {
        Some("ok") => {
            let kept = &step["stored"]["handle"];
            let kept = match kept.as_str() {
                Some(handle) => format!(", stored as {handle}"),
                None => String::new(),
            };
            format!(
                "ok, {} bytes in {} ms{kept}",
                step["bytes"], step["took_ms"]
            )
        }
        Some("failed") => {
            let message = text(&step["error"]["message"]);
            let message = message.lines().next().unwrap_or_default();
            format!("failed: {}: {message}", text(&step["error"]["kind"]))
        }
        Some("skipped") => format!("skipped: {}", text(&step["reason"])),
        _ => json!(step).to_string(),
    };
    format!("{} {} {what}", text(&step["id"]), text(&step["tool"]))
}

#[cfg(test)]
mod tests {
    use mux_proto::{Error, Kind};

    use super::*;

    fn summary() -> Value {
        json!([
            { "id": "a", "tool": "s.t", "status": "ok", "took_ms": 1.5, "bytes": 3, "result": [1] },
            { "id": "b", "tool": "s.t", "status": "failed", "took_ms": 0.1,
              "error": { "kind": "tool", "message": "no\nmore" } },
            { "id": "c", "tool": "s.t", "status": "skipped", "reason": "`b` failed" },
        ])
    }

    #[test]
    fn outcome_of_steps_is_split_and_others_are_unchanged() {
        let ended = Outcome::Result(json!({ "ok": true, "steps": summary(), "result": 7 }).into());
        assert_eq!(
            split_steps(&ended),
            Some((summary(), Outcome::Result(json!(7).into())))
        );

        let stored = json!({ "handle": "h_1", "bytes": 9, "preview": "[", "expires_ms": 1 });
        let ended = Outcome::Result(json!({ "ok": true, "steps": [], "stored": stored }).into());
        let (_, outcome) = split_steps(&ended).unwrap();
        assert!(matches!(outcome, Outcome::Stored(handle) if handle.bytes == 9));

        let mut error = Error::new(Kind::Tool, "no");
        assert_eq!(split_steps(&Outcome::Error(error.clone())), None);
        error.details = Some(json!({ "step": "b", "steps": summary() }));
        let (steps, Outcome::Error(error)) = split_steps(&Outcome::Error(error)).unwrap() else {
            panic!("no error");
        };
        assert_eq!(
            (steps, error.details),
            (summary(), Some(json!({ "step": "b" })))
        );
        assert_eq!(split_steps(&Outcome::Result(json!([1]).into())), None);
    }

    #[test]
    fn step_is_one_line() {
        let expected = [
            "a s.t ok, 3 bytes in 1.5 ms",
            "b s.t failed: tool: no",
            "c s.t skipped: `b` failed",
        ];
        assert_eq!(step_lines(&summary()), expected);
    }
}
