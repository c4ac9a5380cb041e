//! Every environment variable that muxd's own programs read.
//!
//! Invariant: [`REFERENCE`] describes each of them. A test compares `docs/reference/environment.md` with it.

/// One directory for configuration, state, cache and socket.
pub const HOME: &str = "MUX_HOME";

/// The filter of the daemon's log.
pub const LOG: &str = "MUX_LOG";

/// Makes the daemon measure how long its runtime threads compute at a time.
pub const WATCH_POLLS: &str = "MUX_WATCH_POLLS";

/// The path of the `muxd` program.
pub const DAEMON: &str = "MUX_DAEMON";

/// The path of the `mux-worker` program.
pub const WORKER: &str = "MUX_WORKER";

/// The shell for which `mux` prints candidates, set by the script of `mux completions`.
pub const COMPLETE: &str = "MUX_COMPLETE";

/// The W3C trace context of the caller.
pub const TRACEPARENT: &str = "TRACEPARENT";
/// The state that belongs to [`TRACEPARENT`].
pub const TRACESTATE: &str = "TRACESTATE";

/// The npm registry, as npm itself reads it: the first that is set.
pub const REGISTRY: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];

/// A row of the reference of environment variables, in Markdown.
pub struct Variable {
    /// Variables that one row describes.
    pub names: &'static [&'static str],
    /// The type of the value.
    pub value: &'static str,
    /// The behavior if the variable is not set.
    pub default: &'static str,
    /// The programs or commands that read the variable.
    pub readers: &'static str,
    /// One or more sentences.
    pub meaning: &'static str,
}

/// All variables, in the order of the reference.
pub const REFERENCE: &[Variable] = &[
    Variable {
        names: &[HOME],
        value: "absolute path",
        default: "the [system's directories](config.md#files-and-directories)",
        readers: "`mux`, `muxd`, editors",
        meaning: "One directory for configuration, state, cache and socket. Daemons with different directories are \
                  independent.",
    },
    Variable {
        names: &[LOG],
        value: "filter",
        default: "`info`",
        readers: "`muxd`",
        meaning: "What the daemon logs, in the filter syntax of `tracing`: `debug`, `info,mux_upstream=trace`.",
    },
    Variable {
        names: &[DAEMON],
        value: "path",
        default: "`muxd` beside `mux`; for editors, on `PATH`",
        readers: "`mux`, editors",
        meaning: "The `muxd` program.",
    },
    Variable {
        names: &[WORKER],
        value: "path",
        default: "`mux-worker` beside `muxd`",
        readers: "`muxd`, `mux`",
        meaning: "The `mux-worker` program.",
    },
    Variable {
        names: &[WATCH_POLLS],
        value: "any string",
        default: "not set",
        readers: "`muxd`",
        meaning: "If set, the daemon measures how long its runtime threads compute at a time. `mux metrics` reports \
                  this as `muxd_runtime_longest_poll_seconds` (Linux). Measuring costs wake-ups.",
    },
    Variable {
        names: &[COMPLETE],
        value: "shell name",
        default: "not set",
        readers: "`mux`",
        meaning: "Set by the script of `mux completions`: `mux -- WORD…` then prints candidates for the last word \
                  instead of running a command.",
    },
    Variable {
        names: &[TRACEPARENT, TRACESTATE],
        value: "W3C trace context",
        default: "not set",
        readers: "`mux run`, `mux call`, `mux program`",
        meaning: "The caller's trace context ([Traces](../guides/observe.md#traces)).",
    },
    Variable {
        names: &REGISTRY,
        value: "URL",
        default: "the npm registry",
        readers: "`mux setup`",
        meaning: "The registry for downloads. If both are set, the first counts.",
    },
];
