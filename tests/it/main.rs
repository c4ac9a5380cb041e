//! End-to-end tests of `muxd` and `mux`: one binary with a module per subject.

#![expect(clippy::format_collect, reason = "short, and speed does not matter")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments are mostly `json!` literals"
)]
#![expect(
    clippy::unnecessary_debug_formatting,
    reason = "paths in TOML are quoted strings"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers are small, or random bits cut on purpose"
)]

mod agents;
mod approvals;
#[cfg(target_os = "linux")]
mod attackers;
mod audit;
#[cfg(target_os = "linux")]
mod bad_days;
#[cfg(target_os = "linux")]
mod canaries;
mod check;
mod commands;
mod config;
mod differential;
mod discovery;
mod docs;
mod editors;
mod eras;
mod faults;
mod fuzz;
mod graphql;
mod groups;
mod guest;
mod hostile;
mod hostile_servers;
mod issuers;
mod lifecycle;
mod logs;
mod mcp;
mod metrics;
mod oauth;
mod offers;
mod once;
mod openapi;
mod opened_paths;
#[cfg(target_os = "linux")]
mod orphans;
mod ownership;
mod packages;
mod pins;
mod policy;
mod pool;
mod program;
mod protocol;
mod real;
mod real_agents;
mod release;
mod remote;
mod replay;
mod runs;
#[cfg(target_os = "linux")]
mod sandboxes;
mod secrets;
#[cfg(target_os = "linux")]
mod service;
mod sharing;
mod smoke;
mod snapshots;
mod soak;
mod sources;
mod strangers;
mod tool_overrides;
mod traces;
mod types;
mod ui;
#[cfg(target_os = "linux")]
mod upgrade;
