//! The keyed hash that represents the arguments of a call in the log.
//!
//! Invariant: the log alone is not enough to guess arguments, however few candidates there are. The key is random, one
//! for each home, and is stored in a separate file next to the log.

use std::{io, path::Path};

use serde_json::Value;

use mux_files::secret_key;
use mux_text::canonical_json;

const KEY_FILE_NAME: &str = "key";
const HASH_HEX_DIGITS: usize = 32;
/// Longer arguments are hashed as raw text, because parsed values take many times their length.
const MAX_CANONICAL_BYTES: usize = 64 << 10;

pub(super) struct ArgumentHasher([u8; blake3::KEY_LEN]);

impl ArgumentHasher {
    /// Reads the key of the folder, or creates it.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        secret_key::read_or_create(&folder.join(KEY_FILE_NAME)).map(Self)
    }

    /// Hashes arguments: equal JSON values have equal hashes. Over [`MAX_CANONICAL_BYTES`], the raw text is hashed.
    pub(super) fn hash_arguments(&self, arguments: &str) -> String {
        let value = if arguments.len() <= MAX_CANONICAL_BYTES {
            serde_json::from_str::<Value>(arguments).ok()
        } else {
            None
        };
        let hash = |text: &str| blake3::keyed_hash(&self.0, text.as_bytes()).to_hex();
        let hash = value.map_or_else(
            || hash(arguments),
            |value| hash(&canonical_json::to_text(&value)),
        );
        hash[..HASH_HEX_DIGITS].to_owned()
    }
}
