//! Workers whose isolates are built from a snapshot: when it is made, that it changes no results, and that a bad one
//! is discarded. Also memory budgets, which a worker gets together with the snapshot.

use std::{
    fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    time::Duration,
};

use mux_sandbox::{MemoryLimits, Pool, ProgramLimits};
use mux_tests::pool;
use mux_wire::{Fault, FaultKind};

/// The header before the blob, in bytes, and the range of the blob's checksum in it.
const HEADER: usize = 40;
const CHECKSUM: std::ops::Range<usize> = 32..40;

fn pool(snapshots: Option<&Path>, memory: MemoryLimits) -> Pool {
    let mut settings = pool::settings();
    settings.bounds.memory = memory;
    settings.snapshots = snapshots.map(Path::to_owned);
    Pool::start(settings).unwrap()
}

async fn run(pool: &Pool, owner: &str, source: &str) -> Result<String, Fault> {
    // Exhausting the memory can take long.
    let limits = ProgramLimits {
        wall: Duration::from_mins(2),
        ..ProgramLimits::default()
    };
    let mut request = pool::request(source, limits);
    request.turn.owner = owner.into();
    pool::run(pool, request).await
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|found| found == "snapshot"))
        .collect()
}

/// A folder with a snapshot, and its path. A pool that had none has made it.
async fn folder_with_snapshot() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(Some(folder.path()), MemoryLimits::default());
    run(&pool, "a", "return 1").await.unwrap();
    assert!(!pool.status().snapshot, "the first worker waited for it");
    loop {
        if let [path] = snapshots(folder.path()).as_slice() {
            return (folder, path.clone());
        }
        run(&pool, "a", "return 1").await.unwrap();
    }
}

#[tokio::test]
async fn worker_that_started_before_the_snapshot_is_replaced_after_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = pool::settings();
    // One worker would serve all runs of this test.
    settings.runs_per_worker = u32::MAX;
    settings.snapshots = Some(folder.path().to_owned());
    let pool = Pool::start(settings).unwrap();
    while !pool.status().snapshot {
        run(&pool, "a", "return 1").await.unwrap();
    }
    run(&pool, "a", "return 1").await.unwrap();
    assert!(pool.status().started >= 2);
}

#[tokio::test]
async fn idle_workers_that_started_before_the_snapshot_are_replaced_by_as_many() {
    const FLOOR: usize = 2;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = pool::settings();
    settings.floor = FLOOR;
    settings.bounds.ceiling = 2 * FLOOR;
    settings.snapshots = Some(folder.path().to_owned());
    let pool = Pool::start(settings).unwrap();
    pool.wait_until_ready().await;
    let mut status = pool.status();
    let first = pool.status().pids;
    assert!(!status.snapshot);
    while status.ready != FLOOR || status.starting > 0 || status.ended < 2 {
        tokio::task::yield_now().await;
        status = pool.status();
        assert!(status.ready > 0, "a run would have to wait: {status:?}");
    }
    assert!(status.snapshot);
    assert!(status.pids.iter().all(|pid| !first.contains(pid)));
    assert_eq!((status.started, status.ended), (4, 2));
}

#[tokio::test]
async fn a_snapshot_is_made_once_and_used_from_the_first_worker_on() {
    let (folder, path) = folder_with_snapshot().await;
    let made = fs::metadata(&path).unwrap().modified().unwrap();
    let pool = pool(Some(folder.path()), MemoryLimits::default());
    for round in 0..12 {
        // More runs than one worker serves.
        let result = run(&pool, "a", &format!("return {round}")).await.unwrap();
        assert_eq!(result, round.to_string());
        assert!(pool.status().snapshot);
    }
    assert_eq!(snapshots(folder.path()), [path.as_path()]);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), made);
}

#[tokio::test]
async fn random_values_and_time_origin_are_not_those_of_the_snapshot() {
    const TELL: &str = "return [Math.random(), crypto.randomUUID(), performance.timeOrigin]";
    let (folder, path) = folder_with_snapshot().await;
    let mut seen: Vec<(String, String)> = Vec::new();
    for _ in 0..3 {
        // Each pool starts another process, with two isolates in each.
        let pool = pool(Some(folder.path()), MemoryLimits::default());
        for _ in 0..2 {
            let output = run(&pool, "a", TELL).await.unwrap();
            let (random, uuid, origin): (f64, String, f64) = serde_json::from_str(&output).unwrap();
            seen.push((random.to_string(), uuid));
            let made = fs::metadata(&path).unwrap().modified().unwrap();
            let made = made.duration_since(std::time::UNIX_EPOCH).unwrap();
            assert!(origin > made.as_secs_f64() * 1000.0, "{origin}, {made:?}");
        }
    }
    for column in [
        seen.iter().map(|s| &s.0).collect::<Vec<_>>(),
        seen.iter().map(|s| &s.1).collect(),
    ] {
        let mut different = column.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), column.len(), "{column:?}");
    }
}

/// Asserts that runs succeed, the file is removed, and workers are built from the scripts.
async fn is_given_up(folder: &Path, what: &str) {
    let pool = pool(Some(folder), MemoryLimits::default());
    for owner in ["a", "b", "c"] {
        assert_eq!(run(&pool, owner, "return 1").await.unwrap(), "1", "{what}");
    }
    assert!(!pool.status().snapshot, "{what}");
    while !snapshots(folder).is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(run(&pool, "d", "return 2").await.unwrap(), "2", "{what}");
}

#[tokio::test]
async fn damaged_snapshot_is_discarded_and_no_run_fails() {
    let (folder, path) = folder_with_snapshot().await;
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[HEADER + 100_000] ^= 1;
    for (what, bytes) in [
        ("one bit differs", flipped.as_slice()),
        ("it was cut", &good[..good.len() / 2]),
        ("it is empty", &[]),
        ("it is something else", b"not a snapshot at all".as_slice()),
    ] {
        fs::write(&path, bytes).unwrap();
        is_given_up(folder.path(), what).await;
    }
}

/// The checksum is valid, so the worker loads the blob and crashes.
#[tokio::test]
async fn snapshot_that_crashes_workers_is_discarded_and_no_run_fails() {
    let (folder, path) = folder_with_snapshot().await;
    let mut bytes = fs::read(&path).unwrap();
    let blob = bytes.len() - HEADER;
    for byte in &mut bytes[HEADER + blob / 4..HEADER + blob / 2] {
        *byte = !*byte;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes[HEADER..]);
    bytes[CHECKSUM].copy_from_slice(&hasher.finish().to_le_bytes());
    fs::write(&path, bytes).unwrap();
    is_given_up(folder.path(), "its blob is rubbish").await;
}

#[tokio::test]
async fn without_a_usable_folder_there_is_no_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = folder.path().join("snapshots");
    fs::write(&occupied, "no folder").unwrap();
    for snapshots in [None, Some(occupied.as_path())] {
        let pool = pool(snapshots, MemoryLimits::default());
        for owner in ["a", "b", "c"] {
            assert_eq!(run(&pool, owner, "return 1").await.unwrap(), "1");
        }
        assert!(!pool.status().snapshot);
    }
    assert_eq!(fs::read_to_string(&occupied).unwrap(), "no folder");
}

#[tokio::test]
async fn memory_errors_name_the_budget_and_its_setting() {
    let memory = MemoryLimits {
        heap: 24,
        buffers: 16,
    };
    let (folder, _) = folder_with_snapshot().await;
    for folder in [None, Some(folder.path())] {
        let pool = pool(folder, memory);
        let heap = "const all = []; for (;;) all.push(new Array(1000).fill({}))";
        let fault = run(&pool, "a", heap).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Memory, "{fault:?}");
        assert!(fault.message.contains("24 MiB of heap"), "{fault:?}");
        // Either the engine is stopped in time or the worker is killed. Both errors have this hint.
        let hint = fault.hint.unwrap();
        assert!(hint.contains("[limits] heap"), "{hint}");

        let buffers = |mebibytes| format!("return new Uint8Array({mebibytes} * 2 ** 20).length");
        assert!(run(&pool, "a", &buffers(15)).await.is_ok());
        let fault = run(&pool, "a", &buffers(17)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Memory, "{fault:?}");
        assert!(fault.message.contains("buffer"), "{fault:?}");
        let hint = fault.hint.unwrap();
        assert!(hint.contains("16 MiB"), "{hint}");
        assert!(hint.contains("[limits] buffers"), "{hint}");
    }
    let more = MemoryLimits {
        heap: 256,
        buffers: 256,
    };
    let pool = pool(None, more);
    let much = "const all = []; for (let i = 0; i < 100; i++) all.push(new Uint8Array(2 ** 21).fill(1));\n\
                return all.length + Array.from({ length: 2 ** 23 }, (_, i) => i + 0.5).length";
    assert_eq!(run(&pool, "a", much).await.unwrap(), "8388708");
}
