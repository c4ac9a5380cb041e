//! Checks the directories: who owns them, and who may read them.
//!
//! Invariant: modes are read before `Dirs::prepare`, which closes directories that were open to other users.

use std::path::Path;

use mux_proto::endpoint::Dirs;

use super::CheckGroup;

pub(super) fn check_directories(group: &mut CheckGroup, dirs: &Dirs) {
    let ours = [&dirs.state, &dirs.cache, &dirs.runtime];
    let open: Vec<String> = ours
        .iter()
        .filter_map(|dir| Some((dir, mode_open_to_others(dir)?)))
        .map(|(dir, mode)| format!("{} (mode {mode:03o})", dir.display()))
        .collect();
    // This also finds links, files instead of directories, other owners, and a socket path that is too long.
    match dirs.prepare() {
        Err(error) => {
            group.fail(error.to_string(), "mux cannot work until this is fixed");
            return;
        }
        Ok(()) if open.is_empty() => {
            let state = dirs.state.display();
            group.ok(if cfg!(windows) {
                format!("directories such as {state} exist and are as private as their parents")
            } else {
                format!("only you can access directories such as {state}")
            });
        }
        Ok(()) => group.warn(
            format!("other users could read {}", open.join(", ")),
            "mux has removed their access; find out what granted it",
        ),
    }
    let env = dirs.env_file();
    if let Some(mode) = mode_open_to_others(&env) {
        let file = env.display();
        group.warn(
            format!("other users can read {file} (mode {mode:03o}), which holds secrets"),
            format!("chmod 600 {file}"),
        );
    }
    let config = dirs.config_file();
    let shown = config.display();
    if !config.exists() {
        let fix = "`mux servers` shows how to start";
        group.note(format!("there is no {shown} yet"), Some(fix));
    } else if let Err(error) = std::fs::File::open(&config) {
        let fix = format!("chmod u+r {shown}");
        group.fail(format!("{shown} cannot be read: {error}"), fix);
    } else {
        group.ok(format!("the configuration is {shown}"));
    }
}

/// The mode of a file or directory, if users other than its owner have access to it.
#[cfg(unix)]
fn mode_open_to_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = path.symlink_metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn mode_open_to_others(_path: &Path) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt as _,
    };

    use super::{super::CheckVerdict, *};

    fn verdicts(dirs: &Dirs) -> Vec<CheckVerdict> {
        CheckGroup::filled(|group| check_directories(group, dirs))
            .checks
            .iter()
            .map(|c| c.verdict)
            .collect()
    }

    #[test]
    fn readable_directories_and_secrets_are_reported_with_a_fix() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        assert_eq!(verdicts(&dirs), [CheckVerdict::Ok, CheckVerdict::Note]);
        fs::write(dirs.config_file(), "").unwrap();
        fs::write(dirs.env_file(), "").unwrap();
        fs::set_permissions(dirs.env_file(), Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(&dirs.cache, Permissions::from_mode(0o750)).unwrap();
        let group = CheckGroup::filled(|group| check_directories(group, &dirs));
        let [cache, env, config] = &group.checks[..] else {
            panic!("{:#?}", group.checks);
        };
        assert_eq!(cache.verdict, CheckVerdict::Warning);
        assert!(cache.message.contains("cache (mode 750)"), "{cache:?}");
        assert_eq!(env.verdict, CheckVerdict::Warning);
        assert!(env.fix.as_ref().unwrap().starts_with("chmod 600 "));
        assert_eq!(config.verdict, CheckVerdict::Ok);
        // The check has closed the directory.
        fs::remove_file(dirs.env_file()).unwrap();
        assert_eq!(verdicts(&dirs), [CheckVerdict::Ok, CheckVerdict::Ok]);
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_a_failure() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path()).unwrap();
        fs::create_dir(&dirs.runtime).unwrap();
        fs::set_permissions(&dirs.runtime, Permissions::from_mode(0o777)).unwrap();
        let group = CheckGroup::filled(|group| check_directories(group, &dirs));
        assert!(group.failed());
        let message = &group.checks[0].message;
        assert!(message.contains("chmod go-w"), "{message}");

        let long = Dirs::under(&Path::new("/tmp").join("x".repeat(120))).unwrap();
        let group = CheckGroup::filled(|group| check_directories(group, &long));
        let message = &group.checks[0].message;
        assert!(message.contains("shorter path"), "{message}");
    }
}
