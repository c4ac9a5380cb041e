//! Every environment variable that muxd's own programs read.

/// One directory for configuration, state, cache and socket; daemons with different ones are independent. Absolute.
pub const HOME: &str = "MUX_HOME";

/// The filter of the daemon's log, in `tracing`'s syntax: `debug`, `info,mux_upstream=trace`.
pub const LOG: &str = "MUX_LOG";

/// If set to any value, the daemon measures how long the threads of its runtime compute at a time, and `mux metrics`
/// reports it as `muxd_runtime_longest_poll_seconds`. For finding out what blocks a daemon; it costs wake-ups.
pub const WATCH_POLLS: &str = "MUX_WATCH_POLLS";

/// The `muxd` program, if it is not in the directory of `mux`.
pub const DAEMON: &str = "MUX_DAEMON";

/// The `mux-worker` program, if it is not in the directory of `muxd`.
pub const WORKER: &str = "MUX_WORKER";

/// Set by the script of `mux completions`: the shell for which `mux -- WORD…` prints candidates for the last word.
pub const COMPLETE: &str = "MUX_COMPLETE";

/// The W3C trace context of the caller of `mux run`, `mux call` or `mux program`.
pub const TRACEPARENT: &str = "TRACEPARENT";
pub const TRACESTATE: &str = "TRACESTATE";

/// The npm registry that `mux setup` downloads from, as npm itself reads it: the first that is set.
pub const REGISTRY: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];
