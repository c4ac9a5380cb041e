//! A cache over fake stores that fail in every way.

use std::{
    collections::HashMap,
    env, fs,
    process::Command,
    sync::{
        Mutex,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use super::*;

const KEY: DigestKey = [1; 32];
const OTHER: DigestKey = [2; 32];
/// Longer than anything here takes unless it hangs.
const HANG: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq)]
enum StoreFault {
    None,
    Panics,
    Hangs,
    Fails,
    IsFull,
    /// The disk takes writes and is full at the next flush.
    IsFullAtFlush,
}

type Kept = HashMap<(CacheSpace, Vec<u8>), Vec<u8>>;

/// A store in memory whose fault can be set while it is used.
#[derive(Clone)]
struct FakeStore {
    entries: Arc<Mutex<Kept>>,
    fault: Arc<Mutex<StoreFault>>,
}

impl Default for FakeStore {
    fn default() -> Self {
        Self {
            entries: Arc::default(),
            fault: Arc::new(Mutex::new(StoreFault::None)),
        }
    }
}

impl FakeStore {
    fn goes(&self, fault: StoreFault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn answer(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        match fault {
            StoreFault::None | StoreFault::IsFullAtFlush => Ok(()),
            StoreFault::Panics => panic!("on purpose"),
            StoreFault::Hangs => loop {
                thread::park();
            },
            StoreFault::Fails => Err(StoreError::Broken("on purpose".into())),
            StoreFault::IsFull => Err(io::Error::from(io::ErrorKind::StorageFull).into()),
        }
    }
}

impl Store for FakeStore {
    fn get(&self, space: CacheSpace, key: &DigestKey) -> Result<Option<Vec<u8>>, StoreError> {
        self.answer()?;
        let entries = self.entries.lock().unwrap();
        Ok(entries.get(&(space, key.to_vec())).cloned())
    }

    fn put(&self, space: CacheSpace, key: &DigestKey, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.answer()?;
        let mut entries = self.entries.lock().unwrap();
        entries.insert((space, key.to_vec()), sealed);
        Ok(())
    }

    fn remove(&self, space: CacheSpace, key: &[u8]) -> Result<(), StoreError> {
        self.answer()?;
        self.entries.lock().unwrap().remove(&(space, key.to_vec()));
        Ok(())
    }

    fn clear(&self, space: CacheSpace) -> Result<(), StoreError> {
        self.answer()?;
        self.entries
            .lock()
            .unwrap()
            .retain(|(of, _), _| *of != space);
        Ok(())
    }

    fn all(&self, space: CacheSpace) -> Result<StoreEntries, StoreError> {
        self.answer()?;
        let entries = self.entries.lock().unwrap();
        let entries = entries.iter().filter(|((of, _), _)| *of == space);
        Ok(entries
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect())
    }

    fn flush(&self) -> Result<(), StoreError> {
        if *self.fault.lock().unwrap() == StoreFault::IsFullAtFlush {
            return Err(io::Error::from(io::ErrorKind::StorageFull).into());
        }
        self.answer()
    }

    fn bytes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

type Answers = Vec<Result<FakeStore, StoreError>>;

/// An opener that returns these answers one after the other.
fn openers(mut answers: Answers) -> StoreOpener {
    answers.reverse();
    let answers = Mutex::new(answers);
    Box::new(move |path| {
        fs::create_dir_all(path)?;
        let mut answers = answers.lock().unwrap();
        let answer = answers.pop().unwrap();
        if matches!(answer, Err(StoreError::Locked)) {
            // The lock stays held, however often the opener tries.
            answers.push(Err(StoreError::Locked));
        }
        answer.map(|fake| Box::new(fake) as Box<dyn Store>)
    })
}

async fn open(folder: &Path, answers: Answers) -> Cache {
    Cache::open_with(folder.to_path_buf(), openers(answers), MAX_DISK_BYTES).await
}

/// Waits until the status matches.
async fn until(cache: &Cache, is: impl Fn(&CacheStatus) -> bool) -> CacheStatus {
    let began = Instant::now();
    loop {
        let status = cache.status();
        if is(&status) {
            return status;
        }
        assert!(began.elapsed() < HANG, "{status:?}");
        tokio::task::yield_now().await;
    }
}

fn quarantined(folder: &Path) -> bool {
    folder.join("quarantine").exists()
}

/// Reads until there is a value: on a busy machine an answer may come too late.
async fn get(cache: &Cache, space: CacheSpace, key: DigestKey) -> Vec<u8> {
    let began = Instant::now();
    loop {
        if let Some(value) = cache.get(space, key).await {
            return value;
        }
        assert!(began.elapsed() < HANG, "{:?}", cache.status());
    }
}

async fn works(cache: &Cache) {
    cache.put(CacheSpace::Types, OTHER, b"new".to_vec());
    cache.flush().await;
    assert_eq!(get(cache, CacheSpace::Types, OTHER).await, b"new");
    let all = cache.all(CacheSpace::Types).await;
    assert!(all.contains(&(OTHER, b"new".to_vec())), "{all:?}");
    cache.clear(CacheSpace::Types).await;
    assert_eq!(cache.get(CacheSpace::Types, OTHER).await, None);
}

#[tokio::test]
async fn a_store_that_panics_is_replaced_once_and_then_there_is_memory() {
    for fault in [StoreFault::Panics, StoreFault::Fails] {
        let home = tempfile::tempdir().unwrap();
        let first = FakeStore::default();
        let second = FakeStore::default();
        let cache = open(home.path(), vec![Ok(first.clone()), Ok(second.clone())]).await;
        cache.put(CacheSpace::Types, KEY, b"lost".to_vec());
        cache.flush().await;
        assert_eq!(get(&cache, CacheSpace::Types, KEY).await, b"lost");

        first.goes(fault);
        assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);
        let status = until(&cache, |status| status.began_anew.is_some()).await;
        assert!(status.began_anew.unwrap().contains("on purpose"));
        assert!(quarantined(home.path()));
        until(&cache, |status| status.problem.is_none()).await;
        works(&cache).await;
        assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);

        second.goes(fault);
        cache.put(CacheSpace::Types, KEY, b"again".to_vec());
        let status = until(&cache, |status| {
            let problem = status.problem.as_deref();
            problem.is_some_and(|problem| problem.contains("twice"))
        });
        assert!(status.await.problem.unwrap().contains("on purpose"));
        works(&cache).await;
    }
}

#[test]
fn panicking_store_writes_nothing_to_stderr() {
    let name = "tests::a_store_that_panics_is_replaced_once_and_then_there_is_memory";
    let mut test = Command::new(env::current_exe().unwrap());
    let done = test
        .args([name, "--exact", "--nocapture"])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(out.contains("1 passed"), "{out}{err}");
    assert_eq!(err, "");
}

#[tokio::test]
async fn hanging_store_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let cache = open(home.path(), vec![Ok(fake.clone())]).await;
    cache.put(CacheSpace::Types, KEY, b"value".to_vec());
    cache.flush().await;
    fake.goes(StoreFault::Hangs);
    let began = Instant::now();
    while cache.status().problem.is_none() {
        assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);
        assert!(began.elapsed() < HANG);
    }
    works(&cache).await;
    assert!(
        !quarantined(home.path()),
        "nothing is known of what is on the disk"
    );
}

#[tokio::test]
async fn slow_open_does_not_block_and_is_used_later() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let (go, gone): (_, Receiver<()>) = channel();
    let opener: StoreOpener = Box::new({
        let fake = fake.clone();
        let gone = Mutex::new(gone);
        move |_| {
            gone.lock().unwrap().recv().unwrap();
            Ok(Box::new(fake.clone()))
        }
    });
    let began = Instant::now();
    let cache = Cache::open_with(home.path().into(), opener, MAX_DISK_BYTES).await;
    assert!(began.elapsed() < HANG);
    assert!(cache.status().problem.unwrap().contains("being opened"));
    assert_eq!(cache.get(CacheSpace::Types, OTHER).await, None);
    cache.put(CacheSpace::Types, KEY, b"early".to_vec());
    assert_eq!(get(&cache, CacheSpace::Types, KEY).await, b"early");
    go.send(()).unwrap();
    until(&cache, |status| status.problem.is_none()).await;
    cache.flush().await;
    assert_eq!(fake.entries.lock().unwrap().len(), 1);
    works(&cache).await;
}

#[tokio::test]
async fn store_on_a_full_disk_is_not_quarantined() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let cache = open(home.path(), vec![Ok(fake.clone())]).await;
    fake.goes(StoreFault::IsFull);
    cache.put(CacheSpace::Types, KEY, b"value".to_vec());
    let status = until(&cache, |status| status.problem.is_some()).await;
    assert!(status.problem.unwrap().contains("cannot be written"));
    assert_eq!(get(&cache, CacheSpace::Types, KEY).await, b"value");
    works(&cache).await;
    assert!(!quarantined(home.path()));
}

#[tokio::test]
async fn values_that_a_full_disk_does_not_take_when_it_is_flushed_stay_in_memory() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let cache = open(home.path(), vec![Ok(fake.clone())]).await;
    cache.put(CacheSpace::Types, OTHER, b"old".to_vec());
    cache.put(CacheSpace::Usage, OTHER, b"old".to_vec());
    cache.flush().await;
    fake.goes(StoreFault::IsFullAtFlush);
    cache.put(CacheSpace::Shapes, KEY, b"cleared".to_vec());
    cache.put(CacheSpace::Types, KEY, b"first".to_vec());
    cache.put(CacheSpace::Types, KEY, b"value".to_vec());
    cache.put(CacheSpace::Usage, KEY, b"removed".to_vec());
    cache.remove(CacheSpace::Usage, KEY);
    cache.clear(CacheSpace::Shapes).await;
    cache.flush().await;
    let status = until(&cache, |status| status.problem.is_some()).await;
    assert!(status.problem.unwrap().contains("cannot be written"));
    assert_eq!(get(&cache, CacheSpace::Types, KEY).await, b"value");
    for (space, key) in [
        (CacheSpace::Types, OTHER),
        (CacheSpace::Shapes, KEY),
        (CacheSpace::Usage, KEY),
    ] {
        assert_eq!(cache.get(space, key).await, None, "{space:?}");
    }
    assert!(!quarantined(home.path()));
}

#[tokio::test]
async fn store_whose_reads_find_a_full_disk_is_not_quarantined() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let cache = open(home.path(), vec![Ok(fake.clone())]).await;
    fake.goes(StoreFault::IsFull);
    assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);
    let status = until(&cache, |status| status.problem.is_some()).await;
    assert!(status.problem.unwrap().contains("cannot be written"));
    works(&cache).await;
    assert!(!quarantined(home.path()));
}

#[tokio::test]
async fn store_that_does_not_open_is_quarantined_unless_it_may_be_intact() {
    let full = || io::Error::from(io::ErrorKind::StorageFull).into();
    let broken = || StoreError::Broken("torn".into());
    let cases: [(Answers, bool, Option<&str>); 4] = [
        (vec![Err(broken()), Ok(FakeStore::default())], true, None),
        (vec![Err(broken()), Err(broken())], true, Some("torn")),
        (vec![Err(full())], false, Some("does not open")),
        (vec![Err(StoreError::Locked)], false, Some("holds its lock")),
    ];
    for (answers, aside, problem) in cases {
        let home = tempfile::tempdir().unwrap();
        let cache = open(home.path(), answers).await;
        let status = cache.status();
        assert_eq!(quarantined(home.path()), aside, "{status:?}");
        match problem {
            None => assert_eq!(status.problem, None),
            Some(problem) => assert!(status.problem.unwrap().contains(problem)),
        }
        works(&cache).await;
    }
}

#[tokio::test]
async fn store_that_was_being_opened_when_a_process_died_is_quarantined() {
    let home = tempfile::tempdir().unwrap();
    let version = home
        .path()
        .join(format!("v{}-{STORE_VERSION}", envelope::ENVELOPE_FORMAT));
    fs::create_dir_all(version.join("store-3")).unwrap();
    fs::write(version.join("opening"), "").unwrap();
    let cache = open(home.path(), vec![Ok(FakeStore::default())]).await;
    let status = cache.status();
    assert!(status.began_anew.unwrap().contains("while opening it"));
    assert!(quarantined(home.path()) && version.join("store-4").is_dir());
    assert!(!version.join("opening").exists() && !version.join("store-3").exists());
    works(&cache).await;
}

#[tokio::test]
async fn full_cache_is_compacted_to_expensive_values() {
    let home = tempfile::tempdir().unwrap();
    let open = || Cache::open_with(home.path().into(), Box::new(open_trees), 4 << 20);
    let cache = open().await;
    cache.put(CacheSpace::Shapes, KEY, b"learned".to_vec());
    cache.put(CacheSpace::Catalogs, KEY, b"listed".to_vec());
    for number in 0..64_u8 {
        cache.put(CacheSpace::Types, [number; 32], vec![number; 200 << 10]);
    }
    // A flush waits for a slow disk for at most two seconds.
    while !cache.all(CacheSpace::Types).await.is_empty() || cache.status().bytes_on_disk >= 4 << 20
    {
        cache.flush().await;
    }
    cache.flush().await;
    drop(cache);
    let version = format!("v{}-{STORE_VERSION}", envelope::ENVELOPE_FORMAT);
    let lock = fs::File::open(home.path().join(version).join("lock"));
    lock.unwrap().lock().unwrap();
    let cache = open().await;
    assert_eq!(cache.status().problem, None);
    assert_eq!(get(&cache, CacheSpace::Shapes, KEY).await, b"learned");
    assert_eq!(
        cache.all(CacheSpace::Catalogs).await,
        [(KEY, b"listed".to_vec())]
    );
    works(&cache).await;
}

#[tokio::test]
async fn damaged_value_is_a_miss_and_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let fake = FakeStore::default();
    let cache = open(home.path(), vec![Ok(fake.clone())]).await;
    for (space, key) in [
        (CacheSpace::Types, KEY),
        (CacheSpace::Types, OTHER),
        (CacheSpace::Shapes, KEY),
    ] {
        cache.put(space, key, b"value".to_vec());
    }
    cache.flush().await;
    for sealed in fake.entries.lock().unwrap().values_mut() {
        *sealed.last_mut().unwrap() ^= 1;
    }
    assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);
    assert_eq!(fake.entries.lock().unwrap().len(), 2);
    assert_eq!(cache.all(CacheSpace::Types).await, []);
    assert_eq!(cache.all(CacheSpace::Shapes).await, []);
    assert_eq!(fake.entries.lock().unwrap().len(), 0);
    let missed = CacheStatus {
        misses: 1,
        ..CacheStatus::default()
    };
    assert_eq!(cache.status(), missed);
}

#[tokio::test]
async fn overlong_value_is_not_stored_and_removes_the_old_one() {
    let home = tempfile::tempdir().unwrap();
    let cache = open(home.path(), vec![Ok(FakeStore::default())]).await;
    cache.put(CacheSpace::Types, KEY, b"short".to_vec());
    cache.put(CacheSpace::Types, KEY, vec![0; MAX_VALUE_BYTES + 1]);
    assert_eq!(cache.get(CacheSpace::Types, KEY).await, None);
    cache.put(CacheSpace::Types, KEY, vec![0; MAX_VALUE_BYTES]);
    cache.flush().await;
    assert_eq!(
        get(&cache, CacheSpace::Types, KEY).await.len(),
        MAX_VALUE_BYTES
    );
}

#[tokio::test]
async fn memory_cache_works() {
    works(&Cache::memory()).await;
    assert_eq!(Cache::memory().status(), CacheStatus::default());
}
