//! Refuses the sandboxes that this machine cannot enforce. Each error names the fix.

use std::path::Path;

use mux_settings::{SandboxNetwork, ServerSandbox};

use super::{
    machine::SandboxSupport,
    plan::ConfineError,
    program_files::{ProgramKind, kind_of},
};

/// The first version of Landlock that covers signals and abstract sockets (Linux 6.12).
pub(super) const LANDLOCK_WITH_SCOPES: u32 = 6;
const CONTAINER_ENGINE: &str = "the server runs in a container, which its container engine starts outside the sandbox; set sandbox = false and limit the container, as with --network none, --memory and -v PATH:PATH:ro";

/// Refuses a server that a container engine runs outside this process tree.
pub(super) fn refuse_container_engine(program: &Path) -> Result<(), ConfineError> {
    match kind_of(program) {
        ProgramKind::Containers => Err(ConfineError::Unenforceable(CONTAINER_ENGINE.into())),
        ProgramKind::Npm | ProgramKind::Uv | ProgramKind::Other => Ok(()),
    }
}

/// Refuses a sandbox if no layer of it is available, or if its host list cannot be enforced.
pub(super) fn refuse_unenforceable(
    sandbox: &ServerSandbox,
    support: &SandboxSupport,
) -> Result<(), ConfineError> {
    let refused = |why: String| Err(ConfineError::Unenforceable(why));
    if support.seatbelt {
        return match sandbox.network {
            SandboxNetwork::Hosts(_) => refused(
                "lists of hosts need Linux; set sandbox.network to \"none\" or \"any\"".into(),
            ),
            _ => Ok(()),
        };
    }
    if !cfg!(target_os = "linux") {
        return refused("this system has no sandbox that muxd can use; set sandbox = false".into());
    }
    let remedy = support.bubblewrap.remedy();
    if !support.bubblewrap.works() && matches!(sandbox.network, SandboxNetwork::Hosts(_)) {
        return refused(format!(
            "a list of hosts needs bubblewrap with user namespaces; {remedy}, or set sandbox.network to \"none\" or \"any\""
        ));
    }
    if !support.bubblewrap.works() && support.landlock < LANDLOCK_WITH_SCOPES {
        return refused(format!(
            "there is neither bubblewrap with user namespaces nor Landlock {LANDLOCK_WITH_SCOPES} (Linux 6.12); {remedy}"
        ));
    }
    if !support.seccomp {
        return refused(
            "there are no system call filters (seccomp); use a kernel that has them, or set sandbox = false".into(),
        );
    }
    Ok(())
}

/// Without its own list of processes, a server can leave its process tree and is no longer measured.
pub(super) fn refuse_unenforceable_limits(
    sandbox: &ServerSandbox,
    support: &SandboxSupport,
) -> Result<(), ConfineError> {
    let key = match (sandbox.memory, sandbox.processes) {
        _ if support.bubblewrap.works() => return Ok(()),
        (Some(_), _) => "memory",
        (None, Some(_)) => "processes",
        (None, None) => return Ok(()),
    };
    let fix = if support.seatbelt {
        format!("needs Linux; remove sandbox.{key}")
    } else {
        format!(
            "needs bubblewrap with user namespaces; {}, or remove sandbox.{key}",
            support.bubblewrap.remedy()
        )
    };
    Err(ConfineError::Unenforceable(format!("sandbox.{key} {fix}")))
}
