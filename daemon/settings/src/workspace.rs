//! `${workspace}` in a server's entry, which is expanded only when a session is requested.
//!
//! Invariant: the placeholder that replaces it until then cannot occur in a variable or in a user's
//! string.

use std::path::{Path, PathBuf};

use mux_secrets::Secret;

use super::{ServerDefinition, ServerEndpoint};
use mux_config::environment::WORKSPACE_PLACEHOLDER;

impl ServerDefinition {
    /// Returns true if the sessions differ by workspace.
    pub fn uses_workspace(&self) -> bool {
        let holds = |text: &Secret| text.expose().contains(WORKSPACE_PLACEHOLDER);
        match &self.endpoint {
            ServerEndpoint::Process(process) => {
                process.command.contains(WORKSPACE_PLACEHOLDER)
                    || process.args.iter().chain(process.env.values()).any(holds)
                    || process
                        .cwd
                        .to_string_lossy()
                        .contains(WORKSPACE_PLACEHOLDER)
                    || process.sandbox.sandbox().is_some_and(|sandbox| {
                        let mut paths = sandbox.read.iter().chain(&sandbox.write);
                        paths.any(|path| path.to_string_lossy().contains(WORKSPACE_PLACEHOLDER))
                    })
            }
            ServerEndpoint::Remote(remote) => {
                let socket = remote.socket.as_ref();
                holds(&remote.url)
                    || remote.headers.values().any(holds)
                    || socket
                        .is_some_and(|path| path.to_string_lossy().contains(WORKSPACE_PLACEHOLDER))
            }
            ServerEndpoint::Source(_) => false,
        }
    }

    /// The definition with `${workspace}` expanded.
    #[must_use]
    pub fn in_workspace(&self, workspace: &Path) -> Self {
        let mut this = self.clone();
        let here = workspace.to_string_lossy();
        let fill =
            |text: &mut Secret| *text = text.expose().replace(WORKSPACE_PLACEHOLDER, &here).into();
        let fill_path = |path: &mut PathBuf| {
            let text = path.to_string_lossy();
            if text.contains(WORKSPACE_PLACEHOLDER) {
                *path = PathBuf::from(text.replace(WORKSPACE_PLACEHOLDER, &here));
            }
        };
        match &mut this.endpoint {
            ServerEndpoint::Process(process) => {
                process.command = process.command.replace(WORKSPACE_PLACEHOLDER, &here);
                process.args.iter_mut().for_each(fill);
                process.env.values_mut().for_each(fill);
                fill_path(&mut process.cwd);
                if let Some(sandbox) = process.sandbox.sandbox_mut() {
                    sandbox.read.iter_mut().for_each(fill_path);
                    sandbox.write.iter_mut().for_each(fill_path);
                }
            }
            ServerEndpoint::Remote(remote) => {
                fill(&mut remote.url);
                remote.headers.values_mut().for_each(fill);
                remote.socket.iter_mut().for_each(fill_path);
            }
            // Sources do not support `${workspace}`.
            ServerEndpoint::Source(_) => {}
        }
        this
    }
}

/// Resolves a path of the configuration relative to `home`, unless it begins with the workspace.
pub(super) fn resolve_path(home: &Path, text: &str) -> PathBuf {
    if text.starts_with(WORKSPACE_PLACEHOLDER) {
        PathBuf::from(text)
    } else {
        home.join(text)
    }
}
