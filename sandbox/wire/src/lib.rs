//! The frames between the daemon and one worker.
//!
//! Depends on `mux-typegen` for the reserved names of `mux`, and on `mux-messages` for the error that clients get. The
//! daemon's crates and `mux-worker` depend on it.
//!
//! - `codec` reads and writes length-prefixed frames, `bounded` reads lists up to a maximum length.
//! - `fault` is the error type below the client socket, which becomes the error that clients get. `json_depth` limits
//!   the nesting of JSON. `syntax` is the syntax tree of a program.
//! - `program_wrapper` wraps the source of a program, `missing_globals` has hints for globals and modules that programs
//!   expect and the sandbox does not have.
//!
//! Both ends come from the same build, so the encoding is compact (postcard) and has no versions beyond [`FRAME_VERSION`],
//! which the worker sends first. JSON inside a frame is a string: neither side parses values that it only passes on.
//!
//! Invariant: the daemon treats every [`FromWorker`] as attacker input. A frame that is too long, cannot be decoded or
//! comes at the wrong moment ends that worker and its run, and nothing else.

pub mod json_depth;
pub mod line_hints;
pub mod missing_globals;
pub mod program_wrapper;

mod bounded;
mod codec;
mod fault;
mod syntax;

pub use codec::{FrameError, MAX_FRAME_BYTES, decode_frame, encode_frame, read_frame, write_frame};
pub use fault::{Fault, FaultKind};
pub use mux_messages::Level as ConsoleLevel;
pub use syntax::{MAX_SYNTAX_NODES, SyntaxNode};

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// The version of the frames. Incremented whenever the shape of a frame changes.
pub const FRAME_VERSION: u32 = 8;

/// The `nice` value of runs that compute long and of the engine's own threads: half of what `nice` allows.
pub const LOW_PRIORITY: i32 = 10;

/// The exit code of a worker whose engine ran out of memory and could not be unwound.
pub const EXIT_OUT_OF_MEMORY: i32 = 86;

/// The exit code of a worker that is asked for a snapshot but whose engine does not support snapshots.
pub const EXIT_NO_SNAPSHOT: u8 = 87;

/// The maximum length of a snapshot in bytes, header included.
pub const MAX_SNAPSHOT_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of errors, and of warnings, that one check reports.
pub const MAX_FAULTS: usize = 100;

/// The maximum number of sandbox layers in [`EngineInfo`].
pub const MAX_LAYERS: usize = 32;

/// Bytes that each console line counts in addition to its text. Empty lines therefore use up the budget, too.
pub const CONSOLE_LINE_OVERHEAD_BYTES: u32 = 16;

/// Bytes that each emitted part counts in addition to its text.
pub const EMITTED_PART_OVERHEAD_BYTES: u32 = 256;

/// A frame from the daemon to a worker.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum ToWorker {
    /// Parse the program and report its errors and warnings, without running it.
    Check { source: String },
    /// Run a program in the isolate that is ready. One program at a time.
    Run(Program),
    /// The answer to [`FromWorker::Call`] of the same `call`.
    CallDone {
        call: u32,
        outcome: Result<String, Fault>,
    },
}

/// A program, its input and its limits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Program {
    /// TypeScript or JavaScript as the user wrote it.
    pub source: String,
    /// `mux.input` as JSON.
    pub input: String,
    /// The names that `Object.keys(mux)` and the like show, as lines of JSON. The first is `{"server": 0, …}`, with 1
    /// for a server whose tools are in groups and null for one whose tools are unknown. Then one line for each known
    /// server, in the same order: its tools, where a group is `["name", […]]`, or `["name", […], 1]` if it is also a
    /// tool. The names do not affect which tool a call reaches.
    pub names: String,
    /// The maximum bytes of console output. Further output is dropped, with one warning. Each line counts
    /// [`CONSOLE_LINE_OVERHEAD_BYTES`] more than its text.
    pub max_console: u32,
    /// The maximum bytes of JSON of one call's arguments.
    pub max_argument: u32,
    /// The maximum bytes of JSON of the result.
    pub max_result: u32,
    /// The maximum number of timers that one run may set.
    pub max_timers: u32,
    /// The maximum bytes of JSON of all emitted parts together. Each part counts [`EMITTED_PART_OVERHEAD_BYTES`] more
    /// than its text.
    pub max_emitted: u32,
}

/// A frame from a worker to the daemon.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, strum::AsRefStr)]
pub enum FromWorker {
    /// The first frame of the process, sent once its first isolate is built and the lockdown is complete.
    Hello { version: u32, engine: EngineInfo },
    /// A fresh isolate is ready for a program.
    Ready,
    /// The worker has received the program and starts it. Until then, the program can be given to another worker.
    Accepted,
    /// The program calls a tool. `call` counts up from 0 within a run.
    Call {
        call: u32,
        target: CallTarget,
        arguments: String,
    },
    /// One console line.
    Console { level: ConsoleLevel, text: String },
    /// A part for the caller in addition to the result: an MCP content block, as JSON.
    Emit { part: String },
    /// The run has ended: the result as JSON, or the failure.
    Done { outcome: Result<String, Fault> },
    /// The answer to [`ToWorker::Check`].
    Checked(ProgramFindings),
}

/// The engine of a worker, and what surrounds it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct EngineInfo {
    pub name: String,
    /// The version of the engine, if it reports one.
    pub version: Option<String>,
    /// The names of the sandbox layers that are active.
    #[serde(deserialize_with = "bounded::list::<MAX_LAYERS, _, _>")]
    pub layers: Vec<String>,
    /// True if isolates are built from a snapshot.
    pub snapshot: bool,
}

/// The findings of a check, which does not run the program.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProgramFindings {
    /// Why the program cannot run: it does not parse, or nests too deep.
    #[serde(deserialize_with = "bounded::list::<MAX_FAULTS, _, _>")]
    pub errors: Vec<Fault>,
    /// Code that will probably fail at run time: calls that are not awaited, names that do not exist in the sandbox.
    #[serde(deserialize_with = "bounded::list::<MAX_FAULTS, _, _>")]
    pub warnings: Vec<Fault>,
    /// The syntax tree. Empty if the program cannot be parsed, or is too large to be judged.
    #[serde(deserialize_with = "bounded::list::<MAX_SYNTAX_NODES, _, _>")]
    pub tree: Vec<SyntaxNode>,
}

/// The tool of a call, as the program named it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum CallTarget {
    /// `mux.server.tool(…)`.
    Named { server: String, tool: String },
    /// `mux["server.tool"](…)` or `mux.call("server.tool", …)`.
    Path { path: String, raw: bool },
    /// A function of the daemon itself: `read` for `mux.read(…)`.
    Own { name: String },
}

impl CallTarget {
    /// The maximum length of a name or path in bytes. MCP recommends 128 for the name of a tool.
    const MAX_NAME_BYTES: usize = 1024;
    const MAX_SHOWN_NAME_BYTES: usize = 200;

    /// The length of the name in bytes.
    fn name_len(&self) -> usize {
        match self {
            Self::Named { server, tool } => server.len().saturating_add(tool.len()),
            Self::Path { path, .. } => path.len(),
            Self::Own { name } => name.len(),
        }
    }

    /// The error for a name over the maximum length. Check this before you store or compare a name.
    pub fn name_limit_fault(&self) -> Option<Fault> {
        let length = self.name_len();
        let most = Self::MAX_NAME_BYTES;
        let message = format!("the name of the tool is {length} bytes, over the limit of {most}");
        (length > most).then(|| {
            Fault::new(FaultKind::Limit, message)
                .hint("this limit is fixed, and no tool has a name that long")
        })
    }
}

/// The name for errors, whose parts are shortened.
impl Display for CallTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let cut =
            |name: &'_ str| name[..name.floor_char_boundary(Self::MAX_SHOWN_NAME_BYTES)].to_owned();
        match self {
            Self::Named { server, tool } => write!(f, "{}.{}", cut(server), cut(tool)),
            Self::Path { path, .. } => f.write_str(&cut(path)),
            Self::Own { name } => write!(f, "mux.{}", cut(name)),
        }
    }
}
