//! Keys with their expected values, and helpers.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use mux_cache::{Cache, CacheSpace};
use mux_text::digest::DigestKey;

pub(crate) const SPACES: [CacheSpace; 4] = [
    CacheSpace::Catalogs,
    CacheSpace::Types,
    CacheSpace::Shapes,
    CacheSpace::Verdicts,
];
/// Longer than anything here takes unless it hangs, also on a busy machine with a slow disk. The target of a start is
/// 500 ms on an idle machine.
pub(crate) const HANG: Duration = Duration::from_mins(1);

pub(crate) fn key(number: u64) -> DigestKey {
    *blake3::hash(&number.to_le_bytes()).as_bytes()
}

/// The value of a key: up to 4 KiB long, and one in 64 is so long that the store puts it into a separate file.
pub(crate) fn value(space: CacheSpace, key: &DigestKey) -> Vec<u8> {
    let length = usize::from(u16::from_le_bytes([key[0], key[1]]));
    let length = match key[2] % 64 {
        0 => 140_000 + length,
        _ => length % 4096,
    };
    let mut value = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(key).update(&[space as u8]);
    hasher.finalize_xof().fill(&mut value);
    value
}

/// Opens the cache and returns how long `Cache::open` took. Waits until a slow open has finished.
pub(crate) async fn open(folder: &Path) -> (Cache, Duration) {
    let began = Instant::now();
    let cache = Cache::open(folder.to_path_buf()).await;
    let took = began.elapsed();
    while cache.status().problem.as_deref() == Some("it is still being opened") {
        assert!(began.elapsed() < HANG, "opening {} hangs", folder.display());
        tokio::task::yield_now().await;
    }
    (cache, took)
}

/// Drops the cache and waits until it is closed.
pub(crate) fn close(cache: Cache, folder: &Path) {
    drop(cache);
    let lock = store(folder).parent().unwrap().join("lock");
    fs::File::open(lock).unwrap().lock().unwrap();
}

/// The number of values, after a check of each.
pub(crate) async fn entries(cache: &Cache) -> usize {
    let mut count = 0;
    for space in SPACES {
        for (key, found) in cache.all(space).await {
            assert!(found == value(space, &key), "{space:?} {key:x?}");
            count += 1;
        }
    }
    count
}

/// Waits until there are `count` values: on a busy machine an answer may come too late.
pub(crate) async fn has(cache: &Cache, count: usize) {
    let began = Instant::now();
    loop {
        let found = entries(cache).await;
        if found == count {
            return;
        }
        assert!(
            began.elapsed() < HANG,
            "{found} and not {count}: {:?}",
            cache.status()
        );
    }
}

/// Checks that values that are put can be read.
pub(crate) async fn works(cache: &Cache) {
    works_when(cache, "at any time").await;
}

/// Checks that values that are put can be read. `step` is named if they cannot.
pub(crate) async fn works_when(cache: &Cache, step: &str) {
    // A cache whose disk is damaged or does not answer may lose a value that it has accepted, and accepts it again. A
    // full disk does not count.
    let store_of = |cache: &Cache| {
        let status = cache.status();
        let problem = status
            .problem
            .filter(|it| !it.contains("cannot be written"));
        (problem, status.began_anew)
    };
    let key = key(u64::MAX);
    let mut store = store_of(cache);
    for space in SPACES {
        cache.put(space, key, value(space, &key));
    }
    cache.flush().await;
    let began = Instant::now();
    for space in SPACES {
        let found = loop {
            if let Some(found) = cache.get(space, key).await {
                break found;
            }
            assert!(
                began.elapsed() < HANG,
                "{step}: no value in {space:?}, {:?}",
                cache.status()
            );
            let now = store_of(cache);
            if now != store {
                store = now;
                for space in SPACES {
                    cache.put(space, key, value(space, &key));
                }
            }
        };
        assert!(found == value(space, &key), "{step}: {space:?}");
    }
}

/// The directory of the store in use.
pub(crate) fn store(folder: &Path) -> PathBuf {
    let versions = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut inside = versions
        .filter(|entry| entry.file_name() != "quarantine")
        .flat_map(|version| fs::read_dir(version.path()).unwrap());
    let store = inside.find_map(|entry| {
        let path = entry.unwrap().path();
        path.join("db").is_file().then_some(path)
    });
    store.unwrap()
}

/// A folder on a memory file system if there is one: these tests sync ten thousand times.
pub(crate) fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}
