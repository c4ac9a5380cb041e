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

use mux_handles::{Handle, Handles, Held};

/// A longer result of a step is kept, and told by its beginning.
const SHORT: usize = 1_000;
/// How much of that, in characters.
const PREVIEW: usize = 200;
/// Of what a step's failure says.
const LONGEST: usize = 1_000;

/// The result of a step as it is told.
pub(super) struct Shown {
    bytes: usize,
    what: What,
}

enum What {
    Value(Value),
    Stored(Handle),
    /// It could not be kept.
    Lost(String),
}

impl Shown {
    pub(super) async fn of(result: &str, handles: &Handles) -> Self {
        let what = match result.len() {
            ..=SHORT => What::Value(serde_json::from_str(result).unwrap_or_default()),
            _ => match handles
                .keep(result.to_owned(), "the result of a step")
                .await
            {
                Ok(handle) => What::Stored(handle),
                Err(_) => What::Lost(result.chars().take(PREVIEW).collect()),
            },
        };
        Self {
            bytes: result.len(),
            what,
        }
    }

    pub(super) fn tell(&self, told: &mut Map<String, Value>) {
        told.insert("bytes".into(), self.bytes.into());
        match &self.what {
            What::Value(value) => drop(told.insert("result".into(), value.clone())),
            What::Stored(handle) => drop(told.insert("stored".into(), stored(handle))),
            What::Lost(preview) => drop(told.insert("preview".into(), preview.as_str().into())),
        }
    }
}

fn stored(handle: &Handle) -> Value {
    let preview: String = handle.preview.chars().take(PREVIEW).collect();
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
pub(super) fn error(fault: &Fault) -> Value {
    let mut message: String = fault.message.chars().take(LONGEST).collect();
    if message.len() < fault.message.len() {
        message.push('…');
    }
    let mut told = Map::new();
    told.insert("kind".into(), fault.kind.as_str().into());
    told.insert("message".into(), message.into());
    if let Some(hint) = &fault.hint {
        let hint: String = hint.chars().take(LONGEST).collect();
        told.insert("hint".into(), hint.into());
    }
    told.insert("recoverable".into(), fault.recoverable.into());
    let details = fault.details.as_deref();
    if let Some(details) = details.filter(|text| text.len() <= LONGEST)
        && let Ok(details) = serde_json::from_str::<Value>(details)
    {
        told.insert("details".into(), details);
    }
    told.into()
}

/// To a tenth of a millisecond.
pub(super) fn millis(took: Duration) -> Value {
    json!((took.as_secs_f64() * 1e4).round() / 1e1)
}

/// The whole of a program that ended well.
pub(super) async fn document(
    steps: Vec<Value>,
    result: String,
    handles: &Handles,
) -> Result<String, Fault> {
    let steps = Value::Array(steps).to_string();
    let inline = handles.inline();
    let end = match result.len() + steps.len() <= inline {
        true => format!("\"result\":{result}"),
        false => match handles.hold(result, "the result").await?.0 {
            Held::Inline(result) => format!("\"result\":{result}"),
            Held::Stored(handle) => format!("\"stored\":{}", stored(&handle)),
        },
    };
    Ok(format!("{{\"ok\":true,\"steps\":{steps},{end}}}"))
}
