//! Log files of bounded size: `X.log` is written, `X.log.1` to `X.log.4` are the previous files, the newest first.
//!
//! Unlike `tracing-appender`, which rotates only by time, it bounds the size, and it removes and counts lines that a
//! full disk has cut.
//!
//! Invariant: a log has only whole lines, and callers never fail because of it. Lines that cannot be written are
//! counted, reported by [`unwritable_logs`] while that lasts, and then noted in the log itself.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use mux_paths::file_identity;
use parking_lot::Mutex;

use crate::atomic_file;

/// The size at which a file is rotated, in bytes.
const MAX_LOG_FILE_BYTES: u64 = 10 << 20;
/// The maximum number of files of a log, including the current one.
const MAX_LOG_FILES: u32 = 5;

/// The logs of this process that cannot currently be written. Global, because many modules open logs.
static UNWRITABLE_LOGS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The logs that cannot be written now, each with the reason.
pub fn unwritable_logs() -> BTreeMap<PathBuf, String> {
    UNWRITABLE_LOGS.lock().clone()
}

/// A log. Its file is created with the first line.
#[derive(Debug)]
pub struct RotatingLog {
    path: PathBuf,
    most: u64,
    file: Option<File>,
    /// The number of lost lines that the log does not report yet.
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

    /// Appends lines, each with its line ending: all of them, or none.
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
                    UNWRITABLE_LOGS.lock().remove(&self.path);
                }
            }
            Err(error) => {
                let lines = lines.split(|byte| *byte == b'\n').count() - 1;
                self.lost += lines.max(1) as u64;
                // Reopen the path next time: it may be on another disk by then.
                self.file = None;
                UNWRITABLE_LOGS
                    .lock()
                    .insert(self.path.clone(), error.to_string());
            }
        }
    }

    fn write_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut length = self.open_current()?;
        if length > 0 && length + lines.len() as u64 > self.most {
            self.file = None;
            // If rotation fails, the log continues in the same file: too long a file is better than none.
            drop(rotate(&self.path));
            length = self.open_current()?;
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if let Err(error) = file.write_all(lines) {
            // Remove a partial write. If another daemon has written meanwhile, its lines stay.
            let torn = file.metadata()?.len().saturating_sub(length);
            if torn < lines.len() as u64 {
                file.set_len(length)?;
            }
            return Err(error);
        }
        Ok(())
    }

    /// Makes sure that the file at the path is open: another daemon may have rotated it, or a user removed it. Returns
    /// its length.
    fn open_current(&mut self) -> io::Result<u64> {
        let there = file_identity::of_path(&self.path).ok();
        let ours = match &self.file {
            Some(file) => {
                let (identity, length) = file_identity::of_file(file)?;
                (Some(identity) == there).then_some(length)
            }
            None => None,
        };
        let length = if let Some(length) = ours {
            length
        } else {
            let (file, length) = atomic_file::open_for_append(&self.path)?;
            self.file = Some(file);
            length
        };
        Ok(length)
    }
}

impl Drop for RotatingLog {
    fn drop(&mut self) {
        if self.lost > 0 {
            // The log is not written any more, so the problem cannot be resolved.
            UNWRITABLE_LOGS.lock().remove(&self.path);
        }
    }
}

/// Each write is one event with its line ending, as `tracing` does it.
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
        1 => "... 1 line is missing here: it could not be written\n".into(),
        lost => format!("... {lost} lines are missing here: they could not be written\n"),
    }
}

fn rotate(path: &Path) -> io::Result<()> {
    for number in (1..MAX_LOG_FILES - 1).rev() {
        // A missing file is not a gap: it was never created.
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

/// Removes logs of a folder, the least recently written first, until the rest takes at most `most` bytes.
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
    fn log_rotates_between_lines_and_keeps_five_files() {
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
        let expected: Vec<_> = (50..100)
            .map(|number| format!("line {number:04}\n"))
            .collect();
        assert_eq!(all, expected.concat());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
    }

    #[test]
    fn overlong_line_has_a_file_of_its_own() {
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
    fn new_log_continues_the_file_after_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        fs::write(&path, "one\ntor").unwrap();
        RotatingLog::new(path.clone()).append(b"two\n");
        RotatingLog::new(path.clone()).append(b"three\n");
        assert_eq!(read(&path), "one\ntor\ntwo\nthree\n");
    }

    #[test]
    fn rotated_or_removed_file_is_reopened() {
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
    fn lost_lines_are_reported_and_then_counted_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gone").join("x.log");
        let mut log = RotatingLog::new(path.clone());
        log.append(b"one\n");
        log.append(b"two\nthree\n");
        let why = unwritable_logs().remove(&path).unwrap();
        assert_eq!(why, File::create(&path).unwrap_err().to_string());
        fs::create_dir(path.parent().unwrap()).unwrap();
        log.append(b"four\n");
        assert_eq!(
            read(&path),
            "... 3 lines are missing here: they could not be written\nfour\n"
        );
        assert_eq!(unwritable_logs().get(&path), None);
    }

    #[test]
    fn sweep_bounds_the_logs_of_a_folder() {
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
