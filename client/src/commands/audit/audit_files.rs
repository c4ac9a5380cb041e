//! The files of the audit log: `audit-MILLISECONDS.jsonl`, named after the time of their creation.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct AuditFile {
    /// In milliseconds since 1970.
    pub(super) began: u64,
    path: PathBuf,
}

/// The audit log's files in `folder`, the oldest first.
pub(super) fn list_audit_files(folder: &Path) -> Vec<AuditFile> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<AuditFile> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let digits = name.to_str()?.strip_prefix("audit-")?;
            let began = digits.strip_suffix(".jsonl")?.parse().ok()?;
            let path = entry.path();
            Some(AuditFile { began, path })
        })
        .collect();
    files.sort();
    files
}

impl AuditFile {
    /// The complete lines of the file, and their length in bytes.
    pub(super) fn read_complete_lines(&self) -> io::Result<(Vec<String>, u64)> {
        let mut bytes = match fs::read(&self.path) {
            // The file has been deleted because of its age since the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            read => read?,
        };
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter(|line| !line.is_empty());
        Ok((lines.map(str::to_owned).collect(), bytes.len() as u64))
    }
}

/// Follows the audit log.
pub(super) struct AuditTail {
    folder: PathBuf,
    file: File,
    began: u64,
    /// A line whose end is not written yet.
    rest: Vec<u8>,
}

impl AuditTail {
    /// Starts after the first `read` bytes of a file.
    pub(super) fn open_at(folder: &Path, from: &AuditFile, read: u64) -> io::Result<Self> {
        let mut file = File::open(&from.path)?;
        file.seek(SeekFrom::Start(read))?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            began: from.began,
            rest: Vec::new(),
        })
    }

    /// The complete lines that were appended since the last call.
    pub(super) fn read_new_lines(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            // Looked up before the read: once the next file exists, this one is complete.
            let mut later = list_audit_files(&self.folder).into_iter();
            let next = later.find(|file| file.began > self.began);
            self.file.read_to_end(&mut self.rest)?;
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                lines.push(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let Some(next) = next else {
                return Ok(lines);
            };
            self.file = File::open(&next.path)?;
            self.began = next.began;
            self.rest.clear();
        }
    }
}
