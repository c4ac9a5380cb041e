//! Stored values on a real disk: restarts, eviction and failures.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::{fs, path::Path, time::SystemTime};

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn limits(quota: u64, inline: usize) -> StoredValueLimits {
    StoredValueLimits {
        quota,
        keep_for: HOUR,
        inline,
    }
}

fn open(home: &Path) -> StoredValues {
    StoredValues::open(home.join("results"), home.join("key"), limits(1 << 20, 100))
}

/// JSON of `bytes` bytes that repeats this letter.
fn long(letter: char, bytes: usize) -> String {
    format!("\"{}\"", letter.to_string().repeat(bytes - 2))
}

async fn stored(handles: &StoredValues, text: &str) -> Handle {
    match handles.inline_or_keep(text.into(), "it").await.unwrap() {
        (Held::Stored(handle), None) => handle,
        other => panic!("{other:?}"),
    }
}

async fn all(handles: &StoredValues, handle: &Handle) -> Result<String, Fault> {
    handles.read_whole(&handle.handle, usize::MAX).await
}

async fn kind(handles: &StoredValues, handle: &Handle) -> FaultKind {
    all(handles, handle).await.unwrap_err().kind
}

fn names(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join("results")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn long_value_is_stored_under_one_name_and_short_value_is_inline() {
    let home = tempfile::tempdir().unwrap();
    let handles = open(home.path());
    let short = long('a', 100);
    let held = handles.inline_or_keep(short.clone(), "it").await.unwrap();
    assert_eq!(held, (inline_value(short, "it").unwrap(), None));
    let text = long('ä', 1000);
    let handle = stored(&handles, &text).await;
    assert_eq!(handle.bytes, text.len() as u64);
    assert!(text.starts_with(&handle.preview) && handle.preview.chars().count() == 500);
    assert_eq!(stored(&handles, &text).await.handle, handle.handle);
    assert_eq!(names(home.path()), [handle.handle.as_str()]);
    assert_eq!(all(&handles, &handle).await.unwrap(), text);
    let page = handles.read_page(&handle.handle, 2, Some(4)).await.unwrap();
    assert_eq!(
        (page.text.as_str(), page.offset, page.next),
        ("ää", 1, Some(5))
    );
    let fault = handles.read_whole(&handle.handle, 10).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Limit);
    assert!(fault.hint.unwrap().contains("mux.read(\"h_"));
    let fault = handles.read_page("h_..", 0, None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Validation);
}

#[tokio::test]
async fn name_tells_nobody_without_the_key_that_a_value_is_stored() {
    let home = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let text = long('a', 1000);
    let handle = stored(&open(home.path()), &text).await;
    let guessed = HandleName::of(&text);
    assert_ne!(guessed.as_str(), handle.handle);
    let fault = open(home.path()).read_page(guessed.as_str(), 0, None).await;
    assert_eq!(fault.unwrap_err().kind, FaultKind::NotFound);
    let elsewhere = stored(&open(other.path()), &text).await;
    assert_ne!(elsewhere.handle, handle.handle);
    // The key is read again by the next daemon.
    let next = open(home.path());
    assert_eq!(stored(&next, &text).await.handle, handle.handle);
    assert_eq!(all(&next, &handle).await.unwrap(), text);
}

#[tokio::test]
async fn values_of_earlier_versions_stay_readable() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("results");
    fs::create_dir(&folder).unwrap();
    let text = long('a', 1000);
    let earlier = HandleName::of(&long('a', 1000));
    fs::write(folder.join(earlier.as_str()), &text).unwrap();
    let handles = open(home.path());
    let read = handles.read_whole(earlier.as_str(), usize::MAX).await;
    assert_eq!(read.unwrap(), text);
}

#[cfg(unix)]
#[tokio::test]
async fn files_and_folder_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let handle = stored(&open(home.path()), &long('a', 1000)).await;
    let folder = home.path().join("results");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(handle.handle)), 0o600);
    assert_eq!(mode(&home.path().join("key")), 0o600);
}

#[tokio::test]
async fn restart_keeps_intact_values_and_removes_other_files() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("results");
    let first = open(home.path());
    let good = long('a', 1000);
    let bad = long('b', 1000);
    let good = stored(&first, &good).await;
    let bad = stored(&first, &bad).await;
    fs::write(folder.join(&bad.handle), long('c', 1000)).unwrap();
    let unfinished = fs::File::create(folder.join("unfinished-7")).unwrap();
    // A recent one may be written by a predecessor.
    unfinished
        .set_modified(SystemTime::now() - Duration::from_secs(100))
        .unwrap();
    fs::write(folder.join("notes.txt"), "x").unwrap();
    let secret = home.path().join("secret");
    fs::write(&secret, long('s', 1000)).unwrap();
    let link = HandleName::of("link");
    // Windows lets no user create links.
    #[cfg(unix)]
    symlink(&secret, folder.join(link.as_str())).unwrap();

    let second = open(home.path());
    assert_eq!(all(&second, &good).await.unwrap(), long('a', 1000));
    let fault = all(&second, &bad).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert!(fault.message.contains("damaged"), "{}", fault.message);
    let fault = second.read_page(link.as_str(), 0, None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert_eq!(names(home.path()), [good.handle.as_str()]);
    assert!(secret.exists());
    // Storing the value again restores it.
    let bad = stored(&second, &long('b', 1000)).await;
    assert_eq!(all(&second, &bad).await.unwrap(), long('b', 1000));
}

#[cfg(unix)]
#[tokio::test]
async fn link_in_place_of_a_value_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let handles = open(home.path());
    let handle = stored(&handles, &long('a', 1000)).await;
    let file = home.path().join("results").join(&handle.handle);
    let secret = home.path().join("s");
    fs::write(&secret, long('a', 1000)).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    assert_eq!(kind(&handles, &handle).await, FaultKind::NotFound);
    assert!(secret.exists() && !file.exists());
    stored(&handles, &long('a', 1000)).await;
    assert!(file.symlink_metadata().unwrap().is_file());
}

#[tokio::test]
async fn quota_is_enforced_by_evicting_least_recently_used_values() {
    let home = tempfile::tempdir().unwrap();
    let handles = StoredValues::open(
        home.path().join("results"),
        home.path().join("key"),
        limits(2500, 100),
    );
    let a = stored(&handles, &long('a', 1000)).await;
    let b = stored(&handles, &long('b', 1000)).await;
    all(&handles, &a).await.unwrap();
    let c = stored(&handles, &long('c', 1000)).await;
    assert!(all(&handles, &a).await.is_ok() && all(&handles, &c).await.is_ok());
    let fault = all(&handles, &b).await.unwrap_err();
    let hint = fault.hint.unwrap();
    assert!(hint.contains("kept_for") && hint.contains("2500"), "{hint}");
    assert_eq!(names(home.path()).len(), 2);
    // A value over the quota is returned inline with a warning, and evicts nothing.
    let (held, warning) = handles
        .inline_or_keep(long('d', 3000), "the result")
        .await
        .unwrap();
    assert!(matches!(held, Held::Value(_)));
    assert!(warning.unwrap().contains("2500 bytes"));
    assert_eq!(names(home.path()).len(), 2);
    let huge = handles
        .inline_or_keep(long('e', MAX_INLINE_BYTES + 1), "the result")
        .await;
    let fault = huge.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Limit);
    assert!(fault.hint.unwrap().contains("`kept` in [limits]"));
    // A smaller quota applies from the next start on.
    let next = StoredValues::open(
        home.path().join("results"),
        home.path().join("key"),
        limits(1500, 100),
    );
    assert!(all(&next, &c).await.is_ok());
    assert_eq!(names(home.path()).len(), 1);
}

#[tokio::test]
async fn value_expires_by_the_mtime_of_its_file() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path());
    let old = stored(&first, &long('a', 1000)).await;
    let new = stored(&first, &long('b', 1000)).await;
    let file = home.path().join("results").join(&old.handle);
    let file = fs::File::options().write(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - 2 * HOUR).unwrap();
    let second = open(home.path());
    assert_eq!(kind(&second, &old).await, FaultKind::NotFound);
    assert!(all(&second, &new).await.is_ok());
    assert_eq!(names(home.path()), [new.handle.as_str()]);
    second.set_limits(StoredValueLimits {
        keep_for: Duration::ZERO,
        ..limits(1 << 20, 100)
    });
    assert_eq!(kind(&second, &new).await, FaultKind::NotFound);
    assert_eq!(names(home.path()), Vec::<String>::new());
}

#[tokio::test]
async fn value_that_cannot_be_stored_is_returned_inline() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("results");
    fs::write(&folder, "in the way").unwrap();
    let handles = open(home.path());
    let text = long('a', 1000);
    let (held, warning) = handles
        .inline_or_keep(text.clone(), "the result")
        .await
        .unwrap();
    assert_eq!(held, inline_value(text.clone(), "it").unwrap());
    let warning = warning.unwrap();
    assert!(warning.contains("the result is 1000 bytes"), "{warning}");
    let fault = handles.keep(text.clone(), "it").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    // Values are stored again once the folder is usable, and after the cache is cleared.
    for _ in 0..2 {
        drop(fs::remove_file(&folder));
        drop(fs::remove_dir_all(&folder));
        let handle = stored(&handles, &text).await;
        assert_eq!(all(&handles, &handle).await.unwrap(), text);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn folder_that_is_a_link_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("notes.txt"), "mine").unwrap();
    symlink(&elsewhere, home.path().join("results")).unwrap();
    let handles = open(home.path());
    let (held, warning) = handles.inline_or_keep(long('a', 1000), "it").await.unwrap();
    assert!(matches!(held, Held::Value(_)));
    assert!(warning.unwrap().contains("not a directory"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[tokio::test]
async fn concurrent_stores_keep_the_index_consistent() {
    let home = tempfile::tempdir().unwrap();
    let handles = StoredValues::open(
        home.path().join("results"),
        home.path().join("key"),
        limits(20_000, 100),
    );
    let one = |number: usize| {
        let handles = handles.clone();
        async move {
            // Half of the values are duplicates, and only some fit.
            let text = format!("[{}]", "12345,".repeat(100 + number / 2));
            let handle = stored(&handles, &text).await;
            match all(&handles, &handle).await {
                Ok(read) => assert_eq!(read, text),
                Err(fault) => assert_eq!(fault.kind, FaultKind::NotFound),
            }
        }
    };
    futures::future::join_all((0..200).map(one)).await;
    let files = fs::read_dir(home.path().join("results")).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes > 10_000 && bytes <= 20_000, "{bytes}");
    assert_eq!(handles.inner.store.bytes(), bytes);
}
