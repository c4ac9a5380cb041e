//! Damaged files.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::values::{
    HANG, SPACES, close, entries, has, key, open, quick_folder, store, value, works,
};

/// The number of flips in each of the four tests.
const FLIPS: u64 = 800;
/// The number of values in the cache that is damaged.
const VALUES: usize = 82;

/// A cleanly closed cache with a few values and every kind of file.
struct Original {
    home: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Original {
    async fn new() -> Self {
        let home = quick_folder();
        // The second start writes a snapshot of the first one's values.
        for (part, space_of_long) in [(0, SPACES[0]), (1, SPACES[1])] {
            let (cache, _) = open(home.path()).await;
            for (number, space) in (part * 40..(part + 1) * 40).zip(SPACES.into_iter().cycle()) {
                let key = key(number);
                cache.put(space, key, value(space, &key));
            }
            let long = (0..1000).map(key).find(|key| key[2].is_multiple_of(64));
            let long = long.unwrap();
            cache.put(space_of_long, long, value(space_of_long, &long));
            cache.flush().await;
            assert_eq!(cache.status().problem, None);
            close(cache, home.path());
        }
        let (cache, _) = open(home.path()).await;
        close(cache, home.path());
        let mut files = Vec::new();
        list(home.path(), Path::new(""), &mut files);
        files.sort();
        assert!(files.len() >= 5, "{files:?}");
        Self { home, files }
    }

    /// Copies the cache to `to`.
    fn copy(&self, to: &Path) {
        for file in &self.files {
            let to = to.join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(self.home.path().join(file), to).unwrap();
        }
    }

    /// Opens copies of it, each with one damage.
    async fn survives(&self, damages: impl Iterator<Item = Damage>) -> Survived {
        let mut survived = Survived::default();
        let folder = quick_folder();
        let home = folder.path().join("sound");
        self.copy(&home);
        let (cache, _) = open(&home).await;
        assert_eq!(cache.status().began_anew, None);
        has(&cache, VALUES).await;
        close(cache, &home);
        for damage in damages {
            let home = folder.path().join("copy");
            self.copy(&home);
            damage.apply(&home);
            let (cache, took) = open(&home).await;
            let status = cache.status();
            assert_eq!(status.problem, None, "{damage:?}");
            survived.slowest = survived.slowest.max(took);
            survived.anew += usize::from(status.began_anew.is_some());
            survived.entries += entries(&cache).await;
            if survived.opened % 50 == 0 {
                works(&cache).await;
            }
            survived.opened += 1;
            close(cache, &home);
            fs::remove_dir_all(&home).unwrap();
        }
        assert!(survived.slowest < HANG);
        survived
    }
}

#[derive(Debug, Default)]
struct Survived {
    opened: usize,
    anew: usize,
    entries: usize,
    slowest: Duration,
}

#[derive(Clone, Debug)]
enum Damage {
    Flip { file: PathBuf, at: u64, bits: u8 },
    Cut { file: PathBuf, at: u64 },
}

impl Damage {
    fn apply(&self, home: &Path) {
        let (Self::Flip { file, at, .. } | Self::Cut { file, at }) = self;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(home.join(file));
        let file = file.unwrap();
        match self {
            Self::Flip { bits, .. } => {
                let mut byte = [0];
                file.read_exact_at(&mut byte, *at).unwrap();
                file.write_all_at(&[byte[0] ^ bits], *at).unwrap();
            }
            Self::Cut { .. } => file.set_len(*at).unwrap(),
        }
    }
}

fn list(home: &Path, below: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(home.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            list(home, &path, files);
        } else {
            files.push(path);
        }
    }
}

/// Tests a quarter of all flips: half of them in the log, most of them in used ranges.
async fn flips(quarter: u64) {
    let original = Original::new().await;
    let lengths = original.files.iter().filter_map(|file| {
        let bytes = fs::read(original.home.path().join(file)).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0);
        Some((file.clone(), bytes.len() as u64, used? as u64 + 1))
    });
    let lengths: Vec<(PathBuf, u64, u64)> = lengths.collect();
    let log = lengths.iter().find(|(file, ..)| file.ends_with("db"));
    let log = log.unwrap();
    let damages = (0..FLIPS).map(|number| {
        let chance = blake3::hash(&(number * 4 + quarter).to_le_bytes());
        let part = |at: usize| {
            let bytes = chance.as_bytes()[at..at + 8].try_into();
            u64::from_le_bytes(bytes.unwrap())
        };
        let (file, length, used) = match part(0) % 2 {
            0 => log,
            _ => &lengths[(part(0) / 2) as usize % lengths.len()],
        };
        let at = match part(8) % 4 {
            0 => part(16) % length,
            1 => part(16) % used.min(&4096),
            _ => part(16) % used,
        };
        let file = file.clone();
        let bits = (part(24) % 255) as u8 + 1;
        Damage::Flip { file, at, bits }
    });
    let survived = original.survives(damages).await;
    assert_eq!(survived.opened as u64, FLIPS);
    assert!(survived.anew > 0 && survived.entries > 0, "{survived:?}");
}

#[tokio::test]
async fn flipped_byte_loses_at_most_cached_values_1() {
    flips(0).await;
}

#[tokio::test]
async fn flipped_byte_loses_at_most_cached_values_2() {
    flips(1).await;
}

#[tokio::test]
async fn flipped_byte_loses_at_most_cached_values_3() {
    flips(2).await;
}

#[tokio::test]
async fn flipped_byte_loses_at_most_cached_values_4() {
    flips(3).await;
}

#[tokio::test]
async fn truncated_file_loses_at_most_cached_values() {
    let original = Original::new().await;
    let cuts = original.files.iter().flat_map(|file| {
        let length = fs::metadata(original.home.path().join(file)).unwrap().len();
        let at = (0..length).step_by(4096).chain([length.saturating_sub(1)]);
        at.map(|at| Damage::Cut {
            file: file.clone(),
            at,
        })
    });
    let survived = original.survives(cuts).await;
    assert!(survived.anew > 0 && survived.entries > 0, "{survived:?}");
}

/// Damages the directory of a store.
type Done = fn(&Path);

/// Manual changes to the directories.
#[tokio::test]
async fn foreign_files_lose_at_most_cached_values() {
    let cases: [(&str, Done); 9] = [
        ("an empty directory", |store| {
            fs::remove_dir_all(store).unwrap();
            fs::create_dir(store).unwrap();
        }),
        ("a file in its place", |store| {
            fs::remove_dir_all(store).unwrap();
            fs::write(store, "a file").unwrap();
        }),
        ("a file in place of the version's directory", |store| {
            let version = store.parent().unwrap();
            fs::remove_dir_all(version).unwrap();
            fs::write(version, "a file").unwrap();
        }),
        ("a directory in place of the lock", |store| {
            let lock = store.parent().unwrap().join("lock");
            fs::remove_file(&lock).unwrap();
            fs::create_dir(&lock).unwrap();
        }),
        ("a snapshot that was never finished", |store| {
            fs::write(store.join("snap.0000000000000000.generating"), "").unwrap();
        }),
        ("the last snapshot, never finished", |store| {
            fs::write(store.join("snap.FFFFFFFFFFFFFFFF.generating"), "").unwrap();
        }),
        ("a snapshot of nothing", |store| {
            fs::write(store.join("snap.7FFFFFFFFFFFFFFF"), [0xa5; 500]).unwrap();
        }),
        ("directories in place of files", |store| {
            fs::remove_file(store.join("db")).unwrap();
            fs::create_dir(store.join("db")).unwrap();
        }),
        ("files that nobody knows", |store| {
            fs::write(store.join("blobs/not a number"), "?").unwrap();
            fs::write(store.join("notes"), "?").unwrap();
        }),
    ];
    let original = Original::new().await;
    for (what, damage) in cases {
        let home = quick_folder();
        original.copy(home.path());
        damage(&store(home.path()));
        let (cache, _) = open(home.path()).await;
        assert_eq!(cache.status().problem, None, "{what}");
        entries(&cache).await;
        works(&cache).await;
        close(cache, home.path());
        let (cache, _) = open(home.path()).await;
        assert_eq!(cache.status().began_anew, None, "{what}");
        works(&cache).await;
    }
}

/// Overwrites the file while it is in use, before the store has read all of it.
#[tokio::test]
async fn file_overwritten_in_use_loses_at_most_cached_values() {
    let home = quick_folder();
    {
        let (cache, _) = open(home.path()).await;
        for number in 0..1000 {
            cache.put(SPACES[1], key(number), value(SPACES[1], &key(number)));
        }
        cache.flush().await;
        close(cache, home.path());
    }
    let (cache, _) = open(home.path()).await;
    let file = store(home.path()).join("db");
    let length = fs::metadata(&file).unwrap().len();
    let file = OpenOptions::new().write(true).open(file).unwrap();
    for at in (0..length).step_by(4096) {
        file.write_all_at(&[0xa5; 512], at).unwrap();
    }
    for number in 0..1000 {
        let found = cache.get(SPACES[1], key(number)).await;
        assert!(found.is_none_or(|found| found == value(SPACES[1], &key(number))));
    }
    works(&cache).await;
    let status = cache.status();
    assert!(status.began_anew.is_some(), "{status:?}");
    assert_eq!(status.problem, None);
    assert!(home.path().join("quarantine/db").is_file());
}
