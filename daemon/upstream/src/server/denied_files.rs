//! Files that a server's sandbox has denied it, as far as the server's errors name them: the kernel does not
//! report such accesses.
//!
//! Invariant: a path counts only if it exists outside of the sandbox and is not granted. A server could name any such
//! path, so that they are listed to the user and passed on to no model.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{task::spawn_blocking, time::timeout};

use mux_confine::SandboxGrants;
use mux_settings::ServerSandbox;

/// The maximum number of files that are remembered of one server.
const MAX_DENIED_FILES: usize = 32;
/// How much of an error is searched for paths, in bytes.
const MAX_SEARCHED_BYTES: usize = 16 << 10;
/// The maximum number of paths of one error.
const MAX_PATHS: usize = 8;
/// How long the file systems of the named paths may take to answer.
const EXISTENCE_TIMEOUT: Duration = Duration::from_secs(2);
/// A sandbox has its own instead, which an entry cannot grant.
const OWN_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The files, and how many errors named each.
#[derive(Debug, Default)]
pub(super) struct DeniedFiles(Mutex<BTreeMap<PathBuf, u64>>);

/// A file that a server's errors name and its sandbox does not contain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeniedFile {
    pub path: PathBuf,
    pub count: u64,
}

impl DeniedFiles {
    /// Counts a file; returns whether it is remembered now and was not before.
    pub(super) fn record(&self, path: PathBuf) -> bool {
        let mut known = self.0.lock();
        let has_room = known.len() < MAX_DENIED_FILES;
        match known.entry(path) {
            Entry::Occupied(mut known) => *known.get_mut() += 1,
            Entry::Vacant(new) if has_room => {
                new.insert(1);
                return true;
            }
            Entry::Vacant(_) => {}
        }
        false
    }

    pub(super) fn list(&self) -> Vec<DeniedFile> {
        let known = self.0.lock();
        let files = known.iter().map(|(path, count)| DeniedFile {
            path: path.clone(),
            count: *count,
        });
        files.collect()
    }
}

/// Those of the paths that exist and that the sandbox does not contain.
pub(super) async fn denied_paths(
    mut paths: Vec<PathBuf>,
    sandbox: &ServerSandbox,
    grants: &SandboxGrants,
) -> Vec<PathBuf> {
    let granted = [
        &sandbox.read,
        &sandbox.write,
        &grants.system,
        &grants.program,
        &grants.private,
    ];
    let is_granted = |path: &Path| {
        let mut granted = granted.into_iter().flatten();
        granted.any(|granted| path.starts_with(granted))
    };
    paths.retain(|path| !is_granted(path));
    if paths.is_empty() {
        return paths;
    }
    let existing = spawn_blocking(move || {
        paths.retain(|path| path.symlink_metadata().is_ok());
        paths
    });
    match timeout(EXISTENCE_TIMEOUT, existing).await {
        Ok(Ok(existing)) => existing,
        // A mount that does not answer, or the end of the runtime.
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// The absolute paths in a text, each once.
pub(super) fn named_paths(text: &str) -> Vec<PathBuf> {
    let is_delimiter = |c: char| c.is_whitespace() || "'\"`<>()[]{}|,;=:".contains(c);
    let searched = &text[..text.floor_char_boundary(MAX_SEARCHED_BYTES)];
    let mut paths = Vec::new();
    for word in searched.split(is_delimiter) {
        let path = PathBuf::from(word.trim_end_matches(['.', '!', '?', '/']));
        let is_path = word.starts_with('/') && !word.starts_with("//");
        let is_own = OWN_FILE_SYSTEMS.iter().any(|own| path.starts_with(own));
        if is_path && !is_own && path.parent().is_some() && !paths.contains(&path) {
            paths.push(path);
            if paths.len() == MAX_PATHS {
                break;
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_the_errors_of_common_runtimes() {
        for (error, path) in [
            (
                "ENOENT: no such file or directory, open '/home/me/notes/a b.txt'",
                "/home/me/notes/a",
            ),
            ("[Errno 13] Permission denied: '/etc/shadow'", "/etc/shadow"),
            ("open /srv/data.db: read-only file system", "/srv/data.db"),
            ("cannot read path=/srv/data.", "/srv/data"),
        ] {
            assert_eq!(named_paths(error), [Path::new(path)], "{error}");
        }
        for error in [
            "https://example.com/a",
            "a/b/c",
            "/",
            "//host/share",
            "read /proc/1/environ",
        ] {
            assert_eq!(named_paths(error), [] as [&Path; 0], "{error}");
        }
        let many: String = (0..100).map(|number| format!("/a{number} ")).collect();
        assert_eq!(named_paths(&many).len(), MAX_PATHS);
    }

    #[tokio::test]
    async fn only_paths_that_exist_and_are_not_granted_count() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["granted", "secret", "package"] {
            std::fs::write(at(name), "").unwrap();
        }
        let sandbox = ServerSandbox {
            read: vec![at("granted")],
            ..ServerSandbox::default()
        };
        let grants = SandboxGrants {
            program: vec![at("package")],
            ..SandboxGrants::default()
        };
        let named = ["granted", "secret", "package", "missing"].map(at);
        let error = format!("ENOENT: {named:?}");
        let denied = denied_paths(named_paths(&error), &sandbox, &grants).await;
        assert_eq!(denied, [at("secret")]);
    }

    #[test]
    fn number_of_remembered_files_is_limited() {
        let files = DeniedFiles::default();
        for number in 0..=MAX_DENIED_FILES {
            let path = PathBuf::from(format!("/{number}"));
            assert_eq!(files.record(path), number < MAX_DENIED_FILES);
        }
        assert!(!files.record("/0".into()));
        let listed = files.list();
        assert_eq!(listed.len(), MAX_DENIED_FILES);
        assert_eq!((&*listed[0].path, listed[0].count), (Path::new("/0"), 2));
    }
}
