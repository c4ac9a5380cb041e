//! A random key in a file, for hashes that only this installation can compute.
//!
//! Invariant: the key is created once. A file that has no key is replaced.

use std::{fs, io, path::Path};

use super::atomic_file;

/// The length of a key in bytes.
pub const KEY_LEN: usize = blake3::KEY_LEN;

/// Reads the key, or creates it with mode 0600.
pub fn read_or_create(path: &Path) -> io::Result<[u8; KEY_LEN]> {
    let known = match fs::read_to_string(path) {
        Ok(text) => blake3::Hash::from_hex(text.trim()).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(key) = known {
        return Ok(key.into());
    }
    let mut key = [0; KEY_LEN];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let text = format!("{}\n", blake3::Hash::from(key).to_hex());
    atomic_file::write(path, text.as_bytes())?;
    // Another daemon may have written one at the same time, during an upgrade: the file decides.
    let written = fs::read_to_string(path)?;
    let written = blake3::Hash::from_hex(written.trim());
    written.map(Into::into).map_err(io::Error::other)
}
