//! The summary of an ended step program: its result, and each of its steps.
//!
//! ```text
//! { "ok": true,
//!   "steps": [{ "id", "tool", "status": "ok", "took_ms", "bytes", "result" | "stored" },
//!             { "id", "tool", "status": "failed", "took_ms", "error" },
//!             { "id", "tool", "status": "skipped", "reason" }],
//!   "result": … | "stored": { "handle", "bytes", "preview", "expires_ms" } }
//! ```
//!
//! Invariant: a truncated value has a handle to the complete value, unless that could not be stored.

use std::time::Duration;

use mux_wire::Fault;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use mux_handles::StoredValues;
use mux_messages::{Handle, Held, millis};

/// A longer result of a step is stored, and shown as a preview.
const MAX_INLINE_STEP_RESULT_BYTES: usize = 1_000;
/// The length of the preview of a stored result, in characters.
const STEP_PREVIEW_CHARS: usize = 200;
/// The maximum length of a step's error message, hint and details.
const MAX_STEP_FAULT_CHARS: usize = 1_000;

/// The result of a step as shown in the summary.
pub(super) struct StepResultView {
    bytes: usize,
    what: StepResultContent,
}

enum StepResultContent {
    Value(Value),
    /// The handle, and when the result was stored.
    Stored(Handle, Instant),
    /// The beginning of a result that could not be stored.
    Lost(String),
}

impl StepResultView {
    pub(super) async fn of(result: &str, handles: &StoredValues) -> Self {
        let what = match result.len() {
            ..=MAX_INLINE_STEP_RESULT_BYTES => {
                StepResultContent::Value(serde_json::from_str(result).unwrap_or_default())
            }
            _ => match handles
                .keep(result.to_owned(), "the result of a step")
                .await
            {
                Ok(handle) => StepResultContent::Stored(handle, Instant::now()),
                Err(_) => {
                    StepResultContent::Lost(result.chars().take(STEP_PREVIEW_CHARS).collect())
                }
            },
        };
        Self {
            bytes: result.len(),
            what,
        }
    }

    pub(super) fn write_fields(&self, members: &mut Map<String, Value>) {
        members.insert("bytes".into(), self.bytes.into());
        match &self.what {
            StepResultContent::Value(value) => drop(members.insert("result".into(), value.clone())),
            StepResultContent::Stored(handle, at) => {
                drop(members.insert("stored".into(), stored_handle_json(handle, *at)));
            }
            StepResultContent::Lost(preview) => {
                drop(members.insert("preview".into(), preview.as_str().into()));
            }
        }
    }
}

fn stored_handle_json(handle: &Handle, stored_at: Instant) -> Value {
    json!(Handle {
        preview: handle.preview.chars().take(STEP_PREVIEW_CHARS).collect(),
        expires_ms: handle
            .expires_ms
            .saturating_sub(millis(stored_at.elapsed())),
        ..handle.clone()
    })
}

/// The fault of a step as JSON, truncated.
pub(super) fn step_fault_json(fault: &Fault) -> Value {
    let mut message: String = fault.message.chars().take(MAX_STEP_FAULT_CHARS).collect();
    if message.len() < fault.message.len() {
        message.push('…');
    }
    let mut members = Map::new();
    members.insert("kind".into(), fault.kind.as_str().into());
    members.insert("message".into(), message.into());
    if let Some(hint) = &fault.hint {
        let hint: String = hint.chars().take(MAX_STEP_FAULT_CHARS).collect();
        members.insert("hint".into(), hint.into());
    }
    members.insert("recoverable".into(), fault.recoverable.into());
    let details = fault.details.as_deref();
    if let Some(details) = details.filter(|text| text.len() <= MAX_STEP_FAULT_CHARS)
        && let Ok(details) = serde_json::from_str::<Value>(details)
    {
        members.insert("details".into(), details);
    }
    members.into()
}

/// Milliseconds, rounded to a tenth.
pub(super) fn millis_json(took: Duration) -> Value {
    json!((took.as_secs_f64() * 1e4).round() / 1e1)
}

/// The summary document of a successful program.
pub(super) async fn summary_document(
    steps: Vec<Value>,
    result: String,
    handles: &StoredValues,
) -> Result<String, Fault> {
    let steps = Value::Array(steps).to_string();
    let inline = handles.max_inline_bytes();
    let end = if result.len() + steps.len() <= inline {
        format!("\"result\":{result}")
    } else {
        match handles.inline_or_keep(result, "the result").await?.0 {
            Held::Value(result) => format!("\"result\":{result}"),
            Held::Stored(handle) => {
                let stored = stored_handle_json(&handle, Instant::now());
                format!("\"stored\":{stored}")
            }
        }
    };
    Ok(format!("{{\"ok\":true,\"steps\":{steps},{end}}}"))
}
