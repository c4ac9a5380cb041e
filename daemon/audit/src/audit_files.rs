//! The files of the audit log: `audit-MILLISECONDS.jsonl`, named by their start time.
//!
//! Invariant: files are append-only, in whole lines. After a torn line, the next line starts on a new line. Retention
//! removes whole files, the oldest first.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mux_files::{atomic_file, private_file::PrivateMode as _};
use mux_settings::AuditRetention;

/// The number of files into which the retention size and time are divided.
const RETENTION_FILE_COUNT: u32 = 16;
/// The maximum number of files, however short they are.
const MAX_AUDIT_FILES: usize = 64;

/// The folder of the log, with the file that is being written.
pub(super) struct AuditFiles {
    folder: PathBuf,
    current: Option<CurrentAuditFile>,
}

struct CurrentAuditFile {
    file: File,
    began: SystemTime,
    length: u64,
}

impl AuditFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            current: None,
        }
    }

    /// Creates the folder if necessary, and returns it.
    pub(super) fn ensure_folder(&self) -> io::Result<&Path> {
        create_folder(&self.folder)?;
        Ok(&self.folder)
    }

    /// Appends whole lines. After an error none of them is in the file.
    pub(super) fn append(
        &mut self,
        lines: &[u8],
        retention: AuditRetention,
        now: SystemTime,
    ) -> io::Result<()> {
        let is_over = self.current.as_ref().is_some_and(|current| {
            let age = now.duration_since(current.began).unwrap_or_default();
            current.length >= retention.size / u64::from(RETENTION_FILE_COUNT)
                || age >= retention.keep / RETENTION_FILE_COUNT
        });
        if is_over {
            self.current = None;
        }
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                create_folder(&self.folder)?;
                let opened = open_current_file(&self.folder, is_over, retention, now)?;
                remove_expired(&self.folder, retention, now)?;
                none.insert(opened)
            }
        };
        let before = current.file.metadata()?.len();
        if let Err(error) = current.file.write_all(lines) {
            // Remove a partial write, because all lines count as lost. If another daemon has written meanwhile, its
            // lines stay, and the next append ends the torn line.
            let cut = current.file.metadata().is_ok_and(|now| {
                now.len() < before + lines.len() as u64 && current.file.set_len(before).is_ok()
            });
            if !cut {
                // The next append reopens the file and ends the torn line.
                self.current = None;
            }
            return Err(error);
        }
        current.length += lines.len() as u64;
        Ok(())
    }

    /// Syncs the current file.
    pub(super) fn sync(&self) {
        if let Some(current) = &self.current {
            // On an error the lines are in the page cache at least.
            drop(current.file.sync_data());
        }
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).private().create(folder)
}

/// Opens the latest file, or a new file if the latest is `over`, too old or too long.
fn open_current_file(
    folder: &Path,
    over: bool,
    retention: AuditRetention,
    now: SystemTime,
) -> io::Result<CurrentAuditFile> {
    let all = list_files(folder)?;
    let latest = all.last().filter(|_| !over).filter(|(began, path)| {
        let length = fs::metadata(path).map_or(u64::MAX, |found| found.len());
        let age = now.duration_since(*began).unwrap_or_default();
        length < retention.size / u64::from(RETENTION_FILE_COUNT)
            && age < retention.keep / RETENTION_FILE_COUNT
    });
    let (began, path) = if let Some((began, path)) = latest {
        (*began, path.clone())
    } else {
        let after = all.last().map_or(0, |(began, _)| unix_millis(*began) + 1);
        let began = unix_millis(now).max(after);
        let began = UNIX_EPOCH + Duration::from_millis(began);
        (began, folder.join(audit_file_name(began)))
    };
    let (file, length) = atomic_file::open_for_append(&path)?;
    Ok(CurrentAuditFile {
        file,
        began,
        length,
    })
}

/// Removes files beyond the limits of age, size and number, but never the latest.
fn remove_expired(folder: &Path, retention: AuditRetention, now: SystemTime) -> io::Result<()> {
    let mut all = list_files(folder)?;
    all.pop();
    let mut room = retention.size - retention.size / u64::from(RETENTION_FILE_COUNT);
    for (index, (_, path)) in all.iter().rev().enumerate() {
        let found = fs::metadata(path)?;
        let age = now.duration_since(found.modified()?).unwrap_or_default();
        let fits = found.len() <= room;
        if age > retention.keep || !fits || index + 1 >= MAX_AUDIT_FILES {
            room = 0;
            fs::remove_file(path)?;
        } else {
            room -= found.len();
        }
    }
    Ok(())
}

/// The files of the log, in the order of their start times.
fn list_files(folder: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(began) = entry.file_name().to_str().and_then(parse_begin_time) {
            all.push((began, entry.path()));
        }
    }
    all.sort_unstable();
    Ok(all)
}

fn audit_file_name(began: SystemTime) -> String {
    format!("audit-{:013}.jsonl", unix_millis(began))
}

fn parse_begin_time(name: &str) -> Option<SystemTime> {
    let digits = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
    UNIX_EPOCH.checked_add(Duration::from_millis(digits.parse().ok()?))
}

fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(folder: &Path) -> Vec<String> {
        let all = list_files(folder).unwrap().into_iter();
        all.map(|(_, path)| fs::read_to_string(path).unwrap())
            .collect()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    #[test]
    fn line_after_a_torn_line_starts_on_its_own() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("audit");
        let mut files = AuditFiles::new(folder.clone());
        files
            .append(b"one\ntw", AuditRetention::default(), at(0))
            .unwrap();
        let mut files = AuditFiles::new(folder.clone());
        files
            .append(b"three\n", AuditRetention::default(), at(1))
            .unwrap();
        assert_eq!(text(&folder), ["one\ntw\nthree\n"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let file = list_files(&folder).unwrap()[0].1.clone();
            assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        }
    }

    #[test]
    fn files_rotate_by_size_and_age_and_the_oldest_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let retention = AuditRetention {
            keep: Duration::from_secs(1600),
            size: 160,
        };
        let mut files = AuditFiles::new(home.path().to_owned());
        for second in 0..40 {
            files.append(b"123456789\n", retention, at(second)).unwrap();
        }
        // Ten bytes are a sixteenth of the size, which is one file.
        assert_eq!(text(home.path()).len(), 16);
        // Expired files are removed when the next file starts.
        for (_, path) in list_files(home.path()).unwrap() {
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(at(0)).unwrap();
        }
        files.append(b"123456789\n", retention, at(2000)).unwrap();
        assert_eq!(text(home.path()).len(), 1);
        // A short file is continued after a restart until it is too old.
        let roomy = AuditRetention {
            size: 16_000,
            ..retention
        };
        for (second, count) in [(2001, 1), (2050, 1), (2101, 2)] {
            let mut files = AuditFiles::new(home.path().to_owned());
            files.append(b"x\n", roomy, at(second)).unwrap();
            assert_eq!(text(home.path()).len(), count, "{second}");
        }
    }

    #[test]
    fn files_keep_their_order_when_the_clock_is_set_back() {
        let home = tempfile::tempdir().unwrap();
        let retention = AuditRetention {
            size: 16,
            ..AuditRetention::default()
        };
        let mut files = AuditFiles::new(home.path().to_owned());
        files.append(b"1\n", retention, at(100)).unwrap();
        files.append(b"2\n", retention, at(0)).unwrap();
        assert_eq!(text(home.path()), ["1\n", "2\n"]);
    }
}
