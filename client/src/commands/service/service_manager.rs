//! The service on this system: a systemd unit with a socket, a launchd agent, or a task of Task Scheduler.
//!
//! Invariant: only queries are run here. Changes are returned as steps, which can be shown before they are run.

use std::path::{Path, PathBuf};

use mux_proto::Error;

use super::{
    super::env_path,
    service_command::{ServiceCommandError, ServiceStep},
    task_scheduler,
    unit_files::{ServiceSpec, UnwritablePathError},
};
use crate::exit;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ServiceManager {
    Systemd,
    Launchd,
    TaskScheduler,
}

impl ServiceManager {
    pub(super) fn current() -> Option<Self> {
        match std::env::consts::OS {
            "linux" => Some(Self::Systemd),
            "macos" => Some(Self::Launchd),
            "windows" => Some(Self::TaskScheduler),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
            Self::TaskScheduler => "Task Scheduler",
        }
    }

    /// Returns true if the manager listens for clients and starts muxd for the first one. Task Scheduler only starts
    /// muxd at login.
    pub(super) fn listens(self) -> bool {
        self != Self::TaskScheduler
    }

    /// The files of a service, with their content.
    pub(super) fn unit_files(
        self,
        described: &ServiceSpec,
        folder: &Path,
    ) -> Result<Vec<(PathBuf, String)>, UnwritablePathError> {
        let texts = match self {
            Self::Systemd => vec![
                described.service_unit_text()?,
                described.socket_unit_text()?,
            ],
            Self::Launchd => vec![described.launchd_agent_text()?],
            Self::TaskScheduler => vec![task_scheduler::task_text(described, &windows_user())?],
        };
        let names = self.unit_file_names(&described.name).into_iter();
        Ok(names.map(|name| folder.join(name)).zip(texts).collect())
    }

    /// The names of the files of a service.
    pub(super) fn unit_file_names(self, name: &str) -> Vec<String> {
        match self {
            Self::Systemd => vec![format!("{name}.service"), format!("{name}.socket")],
            Self::Launchd => vec![format!("{name}.plist")],
            Self::TaskScheduler => vec![task_scheduler::task_file_name(name)],
        }
    }

    /// Links that `systemctl` has created, to be removed even if it cannot be run.
    pub(super) fn enabled_links(self, name: &str, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::Systemd => {
                vec![folder.join(format!("sockets.target.wants/{name}.socket"))]
            }
            Self::Launchd | Self::TaskScheduler => Vec::new(),
        }
    }

    /// The steps that apply written files. `changed` is true if other files applied before.
    pub(super) fn install_steps(
        self,
        name: &str,
        folder: &Path,
        changed: bool,
    ) -> Vec<ServiceStep> {
        match self {
            Self::Systemd => {
                let socket = format!("{name}.socket");
                let verb = if changed { "restart" } else { "start" };
                vec![
                    systemctl_step(&["daemon-reload"]),
                    systemctl_step(&["enable", &socket]),
                    systemctl_step(&[verb, &socket]),
                ]
            }
            Self::Launchd => {
                let file = folder.join(format!("{name}.plist")).display().to_string();
                let domain = launchd_domain();
                let target = launchd_target(name);
                vec![
                    ServiceStep::optional_step(&["launchctl", "bootout", &target]),
                    ServiceStep::optional_step(&["launchctl", "enable", &target]),
                    ServiceStep::required_step(&["launchctl", "bootstrap", &domain, &file]),
                ]
            }
            Self::TaskScheduler => task_scheduler::install_steps(name, folder),
        }
    }

    /// The steps before the files are removed, and those after.
    pub(super) fn uninstall_steps(self, name: &str) -> (Vec<ServiceStep>, Vec<ServiceStep>) {
        match self {
            Self::Systemd => {
                let socket = format!("{name}.socket");
                let service = format!("{name}.service");
                (
                    vec![
                        systemctl_step(&["stop", &socket, &service]),
                        systemctl_step(&["disable", &socket]),
                    ],
                    vec![
                        systemctl_step(&["daemon-reload"]),
                        ServiceStep {
                            must: false,
                            ..systemctl_step(&["reset-failed", &socket, &service])
                        },
                    ],
                )
            }
            Self::Launchd => (
                vec![ServiceStep::optional_step(&[
                    "launchctl",
                    "bootout",
                    &launchd_target(name),
                ])],
                Vec::new(),
            ),
            Self::TaskScheduler => (vec![task_scheduler::uninstall_step(name)], Vec::new()),
        }
    }

    /// Checks that the service manager answers. The error contains the fix.
    pub(super) async fn check_reachable(self) -> Result<(), Error> {
        let question = match self {
            Self::Systemd => systemctl_step(&["show", "--property=Version", "--value"]),
            Self::Launchd => ServiceStep::required_step(&["launchctl", "print", &launchd_domain()]),
            Self::TaskScheduler => task_scheduler::reachable_step(),
        };
        let Err(error) = question.run_command().await else {
            return Ok(());
        };
        let otherwise = "muxd needs no service: the first client starts it";
        Err(match (self, error) {
            (Self::Systemd, ServiceCommandError::Missing(_)) => {
                exit::unavailable_error("this system has no systemd: there is no systemctl".into())
                    .hint(otherwise)
            }
            (Self::Systemd, error) => {
                let uid = effective_uid();
                exit::unavailable_error(format!("no systemd user manager answers: {error}")).hint(format!(
                    "log in directly as this user (not through su or sudo), or let its manager run without a login: \
                     `loginctl enable-linger`, then set XDG_RUNTIME_DIR=/run/user/{uid}. {otherwise}"
                ))
            }
            (Self::Launchd, error) => {
                exit::unavailable_error(format!("launchd does not answer for this user: {error}"))
                    .hint(format!("log in at this machine's screen. {otherwise}"))
            }
            (Self::TaskScheduler, error) => {
                exit::unavailable_error(format!("Task Scheduler does not answer: {error}"))
                    .hint(otherwise)
            }
        })
    }

    /// Returns true if the systemd socket is active, the launchd agent is loaded, or the task is registered.
    pub(super) async fn is_active(self, name: &str) -> bool {
        let question = match self {
            Self::Systemd => systemctl_step(&["is-active", &format!("{name}.socket")]),
            Self::Launchd => {
                ServiceStep::required_step(&["launchctl", "print", &launchd_target(name)])
            }
            Self::TaskScheduler => task_scheduler::query_step(name),
        };
        question.run_command().await.is_ok()
    }

    /// Returns true if the service will be active after the next login.
    pub(super) async fn is_enabled(self, name: &str) -> bool {
        match self {
            Self::Systemd => systemctl_step(&["is-enabled", &format!("{name}.socket")])
                .run_command()
                .await
                .is_ok(),
            // launchd loads every agent in that folder, and a task stays registered.
            Self::Launchd | Self::TaskScheduler => true,
        }
    }
}

fn systemctl_step(arguments: &[&str]) -> ServiceStep {
    ServiceStep::required_step(&[&["systemctl", "--user"], arguments].concat())
}

fn launchd_domain() -> String {
    format!("gui/{}", effective_uid())
}

fn launchd_target(name: &str) -> String {
    format!("{}/{name}", launchd_domain())
}

/// The user as `DOMAIN\NAME`, by the variables that Windows sets for each.
fn windows_user() -> String {
    let words = [env_path("USERDOMAIN"), env_path("USERNAME")];
    let words = words.iter().flatten().map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join("\\")
}

#[cfg(unix)]
fn effective_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[cfg(not(unix))]
fn effective_uid() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_starts_the_socket_and_not_the_service() {
        let steps = ServiceManager::Systemd.install_steps("muxd", Path::new("/x"), false);
        let shown: Vec<String> = steps.iter().map(ServiceStep::command_line).collect();
        assert_eq!(
            shown,
            [
                "systemctl --user daemon-reload",
                "systemctl --user enable muxd.socket",
                "systemctl --user start muxd.socket",
            ]
        );
        assert!(steps.iter().all(|step| step.must));
    }

    #[test]
    fn launchd_agent_is_reloaded_and_may_be_absent() {
        let steps = ServiceManager::Launchd.install_steps("muxd", Path::new("/x"), true);
        let last = steps.last().unwrap();
        assert!(last.must && last.command_line().ends_with("/x/muxd.plist"));
        assert!(!steps[0].must);
        let (before, after) = ServiceManager::Launchd.uninstall_steps("muxd");
        assert!(before[0].command_line().ends_with("/muxd"));
        assert!(after.is_empty());
    }
}
