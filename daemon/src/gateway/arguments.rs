//! The arguments of a call on their way from text to what a server gets.
//!
//! Invariant: what a guest sends is read beside the daemon's other work, and as values, which take many
//! times the room of their text, exists only while it goes out.

use std::sync::Arc;

use mux_sandbox::{Fault, Kind};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{catalog::Tool, nesting};

/// So many bytes are read in less time than it takes to have another thread do it.
const LONG: usize = 256 << 10;
/// Long arguments that are read at the same moment.
const READERS: usize = 2;

/// The arguments of a call, before the tool is known.
#[derive(Clone)]
pub enum Arguments {
    /// JSON text.
    Json(Arc<str>),
    /// Names with text, as a person typed them.
    Typed(Vec<(String, String)>),
}

impl Arguments {
    pub(super) fn check_nesting(&self) -> Result<(), Fault> {
        match self {
            Self::Json(text) => nesting::check(text, "the argument"),
            Self::Typed(pairs) => pairs
                .iter()
                .try_for_each(|(_, text)| nesting::check(text, "an argument")),
        }
    }

    /// They are read only when their call has its place among those of the server.
    pub(super) fn are_long(&self) -> bool {
        let bytes = match self {
            Self::Json(text) => text.len(),
            Self::Typed(pairs) => pairs.iter().map(|(_, text)| text.len()).sum(),
        };
        bytes > LONG
    }

    fn as_values(&self, tool: &Tool) -> Result<Map<String, Value>, Fault> {
        match self {
            Self::Json(text) => tool.arguments(text),
            Self::Typed(pairs) => tool.typed_arguments(pairs.clone()),
        }
    }
}

/// Reads arguments, long ones a few at a time.
#[derive(Debug)]
pub(super) struct Readers(Semaphore);

impl Readers {
    pub(super) fn new() -> Self {
        Self(Semaphore::new(READERS))
    }

    /// The values that fit the tool's schema, or what is wrong with them.
    pub(super) async fn read(
        &self,
        tool: &Arc<Tool>,
        arguments: &Arguments,
    ) -> Result<Map<String, Value>, Fault> {
        if !arguments.are_long() {
            return arguments.as_values(tool);
        }
        let lost = || Fault::new(Kind::Internal, "the arguments were lost in the daemon");
        let _turn = self.0.acquire().await.map_err(|_| lost())?;
        let (tool, arguments) = (Arc::clone(tool), arguments.clone());
        let read = spawn_blocking(move || arguments.as_values(&tool));
        read.await.map_err(|_| lost())?
    }
}
