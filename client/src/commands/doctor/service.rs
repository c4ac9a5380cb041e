//! Checks the service, if one is installed, and shows how the running daemon was started.

use std::path::{Path, PathBuf};

use mux_proto::{Status, endpoint::Dirs};

use super::{super::service, CheckGroup};
use crate::render::{self, ServiceReport};

pub(super) async fn check_service(group: &mut CheckGroup, dirs: &Dirs, status: Option<&Status>) {
    if let Some(status) = status {
        group.ok(format!(
            "muxd {} was {}",
            status.pid,
            render::start_origin_text(status.started.as_ref())
        ));
    }
    // A system without services is not a problem.
    if let Ok(report) = service::service_report(dirs).await {
        check_installed_service(group, &report, status);
    }
}

fn check_installed_service(
    group: &mut CheckGroup,
    report: &ServiceReport,
    status: Option<&Status>,
) {
    if !report.installed {
        return;
    }
    let name = &report.service;
    let install = "mux service install";
    for program in report
        .files
        .iter()
        .filter_map(|file| missing_unit_program(file))
    {
        group.fail(
            format!("{name} starts {}, which does not exist", program.display()),
            format!("`{install}` writes the path of the muxd next to the mux you are running now"),
        );
    }
    for file in &report.stale {
        let file = file.display();
        group.warn(
            format!("{file} is not what this mux would write: muxd or the socket may have moved"),
            format!("`{install} --dry-run` shows what differs, `{install}` updates it"),
        );
    }
    if let Some(error) = &report.unreachable {
        let fix = error.hint.clone().unwrap_or_default();
        group.warn(format!("{name} is installed, but {}", error.message), fix);
    } else if !report.active {
        group.warn(
            if report.listens {
                format!("{name} is installed but does not listen, so clients start muxd")
            } else {
                format!("{name} is installed but not active, so clients start muxd")
            },
            match report.system {
                "systemd" => {
                    format!("`{install}` starts it; `systemctl --user status {name}` shows why")
                }
                "Task Scheduler" => {
                    format!("`{install}` registers it; `schtasks /Query /TN {name}` shows why")
                }
                _ => format!(
                    "`{install}` starts it; `launchctl print gui/$(id -u)/{name}` shows why"
                ),
            },
        );
    } else {
        let effect = if report.listens {
            "listens"
        } else {
            "starts it at login"
        };
        group.ok(format!(
            "{name} is installed, and {} {effect}",
            report.system
        ));
        let passed = |status: &Status| status.started.as_ref().is_some_and(|s| s.socket_passed);
        if report.system == "systemd" && status.is_some_and(|status| !passed(status)) {
            group.warn(
                "the running muxd was not started by the service and exits as soon as it notices",
                "`mux restart` switches to the service",
            );
        }
    }
}

/// The program that a unit starts, if it does not exist.
fn missing_unit_program(unit: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(unit).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))?;
    // systemd quotes as a shell does, and spells `%` as `%%`.
    let word = shlex::Shlex::new(line).next()?;
    let program = PathBuf::from(word.replace("%%", "%"));
    (program.is_absolute() && !program.exists()).then_some(program)
}

#[cfg(test)]
mod tests {
    use mux_proto::Error;

    use super::{super::CheckVerdict, *};

    fn report() -> ServiceReport {
        ServiceReport {
            service: "muxd".into(),
            system: "systemd",
            installed: true,
            files: vec!["/x/muxd.service".into()],
            stale: Vec::new(),
            unreachable: None,
            active: true,
            enabled: true,
            listens: true,
            socket: "/run/muxd.sock".into(),
            pid: None,
            started: None,
        }
    }

    fn found(report: &ServiceReport) -> Vec<(CheckVerdict, String)> {
        let mut group = CheckGroup::new("service");
        check_installed_service(&mut group, report, None);
        let checks = group.checks.into_iter();
        checks
            .map(|check| (check.verdict, check.fix.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn unit_that_starts_a_missing_program_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let unit = dir.path().join("muxd.service");
        let checks = |line: &str| {
            std::fs::write(&unit, format!("[Service]\n{line}\n")).unwrap();
            found(&ServiceReport {
                files: vec![unit.clone()],
                ..report()
            })
        };
        assert_eq!(
            checks("ExecStart=/bin/sh"),
            [(CheckVerdict::Ok, String::new())]
        );
        let escaped = "ExecStart=\"/no such/100%% \\\"mux\\\"/a\\\\b/muxd\"";
        assert_eq!(checks(escaped)[0].0, CheckVerdict::Failure);
        assert_eq!(
            missing_unit_program(&unit).unwrap(),
            Path::new("/no such/100% \"mux\"/a\\b/muxd")
        );
        assert_eq!(checks("ExecStart=/no/muxd --x")[0].0, CheckVerdict::Failure);
    }

    #[test]
    fn service_problems_are_reported_with_a_fix() {
        assert_eq!(found(&report()), [(CheckVerdict::Ok, String::new())]);
        let silent = ServiceReport {
            active: false,
            stale: vec!["/x/muxd.service".into()],
            ..report()
        };
        let checks = found(&silent);
        assert_eq!(checks.len(), 2, "{checks:?}");
        for (verdict, fix) in checks {
            assert_eq!(verdict, CheckVerdict::Warning);
            assert!(fix.contains("mux service install"), "{fix}");
        }
        let hidden = ServiceReport {
            unreachable: Some(
                crate::exit::unavailable_error("no bus".into()).hint("enable-linger"),
            ),
            active: false,
            ..report()
        };
        assert_eq!(
            found(&hidden),
            [(CheckVerdict::Warning, "enable-linger".into())]
        );
        let none = ServiceReport {
            installed: false,
            unreachable: None::<Error>,
            ..report()
        };
        assert!(found(&none).is_empty());
    }
}
