//! Sandboxes for MCP servers that run as processes.
//!
//! The daemon turns a server's command into a command that runs in a sandbox ([`confine`]): `muxd confine PLAN --
//! command`, which the keeper starts like any other. On Linux that process ([`run_confined`]) starts itself once more
//! inside bubblewrap (namespaces, and a file system that has only what the plan names), applies Landlock, limits and a
//! system call filter, and becomes the server. Without bubblewrap it applies only the other layers. On macOS the
//! command is `sandbox-exec` with a generated profile.
//!
//! - `plan` decides what a server gets, from its entry, its program and the machine. `program_files` finds the files of
//!   the program and its interpreters, and `machine` tells what this machine can enforce. `enforceable` refuses other
//!   plans, and `hidden_paths` lists the paths that a server must not reach. `granted_paths` holds the grants as
//!   objects, which are verified before the server starts, and `grant_record` remembers where their paths led.
//!   `server_environment` sets the server's variables. `private_folders` manages the folders in which it keeps fetched
//!   packages.
//! - `support_report` says which layers this machine lacks, why, and what to do, from `system_facts`.
//! - `bubblewrap` and `seatbelt` translate the plan for the two programs. Both are pure. `user_scope` asks the user's
//!   systemd for limits by control groups.
//! - `confined_process` (with `server_filter`) is the process before it becomes the server. Without namespaces it stays as
//!   the server's parent (`notified_server`) and makes the calls for it that Landlock does not cover
//!   (`metadata_broker`). `egress_forwarder` is its helper inside the sandbox, `egress_proxy` is the daemon's end: the
//!   only way out of a sandbox with a list of hosts (`activity_stream` tells it which connections are idle).
//!   `denied_files` holds the files that a server's errors name, `discarded_files` the files that it wrote into its
//!   empty home. `denial_counts` remembers denied files and denied hosts.
//! - `observed_command` starts a server without a sandbox under `muxd observe` (`observed_process`), which records the
//!   server's operations (`observation`, in an `observation_file`). `suggestion` derives a sandbox from the record.
//!
//! Invariants:
//!
//! - A server whose entry asks for what this machine cannot enforce does not start, and the error names the fix.
//! - No sandbox contains muxd's own directories or its socket, regardless of its entry.
//! - A server gets exactly the files that were judged: no link that a server could have made, and no change between the
//!   judgement and the start, leads to other files.
//! - A plan contains no secret: it is visible in the process list.

mod activity_stream;
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confined_process;
mod denial_counts;
mod denied_files;
mod discarded_files;
#[cfg(target_os = "linux")]
mod egress_forwarder;
mod egress_proxy;
mod enforceable;
#[cfg(test)]
mod fuzz;
mod grant_record;
mod granted_paths;
mod hidden_paths;
mod machine;
#[cfg(target_os = "linux")]
mod metadata_broker;
#[cfg(target_os = "linux")]
mod notified_server;
mod observation;
#[cfg(target_os = "linux")]
mod observation_file;
mod observed_command;
#[cfg(target_os = "linux")]
mod observed_process;
mod plan;
mod private_folders;
mod program_files;
mod seatbelt;
mod server_environment;
#[cfg(target_os = "linux")]
mod server_filter;
mod suggestion;
mod support_report;
mod system_facts;
mod user_scope;

#[cfg(target_os = "linux")]
pub use confined_process::run_confined;
pub use denial_counts::Denial;
pub use denied_files::{DeniedFiles, denied_targets, named_paths, ungranted_paths};
pub use discarded_files::DiscardedFiles;
pub use egress_proxy::{EgressLease, EgressProxies};
pub use grant_record::GrantRecord;
pub use granted_paths::{ChangeableLink, WriteGrant, changeable_link};
pub use machine::{Bubblewrap, SandboxSupport};
pub use observed_command::{ObservedCommand, observe};
#[cfg(target_os = "linux")]
pub use observed_process::run_observed;
pub use plan::{
    ConfineError, ConfineInputs, ConfinedCommand, ImplicitGrants, SandboxDirs, ServerCommand,
    confine, grants,
};
pub use private_folders::delete_unused_private_folders;
pub use suggestion::{ObservedServer, unobserved};
pub use support_report::sandbox_support;
pub use user_scope::UserScopes;
