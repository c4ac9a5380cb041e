//! Says of an error that a server's sandbox may have caused that there is one, and records the files that it names.

use mux_settings::ServerEndpoint;
use mux_upstream::Server;
use mux_wire::{Fault, FaultKind};

/// What programs say when a file or a host cannot be reached, as the C library, Node.js, Python, npm and uv word it.
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

/// Adds the hint to an error without one, if the server runs in a sandbox and its words are those of a denial.
pub(crate) async fn add_sandbox_hint(server: &Server, fault: Fault) -> Fault {
    let is_of_server = matches!(
        fault.kind,
        FaultKind::Tool | FaultKind::Unavailable | FaultKind::UnknownOutcome
    );
    let Ok(definition) = server.definition() else {
        return fault;
    };
    let ServerEndpoint::Process(process) = &definition.link else {
        return fault;
    };
    if process.sandbox.sandbox().is_none() || !is_of_server || fault.hint.is_some() {
        return fault;
    }
    if !DENIALS.iter().any(|words| fault.message.contains(words)) {
        return fault;
    }
    server.record_denied_files(&fault.message).await;
    // The server chose the names of hosts and files: they are not repeated where a model reads them as ours.
    let sandbox = server.view().sandbox;
    let counts = [
        (sandbox.refused.len(), "connections to", "host"),
        (sandbox.denied_files.len(), "access to", "file"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what, of)| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{what} {count} {of}{plural}")
        })
        .collect();
    let denied = match counts.is_empty() {
        true => String::new(),
        false => format!(
            "; it has denied {}, which `mux servers` lists",
            counts.join(" and ")
        ),
    };
    let name = server.name();
    fault.hint(format!(
        "the server runs in a sandbox, which may be why: `sandbox` in [servers.{name}] grants paths and hosts{denied}"
    ))
}
