//! The token of the metrics port: a random string in a private file, created when it is first
//! needed.
//!
//! Invariant: the current content of the file is the token, so removing the file replaces the token.

use std::{io, path::Path};

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
    if let Some(mode) = mode_for_others(path).map_err(unreadable)? {
        return Err(format!(
            "{shown} can be read by others (mode {mode:03o}); remove it to get a new one"
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

/// The mode of a file that others can read.
#[cfg(unix)]
fn mode_for_others(path: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = path.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then_some(mode))
}

/// Windows has no modes: the file inherits the access list of the user's profile.
#[cfg(windows)]
fn mode_for_others(_path: &Path) -> io::Result<Option<u32>> {
    Ok(None)
}

fn make() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(blake3::Hash::from(bytes).to_hex().to_string())
}

/// Compares two tokens in constant time.
pub(super) fn is_same(given: &str, token: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn token_is_created_once_and_a_removed_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.token");
        let token = read_or_make(&path).unwrap();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        assert_eq!(read_or_make(&path).unwrap(), token);
        assert!(is_same(&token, &token) && !is_same(&token[1..], &token));

        fs::remove_file(&path).unwrap();
        assert_ne!(read_or_make(&path).unwrap(), token);
        fs::write(&path, "short").unwrap();
        assert!(read_or_make(&path).unwrap_err().contains("remove it"));
    }

    #[cfg(unix)]
    #[test]
    fn token_that_others_can_read_is_rejected() {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.token");
        let token = read_or_make(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let refused = read_or_make(&path).unwrap_err();
        assert!(
            refused.contains("640") && !refused.contains(&token),
            "{refused}"
        );
    }
}
