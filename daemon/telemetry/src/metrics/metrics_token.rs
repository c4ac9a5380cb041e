//! The token of the metrics port: random text in a private file, created when it is first needed.
//!
//! Invariant: the current content of the file is the token, so removing the file replaces the token.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use mux_files::atomic_file;

const TOKEN_BYTES: usize = 32;
/// A shorter token was not written by muxd.
const MIN_TOKEN_BYTES: usize = 32;
const MAX_TOKEN_FILE_BYTES: u64 = 4_096;

/// Reads the token, or creates the file. The error is a message for the user.
pub(super) fn read_or_make(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let unreadable = |error: io::Error| format!("{shown} cannot be used: {error}");
    let Some(text) = atomic_file::read(path, MAX_TOKEN_FILE_BYTES).map_err(unreadable)? else {
        let token = make().map_err(unreadable)?;
        atomic_file::write(path, format!("{token}\n").as_bytes()).map_err(unreadable)?;
        return Ok(token);
    };
    let mode = path.metadata().map_err(unreadable)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!(
            "{shown} can be read by others (mode {:03o}); remove it to get a new one",
            mode & 0o777
        ));
    }
    let token = text.trim();
    if token.len() < MIN_TOKEN_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{shown} has no valid token; remove it to get a new one"
        ));
    }
    Ok(token.to_owned())
}

fn make() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(blake3::Hash::from(bytes).to_hex().to_string())
}

/// Compares two tokens in constant time.
pub(super) fn is_same(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn token_is_created_once_and_rejected_if_readable_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.token");
        let token = read_or_make(&path).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(read_or_make(&path).unwrap(), token);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(is_same(&token, &token) && !is_same(&token[1..], &token));

        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let refused = read_or_make(&path).unwrap_err();
        assert!(
            refused.contains("640") && !refused.contains(&token),
            "{refused}"
        );
        fs::remove_file(&path).unwrap();
        assert_ne!(read_or_make(&path).unwrap(), token);
        fs::write(&path, "short").unwrap();
        assert!(read_or_make(&path).unwrap_err().contains("remove it"));
    }
}
