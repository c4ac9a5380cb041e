//! The frames between the daemon and one worker, and nothing else.
//!
//! It knows no other crate of this workspace; both ends know it.
//!
//! - `codec` reads and writes length-prefixed frames, `bounded` reads lists that are not longer than needed, `fault` is
//!   the one shape of a failure below the socket, `program` what is put around a program, and what may be written
//!   around it, `absent` what programs look for out of habit and do not find, with what there is instead.
//!
//! Both ends come from the same build, so the encoding is compact (postcard) and carries no versions beyond
//! [`VERSION`], which the worker states first. JSON travels as text inside a frame: neither side parses what it only
//! passes on.
//!
//! Invariant: the daemon treats every [`FromWorker`] as written by an attacker. A frame that is too long, cannot be
//! decoded or comes at the wrong moment ends that worker and its run, and nothing else.

pub mod absent;
pub mod program;

mod bounded;
mod codec;
mod fault;

pub use codec::{FrameError, MAX_FRAME, decode, encode, read_frame, write_frame};
pub use fault::{Fault, Kind};
use serde::{Deserialize, Serialize};

/// Changes whenever a frame changes its shape.
pub const VERSION: u32 = 7;

/// The exit code of a worker whose engine ran out of memory and could not be unwound.
pub const EXIT_OUT_OF_MEMORY: i32 = 86;

/// The exit code of a worker that is asked for a snapshot and whose engine has none.
pub const EXIT_NO_SNAPSHOT: u8 = 87;

/// The longest snapshot in bytes, with what stands before it.
pub const MAX_SNAPSHOT: usize = 16 * 1024 * 1024;

/// A check tells of so many errors, and of so many warnings.
pub const MAX_FAULTS: usize = 100;

/// Names of what holds a worker.
pub const MAX_LAYERS: usize = 32;

/// What a console line counts beside its text, so that empty ones cost something.
pub const LINE_COST: u32 = 16;

/// What an emitted part counts beside its text.
pub const PART_COST: u32 = 256;

/// What the daemon says to a worker.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum ToWorker {
    /// Parse the program and say what is wrong with it; run nothing.
    Check { source: String },
    /// Run a program in the isolate that is waiting. One at a time.
    Run(Program),
    /// The answer to [`FromWorker::Call`] of the same `call`.
    CallDone {
        call: u32,
        outcome: Result<String, Fault>,
    },
}

/// A program and what it is given.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Program {
    /// TypeScript or JavaScript as the user wrote it.
    pub source: String,
    /// `mux.input`, JSON text.
    pub input: String,
    /// What `Object.keys(mux)` and its like show, in lines of JSON: first `{"server": 0, …}` with 1 for one whose tools
    /// stand in groups and null where nobody knows them; then of each that is known, in this order, its tools, where a
    /// group is `["name", […]]`, and `["name", […], 1]` if it is a tool, too. Which tool is called does not depend on it.
    pub names: String,
    /// Console output beyond this many bytes is dropped, and the drop is said once. Each line counts
    /// [`LINE_COST`] more than its text.
    pub max_console: u32,
    /// A call's arguments may be this many bytes of JSON.
    pub max_argument: u32,
    /// The result may be this many bytes of JSON.
    pub max_result: u32,
    /// Timers that may be set during one run.
    pub max_timers: u32,
    /// The parts that are emitted may together be this many bytes of JSON. Each counts [`PART_COST`]
    /// more than its text.
    pub max_emitted: u32,
}

/// What a worker says to the daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum FromWorker {
    /// First frame of the process, when its first isolate is built and its lock-down is complete.
    Hello {
        version: u32,
        engine: String,
        /// The engine's own version, where it tells.
        engine_version: Option<String>,
        /// What holds the process, by name. Other systems than Linux have none.
        #[serde(deserialize_with = "bounded::list::<MAX_LAYERS, _, _>")]
        layers: Vec<String>,
        /// Whether isolates are built from a snapshot.
        snapshot: bool,
    },
    /// A fresh isolate waits for a program.
    Ready,
    /// The program has arrived and begins. Until then it can be given to another worker.
    Accepted,
    /// The program calls a tool. `call` counts up from 0 within a run.
    Call {
        call: u32,
        target: Target,
        arguments: String,
    },
    /// One console line.
    Console { level: Level, text: String },
    /// A part for the caller beside the result: an MCP content block, JSON text.
    Emit { part: String },
    /// The run has ended: the result as JSON text, or the failure.
    Done { outcome: Result<String, Fault> },
    /// The answer to [`ToWorker::Check`]: why the program cannot run, or what will probably go wrong
    /// if it does.
    Checked {
        #[serde(deserialize_with = "bounded::list::<MAX_FAULTS, _, _>")]
        faults: Vec<Fault>,
        #[serde(deserialize_with = "bounded::list::<MAX_FAULTS, _, _>")]
        warnings: Vec<Fault>,
    },
}

impl FromWorker {
    /// What it is, without what is in it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "Hello",
            Self::Ready => "Ready",
            Self::Accepted => "Accepted",
            Self::Call { .. } => "Call",
            Self::Console { .. } => "Console",
            Self::Emit { .. } => "Emit",
            Self::Done { .. } => "Done",
            Self::Checked { .. } => "Checked",
        }
    }
}

/// How a program named the tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Target {
    /// `mux.server.tool(…)`.
    Named { server: String, tool: String },
    /// `mux["server.tool"](…)` or `mux.call("server.tool", …)`.
    Path { path: String, raw: bool },
    /// A function of the daemon itself: `read` for `mux.read(…)`.
    Own { name: String },
}

impl Target {
    /// The longest name or path in bytes. MCP advises 128 for the name of a tool.
    const MOST: usize = 1024;

    /// How long the name is, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Named { server, tool } => server.len().saturating_add(tool.len()),
            Self::Path { path, .. } => path.len(),
            Self::Own { name } => name.len(),
        }
    }

    /// The error of a name that is longer than any tool's. Whoever has to hold or compare one asks first.
    pub fn too_long(&self) -> Option<Fault> {
        let (length, most) = (self.bytes(), Self::MOST);
        let message = format!("the name of the tool is {length} bytes, over the limit of {most}");
        (length > most).then(|| {
            Fault::new(Kind::Limit, message)
                .hint("this limit is fixed, and no tool has such a name")
        })
    }
}

/// The level of a console line.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Level {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}
