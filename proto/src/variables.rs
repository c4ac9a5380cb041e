//! Every environment variable that muxd's own programs read.

/// One directory for configuration, state, cache and socket; two daemons with different ones never
/// meet. Absolute.
pub const HOME: &str = "MUX_HOME";

/// What the daemon logs, in `tracing`'s filter syntax: `debug`, `info,mux_upstream=trace`.
pub const LOG: &str = "MUX_LOG";

/// Anything: the daemon measures for how long the threads of its runtime compute at a time, and `mux metrics`
/// has it as `muxd_runtime_longest_poll_seconds`. For who looks for what holds a daemon up; it costs wake-ups.
pub const WATCH_POLLS: &str = "MUX_WATCH_POLLS";

/// The `muxd` program, if it does not stand beside `mux`.
pub const DAEMON: &str = "MUX_DAEMON";

/// The `mux-worker` program, if it does not stand beside `muxd`.
pub const WORKER: &str = "MUX_WORKER";

/// W3C trace context of whoever starts `mux run`, `mux call` or `mux program`.
pub const TRACEPARENT: &str = "TRACEPARENT";
pub const TRACESTATE: &str = "TRACESTATE";

/// The npm registry that `mux setup` downloads from, as npm itself reads it: the first that is set.
pub const REGISTRY: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];
