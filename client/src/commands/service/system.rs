//! The service on this system: a systemd unit with a socket, or a launchd agent.
//!
//! Invariant: only queries are run here. Changes are returned as steps, so that they can be shown before they are run.

use std::path::{Path, PathBuf};

use mux_proto::Error;

use super::{
    texts::{Described, Unwritable},
    tool::{Step, ToolError},
};
use crate::exit;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum System {
    Systemd,
    Launchd,
}

impl System {
    pub(super) fn current() -> Option<Self> {
        match std::env::consts::OS {
            "linux" => Some(Self::Systemd),
            "macos" => Some(Self::Launchd),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }

    /// The files of a service, with their content.
    pub(super) fn files(
        self,
        described: &Described,
        folder: &Path,
    ) -> Result<Vec<(PathBuf, String)>, Unwritable> {
        let name = &described.name;
        Ok(match self {
            Self::Systemd => vec![
                (folder.join(format!("{name}.service")), described.service()?),
                (folder.join(format!("{name}.socket")), described.socket()?),
            ],
            Self::Launchd => {
                vec![(folder.join(format!("{name}.plist")), described.agent()?)]
            }
        })
    }

    /// The names of the files of a service.
    pub(super) fn names(self, name: &str) -> Vec<String> {
        let endings: &[&str] = match self {
            Self::Systemd => &["service", "socket"],
            Self::Launchd => &["plist"],
        };
        let named = endings.iter().map(|ending| format!("{name}.{ending}"));
        named.collect()
    }

    /// Links that `systemctl` has created, to be removed even if it cannot be run.
    pub(super) fn links(self, name: &str, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::Systemd => {
                vec![folder.join(format!("sockets.target.wants/{name}.socket"))]
            }
            Self::Launchd => Vec::new(),
        }
    }

    /// The steps that put written files in force. `changed`: other files were in force before.
    pub(super) fn put_in_force(self, name: &str, folder: &Path, changed: bool) -> Vec<Step> {
        match self {
            Self::Systemd => {
                let socket = format!("{name}.socket");
                let verb = if changed { "restart" } else { "start" };
                vec![
                    systemctl(&["daemon-reload"]),
                    systemctl(&["enable", &socket]),
                    systemctl(&[verb, &socket]),
                ]
            }
            Self::Launchd => {
                let file = folder.join(format!("{name}.plist")).display().to_string();
                let (domain, target) = (domain(), target(name));
                vec![
                    Step::may(&["launchctl", "bootout", &target]),
                    Step::may(&["launchctl", "enable", &target]),
                    Step::must(&["launchctl", "bootstrap", &domain, &file]),
                ]
            }
        }
    }

    /// The steps before the files are removed, and those after.
    pub(super) fn take_out_of_force(self, name: &str) -> (Vec<Step>, Vec<Step>) {
        match self {
            Self::Systemd => {
                let (socket, service) = (format!("{name}.socket"), format!("{name}.service"));
                (
                    vec![
                        systemctl(&["stop", &socket, &service]),
                        systemctl(&["disable", &socket]),
                    ],
                    vec![
                        systemctl(&["daemon-reload"]),
                        Step {
                            must: false,
                            ..systemctl(&["reset-failed", &socket, &service])
                        },
                    ],
                )
            }
            Self::Launchd => (
                vec![Step::may(&["launchctl", "bootout", &target(name)])],
                Vec::new(),
            ),
        }
    }

    /// Checks that the service manager answers. The error has what to do if it does not.
    pub(super) async fn reach(self) -> Result<(), Error> {
        let question = match self {
            Self::Systemd => systemctl(&["show", "--property=Version", "--value"]),
            Self::Launchd => Step::must(&["launchctl", "print", &domain()]),
        };
        let error = match question.run().await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let otherwise = "muxd needs no service: the first client starts it";
        Err(match (self, error) {
            (Self::Systemd, ToolError::Missing(_)) => {
                exit::machinery("this system has no systemd: there is no systemctl".into())
                    .hint(otherwise)
            }
            (Self::Systemd, error) => {
                let uid = uid();
                exit::machinery(format!("no systemd user manager answers: {error}")).hint(format!(
                    "log in as this user yourself (not by su or sudo), or have its manager run without a login: \
                     `loginctl enable-linger`, then set XDG_RUNTIME_DIR=/run/user/{uid}. {otherwise}"
                ))
            }
            (Self::Launchd, error) => {
                exit::machinery(format!("launchd does not answer for this user: {error}"))
                    .hint(format!("log in at the screen of this machine. {otherwise}"))
            }
        })
    }

    /// Whether the systemd socket is active, or the launchd agent is loaded.
    pub(super) async fn is_active(self, name: &str) -> bool {
        let question = match self {
            Self::Systemd => systemctl(&["is-active", &format!("{name}.socket")]),
            Self::Launchd => Step::must(&["launchctl", "print", &target(name)]),
        };
        question.run().await.is_ok()
    }

    /// Whether it will be active after the next login.
    pub(super) async fn is_enabled(self, name: &str) -> bool {
        match self {
            Self::Systemd => systemctl(&["is-enabled", &format!("{name}.socket")])
                .run()
                .await
                .is_ok(),
            // launchd loads every agent in that folder.
            Self::Launchd => true,
        }
    }
}

fn systemctl(arguments: &[&str]) -> Step {
    Step::must(&[&["systemctl", "--user"], arguments].concat())
}

fn domain() -> String {
    format!("gui/{}", uid())
}

fn target(name: &str) -> String {
    format!("{}/{name}", domain())
}

#[cfg(unix)]
fn uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[cfg(not(unix))]
fn uid() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systemd_starts_the_socket_and_not_the_service() {
        let steps = System::Systemd.put_in_force("muxd", Path::new("/x"), false);
        let shown: Vec<String> = steps.iter().map(Step::shown).collect();
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
        let steps = System::Launchd.put_in_force("muxd", Path::new("/x"), true);
        let last = steps.last().unwrap();
        assert!(last.must && last.shown().ends_with("/x/muxd.plist"));
        assert!(!steps[0].must);
        let (before, after) = System::Launchd.take_out_of_force("muxd");
        assert!(before[0].shown().ends_with("/muxd"));
        assert!(after.is_empty());
    }
}
