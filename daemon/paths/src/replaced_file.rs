//! Replaces a file atomically.

use std::{
    io::{self, Write as _},
    path::Path,
};

/// Replaces the file at `path` with `bytes`, atomically: readers see the old or the new content. A link at `path`
/// is replaced itself. The temporary file has a random name and is created, never opened.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mux-");
    // The mode of an ordinary new file: the umask of the process applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut new = builder.tempfile_in(folder)?;
    new.write_all(bytes)?;
    new.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    #[test]
    fn link_is_replaced_and_its_target_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let file = dir.path().join("file");
        fs::write(&victim, "mine").unwrap();
        symlink("victim", &file).unwrap();
        replace_file(&file, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let mode = fs::symlink_metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o170_600, 0o100_600, "a regular file of its owner");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
