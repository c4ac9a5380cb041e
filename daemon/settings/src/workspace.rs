//! `${workspace}` in a server's entry: known only when somebody asks for a session.
//!
//! Invariant: what stands for it until then cannot come out of a variable or a user's text.

use std::path::{Path, PathBuf};

use mux_secrets::Secret;

use super::{Link, ServerDefinition};
use mux_config::environment::WORKSPACE;

impl ServerDefinition {
    /// Whether its sessions differ by workspace.
    pub fn uses_workspace(&self) -> bool {
        let holds = |text: &Secret| text.expose().contains(WORKSPACE);
        match &self.link {
            Link::Process(process) => {
                process.command.contains(WORKSPACE)
                    || process.args.iter().chain(process.env.values()).any(holds)
                    || process.cwd.to_string_lossy().contains(WORKSPACE)
            }
            Link::Remote(remote) => {
                let socket = remote.socket.as_ref();
                holds(&remote.url)
                    || remote.headers.values().any(holds)
                    || socket.is_some_and(|path| path.to_string_lossy().contains(WORKSPACE))
            }
            Link::Source(_) => false,
        }
    }

    /// The definition in a workspace.
    pub fn at(&self, workspace: &Path) -> Self {
        let mut this = self.clone();
        let here = workspace.to_string_lossy();
        let fill = |text: &mut Secret| *text = text.expose().replace(WORKSPACE, &here).into();
        let fill_path = |path: &mut PathBuf| {
            let text = path.to_string_lossy();
            if text.contains(WORKSPACE) {
                *path = PathBuf::from(text.replace(WORKSPACE, &here));
            }
        };
        match &mut this.link {
            Link::Process(process) => {
                process.command = process.command.replace(WORKSPACE, &here);
                process.args.iter_mut().for_each(fill);
                process.env.values_mut().for_each(fill);
                fill_path(&mut process.cwd);
            }
            Link::Remote(remote) => {
                fill(&mut remote.url);
                remote.headers.values_mut().for_each(fill);
                remote.socket.iter_mut().for_each(fill_path);
            }
            // Nothing of it may hold a workspace.
            Link::Source(_) => {}
        }
        this
    }
}

/// A path of the configuration: where the workspace is, that is where it begins.
pub(super) fn below(home: &Path, text: &str) -> PathBuf {
    match text.starts_with(WORKSPACE) {
        true => PathBuf::from(text),
        false => home.join(text),
    }
}
