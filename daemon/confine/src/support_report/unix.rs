//! Tries the layers of Linux, and checks for macOS's own.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use mux_keeper::SpawnSpec;
use mux_messages::{SandboxSupportNote, SandboxSupportReport};
use mux_settings::ServerSandbox;
use nix::errno::Errno;

use crate::{
    enforceable::{LANDLOCK_WITH_SCOPES, refuse_unenforceable},
    machine::{Bubblewrap, SandboxSupport},
    system_facts::{CgroupVersion, SystemFacts, WSL_ONE_REMEDY, WslVersion},
};

/// The findings from which the report follows.
struct LayerFindings {
    support: SandboxSupport,
    /// The output of bubblewrap when it could not create namespaces.
    refusal: String,
    landlock: Result<u32, Errno>,
    facts: SystemFacts,
}

/// Tries the layers. Waits for the programs that it starts to try them.
pub fn sandbox_support() -> SandboxSupportReport {
    let mut refusal = String::new();
    let bubblewrap = match SandboxSupport::bubblewrap_trial() {
        None => Bubblewrap::NotInstalled,
        Some(trial) => match failure_of(&trial) {
            None => Bubblewrap::Works(trial.program),
            Some(printed) => {
                refusal = printed;
                Bubblewrap::Forbidden
            }
        },
    };
    let scopes =
        SandboxSupport::find_scopes().filter(|scopes| failure_of(&scopes.trial()).is_none());
    report_of(&LayerFindings {
        support: SandboxSupport::of(bubblewrap, scopes),
        refusal,
        #[cfg(target_os = "linux")]
        landlock: mux_lockdown::landlock_rules::supported_version(),
        #[cfg(not(target_os = "linux"))]
        landlock: Err(Errno::ENOSYS),
        facts: SystemFacts::read(Path::new("/")),
    })
}

fn report_of(findings: &LayerFindings) -> SandboxSupportReport {
    let support = &findings.support;
    let notes = if support.seatbelt {
        Vec::new()
    } else {
        [
            findings.namespaces(),
            findings.landlock(),
            findings.seccomp(),
            findings.cgroup(),
            findings.root(),
        ]
        .into_iter()
        .flatten()
        .collect()
    };
    SandboxSupportReport {
        layers: support.layers().into_iter().map(str::to_owned).collect(),
        has_sandboxes: refuse_unenforceable(&ServerSandbox::default(), support).is_ok(),
        notes,
    }
}

impl LayerFindings {
    fn namespaces(&self) -> Option<SandboxSupportNote> {
        let why = match &self.support.bubblewrap {
            Bubblewrap::Works(_) => return None,
            Bubblewrap::NotInstalled => "bubblewrap is not installed".to_owned(),
            Bubblewrap::Forbidden => format!(
                "bubblewrap is installed but cannot create namespaces ({})",
                self.refusal
            ),
        };
        Some(SandboxSupportNote {
            message: format!(
                "{why}: sandboxed servers do not get their own file system and network, and host lists, `memory` and `processes` are refused"
            ),
            fix: match &self.support.bubblewrap {
                Bubblewrap::NotInstalled => "install bubblewrap (apt install bubblewrap)".into(),
                _ => self.facts.namespace_remedy().into(),
            },
            is_weaker: true,
        })
    }

    fn landlock(&self) -> Option<SandboxSupportNote> {
        let errno = match self.landlock {
            Ok(LANDLOCK_WITH_SCOPES..) => return None,
            Ok(version) => {
                let effect = if self.support.bubblewrap.works() {
                    "servers with network = \"any\" cannot open Unix sockets"
                } else {
                    "servers in a sandbox do not start without bubblewrap"
                };
                return Some(SandboxSupportNote {
                    message: format!(
                        "Landlock has version {version} here, which does not cover signals and abstract sockets: {effect}"
                    ),
                    fix: format!("Linux 6.12 has version {LANDLOCK_WITH_SCOPES}"),
                    is_weaker: !self.support.bubblewrap.works(),
                });
            }
            Err(errno) => errno,
        };
        let (why, fix) = match errno {
            Errno::EOPNOTSUPP => (
                "is switched off",
                "add landlock to `lsm=` of the kernel's command line",
            ),
            Errno::ENOSYS if self.facts.wsl == Some(WslVersion::One) => {
                ("is missing", WSL_ONE_REMEDY)
            }
            Errno::ENOSYS if self.facts.is_container => (
                "is missing, or hidden from this container",
                "it needs Linux 5.13, and a container engine whose seccomp profile knows it",
            ),
            Errno::ENOSYS => (
                "is missing from this kernel",
                "use Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK",
            ),
            _ => (
                "is forbidden",
                "allow `landlock_create_ruleset` in the seccomp profile of the container or service",
            ),
        };
        Some(SandboxSupportNote {
            message: format!(
                "Landlock {why}: only system call filters keep programs from files and the network, and servers in a sandbox need bubblewrap"
            ),
            fix: fix.into(),
            is_weaker: true,
        })
    }

    fn seccomp(&self) -> Option<SandboxSupportNote> {
        let fix = match self.facts.wsl {
            Some(WslVersion::One) => WSL_ONE_REMEDY,
            _ => {
                "use Linux 4.14 or newer with CONFIG_SECCOMP_FILTER, and a container that allows `seccomp`"
            }
        };
        (!self.support.seccomp).then(|| SandboxSupportNote {
            message: "system call filters (seccomp) are missing: programs may make any system call, and servers in a sandbox do not start".into(),
            fix: fix.into(),
            is_weaker: true,
        })
    }

    /// Reports only what other layers lack without it: `limits` needs namespaces itself.
    fn cgroup(&self) -> Option<SandboxSupportNote> {
        if !self.support.bubblewrap.works() || self.support.running_scopes().is_some() {
            return None;
        }
        let (why, fix) = match self.facts.cgroups {
            CgroupVersion::None => (
                "there are no control groups",
                "nothing to do in a container; elsewhere mount cgroup2 on /sys/fs/cgroup",
            ),
            CgroupVersion::One => (
                "control groups have version 1, whose controllers systemd does not delegate to users",
                "boot with systemd.unified_cgroup_hierarchy=1",
            ),
            CgroupVersion::Two => (
                "no systemd user manager with the controllers `memory` and `pids` runs here",
                "log in through systemd, or `loginctl enable-linger`",
            ),
        };
        Some(SandboxSupportNote {
            message: format!(
                "{why}: muxd measures the memory and processes of sandboxes at intervals, and the kernel does not limit them"
            ),
            fix: fix.into(),
            is_weaker: false,
        })
    }

    fn root(&self) -> Option<SandboxSupportNote> {
        (!self.support.counts_processes).then(|| SandboxSupportNote {
            message: "muxd runs as root: a server without a sandbox may change the whole system, and the kernel does not count the processes of a sandbox".into(),
            fix: "run mux as another user (in a container: `USER` of its image)".into(),
            is_weaker: false,
        })
    }
}

/// The first sentence of the last line that a command printed, if it did not end with 0.
fn failure_of(trial: &SpawnSpec) -> Option<String> {
    let output = Command::new(&trial.program)
        .args(&trial.args)
        .env_clear()
        .envs(trial.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&trial.cwd)
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let printed = String::from_utf8_lossy(&output.stderr);
            let last = printed.lines().rev().find(|line| !line.trim().is_empty());
            Some(last.map_or_else(
                || output.status.to_string(),
                |line| {
                    let sentence = line.split(". ").next().unwrap_or(line);
                    sentence.trim().trim_end_matches('.').to_owned()
                },
            ))
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> LayerFindings {
        LayerFindings {
            support: SandboxSupport {
                bubblewrap: Bubblewrap::Works("/usr/bin/bwrap".into()),
                landlock: 6,
                seccomp: true,
                counts_processes: true,
                ..SandboxSupport::default()
            },
            refusal: String::new(),
            landlock: Ok(6),
            facts: SystemFacts {
                cgroups: CgroupVersion::Two,
                ..SystemFacts::default()
            },
        }
    }

    fn notes(change: impl FnOnce(&mut LayerFindings)) -> Vec<String> {
        let mut findings = findings();
        change(&mut findings);
        let notes = report_of(&findings).notes.into_iter();
        // A usual session has the user's systemd, which a test cannot fake.
        notes
            .filter(|note| !note.message.contains("systemd user manager"))
            .map(|note| format!("{} ({})", note.message, note.fix))
            .collect()
    }

    #[test]
    fn machine_with_all_layers_has_nothing_to_note() {
        assert_eq!(notes(|_| {}), [""; 0]);
        let report = report_of(&findings());
        assert_eq!(
            report.layers,
            ["namespaces", "landlock", "seccomp", "limits"]
        );
        assert!(report.has_sandboxes);
    }

    #[test]
    fn each_reason_of_a_missing_landlock_has_its_fix() {
        let of = |landlock, facts: SystemFacts| {
            let mut found = notes(|findings| {
                findings.landlock = landlock;
                findings.facts = SystemFacts {
                    cgroups: CgroupVersion::Two,
                    ..facts
                };
            });
            found.pop().unwrap()
        };
        let plain = SystemFacts::default();
        let wsl = SystemFacts {
            wsl: Some(WslVersion::One),
            ..plain
        };
        let container = SystemFacts {
            is_container: true,
            ..plain
        };
        for (landlock, facts, part) in [
            (Err(Errno::ENOSYS), plain, "Linux 5.13 or newer"),
            (Err(Errno::ENOSYS), wsl, "wsl --set-version"),
            (Err(Errno::ENOSYS), container, "a container engine"),
            (Err(Errno::EOPNOTSUPP), plain, "`lsm=`"),
            (Err(Errno::EPERM), container, "landlock_create_ruleset"),
            (Ok(3), plain, "version 3"),
        ] {
            let note = of(landlock, facts);
            assert!(note.contains(part), "{landlock:?}: {note}");
        }
    }

    #[test]
    fn servers_start_in_a_sandbox_with_either_of_bubblewrap_and_a_new_landlock() {
        let starts = |bubblewrap, landlock, seccomp| {
            let mut findings = findings();
            findings.support.bubblewrap = bubblewrap;
            findings.support.landlock = landlock;
            findings.support.seccomp = seccomp;
            report_of(&findings).has_sandboxes
        };
        let works = || Bubblewrap::Works("/usr/bin/bwrap".into());
        assert!(starts(works(), 0, true));
        assert!(starts(Bubblewrap::Forbidden, 6, true));
        assert!(!starts(Bubblewrap::Forbidden, 5, true));
        assert!(!starts(works(), 6, false));
    }

    #[test]
    fn conditions_that_another_layer_makes_up_for_are_not_weaker() {
        let mut findings = findings();
        findings.support.counts_processes = false;
        findings.facts.cgroups = CgroupVersion::One;
        let notes = report_of(&findings).notes;
        let [cgroup, root] = notes.as_slice() else {
            panic!("{notes:?}");
        };
        assert!(cgroup.message.contains("version 1") && !cgroup.is_weaker);
        assert!(root.message.contains("root") && !root.is_weaker);
        findings.support.bubblewrap = Bubblewrap::Forbidden;
        findings.refusal = "bwrap: Operation not permitted".into();
        let notes = report_of(&findings).notes;
        assert!(notes[0].is_weaker, "{notes:?}");
        assert!(
            notes[0]
                .message
                .contains("(bwrap: Operation not permitted)"),
            "{notes:?}"
        );
    }
}
