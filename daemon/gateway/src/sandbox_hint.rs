//! Adds a hint about the sandbox to an error that a server's sandbox may have caused, and records the paths that the
//! error names.
//!
//! Invariant: the hint depends only on the text of the error and on the user's configuration. A program gets the hint,
//! and chooses the paths and hosts that a server names: it must not learn which of them exist, or what other callers
//! were denied.

use mux_upstream::Server;
use mux_wire::{Fault, FaultKind};

/// The words of programs when a file or a host cannot be reached, from the C library, Node.js, Python, npm and uv.
const DENIALS: &[&str] = &[
    "EACCES",
    "EPERM",
    "EROFS",
    "ENOENT",
    "ermission denied",
    "peration not permitted",
    "ead-only file system",
    "o such file or directory",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "ENOTCACHED",
    "ame or service not known",
    "ame resolution",
    "etwork is unreachable",
    "etwork connectivity is disabled",
    "sandbox.network",
];

const SANDBOX_HINT: &str = "the server runs in a sandbox, which may be why";

/// Adds the hint to an error of a server in a sandbox if the error is worded like a denial, or if it names a path that
/// the sandbox was not told to contain, or if the server does not start for the user and its arguments name such a
/// path. An error that already has a hint gets this hint only for such a path.
pub(crate) async fn add_sandbox_hint(server: &Server, is_user: bool, fault: Fault) -> Fault {
    let is_of_server = matches!(
        fault.kind,
        FaultKind::Tool | FaultKind::Unavailable | FaultKind::UnknownOutcome
    );
    let Some(process) = server.process() else {
        return fault;
    };
    let has_it = || {
        let hint = fault.hint.as_deref();
        hint.is_some_and(|hint| hint.starts_with(SANDBOX_HINT))
    };
    if process.sandbox.sandbox().is_none() || !is_of_server || has_it() {
        return fault;
    }
    let names_denied = server.record_named_paths(&fault.message).await;
    // A program that is not found has details.
    let ungranted = match fault.kind {
        FaultKind::Unavailable if fault.details.is_none() && is_user => {
            server.ungranted_arguments().await
        }
        _ => Vec::new(),
    };
    let has_words = || DENIALS.iter().any(|words| fault.message.contains(words));
    let is_likely = names_denied || !ungranted.is_empty();
    if !is_likely && (fault.hint.is_some() || !has_words()) {
        return fault;
    }
    // The arguments are the user's own words.
    let argument = match ungranted.first() {
        Some(path) => format!(
            "; it does not contain {}, which `args` names",
            path.display()
        ),
        None => String::new(),
    };
    let name = server.name();
    let mut hint = format!(
        "{SANDBOX_HINT}: `sandbox` in [servers.{name}] grants paths and hosts{argument}; `mux servers sandbox {name}` \
         shows the user what it has denied"
    );
    if let Some(other) = &fault.hint {
        hint = format!("{hint}; {other}");
    }
    fault.hint(hint)
}
