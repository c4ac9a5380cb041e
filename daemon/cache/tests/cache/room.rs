//! Directories that cannot be written, or that another process uses.

use std::{fs, path::Path, process::Command};

use mux_cache::Cache;

use crate::values::{SPACES, close, entries, has, key, open, store, value, works, works_when};

/// The environment variable with the cache folder of the other process.
const FULL: &str = "MUX_TEST_FULL";

#[tokio::test]
async fn second_process_uses_memory_and_does_not_disturb_the_first() {
    let home = tempfile::tempdir().unwrap();
    let (first, _) = open(home.path()).await;
    works(&first).await;
    let (second, _) = open(home.path()).await;
    let problem = second.status().problem.unwrap();
    assert!(problem.contains("another process"), "{problem}");
    works(&second).await;
    second.clear(SPACES[0]).await;
    has(&first, SPACES.len()).await;
    works(&first).await;
    assert!(!home.path().join("quarantine").exists());
    close(first, home.path());
    let (third, _) = open(home.path()).await;
    assert_eq!(third.status().problem, None);
    has(&third, SPACES.len()).await;
}

#[tokio::test]
async fn unusable_folder_leads_to_memory_cache() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "a file").unwrap();
    let link = home.path().join("link");
    std::os::unix::fs::symlink(home.path(), &link).unwrap();
    for folder in [file.clone(), file.join("below"), link] {
        let (cache, _) = open(&folder).await;
        let problem = cache.status().problem.unwrap();
        assert!(problem.contains("cannot be used"), "{problem}");
        works(&cache).await;
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "a file");
}

#[tokio::test]
async fn unused_other_versions_are_removed() {
    let home = tempfile::tempdir().unwrap();
    for version in ["v0-old", "v9-used"] {
        fs::create_dir(home.path().join(version)).unwrap();
        fs::write(home.path().join(version).join("lock"), "").unwrap();
    }
    fs::write(home.path().join("notes"), "").unwrap();
    let used = fs::File::open(home.path().join("v9-used/lock")).unwrap();
    used.lock().unwrap();
    let (cache, _) = open(home.path()).await;
    works(&cache).await;
    assert!(!home.path().join("v0-old").exists());
    assert!(home.path().join("v9-used").exists());
    assert!(home.path().join("notes").exists());
}

/// Runs in another process, on a disk that is smaller than the data written to it.
#[tokio::test]
async fn a_full_disk_costs_only_what_it_has_no_room_for() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is its own other process"
    )]
    let folder = std::env::var_os(FULL);
    if let Some(folder) = folder {
        return fill(folder.as_ref()).await;
    }
    // A small disk if the system can mount one, otherwise a limit on file sizes.
    let disk = "mount -t tmpfs -o size=6m none \"$0\" && exec \"$@\"";
    let short = "trap '' XFSZ && ulimit -f 6144 && exec \"$@\"";
    let disks = Command::new("unshare").args(["-rm", "true"]).status();
    let has_disks = disks.is_ok_and(|status| status.success());
    let mut ways = vec![("sh", vec!["-c", short])];
    if has_disks {
        ways.push(("unshare", vec!["-rm", "sh", "-c", disk]));
    }
    for (program, arguments) in ways {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.args(arguments).arg(home.path());
        command.arg(std::env::current_exe().unwrap());
        command.args([
            "room::a_full_disk_costs_only_what_it_has_no_room_for",
            "--exact",
        ]);
        let done = command.env(FULL, home.path()).output().unwrap();
        let shown = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{program}: {shown}");
        assert!(shown.contains("1 passed"), "{program}: {shown}");
    }
}

async fn fill(folder: &Path) {
    let (cache, _) = open(folder).await;
    works_when(&cache, "on a new disk").await;
    assert_eq!(cache.status().problem, None);
    let mut number = 0;
    while cache.status().problem.is_none() {
        for _ in 0..50 {
            number += 1;
            cache.put(SPACES[1], key(number), value(SPACES[1], &key(number)));
        }
        cache.flush().await;
        assert!(number < 100_000, "the disk is not full");
    }
    let problem = cache.status().problem.unwrap();
    assert!(problem.contains("cannot be written"), "{problem}");
    entries(&cache).await;
    works_when(&cache, "on the disk that became full").await;
    close(cache, folder);
    // The store was not moved, and can still be read.
    assert!(!folder.join("quarantine").exists());
    assert!(store(folder).is_dir());
    for time in 1..=3 {
        let (cache, _) = open(folder).await;
        entries(&cache).await;
        let step = format!("on a full disk, opened {time} times");
        works_when(&cache, &step).await;
        assert!(!folder.join("quarantine").exists(), "{:?}", cache.status());
        close(cache, folder);
    }
}

/// Uses a read-only mount where possible, because root can write to read-only directories.
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_left_as_it_is() {
    const READ_ONLY: &str = "MUX_TEST_READ_ONLY";
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is its own other process"
    )]
    let folder = std::env::var_os(READ_ONLY);
    if let Some(folder) = folder {
        let cache = Cache::open(folder.into()).await;
        assert!(cache.status().problem.is_some());
        return works(&cache).await;
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let (cache, _) = open(&folder).await;
    works(&cache).await;
    close(cache, &folder);
    let name = "room::a_directory_that_cannot_be_written_is_left_as_it_is";
    let exe = std::env::current_exe().unwrap();
    let disks = Command::new("unshare").args(["-rm", "true"]).status();
    let mut command = if disks.is_ok_and(|status| status.success()) {
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).arg(&folder);
        command
    } else {
        if nix::unistd::geteuid().is_root() {
            // Without a mount there is no directory that root cannot write.
            return;
        }
        let mut command = Command::new("sh");
        let script = "chmod -R a-w \"$0\" && exec \"$@\"";
        command.args(["-c", script]).arg(&folder);
        command
    };
    let done = command.arg(exe).args([name, "--exact"]);
    let done = done.env(READ_ONLY, &folder).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && shown.contains("1 passed"),
        "{shown}"
    );
    let chmod = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(&folder)
        .status();
    assert!(chmod.unwrap().success());
    let (cache, _) = open(&folder).await;
    assert_eq!(cache.status().began_anew, None);
    has(&cache, SPACES.len()).await;
}
