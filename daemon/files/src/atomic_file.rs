//! Security-relevant state files: written atomically, and read only if no other user could have written them.
//!
//! Invariant: concurrent writers of one file write one after the other, each the whole file. The order is up to the
//! callers.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write},
    path::Path,
};

use mux_paths::regular_file;
use parking_lot::Mutex;

use crate::private_file::{self, PrivateMode as _};

/// Locks for writers, by a hash of the path. Each file has one name for its temporary file: a crash leaves at most
/// one, and the next writer replaces it.
static WRITE_LOCKS: [Mutex<()>; 16] = [const { Mutex::new(()) }; 16];

/// Opens or creates a file for appending lines. Returns it with its length. Ends a last line that a crash has torn.
pub fn open_for_append(path: &Path) -> io::Result<(File, u64)> {
    let mut options = File::options();
    let options = options.read(true).append(true).create(true).private();
    let mut file = options.open(path)?;
    let mut length = file.metadata()?.len();
    if length > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            length += 1;
        }
    }
    Ok((file, length))
}

/// Writes a file atomically. The file is on disk when this returns.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes)).map(drop)
}

/// Like [`write()`], for content that is written in parts. Returns the file, positioned at its end.
pub fn write_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(path);
    let [first, ..] = hash.to_ne_bytes();
    let _turn = WRITE_LOCKS[usize::from(first) % WRITE_LOCKS.len()].lock();
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).private().create(folder)?;
    let folder = private_file::FolderHandle::lock(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".next");
    let next = path.with_file_name(name);
    // A temporary file that a crash has left.
    drop(fs::remove_file(&next));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .private()
        .open(&next)?;
    let mut buffer = BufWriter::new(file);
    content(&mut buffer)?;
    let file = buffer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    folder.sync()?;
    Ok(file)
}

/// Removes a file. The removal is on disk when this returns. A missing file is not an error.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => match path.parent() {
            Some(folder) => private_file::sync_folder(folder),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads a file of at most `most` bytes. `None` if the file does not exist.
pub fn read(path: &Path, most: u64) -> io::Result<Option<String>> {
    let Some(file) = open(path, most)? else {
        return Ok(None);
    };
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Like [`read`], but opens the file for reading in parts.
pub fn open(path: &Path, most: u64) -> io::Result<Option<File>> {
    let file = match regular_file::open_unfollowed(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let meta = file.metadata()?;
    let wrong = if !meta.is_file() {
        "it is not a regular file; remove it"
    } else if let Some(wrong) = regular_file::writable_by_others(&meta) {
        wrong
    } else if meta.len() > most {
        "it is too long"
    } else {
        return Ok(Some(file));
    };
    Err(io::Error::other(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_writes_of_one_file_all_succeed_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write(path, &[b'a' + writer; 5_000]).unwrap();
                    }
                });
            }
        });
        let text = read(&path, 5_000).unwrap().unwrap();
        let first = text.as_bytes()[0];
        assert!(text.len() == 5_000 && text.bytes().all(|byte| byte == first));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // A file with the same stem is another file.
        write(&path.with_extension("calls"), b"x").unwrap();
        assert_eq!(read(&path, 5_000).unwrap().unwrap(), text);
    }
}
