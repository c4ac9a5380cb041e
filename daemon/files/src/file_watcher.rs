//! Files that the user edits, watched by their directories.
//!
//! Invariant: a wake says only that something may be otherwise; whoever wakes reads the files and compares.
//! So it does no harm that events are lost, come twice, or are of a file that was written back as it was.
//!
//! Directories and not files are watched, because editors put a new file in the old one's place.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use notify::{
    Event, EventKind, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tracing::debug;

/// So long nothing may happen until a burst is over.
const BURST_QUIET_PERIOD: Duration = Duration::from_millis(250);
/// A burst that does not end is looked at all the same.
const MAX_BURST: Duration = Duration::from_secs(2);
/// Links that lead to links.
const MAX_SYMLINK_DEPTH: usize = 16;

/// What tells of changes.
pub struct FileWatcher {
    /// Or why there is none.
    watcher: WatcherResult,
    /// Asks the system for one.
    ask: fn(&Arc<WatchedNames>) -> WatcherResult,
    /// The directories, each as it was when its watch began: another one may stand there later.
    armed: BTreeMap<PathBuf, DirIdentity>,
    wanted: Arc<WatchedNames>,
}

type WatcherResult = Result<Box<dyn Watcher + Send>, String>;

fn new_watcher(wanted: &Arc<WatchedNames>) -> WatcherResult {
    let heard = Arc::clone(wanted);
    let watcher = notify::recommended_watcher(move |event| heard.on_event(event));
    watcher
        .map(|watcher| Box::new(watcher) as _)
        .map_err(|error| error.to_string())
}

/// Device and number of a directory.
type DirIdentity = (u64, u64);

/// What the watcher's own thread looks at.
#[derive(Default)]
struct WatchedNames {
    /// Of the files, and of directories that are yet to come.
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

    /// From now on watches these files, whether they are there yet or not, and no others. Says what
    /// cannot be watched.
    pub fn set_files(&mut self, files: &BTreeSet<PathBuf>) -> Vec<String> {
        let mut cover = WatchPlan::default();
        for file in files {
            cover.add(file);
        }
        *self
            .wanted
            .names
            .write()
            .unwrap_or_else(PoisonError::into_inner) = cover.names;
        if self.watcher.is_err() {
            // The system may give one by now.
            self.watcher = (self.ask)(&self.wanted);
        }
        let watcher = match &mut self.watcher {
            Ok(watcher) => watcher,
            Err(problem) => return vec![unwatched_message(None, problem)],
        };
        self.armed.retain(|dir, was| {
            let kept = cover.dirs.get(dir) == Some(was);
            if !kept {
                // One that is gone is watched no more anyway.
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
                // It went away at this moment, which its parent tells.
                Err(_) if identity_of(&dir).is_none() => self.wanted.stirred.notify_one(),
                Err(error) => problems.push(unwatched_message(Some(&dir), &error.to_string())),
            }
        }
        problems
    }

    /// Resolves when something has happened, and then nothing more for a moment.
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
    fn on_event(&self, event: notify::Result<Event>) {
        let relevant = match &event {
            Ok(event) => self.concerns(event),
            // Events may have been lost.
            Err(error) => {
                debug!(%error, "the watch of the configuration");
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
            // We read the files ourselves.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
            EventKind::Access(_) => return false,
            _ => {}
        }
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| names.contains(name));
        event.paths.is_empty() || event.paths.iter().any(named)
    }
}

/// What has to be watched for some files.
#[derive(Default)]
struct WatchPlan {
    dirs: BTreeMap<PathBuf, DirIdentity>,
    names: HashSet<OsString>,
}

impl WatchPlan {
    /// A file, and whatever it is a link to.
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

    /// Its directory, or the nearest one that is there; and that one's own end is heard, too.
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

#[cfg(unix)]
fn identity_of(dir: &Path) -> Option<DirIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(dir).ok().filter(|found| found.is_dir())?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity_of(dir: &Path) -> Option<DirIdentity> {
    dir.is_dir().then_some((0, 0))
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

    /// Whatever was written before is heard first.
    async fn told(watching: &FileWatcher) {
        timeout(HANG, watching.wait_for_change())
            .await
            .expect("a wake");
    }

    #[tokio::test]
    async fn every_way_of_saving_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let other = dir.path().join("new");
        let mut watching = FileWatcher::start();
        assert!(watching.set_files(&set(&[&file])).is_empty());
        fs::write(&file, "1").unwrap();
        told(&watching).await;
        fs::write(&file, "2").unwrap();
        told(&watching).await;
        fs::write(&other, "3").unwrap();
        fs::rename(&other, &file).unwrap();
        told(&watching).await;
        fs::remove_file(&file).unwrap();
        told(&watching).await;
        // Neither what is read nor what stands beside it is a change.
        fs::write(&file, "4").unwrap();
        told(&watching).await;
        fs::write(&other, "5").unwrap();
        fs::read(&file).unwrap();
        assert!(
            timeout(BURST_QUIET_PERIOD, watching.wait_for_change())
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn directories_that_come_later_and_targets_of_links_are_watched() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("config/mux");
        let (file, store) = (home.join("config.toml"), dir.path().join("store"));
        let mut watching = FileWatcher::start();
        let files = set(&[&file]);
        watching.set_files(&files);
        fs::create_dir_all(&home).unwrap();
        told(&watching).await;
        watching.set_files(&files);
        fs::create_dir(&store).unwrap();
        fs::write(store.join("mine.toml"), "1").unwrap();
        std::os::unix::fs::symlink("../../store/mine.toml", &file).unwrap();
        told(&watching).await;
        watching.set_files(&files);
        fs::write(store.join("mine.toml"), "2").unwrap();
        told(&watching).await;
        // The directory is taken away, and another one stands in its place.
        fs::rename(&home, dir.path().join("config/old")).unwrap();
        told(&watching).await;
        watching.set_files(&files);
        fs::create_dir(&home).unwrap();
        told(&watching).await;
        watching.set_files(&files);
        fs::write(&file, "3").unwrap();
        told(&watching).await;
    }

    #[tokio::test]
    async fn a_burst_is_one_wake() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let mut watching = FileWatcher::start();
        watching.set_files(&set(&[&file]));
        for n in 0..100 {
            fs::write(&file, n.to_string()).unwrap();
        }
        told(&watching).await;
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
    fn what_cannot_be_watched_is_said() {
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
        // The system has one again.
        watching.ask = new_watcher;
        assert_eq!(watching.set_files(&files), [""; 0]);
    }
}
