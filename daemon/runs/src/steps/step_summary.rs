//! What is told of a program when it has ended: its result, and in few words each of its steps.
//!
//! ```text
//! { "ok": true,
//!   "steps": [{ "id", "tool", "status": "ok", "took_ms", "bytes", "result" | "stored" },
//!             { "id", "tool", "status": "failed", "took_ms", "error" },
//!             { "id", "tool", "status": "skipped", "reason" }],
//!   "result": … | "stored": { "handle", "bytes", "preview", "expires_ms" } }
//! ```
//!
//! Invariant: nothing is cut without a handle under which all of it is kept, unless the disk refuses it.

use std::time::{Duration, SystemTime};

use mux_wire::Fault;
use serde_json::{Map, Value, json};

use mux_handles::{InlineOrStored, StoredValues, ValueHandle};

/// A longer result of a step is kept, and told by its beginning.
const MAX_INLINE_STEP_RESULT_BYTES: usize = 1_000;
/// How much of that, in characters.
const STEP_PREVIEW_CHARS: usize = 200;
/// Of what a step's failure says.
const MAX_STEP_FAULT_CHARS: usize = 1_000;

/// The result of a step as it is told.
pub(super) struct StepResultView {
    bytes: usize,
    what: StepResultContent,
}

enum StepResultContent {
    Value(Value),
    Stored(ValueHandle),
    /// It could not be kept.
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
                Ok(handle) => StepResultContent::Stored(handle),
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

    pub(super) fn write_fields(&self, told: &mut Map<String, Value>) {
        told.insert("bytes".into(), self.bytes.into());
        match &self.what {
            StepResultContent::Value(value) => drop(told.insert("result".into(), value.clone())),
            StepResultContent::Stored(handle) => {
                drop(told.insert("stored".into(), stored_handle_json(handle)))
            }
            StepResultContent::Lost(preview) => {
                drop(told.insert("preview".into(), preview.as_str().into()))
            }
        }
    }
}

fn stored_handle_json(handle: &ValueHandle) -> Value {
    let preview: String = handle.preview.chars().take(STEP_PREVIEW_CHARS).collect();
    let left = handle.expires.duration_since(SystemTime::now());
    let left = u64::try_from(left.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    json!({
        "handle": handle.name,
        "bytes": handle.bytes,
        "preview": preview,
        "expires_ms": left,
    })
}

/// The failure of a step, without what its program's own has.
pub(super) fn step_fault_json(fault: &Fault) -> Value {
    let mut message: String = fault.message.chars().take(MAX_STEP_FAULT_CHARS).collect();
    if message.len() < fault.message.len() {
        message.push('…');
    }
    let mut told = Map::new();
    told.insert("kind".into(), fault.kind.as_str().into());
    told.insert("message".into(), message.into());
    if let Some(hint) = &fault.hint {
        let hint: String = hint.chars().take(MAX_STEP_FAULT_CHARS).collect();
        told.insert("hint".into(), hint.into());
    }
    told.insert("recoverable".into(), fault.recoverable.into());
    let details = fault.details.as_deref();
    if let Some(details) = details.filter(|text| text.len() <= MAX_STEP_FAULT_CHARS)
        && let Ok(details) = serde_json::from_str::<Value>(details)
    {
        told.insert("details".into(), details);
    }
    told.into()
}

/// To a tenth of a millisecond.
pub(super) fn millis_json(took: Duration) -> Value {
    json!((took.as_secs_f64() * 1e4).round() / 1e1)
}

/// The whole of a program that ended well.
pub(super) async fn summary_document(
    steps: Vec<Value>,
    result: String,
    handles: &StoredValues,
) -> Result<String, Fault> {
    let steps = Value::Array(steps).to_string();
    let inline = handles.max_inline_bytes();
    let end = match result.len() + steps.len() <= inline {
        true => format!("\"result\":{result}"),
        false => match handles.inline_or_keep(result, "the result").await?.0 {
            InlineOrStored::Inline(result) => format!("\"result\":{result}"),
            InlineOrStored::Stored(handle) => format!("\"stored\":{}", stored_handle_json(&handle)),
        },
    };
    Ok(format!("{{\"ok\":true,\"steps\":{steps},{end}}}"))
}
