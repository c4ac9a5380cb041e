//! Files that a server's sandbox has denied it, known only from the server's errors: the kernel does not report such
//! accesses.
//!
//! A program chooses the paths that a server's error names. If the error said which of them exist, a program could find
//! out what files the user has.
//!
//! Invariants:
//!
//! - An error is judged by its text alone ([`ungranted_paths`]). The file system is asked only when the user asks: of
//!   the named paths, those are listed that exist outside the sandbox and are not granted.
//! - A file system that does not answer holds one thread for each server, however often the user asks.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use mux_settings::ServerSandbox;
use tokio::{sync, task::spawn_blocking, time::timeout};

use super::{
    denial_counts::{Denial, DenialCounts},
    plan::ImplicitGrants,
};

/// How much of an error is searched for paths, in bytes.
const MAX_SEARCHED_BYTES: usize = 16 << 10;
/// The maximum number of paths taken from one error.
const MAX_PATHS: usize = 8;
/// How long the denied files of a server are not looked for again.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);
/// How long the file systems of the named paths may take to answer.
const EXISTENCE_TIMEOUT: Duration = Duration::from_secs(2);
/// A sandbox has its own versions, so an entry cannot grant these.
const OWN_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The paths that one server's errors named and that its sandbox was not told to contain.
#[derive(Debug, Default)]
pub struct DeniedFiles {
    named: DenialCounts<PathBuf>,
    /// The denied files that the server's log names already.
    logged: Mutex<HashSet<PathBuf>>,
    last_look: Mutex<Option<FileLook>>,
    /// Held while the file system is asked.
    turn: Arc<sync::Mutex<()>>,
}

/// An answer of the file system.
#[derive(Debug)]
struct FileLook {
    at: Instant,
    named: Vec<PathBuf>,
    denied: Vec<PathBuf>,
}

impl DeniedFiles {
    /// Counts a path that an error names.
    pub fn record(&self, path: PathBuf) {
        self.named.record(path);
    }

    /// Notes that the path is in the log. Returns false if it was already.
    pub fn mark_logged(&self, path: &Path) -> bool {
        self.logged.lock().insert(path.to_owned())
    }

    /// The named paths that are denied. The dashboard asks every second: the answer is kept for [`LOOK_INTERVAL`], and
    /// the last one is returned while the file system is being asked.
    pub async fn denied(
        &self,
        named: Vec<PathBuf>,
        sandbox: &ServerSandbox,
        grants: &ImplicitGrants,
    ) -> Vec<PathBuf> {
        if let Some(look) = &*self.last_look.lock()
            && look.named == named
            && look.at.elapsed() < LOOK_INTERVAL
        {
            return look.denied.clone();
        }
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else {
            let last = self.last_look.lock();
            return last
                .as_ref()
                .map_or_else(Vec::new, |look| look.denied.clone());
        };
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        let asked = move |path: &Path| {
            // Dropped with this closure, after the last path.
            let _turn = &turn;
            exists(path)
        };
        let denied = denied_where(named.clone(), sandbox, grants, asked).await;
        *self.last_look.lock() = Some(FileLook {
            at: Instant::now(),
            named,
            denied: denied.clone(),
        });
        denied
    }

    /// The paths that were named, up to the limit, and the number of errors that named each. They may not exist.
    pub fn list(&self) -> Vec<Denial<PathBuf>> {
        self.named.list()
    }
}

/// The paths that are not below a granted one, by their text.
pub fn ungranted_paths(
    mut paths: Vec<PathBuf>,
    sandbox: &ServerSandbox,
    grants: &ImplicitGrants,
) -> Vec<PathBuf> {
    let granted = granted_paths(sandbox, grants);
    paths.retain(|path| !is_below(path, &granted));
    paths
}

/// The paths that the sandbox does not contain, and that exist or that a server may mean to create because their folder
/// exists.
pub async fn denied_targets(
    paths: Vec<PathBuf>,
    sandbox: &ServerSandbox,
    grants: &ImplicitGrants,
) -> Vec<PathBuf> {
    let can_exist = |path: &Path| {
        let folder = path.parent().filter(|folder| folder.parent().is_some());
        path.symlink_metadata().is_ok() || folder.is_some_and(Path::is_dir)
    };
    denied_where(paths, sandbox, grants, can_exist).await
}

async fn denied_where(
    mut paths: Vec<PathBuf>,
    sandbox: &ServerSandbox,
    grants: &ImplicitGrants,
    counts: impl Fn(&Path) -> bool + Send + 'static,
) -> Vec<PathBuf> {
    let granted = granted_paths(sandbox, grants);
    paths.retain(|path| !is_below(path, &granted));
    if paths.is_empty() {
        return paths;
    }
    let existing = spawn_blocking(move || {
        // An error may name the file that a granted link leads to.
        let real = |path: &PathBuf| path.canonicalize().ok();
        let granted: Vec<PathBuf> = granted.iter().filter_map(real).collect();
        paths.retain(|path| {
            let is_granted = real(path).is_some_and(|path| is_below(&path, &granted));
            counts(path) && !is_granted
        });
        paths
    });
    match timeout(EXISTENCE_TIMEOUT, existing).await {
        Ok(Ok(existing)) => existing,
        // The mount does not answer, or the runtime is ending.
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

fn granted_paths(sandbox: &ServerSandbox, grants: &ImplicitGrants) -> Vec<PathBuf> {
    let granted = [
        &sandbox.read,
        &sandbox.write,
        &grants.system,
        &grants.program,
        &grants.private,
    ];
    granted.into_iter().flatten().cloned().collect()
}

fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// The absolute paths in a string, each once.
pub fn named_paths(text: &str) -> Vec<PathBuf> {
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

// Unix paths and links: there is no server sandbox on Windows.
#[cfg(all(test, unix))]
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
        let many: Vec<_> = (0..100).map(|number| format!("/a{number} ")).collect();
        assert_eq!(named_paths(&many.concat()).len(), MAX_PATHS);
    }

    #[tokio::test]
    async fn only_paths_that_exist_and_are_not_granted_count() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["granted", "secret", "package"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("real")).unwrap();
        std::fs::write(at("real").join("file"), "").unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        let sandbox = ServerSandbox {
            read: vec![at("granted"), at("link")],
            ..ServerSandbox::default()
        };
        let grants = ImplicitGrants {
            program: vec![at("package")],
            ..ImplicitGrants::default()
        };
        let named = ["granted", "secret", "package", "missing", "real/file"].map(at);
        let error = format!("ENOENT: {named:?}");
        let denied = DeniedFiles::default()
            .denied(named_paths(&error), &sandbox, &grants)
            .await;
        assert_eq!(denied, [at("secret")]);

        let targets = ["granted", "missing", "none/missing", "real/new"].map(at);
        let denied = denied_targets(targets.to_vec(), &sandbox, &grants).await;
        assert_eq!(denied, [at("missing"), at("real/new")]);
    }
}
