//! Files of our own that something is decided by: written whole or not at all, believed only if nobody else
//! could have written them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use nix::{fcntl::OFlag, unistd::geteuid};

/// On the disk when it returns.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let next = path.with_extension("next");
    // One that a crash has left.
    drop(fs::remove_file(&next));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&next)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    File::open(folder)?.sync_all()
}

/// Gone from the disk when it returns; that it was not there is no error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// `None` if there is no such file.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Option<String>> {
    let mut options = OpenOptions::new();
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = match options.read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let meta = file.metadata()?;
    let wrong = if !meta.is_file() {
        "it is no file"
    } else if meta.uid() != geteuid().as_raw() {
        "it belongs to another user"
    } else if meta.mode() & 0o022 != 0 {
        "others may write to it: chmod 600"
    } else if meta.len() > most {
        "it is too long"
    } else {
        let mut text = String::new();
        file.take(most).read_to_string(&mut text)?;
        return Ok(Some(text));
    };
    Err(io::Error::other(wrong))
}
