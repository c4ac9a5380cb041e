//! Watches files that the user edits, through their directories.
//!
//! Invariant: a wake-up only means that something may have changed. The caller reads the files and compares them, so
//! merged, repeated and spurious events do no harm.
//!
//! The watcher observes directories instead of files, because editors replace a file by a new one.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{
    Event, EventKind, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use parking_lot::RwLock;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tracing::debug;

use mux_paths::file_identity::{self, FileIdentity};

/// A burst of events ends after this time without an event.
const BURST_QUIET_PERIOD: Duration = Duration::from_millis(250);
/// The maximum length of a burst.
const MAX_BURST: Duration = Duration::from_secs(2);
/// The maximum length of a chain of symbolic links.
const MAX_SYMLINK_DEPTH: usize = 16;

/// Watches a set of files.
pub struct FileWatcher {
    /// The system's watcher, or why there is none.
    watcher: WatcherResult,
    /// Creates a watcher of the system.
    ask: fn(&Arc<WatchedNames>) -> WatcherResult,
    /// The watched directories, with their identity at that time: the path may name another directory later.
    armed: BTreeMap<PathBuf, FileIdentity>,
    wanted: Arc<WatchedNames>,
}

type WatcherResult = Result<Box<dyn Watcher + Send>, String>;

fn new_watcher(wanted: &Arc<WatchedNames>) -> WatcherResult {
    let heard = Arc::clone(wanted);
    let watcher = notify::recommended_watcher(move |event| heard.on_event(&event));
    watcher
        .map(|watcher| Box::new(watcher) as _)
        .map_err(|error| error.to_string())
}

/// The names that the watcher's thread filters events by.
#[derive(Default)]
struct WatchedNames {
    /// The names of the files, and of their directories, some of which may not exist yet.
    names: RwLock<HashSet<OsString>>,
    stirred: Notify,
}

impl FileWatcher {
    pub fn start() -> Self {
        let wanted = Arc::new(WatchedNames::default());
        Self::with(new_watcher, &wanted)
    }

    fn with(ask: fn(&Arc<WatchedNames>) -> WatcherResult, wanted: &Arc<WatchedNames>) -> Self {
        Self {
            watcher: ask(wanted),
            ask,
            armed: BTreeMap::new(),
            wanted: Arc::clone(wanted),
        }
    }

    /// Watches exactly these files from now on, even if they do not exist yet. Returns messages about paths that
    /// cannot be watched.
    pub fn set_files(&mut self, files: &BTreeSet<PathBuf>) -> Vec<String> {
        let mut cover = WatchPlan::default();
        for file in files {
            cover.add(file);
        }
        *self.wanted.names.write() = cover.names;
        if self.watcher.is_err() {
            // By now, the system may allow a watcher.
            self.watcher = (self.ask)(&self.wanted);
        }
        let watcher = match &mut self.watcher {
            Ok(watcher) => watcher,
            Err(problem) => return vec![unwatched_message(None, problem)],
        };
        self.armed.retain(|dir, was| {
            let kept = cover.dirs.get(dir) == Some(was);
            if !kept {
                // The watch of a removed directory has ended already.
                drop(watcher.unwatch(dir));
            }
            kept
        });
        let mut problems = Vec::new();
        for (dir, identity) in cover.dirs {
            if self.armed.contains_key(&dir) {
                continue;
            }
            match watcher.watch(&dir, RecursiveMode::NonRecursive) {
                Ok(()) => _ = self.armed.insert(dir, identity),
                // The directory has just been removed. Wake up to watch its parent.
                Err(_) if identity_of(&dir).is_none() => self.wanted.stirred.notify_one(),
                Err(error) => problems.push(unwatched_message(Some(&dir), &error.to_string())),
            }
        }
        problems
    }

    /// Resolves after an event, when the burst of events is over.
    pub fn wait_for_change(&self) -> impl Future<Output = ()> + use<> {
        let wanted = Arc::clone(&self.wanted);
        async move {
            let stirred = &wanted.stirred;
            stirred.notified().await;
            let last = Instant::now() + MAX_BURST;
            loop {
                let left = last.saturating_duration_since(Instant::now());
                match timeout(BURST_QUIET_PERIOD.min(left), stirred.notified()).await {
                    Ok(()) if Instant::now() < last => {}
                    Ok(()) | Err(_) => return,
                }
            }
        }
    }
}

impl WatchedNames {
    fn on_event(&self, event: &notify::Result<Event>) {
        let relevant = match event {
            Ok(event) => self.concerns(event),
            // Events may have been lost.
            Err(error) => {
                debug!(%error, "file watcher error");
                true
            }
        };
        if relevant {
            self.stirred.notify_one();
        }
    }

    fn concerns(&self, event: &Event) -> bool {
        if event.need_rescan() {
            return true;
        }
        match event.kind {
            // Reads, including our own, are not changes.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
            EventKind::Access(_) => return false,
            _ => {}
        }
        let names = self.names.read();
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| names.contains(name));
        event.paths.is_empty() || event.paths.iter().any(named)
    }
}

/// The directories and names to watch for a set of files.
#[derive(Default)]
struct WatchPlan {
    dirs: BTreeMap<PathBuf, FileIdentity>,
    names: HashSet<OsString>,
}

impl WatchPlan {
    /// Adds a file, and the targets if it is a symbolic link.
    fn add(&mut self, file: &Path) {
        let mut file = file.to_owned();
        for _ in 0..MAX_SYMLINK_DEPTH {
            self.add_one(&file);
            match std::fs::read_link(&file) {
                Ok(target) => file = file.parent().unwrap_or(Path::new("/")).join(target),
                Err(_) => return,
            }
        }
    }

    /// Adds the nearest existing ancestor directory of a file. Its own name is also added, to notice its removal.
    fn add_one(&mut self, file: &Path) {
        self.names.extend(file.file_name().map(OsString::from));
        for dir in file.ancestors().skip(1) {
            self.names.extend(dir.file_name().map(OsString::from));
            if let Some(identity) = identity_of(dir) {
                self.dirs.insert(dir.to_owned(), identity);
                return;
            }
        }
    }
}

fn unwatched_message(dir: Option<&Path>, why: &str) -> String {
    let what = dir.map_or_else(|| "files".into(), |dir| dir.display().to_string());
    format!("{what} cannot be watched ({why})")
}

fn identity_of(dir: &Path) -> Option<FileIdentity> {
    let identity = dir.is_dir().then(|| file_identity::of_path(dir));
    identity?.ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::{Config, EventHandler, WatcherKind};

    use super::*;

    const HANG: Duration = Duration::from_secs(20);

    fn set(files: &[&Path]) -> BTreeSet<PathBuf> {
        files.iter().map(|file| (*file).to_owned()).collect()
    }

    /// Waits for a wake-up.
    async fn wait_for_signal(watching: &FileWatcher) {
        timeout(HANG, watching.wait_for_change())
            .await
            .expect("a wake");
    }

    #[tokio::test]
    async fn every_way_of_saving_wakes_up() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let other = dir.path().join("new");
        let mut watching = FileWatcher::start();
        assert!(watching.set_files(&set(&[&file])).is_empty());
        fs::write(&file, "1").unwrap();
        wait_for_signal(&watching).await;
        fs::write(&file, "2").unwrap();
        wait_for_signal(&watching).await;
        fs::write(&other, "3").unwrap();
        fs::rename(&other, &file).unwrap();
        wait_for_signal(&watching).await;
        fs::remove_file(&file).unwrap();
        wait_for_signal(&watching).await;
        // Neither a read nor another file in the directory is a change.
        fs::write(&file, "4").unwrap();
        wait_for_signal(&watching).await;
        fs::write(&other, "5").unwrap();
        fs::read(&file).unwrap();
        assert!(
            timeout(BURST_QUIET_PERIOD, watching.wait_for_change())
                .await
                .is_err()
        );
    }

    // Windows does not let users create links, or anyone rename a watched directory.
    #[cfg(unix)]
    #[tokio::test]
    async fn later_directories_and_link_targets_are_watched() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("config/mux");
        let file = home.join("config.toml");
        let store = dir.path().join("store");
        let mut watching = FileWatcher::start();
        let files = set(&[&file]);
        watching.set_files(&files);
        fs::create_dir_all(&home).unwrap();
        wait_for_signal(&watching).await;
        watching.set_files(&files);
        fs::create_dir(&store).unwrap();
        fs::write(store.join("mine.toml"), "1").unwrap();
        std::os::unix::fs::symlink("../../store/mine.toml", &file).unwrap();
        wait_for_signal(&watching).await;
        watching.set_files(&files);
        fs::write(store.join("mine.toml"), "2").unwrap();
        wait_for_signal(&watching).await;
        // The directory is replaced by another one.
        fs::rename(&home, dir.path().join("config/old")).unwrap();
        wait_for_signal(&watching).await;
        watching.set_files(&files);
        fs::create_dir(&home).unwrap();
        wait_for_signal(&watching).await;
        watching.set_files(&files);
        fs::write(&file, "3").unwrap();
        wait_for_signal(&watching).await;
    }

    #[tokio::test]
    async fn burst_of_events_is_one_wake_up() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let mut watching = FileWatcher::start();
        watching.set_files(&set(&[&file]));
        for n in 0..100 {
            fs::write(&file, n.to_string()).unwrap();
        }
        wait_for_signal(&watching).await;
        assert!(
            timeout(BURST_QUIET_PERIOD, watching.wait_for_change())
                .await
                .is_err()
        );
    }

    struct FullWatcher;

    impl Watcher for FullWatcher {
        fn new<F: EventHandler>(_: F, _: Config) -> notify::Result<Self> {
            Ok(Self)
        }

        fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
            Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))
        }

        fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
            Ok(())
        }

        fn kind() -> WatcherKind {
            WatcherKind::NullWatcher
        }
    }

    #[test]
    fn unwatchable_files_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let files = set(&[&dir.path().join("config.toml")]);
        let mut watching = FileWatcher::with(|_| Ok(Box::new(FullWatcher)), &Arc::default());
        let problems = watching.set_files(&files);
        assert!(
            problems[0].contains(dir.path().to_str().unwrap()),
            "{problems:?}"
        );
        let mut watching = FileWatcher::with(|_| Err("too many".into()), &Arc::default());
        assert!(watching.set_files(&files)[0].contains("too many"));
        // The system allows a watcher again.
        watching.ask = new_watcher;
        assert_eq!(watching.set_files(&files), [""; 0]);
    }
}
