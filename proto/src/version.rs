//! The versions of contract and build, and the features of the contract.

use serde::{Deserialize, Serialize};

/// The contract that this crate describes.
///
/// 1: November 2026, the first. 2: November 2026, long values come as handles: `call` answers with
/// [`crate::Held`], and a run may end with [`crate::Outcome::Stored`]. 3: November 2026, programs are
/// type-checked, and a run may report it with [`crate::EventKind::Checked`].
/// 4: November 2026, servers ask back: notices, and [`crate::EventKind::CallProgress`].
/// 5: November 2026, servers behind URLs, and more than one session of a server.
pub const CONTRACT: u32 = 5;

/// The build of this program, for display and for the warning about a daemon of another build.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The output of `muxd --version --json` and `mux-worker --version --json`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProgramVersion {
    pub build: String,
    /// The contract that a daemon speaks.
    pub contract: Option<u32>,
    /// True if a daemon is built with OpenTelemetry.
    pub otel: Option<bool>,
    /// The name and the version of a worker's engine.
    pub engine: Option<String>,
}

/// The feature that lists a method, by the method's name in the trait. `None` for a frozen method, which need not be
/// listed.
pub fn feature(method: &str) -> Option<&str> {
    match method {
        "hello" | "retire" => None,
        "start_run" | "cancel_run" => Some("run"),
        "restart_server" => Some("servers"),
        method => Some(method),
    }
}

/// The features of this contract's daemon, as `hello` lists them. A client calls a method that is not frozen only if
/// its feature is listed.
pub const FEATURES: &[&str] = &[
    "status",
    "run",
    "events",
    "check",
    "call",
    "tools",
    "types",
    "servers",
    "reload",
    "stop",
    "runs",
    "run_info",
    "read",
    "detach",
    "watch_types",
    "forget_types",
    "search",
    "describe",
    "inventory",
    "offers",
    "read_resource",
    "get_prompt",
    "complete",
    "subscribe",
    "notices",
    "answer",
    "pins",
    "accept_pins",
    "refresh",
    "projects",
    "approve_project",
    "revoke_project",
    "login",
    "login_wait",
    "login_finish",
    "logout",
    "refresh_source",
    "program",
    "explain_program",
    "set_secret",
    "list_secrets",
    "remove_secret",
    "approvals",
    "decide",
    "revoke_approval",
    "resume_run",
    "policy",
    "explain_policy",
    "settings",
    "check_config",
    "record",
    "upgrade",
    "metrics",
    "trace",
    "degraded",
    "config_text",
    "sandbox",
    "suggest_sandbox",
    "end_observation",
    "call_with_notices",
    "keep",
    "meta",
];
