//! The name of the service for this user or `MUX_HOME`, the program that it starts, and the paths of its files.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use mux_proto::{Error, endpoint::Dirs, variables};
use sha2::{Digest as _, Sha256};

use super::{super::env_path, service_manager::ServiceManager, unit_files::ServiceSpec};
use crate::exit;

/// Variables that a login shell may set, and that a service manager may not have.
const DIR_VARIABLES: [&str; 4] = [
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
];

/// The name of the service: `muxd`, or a separate one for each `MUX_HOME`.
pub(super) fn service_name(home: Option<&Path>) -> String {
    match home {
        None => "muxd".into(),
        Some(home) => {
            let digest = Sha256::digest(home.as_os_str().as_encoded_bytes());
            let bytes: Vec<_> = digest[..4].iter().map(|b| format!("{b:02x}")).collect();
            format!("muxd-{}", bytes.concat())
        }
    }
}

/// The directory with the files of a user's services.
pub(super) fn service_dir(system: ServiceManager, dirs: &Dirs) -> Result<PathBuf, Error> {
    let home = || {
        env_path("HOME").ok_or_else(|| {
            exit::unavailable_error("cannot find a home directory".into()).hint("set HOME")
        })
    };
    Ok(match system {
        ServiceManager::Systemd => match env_path("XDG_CONFIG_HOME") {
            Some(config) => config.join("systemd/user"),
            None => home()?.join(".config/systemd/user"),
        },
        ServiceManager::Launchd => home()?.join("Library/LaunchAgents"),
        // The scheduler keeps the task itself: the file is only the registered definition.
        ServiceManager::TaskScheduler => dirs.state.clone(),
    })
}

pub(super) fn describe_service(dirs: &Dirs) -> Result<ServiceSpec, Error> {
    let home = dirs.home();
    let mut set: Vec<(&'static str, PathBuf)> = Vec::new();
    match home {
        Some(home) => set.push((variables::HOME, home.to_owned())),
        // Windows knows the directories by itself.
        None if cfg!(windows) => {}
        None => set.extend(
            DIR_VARIABLES
                .iter()
                .filter_map(|name| Some((*name, env_path(name)?))),
        ),
    }
    if let Some(worker) = env_path(variables::WORKER) {
        set.push((variables::WORKER, worker));
    }
    Ok(ServiceSpec {
        name: service_name(home),
        muxd: stable_muxd_path()?,
        socket: dirs.socket(),
        log: dirs.logs().join("service.log"),
        variables: set,
        home: home.map(Path::to_owned),
    })
}

/// The path of muxd. If possible, the path survives an upgrade: a link in `PATH` instead of the versioned file
/// behind it.
fn stable_muxd_path() -> Result<PathBuf, Error> {
    let file = format!("muxd{}", env::consts::EXE_SUFFIX);
    let muxd = env_path(variables::DAEMON).or_else(|| {
        let beside = env::current_exe().ok()?.with_file_name(&file);
        Some(beside)
    });
    let found = muxd.as_deref().map(fs::canonicalize);
    let (Some(muxd), Some(Ok(behind))) = (muxd, found) else {
        let message = "there is no muxd next to mux".to_owned();
        let fix = format!("install it there, or set {} to its path", variables::DAEMON);
        return Err(exit::unavailable_error(message).hint(fix));
    };
    let path = env_path("PATH").unwrap_or_default();
    let mut named = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file));
    let stable = named.find(|named| fs::canonicalize(named).is_ok_and(|other| other == behind));
    Ok(stable.unwrap_or(if muxd.is_absolute() { muxd } else { behind }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mux_home_has_its_own_service_name() {
        assert_eq!(service_name(None), "muxd");
        let one = service_name(Some(Path::new("/a")));
        let other = service_name(Some(Path::new("/b")));
        assert_ne!(one, other);
        for name in [one, other] {
            assert_eq!(name.len(), "muxd-".len() + 8);
            assert!(name.starts_with("muxd-"), "{name}");
        }
    }
}
