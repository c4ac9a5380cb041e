//! What stands for the arguments of a call: a keyed hash of their canonical text.
//!
//! Invariant: whoever has the log alone cannot try out arguments, however few there are to try. The key is random,
//! one for each home, and stands beside the log in a file of its own.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use serde_json::Value;

use mux_files::atomic_file;
use mux_text::canonical_json;

const KEY_FILE_NAME: &str = "key";
const HASH_HEX_DIGITS: usize = 32;
/// Longer ones are many times as long as values.
const MAX_CANONICAL_BYTES: usize = 64 << 10;

pub(super) struct ArgumentHasher([u8; blake3::KEY_LEN]);

impl ArgumentHasher {
    /// With the key of that folder, which is made if there is none.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(KEY_FILE_NAME);
        let known = fs::read_to_string(&path).ok();
        if let Some(key) = known.and_then(|text| blake3::Hash::from_hex(text.trim()).ok()) {
            return Ok(Self(key.into()));
        }
        let mut key = [0; blake3::KEY_LEN];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        let text = format!("{}\n", blake3::Hash::from(key).to_hex());
        atomic_file::write(&path, text.as_bytes())?;
        Ok(Self(key))
    }

    /// The same for the same values, however they were written. Of long arguments it is the text that counts.
    pub(super) fn hash_arguments(&self, arguments: &str) -> String {
        let value = match arguments.len() <= MAX_CANONICAL_BYTES {
            true => serde_json::from_str::<Value>(arguments).ok(),
            false => None,
        };
        let hash = |text: &str| blake3::keyed_hash(&self.0, text.as_bytes()).to_hex();
        let hash = value.map_or_else(
            || hash(arguments),
            |value| hash(&canonical_json::to_text(&value)),
        );
        hash[..HASH_HEX_DIGITS].to_owned()
    }
}
