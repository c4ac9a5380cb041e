//! Resolves a program's name to a file by searching `PATH`, in the daemon.
//!
//! Invariant: the search uses the `PATH` of the child's environment, never that of the daemon or the keeper, so the
//! result does not depend on how the daemon was started.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(super) use system::{is_search_variable, look};

use super::error::SpawnError;

/// The variables of a child. Of a variable that occurs twice, the last one counts.
type ChildEnvironment<'a> = &'a [(OsString, OsString)];

/// The kind of object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Nothing,
    NotExecutable,
    Executable,
}

/// The absolute path of `program`, if `cwd` is absolute: a bare name is searched in the `PATH` of `env`, anything else
/// is relative to `cwd`.
pub(super) fn resolve(
    program: &Path,
    env: ChildEnvironment<'_>,
    cwd: &Path,
    look: impl Fn(&Path) -> ProgramKind,
) -> Result<PathBuf, SpawnError> {
    let searched = system::is_bare(program).then(|| path_directories(env, cwd));
    let paths = match &searched {
        Some(directories) => directories.iter().map(|dir| dir.join(program)).collect(),
        None => vec![cwd.join(program)],
    };
    let candidates = paths
        .into_iter()
        .flat_map(|path| system::candidates(path, env));
    // Like a shell: a file that is not executable is skipped, and reported only if no other is found.
    let mut refused = None;
    for candidate in candidates {
        match look(&candidate) {
            ProgramKind::Executable => return Ok(candidate),
            ProgramKind::NotExecutable => refused = refused.or(Some(candidate)),
            ProgramKind::Nothing => {}
        }
    }
    let missing = || program.to_owned();
    Err(match (refused, searched) {
        (Some(program), _) => SpawnError::NotExecutable { program },
        (None, Some(searched)) => SpawnError::NotInPath {
            program: missing(),
            searched,
        },
        (None, None) => SpawnError::NotFound {
            program: cwd.join(program),
        },
    })
}

/// The directories of `PATH`, each once, in the order of the search.
fn path_directories(env: ChildEnvironment<'_>, cwd: &Path) -> Vec<PathBuf> {
    // The last one counts, as in the environment that is built from these pairs.
    let path = env
        .iter()
        .rev()
        .find(|(name, _)| system::is_path_variable(name));
    let path: &OsStr = path.map_or(OsStr::new(""), |(_, value)| value);
    let mut directories = Vec::new();
    for directory in std::env::split_paths(path) {
        let absolute = cwd.join(&directory);
        if !directory.as_os_str().is_empty() && !directories.contains(&absolute) {
            directories.push(absolute);
        }
    }
    directories
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn check(program: &str, path: Option<&str>) -> String {
        let env: Vec<(OsString, OsString)> = path
            .iter()
            .flat_map(|path| [("PATH", "/early"), ("PATH", path)])
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let files = |path: &Path| match path.to_str().unwrap() {
            "/bin/sh" | "/srv/bin/tool" | "/srv/./tool" => ProgramKind::Executable,
            "/etc/tool" | "/etc/notes" => ProgramKind::NotExecutable,
            _ => ProgramKind::Nothing,
        };
        match resolve(program.as_ref(), &env, "/srv".as_ref(), files) {
            Ok(path) => path.display().to_string(),
            Err(SpawnError::NotInPath { searched, .. }) if !searched.is_empty() => {
                format!("searched {searched:?}")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn bare_name_is_searched_only_in_the_given_path() {
        assert_eq!(check("sh", Some("/usr/bin:/bin")), "/bin/sh");
        assert_eq!(
            check("sh", Some("/usr/bin::/opt:own:/usr/bin")),
            r#"searched ["/usr/bin", "/opt", "/srv/own"]"#
        );
        let no_path = "`sh` is not in PATH, which is empty";
        assert_eq!(check("sh", None), no_path);
        assert_eq!(check("sh", Some("")), no_path);
    }

    #[test]
    fn relative_paths_start_at_the_working_directory() {
        assert_eq!(check("tool", Some("bin")), "/srv/bin/tool");
        assert_eq!(check("./tool", Some("/bin")), "/srv/./tool");
        assert_eq!(
            check("sub/tool", None),
            "/srv/sub/tool: there is no such file"
        );
    }

    #[test]
    fn non_executable_file_is_skipped_and_reported_last() {
        assert_eq!(check("tool", Some("/etc:bin")), "/srv/bin/tool");
        assert_eq!(
            check("notes", Some("/etc:/bin")),
            "execute /etc/notes: it is not an executable file"
        );
        assert_eq!(
            check("/etc/tool", None),
            "execute /etc/tool: it is not an executable file"
        );
    }
}
