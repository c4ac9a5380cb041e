//! Checks the machine: disk space, limits of files and processes, and the clock.
//!
//! Invariant: a condition that the daemon reports is not checked again here.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use mux_proto::{Status, endpoint::Dirs};

use super::{super::env_path, CheckGroup};

/// Free bytes below which a disk is nearly full: logs alone may take half of it.
const LOW_DISK_BYTES: u64 = 200 << 20;
/// Free bytes below which a disk is full.
const FULL_DISK_BYTES: u64 = 1 << 20;
/// Timestamps on network file systems may be ahead by less.
const MAX_TIMESTAMP_LEAD: Duration = Duration::from_mins(5);

/// Degraded modes in which data is lost or requests are refused.
const FAILING_MODES: &[&str] = &["disk_full", "read_only", "missing", "audit", "workers"];

pub(super) fn check_machine(group: &mut CheckGroup, dirs: &Dirs, status: Option<&Status>) {
    let degraded = status.map_or(&[][..], |status| &status.degraded);
    for condition in degraded {
        let message = condition.message.clone();
        let fix = condition.fix.clone();
        if FAILING_MODES.contains(&condition.mode.as_str()) {
            group.fail(message, fix);
        } else {
            group.warn(message, fix);
        }
    }
    let says = |mode: &str| degraded.iter().any(|condition| condition.mode == mode);
    if !says("disk_full") {
        check_disk_space(group, dirs);
    }
    if !says("descriptors") {
        system::check_resource_limits(group);
    }
    if !says("clock") {
        check_clock(group, dirs, SystemTime::now());
    }
    check_home_variables(group, dirs);
    if group.checks.is_empty() {
        group.ok("disk space, limits and the clock are fine");
    }
}

/// Checks the free space of each disk once.
fn check_disk_space(group: &mut CheckGroup, dirs: &Dirs) {
    let mut disks: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for dir in [&dirs.state, &dirs.cache, &dirs.runtime, &dirs.config] {
        if let Some((device, left)) = system::disk_space(dir) {
            disks.entry(device).or_insert((dir, left));
        }
    }
    for (dir, left) in disks.into_values() {
        let shown = dir.display();
        let left_mib = left >> 20;
        if left < FULL_DISK_BYTES {
            group.fail(
                format!("the disk of {shown} is full"),
                "free disk space: muxd cannot save approvals, logins or logs",
            );
        } else if left < LOW_DISK_BYTES {
            group.warn(
                format!("the disk of {shown} has {left_mib} MiB left"),
                system::disk_usage_hint(dir),
            );
        }
    }
}

/// Checks whether files of mux have timestamps in the future.
fn check_clock(group: &mut CheckGroup, dirs: &Dirs, now: SystemTime) {
    let mut files: Vec<PathBuf> = vec![dirs.config_file(), dirs.env_file()];
    files.extend(std::env::current_exe());
    for dir in [dirs.state.clone(), dirs.logs()] {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path()));
    }
    let ahead = |file: PathBuf| {
        let ahead = file.metadata().ok()?.modified().ok()?.duration_since(now);
        Some((
            ahead.ok().filter(|ahead| *ahead > MAX_TIMESTAMP_LEAD)?,
            file,
        ))
    };
    if let Some((ahead, file)) = files.into_iter().filter_map(ahead).max() {
        let ahead =
            humantime::format_duration(Duration::from_secs((ahead.as_secs() + 30) / 60 * 60));
        group.warn(
            format!(
                "the clock is behind, or was ahead: {} is dated {ahead} from now",
                file.display()
            ),
            "set the clock (`timedatectl set-ntp true`): the expiry of logins and stored results depends on it",
        );
    }
}

fn check_home_variables(group: &mut CheckGroup, dirs: &Dirs) {
    let home = system::HOME_VARIABLE;
    if env_path(home).is_none() {
        group.warn(
            format!("{home} is not set: a muxd started here has no home directory, and neither do its servers"),
            format!("set {home} before you run mux"),
        );
    }
    if cfg!(target_os = "linux") && dirs.home().is_none() && env_path("XDG_RUNTIME_DIR").is_none() {
        group.note(
            format!(
                "XDG_RUNTIME_DIR is not set, so the socket is in {}",
                dirs.runtime.display()
            ),
            Some("ignore this if no program that runs mux has it set; services need it"),
        );
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};

    use mux_proto::Degraded;

    use super::{super::CheckVerdict, *};

    #[test]
    fn file_with_a_future_timestamp_means_that_the_clock_is_behind() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        let now = SystemTime::now();
        fs::write(dirs.config_file(), "").unwrap();
        let look = || CheckGroup::filled(|group| check_clock(group, &dirs, now)).checks;
        assert_eq!(look(), []);
        let file = File::open(dirs.config_file()).unwrap();
        file.set_modified(now + Duration::from_hours(24)).unwrap();
        let checks = look();
        assert_eq!(checks[0].verdict, CheckVerdict::Warning);
        assert!(
            checks[0].message.contains("dated 1day from now"),
            "{checks:?}"
        );
    }

    #[test]
    fn degraded_conditions_are_repeated_with_their_fix() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        let mode = |mode: &str| Degraded {
            mode: mode.into(),
            message: format!("it is {mode}"),
            fix: "mend it".into(),
        };
        let status = serde_json::json!({
            "build": "", "contract": 3, "pid": 1, "uptime_ms": 0, "clients": 0, "config": "", "socket": "", "log": "",
            "workers": { "ready": 0, "busy": 0, "starting": 0, "waiting": 0, "layers": [], "snapshot": false },
            "checker": { "checks": 0, "cached": 0 }, "problems": [],
            "runs": { "running": 0, "succeeded": 0, "failed": 0 }, "servers": [],
            "degraded": [mode("disk_full"), mode("of_tomorrow")],
        });
        let status: Status = serde_json::from_value(status).unwrap();
        let checks = CheckGroup::filled(|group| check_machine(group, &dirs, Some(&status))).checks;
        assert_eq!(
            (checks[0].verdict, checks[0].message.as_str()),
            (CheckVerdict::Failure, "it is disk_full")
        );
        assert_eq!(
            (checks[1].verdict, checks[1].fix.as_deref()),
            (CheckVerdict::Warning, Some("mend it"))
        );
    }
}
