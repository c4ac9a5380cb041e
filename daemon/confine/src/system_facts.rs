//! The kind of Linux, as far as it affects sandboxes: containers, WSL, and kernel settings. Each remedy is for a fact
//! that was found.
//!
//! Invariant: nothing is started, and only system files are read.

use std::{fs, path::Path};

/// The reasons namespaces are forbidden, the most specific first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct SystemFacts {
    pub(super) wsl: Option<WslVersion>,
    /// Set in Docker, Podman, and everything else that sets the variable `container` for its first process.
    pub(super) is_container: bool,
    pub(super) cgroups: CgroupVersion,
    pub(super) namespaces: NamespaceSetting,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WslVersion {
    /// System calls that Windows answers itself.
    One,
    /// A Linux kernel.
    Two,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum CgroupVersion {
    #[default]
    None,
    /// Alone or together with version 2.
    One,
    Two,
}

/// The kernel setting that forbids a user to create namespaces.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum NamespaceSetting {
    #[default]
    Unknown,
    /// `user.max_user_namespaces` is 0.
    Maximum,
    /// `kernel.unprivileged_userns_clone` is 0, on Debian and Arch.
    Clone,
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1, as on Ubuntu since 24.04.
    AppArmor,
}

impl SystemFacts {
    /// `root` is `/`, except in tests.
    pub(super) fn read(root: &Path) -> Self {
        let exists = |path: &str| root.join(path).exists();
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let setting = |path: &str| text(path).trim().to_owned();
        let first_process = text("proc/1/environ");
        Self {
            wsl: wsl_version(&text("proc/sys/kernel/osrelease")),
            is_container: exists(".dockerenv")
                || exists("run/.containerenv")
                || first_process
                    .split('\0')
                    .any(|variable| variable.starts_with("container=")),
            cgroups: cgroup_version(&text("proc/self/mounts")),
            namespaces: if setting("proc/sys/user/max_user_namespaces") == "0" {
                NamespaceSetting::Maximum
            } else if setting("proc/sys/kernel/unprivileged_userns_clone") == "0" {
                NamespaceSetting::Clone
            } else if setting("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
                NamespaceSetting::AppArmor
            } else {
                NamespaceSetting::Unknown
            },
        }
    }

    /// How to let bubblewrap create namespaces, if it is installed but cannot.
    pub(super) fn namespace_remedy(self) -> &'static str {
        match (self.wsl, self.namespaces) {
            (Some(WslVersion::One), _) => WSL_ONE_REMEDY,
            (_, NamespaceSetting::Maximum) => {
                "allow user namespaces: `sysctl -w user.max_user_namespaces=10000` as root"
            }
            (_, NamespaceSetting::Clone) => {
                "allow user namespaces: `sysctl -w kernel.unprivileged_userns_clone=1` as root"
            }
            (_, NamespaceSetting::AppArmor) => {
                "allow user namespaces: an AppArmor profile with `userns` for bwrap, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root"
            }
            (_, NamespaceSetting::Unknown) if self.is_container => {
                "allow namespaces in this container (Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined), or run muxd outside it"
            }
            (_, NamespaceSetting::Unknown) => "allow unprivileged user namespaces for bubblewrap",
        }
    }
}

pub(super) const WSL_ONE_REMEDY: &str = "WSL 1 has no Linux kernel: convert the distribution with `wsl --set-version NAME 2` in Windows";

/// Microsoft's kernels carry its name. The release string of WSL 1 is fixed.
fn wsl_version(release: &str) -> Option<WslVersion> {
    let release = release.trim();
    match release.to_lowercase() {
        lower if lower.contains("wsl2") || lower.contains("microsoft-standard") => {
            Some(WslVersion::Two)
        }
        lower if lower.ends_with("-microsoft") => Some(WslVersion::One),
        _ => None,
    }
}

/// From `/proc/self/mounts`. Where controllers of version 1 are mounted, version 2 has none to give.
fn cgroup_version(mounts: &str) -> CgroupVersion {
    let mut version = CgroupVersion::None;
    for mount in mounts.lines() {
        match mount.split(' ').nth(2) {
            Some("cgroup") => return CgroupVersion::One,
            Some("cgroup2") => version = CgroupVersion::Two,
            _ => {}
        }
    }
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system with these files.
    fn facts(files: &[(&str, &str)]) -> SystemFacts {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        SystemFacts::read(root.path())
    }

    #[test]
    fn kernel_release_tells_the_version_of_wsl() {
        for (release, version) in [
            ("4.4.0-19041-Microsoft\n", Some(WslVersion::One)),
            (
                "5.15.167.4-microsoft-standard-WSL2\n",
                Some(WslVersion::Two),
            ),
            ("6.6.87-custom-WSL2+\n", Some(WslVersion::Two)),
            ("4.19.104-microsoft-standard\n", Some(WslVersion::Two)),
            ("6.1.0-28-amd64\n", None),
            ("", None),
        ] {
            let found = facts(&[("proc/sys/kernel/osrelease", release)]);
            assert_eq!(found.wsl, version, "{release}");
        }
    }

    #[test]
    fn containers_are_recognized_by_the_marks_of_their_engines() {
        assert!(!facts(&[("proc/1/environ", "TERM=xterm\0mycontainer=1\0")]).is_container);
        for mark in [
            (".dockerenv", ""),
            ("run/.containerenv", ""),
            ("proc/1/environ", "TERM=xterm\0container=lxc\0"),
        ] {
            assert!(facts(&[mark]).is_container, "{mark:?}");
        }
    }

    #[test]
    fn mounts_tell_the_version_of_control_groups() {
        let of = |mounts| facts(&[("proc/self/mounts", mounts)]).cgroups;
        let second = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        let first = "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n";
        assert_eq!(of("proc /proc proc rw 0 0\n"), CgroupVersion::None);
        assert_eq!(of(second), CgroupVersion::Two);
        assert_eq!(of(first), CgroupVersion::One);
        assert_eq!(of(&format!("{second}{first}")), CgroupVersion::One);
    }

    #[test]
    fn remedy_is_for_what_forbids_namespaces() {
        let docker = (".dockerenv", "");
        let maximum = ("proc/sys/user/max_user_namespaces", "0\n");
        let clone = ("proc/sys/kernel/unprivileged_userns_clone", "0\n");
        let app_armor = (
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1\n",
        );
        let wsl = ("proc/sys/kernel/osrelease", "4.4.0-22621-Microsoft");
        for (files, part) in [
            (&[maximum][..], "user.max_user_namespaces=10000"),
            (&[clone], "kernel.unprivileged_userns_clone=1"),
            (&[app_armor], "apparmor_restrict_unprivileged_userns=0"),
            (&[docker], "--security-opt seccomp=unconfined"),
            (&[docker, maximum], "user.max_user_namespaces"),
            (&[wsl, maximum], "wsl --set-version"),
            (&[], "allow unprivileged user namespaces"),
        ] {
            let remedy = facts(files).namespace_remedy();
            assert!(remedy.contains(part), "{files:?}: {remedy}");
        }
    }
}
