//! Log files that stay small: `X.log` is written, `X.log.1` to `X.log.4` are what it was before, the newest first.
//!
//! Ours, because a line of which a full disk took half is cut back, counted and told. `tracing-appender` begins anew by
//! time only, which is no bound on a bad day.
//!
//! Invariant: whole lines only, and nobody waits or fails for them. What the disk does not take is counted, told by
//! [`unwritable_logs`] for as long as it is so, and said in the file itself as soon as that takes something again.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::atomic_file;

/// A file that has grown to this many bytes becomes the one before.
const MAX_LOG_FILE_BYTES: u64 = 10 << 20;
/// Of one log, with the one that is written.
const MAX_LOG_FILES: u32 = 5;

/// Logs of this process that the disk does not take. Whoever writes one tells of it here, since a log is opened
/// wherever there is something to say.
static UNWRITABLE_LOGS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The logs that cannot be written now, each with the reason.
pub fn unwritable_logs() -> BTreeMap<PathBuf, String> {
    lock_unwritable().clone()
}

fn lock_unwritable() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    UNWRITABLE_LOGS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// One log. It is made with its first line.
#[derive(Debug)]
pub struct RotatingLog {
    path: PathBuf,
    most: u64,
    file: Option<File>,
    /// Lines that nobody will read.
    lost: u64,
}

impl RotatingLog {
    pub fn new(path: PathBuf) -> Self {
        Self::of(path, MAX_LOG_FILE_BYTES)
    }

    fn of(path: PathBuf, most: u64) -> Self {
        Self {
            path,
            most,
            file: None,
            lost: 0,
        }
    }

    /// Appends whole lines, the last with its line end, or none of them.
    pub fn append(&mut self, lines: &[u8]) {
        let lost = self.lost;
        let written = match lost {
            0 => self.write_lines(lines),
            _ => self.write_lines(&[gap_line(lost).as_bytes(), lines].concat()),
        };
        match written {
            Ok(()) => {
                if lost > 0 {
                    self.lost = 0;
                    lock_unwritable().remove(&self.path);
                }
            }
            Err(error) => {
                let lines = lines.iter().filter(|byte| **byte == b'\n').count();
                self.lost += lines.max(1) as u64;
                // Another look at the path: the disk may be another one by then.
                self.file = None;
                lock_unwritable().insert(self.path.clone(), error.to_string());
            }
        }
    }

    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut length = self.open_current()?;
        if length > 0 && length + lines.len() as u64 > self.most {
            self.file = None;
            // If that fails the log goes on in the same file: one that is too long is better than none.
            drop(rotate(&self.path));
            length = self.open_current()?;
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if let Err(error) = file.write_all(lines) {
            // Half of them would be a torn line. Where another daemon has written meanwhile, its own stay.
            let torn = file.metadata()?.len().saturating_sub(length);
            if torn < lines.len() as u64 {
                file.set_len(length)?;
            }
            return Err(error);
        }
        Ok(())
    }

    /// Has the file that stands there now, which another daemon may have rotated, or somebody removed. Gives its
    /// length.
    fn open_current(&mut self) -> io::Result<u64> {
        let there = fs::metadata(&self.path).ok();
        let ours = match (&self.file, there) {
            (Some(file), Some(there)) => is_same(&file.metadata()?, &there).then_some(there.len()),
            _ => None,
        };
        let length = match ours {
            Some(length) => length,
            None => {
                let (file, length) = atomic_file::open_for_append(&self.path)?;
                self.file = Some(file);
                length
            }
        };
        Ok(length)
    }
}

impl Drop for RotatingLog {
    fn drop(&mut self) {
        if self.lost > 0 {
            // Nobody will write it any more, and nobody could mend it.
            lock_unwritable().remove(&self.path);
        }
    }
}

/// Each call is one event with its line end, as `tracing` writes them.
impl Write for RotatingLog {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.append(event);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn gap_line(lost: u64) -> String {
    match lost {
        1 => "... 1 line is missing here: the disk did not take it\n".into(),
        lost => format!("... {lost} lines are missing here: the disk did not take them\n"),
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn rotate(path: &Path) -> io::Result<()> {
    for number in (1..MAX_LOG_FILES - 1).rev() {
        // One that is not there yet makes no gap.
        drop(fs::rename(
            numbered_path(path, number),
            numbered_path(path, number + 1),
        ));
    }
    fs::rename(path, numbered_path(path, 1))
}

fn numbered_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Removes logs of a folder, those that were written longest ago first, until the rest is no longer than `most`
/// bytes. Those that are written now are the last.
pub fn sweep_logs(folder: &Path, most: u64) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Ok(there) = fs::symlink_metadata(&path)
            && there.is_file()
            && name.contains(".log")
        {
            found.push((there.modified()?, there.len(), path));
        }
    }
    found.sort();
    let mut left = most;
    for (_, length, path) in found.into_iter().rev() {
        match left.checked_sub(length) {
            Some(less) => left = less,
            None => fs::remove_file(path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_log_rotates_between_lines_and_keeps_the_last_five_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let mut log = RotatingLog::of(path.clone(), 100);
        for number in 0..100 {
            log.append(format!("line {number:04}\n").as_bytes());
        }
        let mut all = String::new();
        for number in (1..MAX_LOG_FILES).rev() {
            let text = read(&numbered_path(&path, number));
            assert_eq!(text.len(), 100, "{text:?}");
            all.push_str(&text);
        }
        all.push_str(&read(&path));
        let expected: String = (50..100)
            .map(|number| format!("line {number:04}\n"))
            .collect();
        assert_eq!(all, expected);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_line_that_is_longer_than_a_file_has_one_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let mut log = RotatingLog::of(path.clone(), 10);
        log.append(b"short\n");
        log.append(b"a line that is longer\n");
        log.append(b"short\n");
        assert_eq!(read(&path), "short\n");
        assert_eq!(read(&numbered_path(&path, 1)), "a line that is longer\n");
        assert_eq!(read(&numbered_path(&path, 2)), "short\n");
    }

    #[test]
    fn the_next_daemon_goes_on_in_the_same_file_behind_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        fs::write(&path, "one\ntor").unwrap();
        RotatingLog::new(path.clone()).append(b"two\n");
        RotatingLog::new(path.clone()).append(b"three\n");
        assert_eq!(read(&path), "one\ntor\ntwo\nthree\n");
    }

    #[test]
    fn what_another_daemon_rotated_or_somebody_removed_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let mut log = RotatingLog::new(path.clone());
        log.append(b"one\n");
        rotate(&path).unwrap();
        log.append(b"two\n");
        assert_eq!(read(&path), "two\n");
        fs::remove_file(&path).unwrap();
        log.append(b"three\n");
        assert_eq!(read(&path), "three\n");
    }

    #[test]
    fn what_is_lost_is_told_as_long_as_it_is_so_and_counted_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone").join("x.log");
        let mut log = RotatingLog::new(path.clone());
        log.append(b"one\n");
        log.append(b"two\nthree\n");
        let why = unwritable_logs().remove(&path).unwrap();
        assert!(why.contains("No such file"), "{why}");
        fs::create_dir(path.parent().unwrap()).unwrap();
        log.append(b"four\n");
        assert_eq!(
            read(&path),
            "... 3 lines are missing here: the disk did not take them\nfour\n"
        );
        assert_eq!(unwritable_logs().get(&path), None);
    }

    #[test]
    fn the_logs_of_a_folder_are_bounded_in_all() {
        let dir = tempfile::tempdir().unwrap();
        for (at, name) in ["a.log.1", "b.log", "a.log"].into_iter().enumerate() {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_len(100).unwrap();
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at as u64);
            file.set_modified(then).unwrap();
        }
        fs::write(dir.path().join("notes.txt"), [0; 1000]).unwrap();
        sweep_logs(dir.path(), 250).unwrap();
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["a.log", "b.log", "notes.txt"]);
    }
}
