//! Parses call arguments, from text to the values that a server gets.
//!
//! Invariant: programs' arguments are parsed off the runtime's threads if they are long. Parsed values take many times
//! the memory of the text, and exist only while the arguments are sent.

use std::sync::Arc;

use mux_wire::{Fault, FaultKind};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, task::spawn_blocking};

use mux_catalog::Tool;
use mux_process::blocking_pool;
use mux_text::{
    digest::Digest,
    json_depth,
    json_weight::{self, MAX_JSON_WEIGHT, MIN_OFFLOAD_BYTES},
};

/// The number of long arguments that are parsed at the same time.
const MAX_CONCURRENT_READERS: usize = 2;
/// Arguments up to this length are judged by the current thread: a thousand regular expressions then take a few
/// milliseconds. Longer arguments go to the blocking pool.
const MAX_INLINE_JUDGED_BYTES: usize = 4 << 10;

/// The arguments of a call, before the tool is known.
#[derive(Clone)]
pub enum CallArguments {
    /// JSON.
    Json(Arc<str>),
    /// Pairs of name and string, as a person typed them.
    Typed(Vec<(String, String)>),
    /// The arguments to send as JSON, including those of an override.
    Complete(Arc<str>),
}

impl CallArguments {
    /// Converts a value to text. Long values are converted on the blocking pool.
    pub async fn of_value(value: Value) -> Self {
        Self::Json(json_weight::to_text(value).await.into())
    }

    /// The arguments as JSON, if they are JSON.
    pub(super) fn as_json(&self) -> Option<&Arc<str>> {
        match self {
            Self::Json(text) | Self::Complete(text) => Some(text),
            Self::Typed(_) => None,
        }
    }

    /// A digest of the arguments as given.
    pub(super) fn digest(&self) -> u32 {
        let digest = match self {
            Self::Json(text) | Self::Complete(text) => Digest::new().text(text),
            Self::Typed(pairs) => pairs.iter().fold(Digest::new(), |digest, (name, text)| {
                digest.text(name).text(text)
            }),
        };
        let key = digest.key();
        u32::from_le_bytes(std::array::from_fn(|place| key[place]))
    }

    pub(super) async fn check_depth_off_thread(&self) -> Result<(), Fault> {
        let arguments = self.clone();
        blocking_pool::run_if(self.are_long(), move || arguments.check_depth()).await
    }

    fn check_depth(&self) -> Result<(), Fault> {
        match self {
            Self::Json(text) | Self::Complete(text) => json_depth::check(text, "the argument"),
            Self::Typed(pairs) => pairs
                .iter()
                .try_for_each(|(_, text)| json_depth::check(text, "an argument")),
        }
    }

    /// True if the arguments are so long that they are parsed only when their call has its slot.
    pub(super) fn are_long(&self) -> bool {
        self.bytes() > MIN_OFFLOAD_BYTES
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Json(text) | Self::Complete(text) => text.len(),
            Self::Typed(pairs) => pairs.iter().map(|(_, text)| text.len()).sum(),
        }
    }

    /// The arguments that the tool's server gets, as an object, whether it fits the tool's schema or not.
    pub(super) fn as_values(&self, tool: &Tool) -> Result<Map<String, Value>, Fault> {
        let read = match self {
            Self::Json(text) | Self::Complete(text) => {
                check_weight(text)?;
                tool.read_arguments(text)?
            }
            Self::Typed(pairs) => tool.read_typed_arguments(pairs.clone())?,
        };
        match self {
            Self::Complete(_) => Ok(read),
            Self::Json(_) | Self::Typed(_) => tool.complete_arguments(read),
        }
    }

    /// The arguments as JSON. Typed arguments that do not fit the schema are guessed.
    pub(super) fn as_text(&self, tool: &Tool) -> String {
        let read = self.as_values(tool).or_else(|_| self.as_guessed_values());
        read.map_or_else(
            |_| String::new(),
            |values| Value::Object(values).to_string(),
        )
    }

    /// The arguments as an object, without knowing the tool.
    pub(super) fn as_guessed_values(&self) -> Result<Map<String, Value>, Fault> {
        let none = |why: String| Fault::new(FaultKind::Validation, why);
        match self {
            Self::Json(text) | Self::Complete(text) => {
                let read = serde_json::from_str(text);
                read.map_err(|why| none(format!("the arguments are not a JSON object: {why}")))
            }
            Self::Typed(pairs) => {
                let read = |text: &str| serde_json::from_str(text).ok();
                let pairs = pairs.iter().map(|(name, text)| {
                    let value = read(text).unwrap_or_else(|| Value::String(text.clone()));
                    (name.clone(), value)
                });
                Ok(pairs.collect())
            }
        }
    }
}

/// Rejects arguments that would take many times the memory of their text.
fn check_weight(text: &str) -> Result<(), Fault> {
    // A shorter text cannot contain that many values.
    if text.len() <= MIN_OFFLOAD_BYTES
        || json_weight::of(text.as_bytes(), MAX_JSON_WEIGHT).is_some()
    {
        return Ok(());
    }
    let rule = json_weight::WEIGHT_RULE_TEXT;
    let message = format!("the arguments hold more than {MAX_JSON_WEIGHT} JSON values, {rule}");
    let hint =
        "this limit is fixed: call the tool several times with a part of them, or give it a text";
    Err(Fault::new(FaultKind::Limit, message).hint(hint))
}

/// Parses arguments, limiting how many long ones are parsed at the same time.
#[derive(Debug)]
pub(super) struct ArgumentReaders(Semaphore);

impl ArgumentReaders {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(MAX_CONCURRENT_READERS))
    }

    /// The parsed and validated arguments, or an error that says what is wrong.
    pub(super) async fn read_checked(
        &self,
        tool: &Arc<Tool>,
        arguments: &CallArguments,
    ) -> Result<Map<String, Value>, Fault> {
        let read = self
            .with_values(tool, arguments, MIN_OFFLOAD_BYTES, |read| read)
            .await??;
        tool.check_arguments(read).await
    }

    /// Lets `judge` decide on the values, or on the reason there are none.
    pub(super) async fn judge_arguments<T: Send + 'static>(
        &self,
        tool: &Arc<Tool>,
        arguments: &CallArguments,
        judge: impl FnOnce(Result<Map<String, Value>, Fault>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        self.with_values(tool, arguments, MAX_INLINE_JUDGED_BYTES, judge)
            .await
    }

    /// Lets `judge` decide on a value that is not the arguments of a tool.
    pub(super) async fn judge_value_off_thread<T: Send + 'static>(
        value: &Value,
        judge: impl FnOnce(&Value) -> T + Send + 'static,
    ) -> T {
        if json_weight::is_within(value, MAX_INLINE_JUDGED_BYTES, MAX_INLINE_JUDGED_BYTES) {
            return judge(value);
        }
        let value = value.clone();
        blocking_pool::run(move || judge(&value)).await
    }

    /// Parses arguments of at most `max_inline_bytes` here, and longer ones on the blocking pool. Arguments that take
    /// much memory wait for their turn.
    async fn with_values<T: Send + 'static>(
        &self,
        tool: &Arc<Tool>,
        arguments: &CallArguments,
        max_inline_bytes: usize,
        make: impl FnOnce(Result<Map<String, Value>, Fault>) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        if arguments.bytes() <= max_inline_bytes {
            return Ok(make(arguments.as_values(tool)));
        }
        let lost = || Fault::new(FaultKind::Internal, "the arguments were lost in the daemon");
        let _turn = if arguments.are_long() {
            Some(self.0.acquire().await.map_err(|_| lost())?)
        } else {
            None
        };
        let tool = Arc::clone(tool);
        let arguments = arguments.clone();
        let read = spawn_blocking(move || make(arguments.as_values(&tool)));
        read.await.map_err(|_| lost())
    }
}
