//! The access that a server's sandbox grants and has denied, and observed sessions without a sandbox, from which a
//! sandbox is suggested.

use std::path::PathBuf;

use futures::future::join_all;
use mux_config::environment::WORKSPACE_PLACEHOLDER;
use mux_confine::{
    Denial, ImplicitGrants, denied_targets, named_paths, ungranted_paths, unobserved,
};
use mux_messages::SandboxSuggestion;
use mux_settings::{ProcessServer, SandboxNetwork, SandboxSetting, ServerEndpoint, ServerSandbox};
use tokio::task::spawn_blocking;

use super::Server;
use crate::link::{LogStamp, ObservationError, SandboxReport, ServerLog};

/// Paths that an error or an entry names, and the paths in the sandbox.
struct NamedPaths<'a> {
    named: Vec<PathBuf>,
    sandbox: &'a ServerSandbox,
    grants: ImplicitGrants,
}

impl Server {
    /// The layers that this machine enforces, and the access that the server's sandbox grants in effect. `None` for a
    /// server that is not a process.
    pub async fn sandbox_report(&self) -> Option<SandboxReport> {
        let (launcher, identity) = self.server_shared.as_ref()?.launcher();
        let process = self.process()?;
        Some(launcher.sandbox_grants(&self.name, process, identity).await)
    }

    /// The reason the server could not start in this sandbox with its entry's limits. `None` if it could.
    pub async fn problem_of_sandbox(&self, suggested: &SandboxSuggestion) -> Option<String> {
        let (launcher, identity) = self.server_shared.as_ref()?.launcher();
        let process = self.process()?;
        let hosts = suggested.hosts.iter().map(|host| host.parse());
        let network = match hosts.collect::<Result<Vec<_>, _>>() {
            _ if suggested.any_network => SandboxNetwork::Any,
            Ok(hosts) if hosts.is_empty() => SandboxNetwork::None,
            Ok(hosts) => SandboxNetwork::Hosts(hosts),
            Err(problem) => return Some(format!("sandbox.network: {problem}")),
        };
        let present = process.sandbox.sandbox();
        let confined = ProcessServer {
            sandbox: SandboxSetting::On(ServerSandbox {
                read: suggested.read.clone(),
                write: suggested.write.clone(),
                network,
                memory: present.and_then(|sandbox| sandbox.memory),
                processes: present.and_then(|sandbox| sandbox.processes),
            }),
            ..process.clone()
        };
        let report = launcher
            .sandbox_grants(&self.name, &confined, identity)
            .await;
        report.grants.err()
    }

    /// Records the paths that an error of the server names and that its sandbox was not told to contain. Returns true
    /// if the error names any. The file system is not asked, because the recipient of the error would learn which files
    /// exist.
    pub async fn record_named_paths(&self, error: &str) -> bool {
        let Some(shared) = &self.server_shared else {
            return false;
        };
        let Some(paths) = self.sandbox_with_grants(named_paths(error)).await else {
            return false;
        };
        let ungranted = ungranted_paths(paths.named, paths.sandbox, &paths.grants);
        let names_any = !ungranted.is_empty();
        for path in ungranted {
            shared.denied_files.record(path);
        }
        names_any
    }

    /// The files that the server's errors named, and that exist and are not in its sandbox, for the user. Files that
    /// were not listed before are written into the server's log.
    pub async fn denied_files(&self) -> Vec<Denial<PathBuf>> {
        let Some(shared) = &self.server_shared else {
            return Vec::new();
        };
        let mut files = shared.denied_files.list();
        let named = files.iter().map(|file| file.target.clone()).collect();
        let denied = match self.sandbox_with_grants(named).await {
            Some(paths) => {
                let files = &shared.denied_files;
                files
                    .denied(paths.named, paths.sandbox, &paths.grants)
                    .await
            }
            None => Vec::new(),
        };
        files.retain(|file| denied.contains(&file.target));
        let lines: Vec<String> = files
            .iter()
            .filter(|file| shared.denied_files.mark_logged(&file.target))
            .map(|file| {
                let path = file.target.display();
                let line =
                    format!("[muxd] sandbox: an error names {path}, which it does not contain");
                LogStamp::default().stamp_line(&line)
            })
            .collect();
        if !lines.is_empty() {
            let log = shared.identity.log().to_owned();
            let written = spawn_blocking(move || {
                let mut log = ServerLog::open(&log);
                for line in &lines {
                    log.write(line);
                }
            });
            // The blocking pool may have shut down.
            written.await.ok();
        }
        files
    }

    /// The paths in the arguments of the server's entry that its sandbox does not contain, and that exist or could be
    /// created.
    pub async fn ungranted_arguments(&self) -> Vec<PathBuf> {
        let Some(process) = self.process() else {
            return Vec::new();
        };
        let args = process
            .args
            .iter()
            .flat_map(|arg| named_paths(arg.expose()));
        match self.sandbox_with_grants(args.collect()).await {
            Some(NamedPaths {
                named,
                sandbox,
                grants,
            }) => denied_targets(named, sandbox, &grants).await,
            None => Vec::new(),
        }
    }

    /// The paths, with the paths in the sandbox. `None` if there are no paths, or if the grants are not known.
    async fn sandbox_with_grants(&self, named: Vec<PathBuf>) -> Option<NamedPaths<'_>> {
        let process = self.process()?;
        let sandbox = process.sandbox.sandbox().filter(|_| !named.is_empty())?;
        // The grants of these are known only for a session, not for the server.
        let is_of_workspace = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.contains(WORKSPACE_PLACEHOLDER)
        };
        let mut granted = sandbox.read.iter().chain(&sandbox.write);
        if granted.any(is_of_workspace) {
            return None;
        }
        let grants = self.sandbox_report().await?.grants.ok()?;
        Some(NamedPaths {
            named,
            sandbox,
            grants,
        })
    }

    /// Makes sessions that are opened from now on run without a sandbox and under observation, until
    /// [`end_observation`](Self::end_observation). This applies to the server of this name even if its definition
    /// changes meanwhile.
    pub fn begin_observation(&self) -> Result<(), ObservationError> {
        let refused = |why: &str| Err(ObservationError::Impossible(why.into()));
        match (&self.server_shared, self.endpoint()) {
            (Some(shared), Some(ServerEndpoint::Process(_))) => {
                let (launcher, identity) = shared.launcher();
                launcher.begin_observation(identity)
            }
            (_, None) => refused("its entry has an error; `mux servers` shows it"),
            _ => refused("muxd does not start it, so it has no sandbox"),
        }
    }

    /// Makes sessions that are opened from now on run as the entry says. Observed sessions must be replaced
    /// ([`replace_open_sessions`](Self::replace_open_sessions)). Returns the sandbox in which they would have worked.
    pub fn end_observation(&self) -> Result<SandboxSuggestion, ObservationError> {
        match &self.server_shared {
            Some(shared) => {
                let (launcher, identity) = shared.launcher();
                launcher.end_observation(identity)
            }
            None => Ok(unobserved()),
        }
    }

    /// Replaces the open sessions, and sessions that are being opened.
    pub async fn replace_open_sessions(&self) {
        let mut open = self.all_slots();
        open.retain(|slot| slot.is_up() || slot.has_failed() || slot.open_session().is_some());
        join_all(open.iter().map(|slot| slot.replace_session())).await;
    }
}
